//! Reads transcripts of Claude Code.
//!
//! Each line has a `uuid` and the `parentUuid` of the line before it, so the lines form a tree: a user
//! who rewinds starts another branch, and parallel calls put their results on side branches. The
//! active branch leads from the last message to the root. Each block of an answer has a line of its
//! own; lines of one answer share `message.id`.

mod branch;

use std::collections::{HashMap, HashSet};

use robota_core::usage::Usage;
use robota_session::replay::Record;
use serde_json::{Value, json};

use super::ImportReport;
use super::conversation::{Call, CallResult, Item, NO_IMAGE, Turn, fill, text_part};
use super::lines::{parse, skip, text, time};
use branch::Tree;

/// The model name of messages that no model wrote.
const SYNTHETIC: &str = "<synthetic>";

/// Reads a transcript. `id` is used if no line names the session.
pub(super) fn read(bytes: &[u8], id: &str) -> (Record, ImportReport) {
    let mut report = ImportReport::default();
    let lines = parse(bytes, &mut report);
    let tree = Tree::new(&lines);
    let active = tree.active();
    count_left_out(&lines, &active, &mut report);

    let own_id = lines.iter().rev().find_map(|line| text(line, "sessionId"));
    let mut record = Record { id: own_id.unwrap_or(id).to_owned(), ..Record::default() };
    record.cwd = lines.iter().find_map(|line| text(line, "cwd")).unwrap_or_default().to_owned();
    record.name = title(&lines);
    record.created_at = lines.iter().find_map(time).unwrap_or_default();
    record.updated_at = lines.iter().filter_map(time).max().unwrap_or_default();
    record.provider = Some("anthropic".to_owned());
    let mut models = active.iter().filter_map(|at| text(lines[*at].get("message")?, "model"));
    record.model = models.rfind(|model| *model != SYNTHETIC).map(str::to_owned);
    fill(&mut record, &items(&lines, &tree, &active), &results(&lines));
    (record, report)
}

fn items(lines: &[Value], tree: &Tree<'_>, active: &[usize]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut answers: HashMap<&str, usize> = HashMap::new();
    // The message that each line became a part of.
    let mut became: HashMap<&str, String> = HashMap::new();
    let mut boundaries = tree.boundaries(active).into_iter().peekable();
    for at in active {
        while let Some(boundary) = boundaries.next_if(|boundary| boundary < at) {
            items.push(compaction(&lines[boundary], lines, &became));
        }
        let line = &lines[*at];
        let Some(message) = line.get("message") else { continue };
        let uuid = text(line, "uuid").unwrap_or_default();
        match text(line, "type") {
            // It is the summary of a compaction, which the boundary line brings.
            Some("user") if flag(line, "isCompactSummary") => {}
            Some("user") => {
                let parts = parts(message);
                if parts.is_empty() {
                    continue;
                }
                // Notes of the program follow what the user wrote: they are one message.
                if let Some(Item::Message(last)) = items.last_mut()
                    && last.from_user
                {
                    last.parts.extend(parts);
                    became.insert(uuid, last.id.clone());
                    continue;
                }
                became.insert(uuid, uuid.to_owned());
                let (id, at) = (uuid.to_owned(), time(line));
                let turn = Turn { id, from_user: true, at, parts, ..Turn::default() };
                items.push(Item::Message(turn));
            }
            Some("assistant") if text(message, "model") == Some(SYNTHETIC) => {}
            Some("assistant") => {
                let answer = text(message, "id").unwrap_or(uuid);
                let known = answers.get(answer).and_then(|at| items.get_mut(*at));
                if let Some(Item::Message(turn)) = known {
                    add_blocks(turn, message);
                    became.insert(uuid, turn.id.clone());
                    continue;
                }
                let mut turn = Turn { id: uuid.to_owned(), at: time(line), ..Turn::default() };
                add_blocks(&mut turn, message);
                became.insert(uuid, uuid.to_owned());
                answers.insert(answer, items.len());
                items.push(Item::Message(turn));
            }
            Some(_) | None => {}
        }
    }
    items.extend(boundaries.map(|boundary| compaction(&lines[boundary], lines, &became)));
    items
}

fn add_blocks(turn: &mut Turn, message: &Value) {
    for block in blocks(message) {
        match text(&block, "type") {
            Some("text") => turn.parts.extend(text(&block, "text").map(text_part)),
            Some("thinking") => turn.thinking.extend(text(&block, "thinking").map(str::to_owned)),
            Some("tool_use") => {
                if let (Some(id), Some(name)) = (text(&block, "id"), text(&block, "name"))
                    // A line that was written twice must not repeat its call.
                    && turn.calls.iter().all(|call| call.id != id)
                {
                    let arguments = block.get("input").cloned().unwrap_or_else(|| json!({}));
                    let (id, name) = (id.to_owned(), name.to_owned());
                    turn.calls.push(Call { id, name, arguments: arguments.to_string() });
                }
            }
            Some(_) | None => {}
        }
    }
    // Each line repeats the usage; that of the last line is complete.
    turn.usage = message.get("usage").and_then(Usage::from_provider_value).or(turn.usage);
}

