//! Clients that do nothing worth a certificate. A harness that passes one of them certifies nothing.

use crate::api::outcome::Failure;
use crate::api::retry::Tries;
use crate::api::{Api, Request, stream_path};
use crate::defect::Defects;
use crate::environment::Environment;
use crate::harness::link::{Errand, Link};

/// A useless client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Useless {
    /// It exits at once.
    Exits,
    /// It waits until it is killed.
    Sleeps,
    /// It says hello, opens a session and its stream, and does nothing more.
    OnlyStreams,
    /// It says hello, and reports every task as completed without doing anything.
    AcknowledgesAll,
}

impl Useless {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Exits, Self::Sleeps, Self::OnlyStreams, Self::AcknowledgesAll];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exits => "exits",
            Self::Sleeps => "sleeps",
            Self::OnlyStreams => "only-streams",
            Self::AcknowledgesAll => "acknowledges-all",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|useless| useless.name() == name)
    }

    /// Does what it does.
    pub async fn run(self, environment: &Environment) {
        match self {
            Self::Exits => {}
            Self::Sleeps => std::future::pending().await,
            Self::OnlyStreams => {
                if only_stream(environment).await.is_ok() {
                    std::future::pending::<()>().await;
                }
            }
            // Without a harness there is nothing to acknowledge.
            Self::AcknowledgesAll => drop(acknowledge_all(environment).await),
        }
    }
}

async fn only_stream(environment: &Environment) -> Result<(), Failure> {
    let mut told = None;
    if let Some(url) = &environment.harness_url {
        let link = Link::new(url)?;
        link.hello().await?;
        if let Errand::Task(task) = link.task().await? {
            told = Some(task);
        }
    }
    let part = |name: &str, default: &str| {
        let told = told.as_ref().and_then(|task| task[name].as_str());
        told.unwrap_or(default).to_owned()
    };
    let (base, key) = (part("base_url", &environment.base_url), part("api_key", &environment.api_key));
    let api = Api::new(&base, &key, environment.request_timeout, environment.output.clone(), Defects::NONE)?;
    let slug = part("agent_slug", &environment.agent_slug);
    let opened = api
        .call(&Request::create_session(&serde_json::json!({ "agent_slug": slug })), Tries::new(2, ""))
        .await?;
    let response = api.open(&stream_path(opened["id"].as_str().unwrap_or_default()), None).await;
    // It is held open for ever.
    std::mem::forget(response);
    Ok(())
}

async fn acknowledge_all(environment: &Environment) -> Result<(), Failure> {
    let Some(url) = &environment.harness_url else { return Ok(()) };
    let link = Link::new(url)?;
    link.hello().await?;
    loop {
        if let Errand::Task(task) = link.task().await? {
            let done = serde_json::json!({ "task_id": task["task_id"], "status": "completed" });
            let target = task["harness_url"].as_str().map_or_else(|| Ok(link.clone()), Link::new)?;
            target.done(&done).await?;
            if task["do"] == "exit" {
                return Ok(());
            }
        }
    }
}
