//! `docs/permission-examples.md`: lines of the corpus that the policy is tested with, as a table.
//! A test judges every line, so each verdict on the page is a tested one.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::table;
use crate::tree::Tree;

const HEAD: &str = include_str!("permissions/head.txt");

/// Makes the page.
pub fn page(tree: &Tree) -> Result<String> {
    let mut page = HEAD.to_owned();
    for (file, title) in [("shell", "Commands"), ("rules", "Files, hosts, servers and agents")] {
        let path = format!("fixtures/policy/{file}.jsonl");
        let text = tree.text(&path).with_context(|| format!("{path} is missing"))?;
        let mut rows = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
            let place = || format!("{path}:{number}");
            let case: Value = serde_json::from_str(line).with_context(place)?;
            if case["doc"] == true {
                rows.push(row(&case).with_context(place)?);
            }
        }
        ensure!(!rows.is_empty(), "{path}: no line is marked `\"doc\": true`");
        page += &format!("\n## {title}\n\n{}", table(&["call", "rules", "verdict", "why"], rows));
    }
    Ok(page)
}

fn row(case: &Value) -> Result<Vec<String>> {
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
    let verdict = format!("**{}**", text("verdict")?);
    Ok(vec![call, rules.join("<br>"), verdict, text("why")?.to_owned()])
}

/// Formats code on one line: control characters are escaped.
fn code(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let plain: String = text.chars().map(shown).collect();
    if plain.contains('`') { format!("`` {plain} ``") } else { format!("`{plain}`") }
}

#[cfg(test)]
mod tests;
