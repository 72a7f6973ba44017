//! Answers requests of the host that only read: cost, settings, rules, files, tasks.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_config::{Layer, RuleText};
use robota_core::ids::{CallId, TaskId};
use robota_core::task::NotMoved;
use robota_exec::OsPaths;
use robota_sdk::{CommandOrigin, TaskManager};
use robota_session::Session;
use robota_stream_json::ControlErrorCode;
use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::{Value, json};

use super::describe::slash_command;
use super::host::Reply;
use super::meter::{Meter, cost};
use crate::setup::Setup;

/// The most bytes of a file that the host receives, unless it asks for fewer.
// In base64 this is about 700,000 bytes, which still fit in a line.
const MAX_FILE_BYTES: u64 = 512 * 1024;

/// How much of the end of a task's output the host receives.
// The protocol names this number.
const TASK_OUTPUT_BYTES: usize = 8 * 1024;

/// How much of a task's output is read at once.
const LOG_PAGE: usize = 256 * 1024;

/// A file that the host wants to show.
#[derive(Debug, Deserialize)]
pub(super) struct ReadFile {
    path: PathBuf,
    #[serde(default)]
    max_bytes: Option<u64>,
    #[serde(default)]
    encoding: Option<String>,
}

/// Returns the folders of the workspace, with those that were added to the session.
fn folders(setup: &Setup, session: Option<&Session>) -> Vec<PathBuf> {
    let workspace = setup.workspace();
    let now = session.and_then(|session| session.permissions().folders());
    std::iter::once(workspace.cwd).chain(now.unwrap_or(workspace.additional)).collect()
}

/// Reads a file of the workspace that the permissions do not deny.
pub(super) async fn read_file(setup: &Setup, session: Option<&Session>, file: &ReadFile) -> Reply {
    use tokio::io::AsyncReadExt as _;

    let failed = |why: String| {
        (ControlErrorCode::Failed, format!("cannot read {}: {why}", file.path.display()))
    };
    let path = setup.cwd().join(&file.path);
    // Resolved before the check: a link in the workspace may lead out of it.
    let path = path.canonicalize().map_err(|error| failed(error.to_string()))?;
    let folders = folders(setup, session);
    if !folders.iter().any(|folder| path.starts_with(folder)) {
        return Err(failed("it is outside of the workspace".to_owned()));
    }
    if !setup.policy.may_read(&path, &OsPaths) {
        return Err(failed("a deny rule forbids it".to_owned()));
    }
    let limit = file.max_bytes.unwrap_or(MAX_FILE_BYTES).min(MAX_FILE_BYTES);
    let mut bytes = Vec::new();
    let reading = async {
        // Opening a pipe would wait for a writer, and no other request would be answered meanwhile.
        // NOCTTY, because a terminal device must not become the terminal of this process.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = tokio::fs::OpenOptions::new();
        let options = options.read(true).custom_flags(flags.bits().cast_signed());
        let opened = options.open(&path).await?;
        if !opened.metadata().await?.is_file() {
            return Err(std::io::Error::other("it is not a file"));
        }
        // One byte more than the limit shows whether the file is longer.
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
        // Only the end is kept: a log can be larger than the memory.
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
    let configured = permissions.additional_directories.iter();
    let mut directories: Vec<_> = configured
        .map(|folder| json!({"path": folder.text, "source": source(folder.origin.layer).0}))
        .collect();
    if let Some(session) = session {
        let workspace = setup.workspace();
        let added = session.permissions().folders().unwrap_or_default().into_iter();
        let added = added.filter(|folder| !workspace.additional.contains(folder));
        directories.extend(added.map(|folder| json!({"path": folder, "source": "session"})));
    }
    json!({"state": {
        "rules": rules,
        "workspaceDirectories": directories,
        "originalCwd": setup.cwd(),
        "managedOnly": setup.settings.values.allow_managed_permission_rules_only == Some(true),
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
        Layer::BuiltIn | Layer::Managed => ("policySettings", "readonly"),
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
