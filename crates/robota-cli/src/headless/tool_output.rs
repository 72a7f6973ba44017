//! What a tool returned, as the object that hosts read (`tool_use_result`). The shapes are those of
//! the output types in the Agent SDK for TypeScript (`sdk-tools.d.ts`).

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_core::message::{ResultBlock, ToolResult};
use robota_core::task::TaskState;
use robota_core::usage::Usage;
use robota_stream_json::TaskLineUsage;
use robota_tools::Bash;
use serde_json::{Map, Value, json};

use super::loaded::LoadedBlobs;
use super::meter::token_usage;

/// A call whose result is printed.
pub(crate) struct FinishedCall<'a> {
    /// The arguments with which it ran.
    pub(crate) input: &'a Value,
    /// What the model receives of it.
    pub(crate) result: &'a ToolResult,
    /// How long it ran, in milliseconds.
    pub(crate) duration_ms: u64,
    /// The content of the changed file before the change; none if there was no file, or if it is
    /// too large for a line.
    pub(crate) before: Option<&'a str>,
    /// The to-do list before the call.
    pub(crate) old_todos: &'a Value,
    /// The working folder, to which relative paths are relative.
    pub(crate) cwd: &'a Path,
    /// Images of the result.
    pub(crate) blobs: &'a LoadedBlobs,
    /// The agents that it started, if they have ended.
    pub(crate) agents: &'a [AgentTotals],
}

/// What an agent used.
#[derive(Debug)]
pub(crate) struct AgentTotals {
    /// The task that the agent ran as.
    pub(crate) task: TaskState,
    /// The id of the model that it used.
    pub(crate) model: String,
    /// Its tokens, calls and time.
    pub(crate) usage: TaskLineUsage,
}

