//! Reads the parts of a task file.

use std::path::Path;

use super::{TaskFile, TaskFileStatus};
use crate::clean::one_line;
use crate::frontmatter::Markdown;
use crate::mentions::Fences;

/// The most open items of a task, and the most characters of a text.
const MAX_ITEMS: usize = 20;
const MAX_CHARS: usize = 500;

pub(super) fn task(path: &Path, name: &str, text: &str) -> TaskFile {
    let Markdown { header, body, .. } = Markdown::parse(text);
    let mut fences = Fences::default();
    // Code may contain lines that look like metadata.
    let lines: Vec<_> = body.lines().filter(|line| !fences.covers(line)).collect();
    let field = |name: &str| {
        let value = lines.iter().find_map(|line| metadata(line, name));
        // The line in the text comes first: it is the one that `with_status` changes.
        let value = value.map(str::to_owned).or_else(|| header.text(&name.to_ascii_lowercase()));
        value.map(|value| short(&value)).filter(|value| !value.is_empty())
    };
    let title = lines.iter().find_map(|line| line.strip_prefix("# ")).map(short);
    let items = lines.iter().filter_map(|line| open_item(line)).take(MAX_ITEMS).map(short);
    TaskFile {
        path: path.to_owned(),
        title: title.filter(|title| !title.is_empty()).unwrap_or_else(|| name.to_owned()),
        status: field("Status").map_or(TaskFileStatus::Unknown, |text| status(&text)),
        branch: field("Branch").map(|branch| branch.trim_matches('`').to_owned()),
        scope: field("Scope"),
        objective: field("Objective").or_else(|| section(&lines, "objective")),
        open_items: items.collect(),
    }
}

/// Returns the value of a line of metadata: `- **Status**: todo`, with or without the marks.
pub(super) fn metadata<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let line = line.trim_start_matches([' ', '-', '*']);
    let rest = line.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name))?;
    let rest = line.get(rest.len()..)?.trim_start_matches('*').trim_start();
    Some(rest.strip_prefix(':')?.trim_start_matches('*').trim())
}

fn status(text: &str) -> TaskFileStatus {
    let word = text.trim_matches(['`', '*']).to_ascii_lowercase().replace([' ', '_'], "-");
    match word.as_str() {
        "in-progress" | "active" | "doing" | "started" | "wip" => TaskFileStatus::InProgress,
        "todo" | "to-do" | "open" | "planned" | "pending" | "backlog" => TaskFileStatus::Todo,
        "completed" | "complete" | "done" | "closed" => TaskFileStatus::Completed,
        _ => TaskFileStatus::Unknown,
    }
}

fn open_item(line: &str) -> Option<&str> {
    let item = line.trim_start().strip_prefix(['-', '*'])?.trim_start();
    item.strip_prefix("[ ]").map(str::trim).filter(|item| !item.is_empty())
}

/// Returns the first paragraph of a section.
fn section(lines: &[&str], title: &str) -> Option<String> {
    let is_heading = |line: &&str| line.starts_with('#');
    let at = lines.iter().position(|line| {
        is_heading(line) && line.trim_matches(['#', ' ', ':']).eq_ignore_ascii_case(title)
    })?;
    let section = lines.get(at + 1..)?.iter().skip_while(|line| line.trim().is_empty());
    let paragraph: Vec<_> =
        section.take_while(|line| !line.trim().is_empty() && !is_heading(line)).copied().collect();
    (!paragraph.is_empty()).then(|| short(&paragraph.join(" ")))
}

fn short(text: &str) -> String {
    one_line(text).chars().take(MAX_CHARS).collect()
}
