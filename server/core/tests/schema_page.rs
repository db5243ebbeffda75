//! The page `docs/schema-errors.md` lists the templates of all reasons (DET-6), no more and no less.

use pantheon_core::schema::reason::{CONTENT, FRAMES, REGISTRATION, Template};

/// A row of a table on the page, as Markdown has it.
fn row(template: &Template) -> String {
    let rule = if template.rule.is_empty() { String::new() } else { format!("`{}`", template.rule) };
    format!("| {rule} | {} |", template.text.replace('|', "\\|"))
}

#[test]
fn det_6_the_reason_templates_are_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema-errors.md");
    let page = std::fs::read_to_string(path).expect("the page is part of the repository");
    let listed: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| rule")).collect();
    let published: Vec<String> = [FRAMES, CONTENT, REGISTRATION].into_iter().flatten().map(row).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        println!("{}", published.join("\n"));
    }
    assert_eq!(listed, published, "the tables of docs/schema-errors.md; UPDATE_EXPECT=1 prints the rows");
}