impl FinishedCall<'_> {
    /// Returns what a line has, and whether hosts see it as an error: also a command that failed, which
    /// is no failed call for the model.
    pub(crate) fn in_line(&self) -> (Value, bool) {
        let Some(code) = self.failed_code() else { return (self.output(), self.result.is_error) };
        let text = self.result.as_text();
        let printed = text.trim_end();
        // The model reads the code at the end of the text, hosts at its beginning.
        let printed = printed.strip_suffix(&format!("[exit code {code}]")).unwrap_or(printed);
        let printed = printed.replacen("[no output]\n", "", 1);
        (Value::from(format!("Error: Exit code {code}\n{}", printed.trim_end())), true)
    }

    /// Returns the exit code of a command that failed.
    fn failed_code(&self) -> Option<i64> {
        let command = self.input.get("command")?.as_str()?;
        let failed = Bash::failed_code(command, &self.result.metadata);
        failed.filter(|_| self.result.name == Bash::NAME)
    }

    /// Returns the object, or `Error: …` for a call that failed.
    pub(crate) fn output(&self) -> Value {
        let text = self.result.as_text();
        if self.result.is_error {
            let before = if text.starts_with("Error: ") { "" } else { "Error: " };
            return Value::from(format!("{before}{text}"));
        }
        match self.result.name.as_str() {
            "Bash" => self.bash(&text),
            "Read" => self.read(&text),
            "Write" => self.write(),
            "Edit" => self.edit(),
            "Glob" => self.glob(&text),
            "Grep" => self.grep(&text),
            "TodoWrite" => json!({
                "oldTodos": self.old_todos,
                "newTodos": todos(self.result.metadata.get("todos")),
            }),
            "WebFetch" => self.web_fetch(&text),
            "WebSearch" => self.web_search(&text),
            "AskUserQuestion" => self.question(),
            "Agent" | "Task" if self.flag("background") && self.text_of("agent_id").is_some() => {
                self.started_agent()
            }
            "Agent" | "Task" => match self.agents {
                // The output type has the totals of one agent; a call that started several has
                // none.
                [agent] => self.ended_agent(agent, &text),
                _ => self.generic(&text),
            },
            _ => self.generic(&text),
        }
    }

    /// Returns the metadata and the text of a tool that has no output type.
    fn generic(&self, text: &str) -> Value {
        let mut object = self.result.metadata.clone();
        object.insert("content".to_owned(), Value::from(text));
        Value::Object(object)
    }

    fn text_of(&self, key: &str) -> Option<&str> {
        self.result.metadata.get(key).and_then(Value::as_str)
    }

    fn ended_agent(&self, agent: &AgentTotals, text: &str) -> Value {
        let AgentTotals { task, model, usage } = agent;
        let used = task.usage.iter().map(|used| used.usage).sum::<Usage>();
        let mut object = json!({
            "status": "completed",
            "agentId": task.task,
            "agentType": task.agent,
            "prompt": self.given("prompt"),
            "content": [{"type": "text", "text": text}],
            "resolvedModel": model,
            "totalToolUseCount": usage.tool_uses,
            "totalDurationMs": usage.duration_ms,
            "totalTokens": usage.total_tokens,
            "usage": token_usage(used),
        });
        if let Some(worktree) = &task.worktree {
            object["worktreePath"] = Value::from(worktree.path.as_str());
            object["worktreeBranch"] = Value::from(worktree.branch.as_str());
        }
        object
    }

    fn started_agent(&self) -> Value {
        json!({
            "status": "async_launched",
            "isAsync": true,
            "agentId": self.text_of("agent_id"),
            "description": self.given("description"),
            "prompt": self.given("prompt"),
            "outputFile": self.text_of("log").unwrap_or_default(),
        })
    }

    fn given(&self, key: &str) -> &str {
        self.input.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.result.metadata.get(key).and_then(Value::as_u64)
    }

    fn flag(&self, key: &str) -> bool {
        self.result.metadata.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    fn file_path(&self) -> String {
        self.cwd.join(self.given("file_path")).display().to_string()
    }

    fn bash(&self, text: &str) -> Value {
        let printed = if self.number("output_bytes") == Some(0) {
            text.replacen("[no output]\n", "", 1)
        } else {
            text.to_owned()
        };
        let mut object = json!({
            "stdout": printed.trim_end(),
            "stderr": "",
            "interrupted": false,
            "isImage": false,
            "noOutputExpected": false,
        });
        if let Some(id) = self.result.metadata.get("bash_id") {
            object["backgroundTaskId"] = id.clone();
        }
        object
    }

    fn read(&self, text: &str) -> Value {
        let image = self.result.content.iter().find_map(|block| match block {
            ResultBlock::Image(image) => Some(image),
            ResultBlock::Text(_) | ResultBlock::Unknown(_) => None,
        });
        if let Some(image) = image {
            // Empty if the image is too large for a line.
            let bytes = self.blobs.get(&image.blob).unwrap_or_default();
            if image.media_type == "application/pdf" {
                return json!({"type": "pdf", "file": {
                    "filePath": self.file_path(),
                    "base64": STANDARD.encode(bytes),
                    "originalSize": image.blob.bytes,
                }});
            }
            return json!({"type": "image", "file": {
                "base64": STANDARD.encode(bytes),
                "type": image.media_type,
                "originalSize": image.blob.bytes,
            }});
        }
        let rows: Vec<_> = text.lines().filter_map(without_number).collect();
        let start = self.input.get("offset").and_then(Value::as_u64).unwrap_or(1).max(1);
        let lines = rows.len() as u64;
        json!({"type": "text", "file": {
            "filePath": self.file_path(),
            "content": rows.join("\n"),
            "numLines": lines,
            "startLine": start,
            "totalLines": self.number("total_lines").unwrap_or(start + lines.saturating_sub(1)),
        }})
    }

    fn write(&self) -> Value {
        json!({
            "type": if self.flag("created") { "create" } else { "update" },
            "filePath": self.file_path(),
            "content": self.given("content"),
            "structuredPatch": self.patch(),
            "originalFile": self.before,
        })
    }

    fn edit(&self) -> Value {
        let all = self.input.get("replace_all").and_then(Value::as_bool);
        json!({
            "filePath": self.file_path(),
            "oldString": self.given("old_string"),
            "newString": self.given("new_string"),
            "originalFile": self.before,
            "structuredPatch": self.patch(),
            "userModified": false,
            "replaceAll": all.unwrap_or(false),
        })
    }

    fn patch(&self) -> Vec<Value> {
        hunks(self.result.metadata.get("diff").and_then(Value::as_str).unwrap_or_default())
    }

    fn glob(&self, text: &str) -> Value {
        let names = shown_lines(text);
        json!({
            "filenames": names,
            "durationMs": self.duration_ms,
            "numFiles": names.len(),
            "truncated": self.flag("truncated"),
        })
    }

    fn grep(&self, text: &str) -> Value {
        let files = self.number("files").unwrap_or_default();
        let lines = shown_lines(text);
        let limit = self.input.get("head_limit").and_then(Value::as_u64);
        let mut object = match self.given("output_mode") {
            "content" => json!({
                "mode": "content",
                "numFiles": files,
                "filenames": [],
                "content": lines.join("\n"),
                "numLines": lines.len(),
            }),
            "count" => json!({
                "mode": "count",
                "numFiles": files,
                "filenames": [],
                "content": lines.join("\n"),
                "numMatches": self.number("matches"),
            }),
            _ => json!({
                "mode": "files_with_matches",
                "filenames": lines,
                "numFiles": lines.len(),
            }),
        };
        if let (true, Some(limit)) = (self.flag("truncated"), limit) {
            object["appliedLimit"] = Value::from(limit);
        }
        object
    }

    fn web_fetch(&self, text: &str) -> Value {
        let code = self.number("status").unwrap_or_default();
        let url = self.result.metadata.get("url").and_then(Value::as_str);
        json!({
            "bytes": self.number("bytes").unwrap_or_default(),
            "code": code,
            "codeText": code_text(code),
            "result": text,
            "durationMs": self.duration_ms,
            "url": url.unwrap_or_else(|| self.given("url")),
        })
    }

    fn web_search(&self, text: &str) -> Value {
        let hits = search_hits(text);
        let results = if hits.is_empty() {
            vec![Value::from(text.trim_end())]
        } else {
            vec![json!({"tool_use_id": self.result.public_id(), "content": hits})]
        };
        json!({
            "query": self.given("query"),
            "results": results,
            "durationSeconds": self.duration_ms as f64 / 1000.0,
        })
    }

    fn question(&self) -> Value {
        let questions = self.input.get("questions").cloned().unwrap_or_else(|| json!([]));
        let answers = self.result.metadata.get("answers").and_then(Value::as_array);
        let asked = questions.as_array().into_iter().flatten();
        let answers: Map<_, _> = asked
            // The answers have the order of the questions, with null for a question that was left
            // out.
            .zip(answers.into_iter().flatten())
            .filter(|(_, answer)| !answer.is_null())
            .filter_map(|(question, answer)| {
                Some((question.get("question")?.as_str()?.to_owned(), answer.clone()))
            })
            .collect();
        json!({"questions": questions, "answers": answers})
    }
}

