//! `/background`: lists, reads, cancels and removes background tasks (RUN-08).

use async_trait::async_trait;
use jiff::Timestamp;
use robota_core::ids::TaskId;
use robota_core::task::{NotMoved, TaskKind, TaskState, TaskStatus};
use robota_runtime::TaskManager;
use serde_json::json;

use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;
use crate::tasks::describe;

pub(super) struct Background;

const USAGE: &str =
    "Usage: /background list | read ID [OFFSET] | cancel ID | close ID | send ID TEXT | move";

/// The bytes of one page of a log.
const PAGE: usize = 16 * 1024;

#[async_trait]
impl SystemCommand for Background {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("background", "Shows and ends background commands and agents")
            .arguments("list | read ID [OFFSET] | cancel ID | close ID | send ID TEXT | move")
            .subcommand("list", "Lists the tasks")
            .subcommand("read", "Shows the text that a task wrote")
            .subcommand("cancel", "Ends a task and everything below it")
            .subcommand("close", "Removes a task that has ended from the list")
            .subcommand("send", "Sends text to a running task")
            .subcommand("move", "Moves what the turn waits for to the background")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let Some(tasks) = session.tasks() else { return no_tasks() };
        let (name, rest) = split(arguments);
        let (id, text) = split(rest);
        let id = TaskId::from(id);
        match (name, id.as_str()) {
            ("" | "list", "") => list(&tasks.list(), session.session().config().clock().now()),
            ("move", "") => move_all(&tasks).await,
            (_, "") => CommandResult::failed(USAGE),
            ("read", _) => match offset(text) {
                Some(offset) => read(&tasks, &id, offset).await,
                None => CommandResult::failed(USAGE),
            },
            ("cancel", _) => cancel(&tasks, &id).await,
            ("close", _) => match tasks.close(&id).await {
                Ok(()) => CommandResult::ok(format!("Removed {id}.")),
                Err(error) => failed(&error),
            },
            ("send", _) if !text.is_empty() && is_agent(&tasks, &id) => {
                match session.agent_runs() {
                    Some(runs) => super::agent::send(&runs, &id, text).await,
                    None => no_tasks(),
                }
            }
            // A command reads lines, so the text ends one.
            ("send", _) if !text.is_empty() => match tasks.send(&id, format!("{text}\n")) {
                Ok(()) => CommandResult::ok(format!("Sent to {id}.")),
                Err(error) => failed(&error),
            },
            _ => CommandResult::failed(USAGE),
        }
    }
}

/// Moves the command or the agents that the turn waits for to the background.
async fn move_all(tasks: &TaskManager) -> CommandResult {
    let (mut moved, mut problems) = (Vec::new(), Vec::new());
    for call in tasks.foreground().list() {
        match tasks.foreground().move_to_background(&call).await {
            Ok(ids) => moved.extend(ids.iter().map(ToString::to_string)),
            // It ended between the list and the request.
            Err(NotMoved::NotWaiting(_)) => {}
            Err(error) => problems.push(error.to_string()),
        }
    }
    let text = match moved.is_empty() {
        true => "Nothing runs that can be moved to the background.".to_owned(),
        false => format!("In the background: {}.", moved.join(", ")),
    };
    if problems.is_empty() {
        return CommandResult::ok(text).with("tasks", json!(moved));
    }
    CommandResult::failed(format!("{}\n{text}", problems.join("\n")))
}

fn is_agent(tasks: &TaskManager, id: &TaskId) -> bool {
    tasks.get(id).is_ok_and(|task| task.kind == TaskKind::Agent)
}

/// Returns the first word, and the rest.
pub(super) fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

pub(super) fn no_tasks() -> CommandResult {
    CommandResult::failed("This session has no background tasks.")
}

/// Reads where a page of a log begins; at the start if nothing is given.
pub(super) fn offset(text: &str) -> Option<u64> {
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

/// Lists tasks, one line each, with the seconds that they ran or have run until `now`.
pub(super) fn list(tasks: &[TaskState], now: Timestamp) -> CommandResult {
    if tasks.is_empty() {
        return CommandResult::ok("There are no background tasks.").with("tasks", json!([]));
    }
    let lines = tasks.iter().map(|task| {
        let end = task.ended.unwrap_or(now);
        let start = task.started.unwrap_or(task.created);
        // Two clocks may differ, also between processes; no task ran for a negative time.
        let seconds = end.duration_since(start).as_secs().max(0);
        let doing = match (task.status, &task.action) {
            (TaskStatus::Running, Some(action)) => format!("  {action}"),
            (TaskStatus::WaitingPermission, _) => {
                let tools: Vec<_> = task.questions.iter().map(|it| it.tool.as_str()).collect();
                format!("  asks about {}", tools.join(", "))
            }
            _ => String::new(),
        };
        let status = task.status.name();
        format!("{}  {status}  {seconds} s  {}{doing}", task.task, task.label)
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    CommandResult::ok(text).with("tasks", json!(tasks))
}

/// Shows a page of the log of a task.
pub(super) async fn read(tasks: &TaskManager, id: &TaskId, offset: u64) -> CommandResult {
    match tasks.read_log(id, offset, PAGE).await {
        Ok(page) => {
            let mut text = page.text.clone();
            if text.is_empty() {
                text =
                    format!("{id} has written nothing{}.", if offset > 0 { " more" } else { "" });
            }
            if page.more {
                text.push_str(&format!("\n[more: read {id} {}]", page.next));
            }
            CommandResult::ok(text).with("next", page.next).with("more", page.more)
        }
        Err(error) => failed(&error),
    }
}

/// Ends a task and everything below it, and describes how it ended.
pub(super) async fn cancel(tasks: &TaskManager, id: &TaskId) -> CommandResult {
    match tasks.cancel(id).await {
        Ok(task) => CommandResult::ok(format!("{}.", describe(&task))).with("task", json!(task)),
        Err(error) => failed(&error),
    }
}

#[cfg(test)]
mod tests;
