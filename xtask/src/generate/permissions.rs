//! `docs/permission-examples.md`: lines of the corpus that the policy is tested with, as a table.
//! A test holds every verdict, so the page cannot promise what is not so.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::tree::Tree;

/// The page made of them.
pub const PAGE: &str = "docs/permission-examples.md";

/// The files of the corpus, and what each is about.
const CORPUS: &[(&str, &str)] = &[
    ("fixtures/policy/shell.jsonl", "Commands"),
    ("fixtures/policy/rules.jsonl", "Files, hosts, servers and agents"),
];

const HEAD: &str = "\
# Permissions by example

Made by `cargo xtask gen`; do not edit. What the columns mean is told in
[permissions.md](permissions.md). Each row is a line of `fixtures/policy/*.jsonl` that is marked
`\"doc\": true`; a test judges every line there and fails when a verdict differs. The working
directory is `/proj/app`, the home `/home/ada`; the files that exist and where links lead is in
`fixtures/policy/tree.json`.
";

/// The page.
pub fn page(tree: &Tree) -> Result<String> {
    let mut page = HEAD.to_owned();
    for (path, title) in CORPUS {
        let text = tree.text(path).with_context(|| format!("{path} is missing"))?;
        let _ =
            write!(page, "\n## {title}\n\n| call | rules | verdict | why |\n|---|---|---|---|\n");
        let mut shown = 0;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let place = || format!("{path}:{}", number + 1);
            let case: Value = serde_json::from_str(line).with_context(place)?;
            if case["doc"] == Value::Bool(true) {
                let _ = writeln!(page, "{}", row(&case).with_context(place)?);
                shown += 1;
            }
        }
        if shown == 0 {
            bail!("{path}: no line is marked `\"doc\": true`");
        }
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
    let mut rules = Vec::new();
    if let Some(mode) = case["mode"].as_str() {
        rules.push(format!("{mode} mode"));
    }
    for list in ["allow", "ask", "deny"] {
        let written = case[list].as_array().into_iter().flatten().filter_map(Value::as_str);
        rules.extend(written.map(|rule| format!("{list} {}", code(rule))));
    }
    let rules = rules.join("<br>");
    Ok(format!("| {call} | {rules} | **{}** | {} |", text("verdict")?, escape(text("why")?)))
}

/// As code in a cell of a table. What cannot be seen is spelled out.
fn code(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '\n' => plain.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(plain, "\\u{{{:x}}}", c as u32);
            }
            c => plain.push(c),
        }
    }
    let plain = escape(&plain);
    if plain.contains('`') { format!("`` {plain} ``") } else { format!("`{plain}`") }
}

/// A bar would end the cell, also inside code.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests;
