//! The tool that finds tools.

use std::collections::HashMap;
use std::time::Duration;

use robota_core::permission::Class;
use robota_core::tool::{AwaitedTools, Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::server::ServerStatus;
use super::session_tools::{Found, Named, SessionTools, TOOL_SEARCH};
use crate::names::server_part;

/// How many tools a search finds by default.
const DEFAULT_RESULTS: usize = 5;
/// How many tools a search finds at most.
const MAX_RESULTS: usize = 20;
/// How many bytes of names the description lists.
const MAX_NAMES: usize = 1_200;
/// How long a search waits for servers that are being started.
const START_WAIT: Duration = Duration::from_secs(30);

/// Finds tools of servers.
pub(super) struct ToolSearch {
    spec: ToolSpec,
    tools: SessionTools,
}

impl ToolSearch {
    pub(super) fn new(tools: SessionTools, all: &[Named]) -> Self {
        let spec = ToolSpec {
            name: TOOL_SEARCH.to_owned(),
            description: description(&tools, all),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "Words, or select:NAME,NAME for tools whose names you know",
                    },
                    "max_results": {"type": "integer", "minimum": 1},
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
            class: Class::Inspect,
        };
        Self { spec, tools }
    }
}

fn description(tools: &SessionTools, all: &[Named]) -> String {
    let mut text =
        "Finds more tools, of MCP servers. Returns their descriptions and schemas; they can \
                    be called afterwards."
            .to_owned();
    let starting: Vec<_> = tools
        .visible_servers()
        .iter()
        .filter(|server| !server.is_known() && server.status() != ServerStatus::Disabled)
        .map(|server| server.name().to_owned())
        .collect();
    if !starting.is_empty() {
        text.push_str(&format!(" Servers that are starting: {}.", starting.join(", ")));
    }
    let mut by_server: Vec<(&str, Vec<&str>)> = Vec::new();
    for tool in all {
        match by_server.last_mut() {
            Some((name, names)) if *name == tool.server.name() => names.push(&tool.name),
            _ => by_server.push((tool.server.name(), vec![&tool.name])),
        }
    }
    // Each server gets the same share: one with hundreds of tools must not hide the others.
    let share = MAX_NAMES / by_server.len().max(1);
    for (server, names) in by_server {
        let mut listed = String::new();
        let mut count = 0;
        for name in &names {
            if listed.len() + name.len() + 2 > share {
                break;
            }
            listed.push_str(if count == 0 { "" } else { ", " });
            listed.push_str(name);
            count += 1;
        }
        text.push_str(&format!("\n{server}: {} tools", names.len()));
        match names.len() - count {
            0 => text.push_str(&format!(": {listed}")),
            _ if count == 0 => {}
            more => text.push_str(&format!(": {listed} and {more} more")),
        }
    }
    text
}

#[async_trait::async_trait]
impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn awaited(&self) -> Vec<AwaitedTools> {
        let servers = self.tools.visible_servers();
        let starting = servers.iter().filter(|server| server.is_starting());
        let tools = starting.map(|server| AwaitedTools {
            prefix: format!("mcp__{}__", server_part(server.name())),
            reason: format!(
                "The MCP server `{}` is still starting, and its tools are not known yet. Call {TOOL_SEARCH} \
                 with the query `select:` and the name of the tool: it waits for the server. Then call \
                 the tool.",
                server.name()
            ),
        });
        tools.collect()
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let query = input.get("query").and_then(Value::as_str).unwrap_or_default();
        let limit = input.get("max_results").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(DEFAULT_RESULTS);
        let limit = limit.clamp(1, MAX_RESULTS);
        let servers = self.tools.servers();
        servers.start_unknown();
        let mut all = self.tools.all();
        // Tools that are known must not wait for a server that is still starting. A search right after the
        // start would otherwise find nothing.
        if is_missing(query, &all) {
            tokio::select! {
                _ = servers.settled(START_WAIT) => {}
                () = context.scope.cancel.cancelled() => {}
            }
            all = self.tools.all();
        }
        let found = find(query, &all, limit);
        if found.is_empty() {
            let failed: Vec<_> = self
                .tools
                .servers()
                .reports()
                .into_iter()
                .filter_map(|report| report.error)
                .collect();
            let mut text = format!("no tool matches `{query}`");
            if !failed.is_empty() {
                text.push_str(&format!(". {}", failed.join(". ")));
            }
            return ToolOutcome::ok(text);
        }
        // The tools are offered from the next model call on; the result has their schemas already.
        self.tools.load(found.iter().map(|(_, (spec, _))| spec.name.clone()));
        let described = found.iter().map(|(_, (spec, _))| {
            let tool = json!({
                "name": spec.name, "description": spec.description, "input_schema": spec.input_schema,
            });
            tool.to_string()
        });
        let mut lines: Vec<_> = described.collect();
        let starting = servers.all().into_iter().filter(|server| server.is_starting());
        let starting: Vec<_> = starting.map(|server| server.name().to_owned()).collect();
        if !starting.is_empty() {
            lines.push(format!(
                "[still starting: {}; their tools are not searched yet]",
                starting.join(", ")
            ));
        }
        ToolOutcome::ok(lines.join("\n"))
    }
}