/// Returns the compaction of a boundary line. The summary is in a line after it.
fn compaction(boundary: &Value, lines: &[Value], became: &HashMap<&str, String>) -> Item {
    let uuid = text(boundary, "uuid").unwrap_or_default();
    let is_summary =
        |line: &&Value| flag(line, "isCompactSummary") && text(line, "parentUuid") == Some(uuid);
    let summary = lines.iter().find(is_summary).and_then(|line| line.get("message"));
    let summary = summary.map(|message| joined(&parts(message))).unwrap_or_default();
    // Without the line of the summary, the boundary has a short text of its own.
    let summary = if summary.is_empty() {
        text(boundary, "content").unwrap_or("Conversation compacted").to_owned()
    } else {
        summary
    };
    let kept = boundary.pointer("/compactMetadata/preservedMessages/uuids");
    let mut kept = kept.and_then(Value::as_array).into_iter().flatten();
    let keep_from = kept.find_map(|uuid| became.get(uuid.as_str()?)).cloned();
    Item::Compacted { id: uuid.to_owned(), at: time(boundary), summary, keep_from }
}

/// Returns the results of all calls; the first of a call counts.
fn results(lines: &[Value]) -> HashMap<String, CallResult> {
    let mut results = HashMap::new();
    for line in lines.iter().filter(|line| text(line, "type") == Some("user")) {
        for block in line.get("message").map(blocks).unwrap_or_default() {
            if text(&block, "type") != Some("tool_result") {
                continue;
            }
            let Some(id) = text(&block, "tool_use_id") else { continue };
            results.entry(id.to_owned()).or_insert_with(|| CallResult {
                text: joined(&parts(&block)),
                is_error: flag(&block, "is_error"),
                at: time(line),
            });
        }
    }
    results
}

/// Returns the content of a message as blocks.
fn blocks(message: &Value) -> Vec<Value> {
    match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => vec![text_part(text)],
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(_) | None => Vec::new(),
    }
}

/// Returns the texts and images of a message or a result, as parts of a record's message.
fn parts(message: &Value) -> Vec<Value> {
    let part = |block: Value| match text(&block, "type")? {
        "text" => text(&block, "text").map(text_part),
        "image" => {
            let source = block.get("source")?;
            let kind = text(source, "media_type").unwrap_or("image/png");
            // Not those at an address, which would have to be fetched.
            Some(match text(source, "data") {
                Some(data) => json!({"type": "image_inline", "mimeType": kind, "data": data}),
                None => text_part(NO_IMAGE),
            })
        }
        "document" => Some(text_part("[a document that was not imported]")),
        _ => None,
    };
    blocks(message).into_iter().filter_map(part).collect()
}

/// Returns the texts of parts. A result has no images in a record, so a note takes their place.
fn joined(parts: &[Value]) -> String {
    let text = |part: &Value| text(part, "text").map_or_else(|| NO_IMAGE.to_owned(), str::to_owned);
    parts.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn flag(line: &Value, name: &str) -> bool {
    line.get(name) == Some(&Value::Bool(true))
}

/// Returns the title: the user's own, else one that the program made.
fn title(lines: &[Value]) -> Option<String> {
    let last = |kind: &str, field: &str| {
        let of_kind = lines.iter().rev().filter(|line| text(line, "type") == Some(kind));
        of_kind.filter_map(|line| text(line, field)).map(str::to_owned).next()
    };
    last("custom-title", "customTitle")
        .or_else(|| last("ai-title", "aiTitle"))
        .or_else(|| last("summary", "summary"))
}

fn count_left_out(lines: &[Value], active: &[usize], report: &mut ImportReport) {
    let active: HashSet<usize> = active.iter().copied().collect();
    for (at, line) in lines.iter().enumerate() {
        match text(line, "type") {
            Some("user" | "assistant") if flag(line, "isSidechain") => report.sidechain += 1,
            Some("user" | "assistant") if !active.contains(&at) => report.abandoned += 1,
            Some("assistant")
                if line.pointer("/message/model").and_then(Value::as_str) == Some(SYNTHETIC) =>
            {
                skip(report, "error message");
            }
            Some("user" | "assistant" | "custom-title" | "ai-title" | "summary") => {}
            Some("system") if text(line, "subtype") == Some("compact_boundary") => {}
            Some(other) => skip(report, other),
            None => skip(report, "no type"),
        }
    }
}

#[cfg(test)]
mod tests;
