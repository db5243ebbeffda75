//! The examples of `docs/scenarios` do what the pages say: each is played, and each of its faults happens.

use pantheon_mock::scenario::Scenario;
use serde_json::{Value, json};

use crate::client::{Client, End};
use crate::files::project;
use crate::plays::still;
use crate::support::{Api, Fake, fresh_key};

fn examples(page: &str) -> Vec<String> {
    let page = std::fs::read_to_string(project().join("docs").join(page)).unwrap();
    page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn tool(name: &str, input: &Value) -> Result<Value, String> {
    Ok(match name {
        "add_todo" => json!({ "id": "todo_1", "title": input["title"] }),
        "echo_tool" => json!({ "echoed": input["message"] }),
        "get_weather" => json!({ "degrees": 21, "sky": "clear" }),
        "get_time" => json!({ "time": "12:00" }),
        other => panic!("no example calls {other}"),
    })
}

/// Plays an example with a good client, and returns the workspace and how it ended.
async fn played(fake: &Fake, example: &str) -> (Api, End) {
    let api = Api::new(&fake.server.url, &fresh_key());
    api.scenario(example).await.expect(200);
    let mut client = Client::open(&api, "todo-assistant", tool, None).await;
    let end = client.say("add_todo with milk, whatever the weather").await;
    (api, end)
}

#[tokio::test]
async fn each_fault_on_the_page_of_faults_happens() {
    let fake = Fake::with(still()).await;
    let examples = examples("scenarios/faults.md");
    assert!(examples.len() >= 20, "{} examples", examples.len());
    for example in examples {
        let (api, end) = played(&fake, &example).await;
        assert!(!matches!(end, End::Reported(_)), "{end:?}\n{example}");
        for fault in api.get("/__mock/faults").await.expect(200)["faults"].as_array().unwrap() {
            assert_ne!(fault["fired"], 0, "{fault} never happens in\n{example}");
        }
    }
}

#[tokio::test]
async fn each_turn_on_the_page_of_the_agent_plays() {
    let fake = Fake::with(still()).await;
    let examples = examples("scenarios/agent.md");
    assert!(examples.len() >= 2, "{} examples", examples.len());
    for example in examples {
        let (api, end) = played(&fake, &example).await;
        assert!(!matches!(end, End::Reported(_)), "{end:?}\n{example}");
        let loaded = api.get("/__mock/scenario").await.expect(200);
        let first = loaded["fired"]["steps"][0].as_array().unwrap();
        assert!(!first.is_empty() && first.iter().all(|times| *times == 1), "{loaded}");
        let notes = api.get("/__mock/journal?kind=note").await.expect(200);
        assert_eq!(notes["entries"], json!([]), "a template leads nowhere in\n{example}");
    }
}

/// The first example of all is a scenario that a good client passes.
#[tokio::test]
async fn the_first_example_passes() {
    let fake = Fake::with(still()).await;
    let first = &examples("scenarios.md")[0];
    let (api, end) = played(&fake, first).await;
    assert_eq!(end, End::Completed);
    let verdict = Api::send(api.request(reqwest::Method::POST, "/__mock/verify")).await.expect(200);
    assert_eq!(verdict["verdict"], "pass", "{verdict:#}");
}

/// What is wrong with the file on the page is told as the page says.
#[test]
fn the_mistakes_on_the_page_are_told_so() {
    let page = std::fs::read_to_string(project().join("docs/scenarios.md")).unwrap();
    let section = page.split("\n## When something is wrong\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks: Vec<&str> =
        section.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [document, told] = blocks[..] else { panic!("a file, and what is said of it") };
    let problems = Scenario::read(document, "demo.yaml").unwrap_err();
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let expected: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        match expected.strip_suffix('…') {
            Some(start) => assert!(line.starts_with(start), "{line}"),
            None => assert_eq!(line, expected),
        }
    }
}

/// A link to a page or a heading that is not there is worse than none.
#[test]
fn links_between_the_pages_lead_somewhere() {
    let root = project();
    // The command line's page is written elsewhere.
    for page in ["README.md", "docs/scenarios.md", "docs/control-api.md", "scenarios/README.md"]
        .into_iter()
        .map(str::to_owned)
        .chain(["first-script", "agent", "faults", "expect"].map(|page| format!("docs/scenarios/{page}.md")))
    {
        let text = std::fs::read_to_string(root.join(&page)).unwrap();
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if link.starts_with("http") || link.contains("command-line.md") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                root.join(&page)
            } else {
                root.join(&page).parent().unwrap().join(path)
            };
            assert!(target.exists(), "{page}: {link} leads nowhere");
            if !heading.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                let mut headings = text.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.any(|it| it == heading), "{page}: {link} has no such heading");
            }
        }
    }
}

/// The name that a heading is linked by.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