/// Returns the names of a query that asks for tools by name; none if it has words.
fn selected(query: &str) -> Option<Vec<&str>> {
    let names = query.trim().strip_prefix("select:")?;
    Some(names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
}

fn is_named((_, (spec, definition)): &Found, name: &str) -> bool {
    name == spec.name || name == definition.name()
}

/// Returns whether a tool that a query names, or anything that it could mean, is not known.
fn is_missing(query: &str, all: &[Found]) -> bool {
    match selected(query) {
        Some(names) => names.iter().any(|name| !all.iter().any(|tool| is_named(tool, name))),
        None => find(query, all, 1).is_empty(),
    }
}

/// Returns the tools that fit a query best, best first.
pub(super) fn find<'a>(query: &str, all: &'a [Found], limit: usize) -> Vec<&'a Found> {
    if let Some(names) = selected(query) {
        let named = all.iter().filter(|tool| names.iter().any(|name| is_named(tool, name)));
        return named.take(MAX_RESULTS).collect();
    }
    let documents: Vec<_> =
        all.iter().map(|(_, (spec, _))| (words(&spec.name), words(&spec.description))).collect();
    let wanted = words(query);
    let texts: Vec<Vec<&str>> = documents
        .iter()
        .map(|(name, description)| {
            // A word of the name counts three times.
            let name = name.iter().flat_map(|word| std::iter::repeat_n(word.as_str(), 3));
            name.chain(description.iter().map(String::as_str)).collect()
        })
        .collect();
    let scores = bm25(&wanted, &texts);
    let mut order: Vec<_> =
        scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
    // Equal scores keep the order of the list, so that the same search has the same answer.
    order.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.cmp(other)));
    order.into_iter().take(limit).filter_map(|(at, _)| all.get(at)).collect()
}

/// Splits a text into lower-case words, at punctuation and inside camelCase.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for character in text.chars() {
        let starts = character.is_uppercase() && was_lower;
        if (!character.is_alphanumeric() || starts) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    // Plural and singular are the same word.
    let stem = |word: String| match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word,
    };
    // Every name begins with `mcp`, so the word says nothing.
    words.into_iter().filter(|word| word != "mcp").map(stem).collect()
}

/// Rates texts for a query (Okapi BM25).
fn bm25(wanted: &[String], texts: &[Vec<&str>]) -> Vec<f64> {
    // The usual constants of the method.
    const K: f64 = 1.2;
    const B: f64 = 0.75;
    let count = texts.len() as f64;
    let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / count.max(1.0);
    let mut with_word: HashMap<&str, f64> = HashMap::new();
    for word in wanted {
        let having = texts.iter().filter(|text| text.contains(&word.as_str())).count();
        with_word.insert(word, having as f64);
    }
    let score = |text: &Vec<&str>| -> f64 {
        let of_word = |word: &String| {
            let times = text.iter().filter(|other| *other == word).count() as f64;
            let having = with_word.get(word.as_str()).copied().unwrap_or_default();
            let rarity = ((count - having + 0.5) / (having + 0.5) + 1.0).ln();
            let length = 1.0 - B + B * text.len() as f64 / average.max(1.0);
            rarity * times * (K + 1.0) / (times + K * length)
        };
        wanted.iter().map(of_word).sum()
    };
    texts.iter().map(score).collect()
}

#[cfg(test)]
mod tests;