/// Returns a to-do list with the text that a client shows while an item is in progress.
pub(crate) fn todos(list: Option<&Value>) -> Value {
    let mut list = list.cloned().unwrap_or_else(|| json!([]));
    for item in list.as_array_mut().into_iter().flatten() {
        let content = item.get("content").cloned().unwrap_or_default();
        if let Some(item) = item.as_object_mut() {
            // The type of the SDK requires the key; here models may leave it out.
            item.entry("activeForm").or_insert(content);
        }
    }
    list
}

/// Returns the text of a numbered line; none for a note of the tool.
fn without_number(line: &str) -> Option<&str> {
    let (number, text) = line.split_once('\t')?;
    number.trim_start().parse::<u64>().is_ok().then_some(text)
}

/// Returns the lines of a result without the notes of the tool.
fn shown_lines(text: &str) -> Vec<&str> {
    let is_note = |line: &str| line.starts_with('[') && line.ends_with(']');
    // Only the last line can be a note: a file may contain lines in brackets.
    let mut lines: Vec<_> = text.lines().collect();
    if lines.last().is_some_and(|line| is_note(line)) {
        lines.pop();
    }
    lines
}

/// Returns the hunks of a unified diff.
fn hunks(diff: &str) -> Vec<Value> {
    let mut hunks: Vec<(HunkHead, Vec<&str>)> = Vec::new();
    for line in diff.lines() {
        if let Some(head) = HunkHead::parse(line) {
            hunks.push((head, Vec::new()));
        } else if let Some((_, lines)) = hunks.last_mut()
            // A backslash begins the note that a file does not end with a new line.
            && line.starts_with([' ', '+', '-', '\\'])
        {
            lines.push(line);
        }
    }
    let hunk = |(head, lines): (HunkHead, Vec<&str>)| {
        json!({
            "oldStart": head.old.0,
            "oldLines": head.old.1,
            "newStart": head.new.0,
            "newLines": head.new.1,
            "lines": lines,
        })
    };
    hunks.into_iter().map(hunk).collect()
}

/// The first line and the number of lines of both sides: `@@ -1,3 +1,4 @@`.
struct HunkHead {
    old: (u64, u64),
    new: (u64, u64),
}

impl HunkHead {
    fn parse(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let range = |text: &str| match text.split_once(',') {
            Some((start, lines)) => Some((start.parse().ok()?, lines.parse().ok()?)),
            // Diffs leave out the length of a range of one line.
            None => Some((text.parse().ok()?, 1)),
        };
        Some(Self { old: range(old)?, new: range(new)? })
    }
}

/// Returns the name of an HTTP status. A status that is an error fails the call.
fn code_text(code: u64) -> &'static str {
    match code {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        _ => "",
    }
}

/// Returns the titles and addresses of search results: `1. TITLE`, then `   URL`.
fn search_hits(text: &str) -> Vec<Value> {
    let lines: Vec<_> = text.lines().collect();
    let mut hits = Vec::new();
    for pair in lines.windows(2) {
        let [title, url] = pair else { continue };
        // Only the next number counts: a snippet may begin with a number as well.
        let numbered = format!("{}. ", hits.len() + 1);
        if let (Some(title), Some(url)) = (title.strip_prefix(&numbered), url.strip_prefix("   ")) {
            hits.push(json!({"title": title, "url": url}));
        }
    }
    hits
}

#[cfg(test)]
mod tests;
