//! The tasks as a tree: the groups with their tasks, and tasks of their own.

use std::time::Duration;

use jiff::Timestamp;
use robota_core::ids::{GroupId, TaskId};
use robota_core::task::{TaskState, TaskStatus};

use super::spent::Spent;
use crate::terminal::event::clock_text;
use crate::terminal::screens::list::Item;

/// A row of the tree.
pub(super) enum Node {
    /// The heading of a group of tasks.
    Group,
    /// A task that can be selected, below its group or its parent.
    Task(Box<TaskState>),
}

impl Node {
    /// Returns the task of the row.
    pub(super) fn task(&self) -> Option<TaskId> {
        match self {
            Self::Group => None,
            Self::Task(task) => Some(task.task.clone()),
        }
    }
}

/// Returns the rows: tasks in their order, those of a group behind the row of the group.
pub(super) fn items(tasks: Vec<TaskState>, now: Timestamp, spent: &Spent) -> Vec<Item<Node>> {
    let mut items = Vec::new();
    let mut rest: Vec<Option<TaskState>> = tasks.into_iter().map(Some).collect();
    for at in 0..rest.len() {
        let Some(task) = rest[at].take() else { continue };
        let Some(group) = task.group.clone() else {
            items.push(item("", task, now, spent));
            continue;
        };
        let mut members = vec![task];
        let of_group =
            |task: &mut Option<TaskState>| task.take_if(|task| task.group.as_ref() == Some(&group));
        members.extend(rest[at + 1..].iter_mut().filter_map(of_group));
        items.push(group_item(&group, &members));
        let last = members.len() - 1;
        for (at, task) in members.into_iter().enumerate() {
            items.push(item(if at == last { "└ " } else { "├ " }, task, now, spent));
        }
    }
    items
}

fn group_item(group: &GroupId, members: &[TaskState]) -> Item<Node> {
    let ended = members.iter().filter(|task| task.status.is_terminal()).count();
    let detail = format!("{ended} of {} ended", members.len());
    Item { title: format!("group {group}"), detail, value: Node::Group }
}

fn item(branch: &str, task: TaskState, now: Timestamp, spent: &Spent) -> Item<Node> {
    // A task of the session itself has depth 1.
    // Deeper tasks are not indented further: their names would leave the page.
    let depth = usize::try_from(task.depth.saturating_sub(1)).unwrap_or(0).min(8);
    let name = match &task.agent {
        Some(agent) => format!("{agent}: {}", task.label),
        None => task.label.clone(),
    };
    let start = task.started.unwrap_or(task.created);
    let end = task.ended.unwrap_or(now);
    let seconds = u64::try_from(end.as_second() - start.as_second()).unwrap_or(0);
    let mut detail =
        format!("{}  {}", state_word(task.status), clock_text(Duration::from_secs(seconds)));
    if let Some(cost) = spent.of(&task) {
        detail.push_str(&format!("  ${cost:.2}"));
    }
    match (&task.action, task.questions.first(), &task.error) {
        (_, Some(question), _) => detail.push_str(&format!("  asks: {}", question.tool)),
        (Some(action), None, _) => detail.push_str(&format!("  {action}")),
        (None, None, Some(error)) => detail.push_str(&format!("  {}", error.message)),
        (None, None, None) => {}
    }
    let title = format!("{}{branch}{name}", "  ".repeat(depth));
    Item { title, detail, value: Node::Task(Box::new(task)) }
}

fn state_word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "queued",
        TaskStatus::Running => "running",
        TaskStatus::WaitingPermission => "waits for you",
        TaskStatus::Completed => "done",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
    }
}
