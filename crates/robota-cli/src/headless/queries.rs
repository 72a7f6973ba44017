//! Answers requests of the host that only read: context, cost, settings, rules, files, tasks.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_config::{Layer, RuleText};
use robota_core::catalogue::Catalogue;
use robota_core::ids::{CallId, TaskId};
use robota_core::task::NotMoved;
use robota_core::tool::ToolSpec;
use robota_exec::OsPaths;
use robota_sdk::{CommandOrigin, InteractiveSession, TaskManager};
use robota_session::{Session, SessionError};
use robota_stream_json::ControlErrorCode;
use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::{Value, json};

use super::describe::slash_command;
use super::host::Reply;
use super::meter::{Meter, cost, token_usage};
use crate::setup::Setup;

/// The most bytes of a file that the host receives, unless it asks for fewer.
const MAX_FILE_BYTES: u64 = 512 * 1024;

/// How much of the end of a task's output the host receives.
const TASK_OUTPUT_BYTES: usize = 8 * 1024;

/// How much of a task's output is read at once.
const LOG_PAGE: usize = 256 * 1024;

/// About how many bytes of a description are one token.
const BYTES_PER_TOKEN: u64 = 4;

/// A row of the use of the context window: id, name, tokens and colour.
type Row = (&'static str, &'static str, u64, &'static str);

/// Returns how full the context window is, and with what.
pub(super) async fn context_usage(
    session: &InteractiveSession,
    model: &str,
    meter: &Meter,
) -> Result<Value, SessionError> {
    let context = session.session().context();
    let state = context.state().await?;
    let (mut system, mut skills) = (0, 0);
    let mut files = Vec::new();
    for part in &session.conversation().loaded().parts {
        if part.name == "skills" {
            skills += part.tokens;
        } else if PathBuf::from(&part.name).is_absolute() {
            files.push(json!({"path": part.name, "type": "Project", "tokens": part.tokens}));
        } else {
            system += part.tokens;
        }
    }
    let memory: u64 = files.iter().filter_map(|file| file["tokens"].as_u64()).sum();
    let tools = session.tools().specs().iter().map(tool_tokens).sum::<u64>();
    let used = state.used_tokens;
    let rows = [
        ("system_prompt", "System prompt", system, "blue"),
        ("system_tools", "System tools", tools, "cyan"),
        ("memory_files", "Memory files", memory, "green"),
        ("skills", "Skills", skills, "yellow"),
    ];
    // What the service counted is more exact than the estimates of the parts.
    let parts = rows.iter().map(|(_, _, tokens, _)| tokens).sum::<u64>();
    let messages = ("messages", "Messages", used.saturating_sub(parts), "magenta");
    let rows: Vec<Row> = rows.into_iter().chain([messages]).collect();
    let total = rows.iter().map(|(_, _, tokens, _)| tokens).sum::<u64>();
    let window = state.max_tokens;
    let share = if window == 0 { 0.0 } else { total as f64 * 100.0 / window as f64 };
    let mut reply = usage_reply(&rows, (total, window), share, model);
    reply["memoryFiles"] = files.into();
    reply["apiUsage"] = meter.last_usage().map_or(Value::Null, |usage| {
        let usage = token_usage(usage);
        json!({
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
        })
    });
    if let Some(share) = context.auto_compact() {
        reply["isAutoCompactEnabled"] = true.into();
        reply["autoCompactThreshold"] = json!((window as f64 * share) as u64);
    }
    Ok(reply)
}

/// Returns about how many tokens the description of a tool takes.
fn tool_tokens(tool: &ToolSpec) -> u64 {
    let schema = tool.input_schema.to_string().len();
    (tool.name.len() + tool.description.len() + schema) as u64 / BYTES_PER_TOKEN
}

/// Returns the use of the window of a session that does not exist yet.
pub(super) fn empty_context(model: &str) -> Value {
    usage_reply(&[], (0, Catalogue::builtin().context_window(model)), 0.0, model)
}

fn usage_reply(rows: &[Row], (used, window): (u64, u64), share: f64, model: &str) -> Value {
    let free = ("free_space", "Free space", window.saturating_sub(used), "grey");
    let row = |(id, name, tokens, color): &Row, kind: &str| json!({"id": id, "name": name, "tokens": tokens, "color": color, "kind": kind});
    let used_rows = rows.iter().filter(|(_, _, tokens, _)| *tokens > 0);
    let categories: Vec<_> =
        used_rows.map(|it| row(it, "used")).chain([row(&free, "free")]).collect();
    json!({
        "categories": categories,
        "totalTokens": used,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": share,
        "gridRows": [],
        "model": model,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "isAutoCompactEnabled": false,
        "apiUsage": null,
    })
}

/// A file that the host wants to show.
#[derive(Debug, Deserialize)]
pub(super) struct ReadFile {
    path: PathBuf,
    #[serde(default)]
    max_bytes: Option<u64>,
    #[serde(default)]
    encoding: Option<String>,
}

/// Reads a file of the workspace that the permissions do not deny.
pub(super) async fn read_file(setup: &Setup, file: &ReadFile) -> Reply {
    use tokio::io::AsyncReadExt as _;

    let failed = |why: String| {
        (ControlErrorCode::Failed, format!("cannot read {}: {why}", file.path.display()))
    };
    let path = setup.cwd().join(&file.path);
    let path = path.canonicalize().map_err(|error| failed(error.to_string()))?;
    let workspace = setup.workspace();
    let mut folders = std::iter::once(&workspace.cwd).chain(&workspace.additional);
    if !folders.any(|folder| path.starts_with(folder)) {
        return Err(failed("it is outside of the workspace".to_owned()));
    }
    if !setup.policy.may_read(&path, &OsPaths) {
        return Err(failed("a deny rule forbids it".to_owned()));
    }
    let limit = file.max_bytes.unwrap_or(MAX_FILE_BYTES).min(MAX_FILE_BYTES);
    let mut bytes = Vec::new();
    let reading = async {
        // Opening a pipe would wait for a writer, and no other request would be answered meanwhile.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = tokio::fs::OpenOptions::new();
        let options = options.read(true).custom_flags(flags.bits().cast_signed());
        let opened = options.open(&path).await?;
        if !opened.metadata().await?.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        opened.take(limit + 1).read_to_end(&mut bytes).await
    };
    reading.await.map_err(|error| failed(error.to_string()))?;
    let truncated = bytes.len() as u64 > limit;
    if truncated {
        bytes.pop();
    }
    let mut reply = json!({"absPath": path, "truncated": truncated});
    if file.encoding.as_deref() == Some("base64") {
        reply["contents"] = STANDARD.encode(&bytes).into();
        reply["encoding"] = "base64".into();
    } else {
        let text = String::from_utf8_lossy(&bytes);
        reply["lossy"] = (text.as_bytes() != bytes).into();
        reply["contents"] = text.into();
    }
    Ok(reply)
}

/// Returns the end of what a task wrote.
pub(super) async fn task_output(tasks: &TaskManager, task: String) -> Reply {
    let task = TaskId::from(task);
    let failed =
        |error: robota_sdk::TaskManagerError| (ControlErrorCode::Failed, error.to_string());
    let mut output = Vec::new();
    let mut total = 0;
    loop {
        let page = tasks.read_log(&task, total, LOG_PAGE).await.map_err(failed)?;
        output.extend_from_slice(page.text.as_bytes());
        let more = output.len().saturating_sub(TASK_OUTPUT_BYTES);
        output.drain(..more);
        let stuck = page.next == total;
        total = page.next;
        if !page.more || stuck {
            break;
        }
    }
    let truncated = total > output.len() as u64;
    let output = String::from_utf8_lossy(&output);
    Ok(json!({"output": output, "total_bytes": total, "truncated": truncated}))
}

/// Moves what the turn waits for to the background: all of it, or what belongs to one call.
pub(super) async fn move_to_background(tasks: &TaskManager, only: Option<Option<CallId>>) -> Reply {
    let mut calls = tasks.foreground().list();
    if let Some(only) = only {
        calls.retain(|call| Some(call) == only.as_ref());
    }
    let mut moved = false;
    for call in calls {
        match tasks.foreground().move_to_background(&call).await {
            Ok(_) => moved = true,
            // It has just ended.
            Err(NotMoved::NotWaiting(_)) => {}
            Err(error) => return Err((ControlErrorCode::Failed, error.to_string())),
        }
    }
    Ok(json!({"backgrounded": moved}))
}

/// Returns the skills as commands.
pub(super) fn skills(setup: &Setup) -> Value {
    let commands = setup.listing(Vec::new()).commands.into_iter();
    let skills = commands.filter(|command| command.origin != CommandOrigin::Builtin);
    json!({"skills": skills.map(slash_command).collect::<Vec<_>>()})
}

/// Returns the permission rules in effect and the folders of the workspace.
pub(super) fn permission_rules(setup: &Setup, session: Option<&Session>) -> Value {
    let permissions = &setup.settings.permissions;
    let mut rules = Vec::new();
    for (behavior, list) in
        [("allow", &permissions.allow), ("ask", &permissions.ask), ("deny", &permissions.deny)]
    {
        rules.extend(list.iter().map(|rule| rule_entry(behavior, rule)));
    }
    if let Some(session) = session {
        let approved = session.permissions().session_allowed();
        rules.extend(approved.iter().map(|rule| {
            json!({"behavior": "allow", "source": "session", "rule": rule, "editability": "session"})
        }));
    }
    let directories: Vec<_> = permissions
        .additional_directories
        .iter()
        .map(|folder| json!({"path": folder.text, "source": source(folder.origin.layer).0}))
        .collect();
    json!({"state": {
        "rules": rules,
        "workspaceDirectories": directories,
        "originalCwd": setup.cwd(),
        "managedOnly": false,
    }})
}

fn rule_entry(behavior: &str, rule: &RuleText) -> Value {
    let (source, editability) = source(rule.origin.layer);
    json!({
        "behavior": behavior,
        "source": source,
        "rule": rule.text,
        "editability": editability,
    })
}

/// Returns how hosts call a layer, and where its rules live.
pub(super) fn source(layer: Layer) -> (&'static str, &'static str) {
    match layer {
        Layer::UserRobota | Layer::UserClaude => ("userSettings", "persistent"),
        Layer::ProjectRobota | Layer::ProjectClaude => ("projectSettings", "persistent"),
        Layer::ProjectRobotaLocal | Layer::ProjectClaudeLocal => ("localSettings", "persistent"),
        Layer::Argument => ("flagSettings", "readonly"),
        Layer::Flags => ("cliArg", "session"),
        Layer::BuiltIn => ("policySettings", "readonly"),
    }
}

/// Returns what the session cost, as text.
pub(super) fn cost_text(meter: &Meter) -> String {
    let models = meter.models();
    let mut text = format!("Total cost: ${:.4}", cost(&models));
    for (name, usage) in &models {
        text.push_str(&format!(
            "\n  {name}: {} input, {} output, {} cache read, {} cache write (${:.4})",
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
            usage.cost_usd
        ));
    }
    text
}

/// Returns what the session cost, as data. There are no limits of a subscription here.
pub(super) fn usage(meter: &Meter) -> Value {
    let (models, lines) = (meter.models(), meter.lines());
    json!({
        "session": {
            "total_cost_usd": cost(&models),
            "total_api_duration_ms": meter.api_ms(),
            "total_duration_ms": meter.turns_ms(),
            "total_lines_added": lines.added,
            "total_lines_removed": lines.removed,
            "model_usage": models,
        },
        "subscription_type": null,
        "rate_limits_available": false,
        "rate_limits": null,
        "behaviors": null,
    })
}
