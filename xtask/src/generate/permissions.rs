//! `docs/permission-examples.md`: lines of the corpus that the policy is tested with, as a table.
//! A test judges every line, so each verdict on the page is a tested one.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::tree::Tree;

/// The generated page.
pub const PAGE: &str = "docs/permission-examples.md";

/// The files of the corpus and their titles.
const CORPUS: &[(&str, &str)] = &[
    ("fixtures/policy/shell.jsonl", "Commands"),
    ("fixtures/policy/rules.jsonl", "Files, hosts, servers and agents"),
];

const HEAD: &str = "\
# Permissions by example

Written by `cargo xtask gen`; do not edit. [permissions.md](permissions.md) explains the columns. Each
row is a line of `fixtures/policy/*.jsonl` that is marked `\"doc\": true`; a test judges every line
there and fails when a verdict differs. The working directory is `/proj/app`, the home `/home/ada`;
`fixtures/policy/tree.json` lists the files that exist and the targets of links.
";

/// Makes the page.
pub fn page(tree: &Tree) -> Result<String> {
    let mut page = HEAD.to_owned();
    for (path, title) in CORPUS {
        let text = tree.text(path).with_context(|| format!("{path} is missing"))?;
        let _ =
            write!(page, "\n## {title}\n\n| call | rules | verdict | why |\n|---|---|---|---|\n");
        let before = page.len();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
            let place = || format!("{path}:{number}");
            let case: Value = serde_json::from_str(line).with_context(place)?;
            if case["doc"] == true {
                let _ = writeln!(page, "{}", row(&case).with_context(place)?);
            }
        }
        ensure!(page.len() > before, "{path}: no line is marked `\"doc\": true`");
    }
    Ok(page)
}

fn row(case: &Value) -> Result<String> {
    let text = |name: &str| case[name].as_str().with_context(|| format!("no `{name}`"));
    let tool = text("tool")?;
    let call = match case["input"]["command"].as_str() {
        Some(command) if tool == "Bash" => code(command),
        _ => format!("{tool} {}", code(&case["input"].to_string())),
    };
    let mut rules: Vec<String> =
        case["mode"].as_str().iter().map(|mode| format!("{mode} mode")).collect();
    for list in ["allow", "ask", "deny"] {
        let written = case[list].as_array().into_iter().flatten().filter_map(Value::as_str);
        rules.extend(written.map(|rule| format!("{list} {}", code(rule))));
    }
    let (rules, why) = (rules.join("<br>"), text("why")?.replace('|', "\\|"));
    Ok(format!("| {call} | {rules} | **{}** | {why} |", text("verdict")?))
}

/// Formats code for a cell of a table: control characters are escaped, and so is the bar, which
/// would end the cell.
fn code(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '\n' => plain.push_str("\\n"),
            '|' => plain.push_str("\\|"),
            c if c.is_control() => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    if plain.contains('`') { format!("`` {plain} ``") } else { format!("`{plain}`") }
}

#[cfg(test)]
mod tests;
