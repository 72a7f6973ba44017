//! The background tasks: commands and agents, with their state, their log, and keys to end them and
//! to send them text.

mod spent;
mod tree;

use std::any::Any;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use robota_core::clock::{Clock as _, SystemClock};
use robota_core::ids::TaskId;
use robota_core::task::{TaskState, TaskStatus};
use robota_sdk::TaskManager;

use super::list::{List, ListKey};
use super::text::Scroll;
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::run::WorkContext;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, width, wrap};
use spent::Spent;
use tree::Node;

/// The bytes at the end of a log that are shown.
const LOG: u64 = 256 * 1024;
/// While a task runs, what it shows is read again after this time.
const REFRESH: Duration = Duration::from_secs(1);

/// The page of tasks.
struct Background {
    list: List<Node>,
    /// The log of one task, while it is shown.
    log: Option<Log>,
    /// The text for the selected task, while the user types it.
    message: Option<String>,
    /// The task that ends when the user presses the key again.
    ending: Option<TaskId>,
    spent: Spent,
}

struct Log {
    task: TaskId,
    text: String,
    lines: Vec<Line>,
    columns: usize,
    scroll: Scroll,
    /// Whether the end is shown when more is written.
    follows: bool,
}

/// The tasks, and the log of the one that is shown.
struct LoadedTasks {
    tasks: Vec<TaskState>,
    now: Timestamp,
    log: Option<(TaskId, String)>,
    /// Whether the user asked for the log. Without it an open log is refreshed, and a closed one stays
    /// closed.
    opens: bool,
    spent: Spent,
    /// Whether the page reads again after this answer: one of its readers does, those that answer a
    /// key do not.
    again: bool,
}

/// Opens the page and asks for the tasks.
pub(super) fn open() -> Opening {
    let page = Background {
        list: List::loading(),
        log: None,
        message: None,
        ending: None,
        spent: Spent::default(),
    };
    Ok((Box::new(page), vec![read(None, Spent::default(), Wait::No, true)]))
}

/// Whether to wait for a change before the tasks are read.
#[derive(Clone, PartialEq)]
enum Wait {
    No,
    /// Until the tasks have other states than these, or output.
    ForChange(States),
}

/// The states of the tasks that the page shows.
type States = Vec<(TaskId, TaskStatus)>;

fn states(tasks: &[TaskState]) -> States {
    tasks.iter().map(|task| (task.task.clone(), task.status)).collect()
}

/// Reads the tasks and a log: for a key, or `again` for the reader of the page.
fn read(log: Option<TaskId>, spent: Spent, wait: Wait, again: bool) -> Effect {
    work(move |context| async move {
        LoadedTasks { again, opens: !again, ..found(&context, log, spent, wait).await }
    })
}

async fn found(
    context: &WorkContext,
    log: Option<TaskId>,
    mut spent: Spent,
    wait: Wait,
) -> LoadedTasks {
    let now = || SystemClock.now();
    let Some(tasks) = context.session.tasks() else {
        return LoadedTasks {
            tasks: Vec::new(),
            now: now(),
            log: None,
            opens: false,
            spent,
            again: false,
        };
    };
    if let Wait::ForChange(known) = wait {
        let mut changes = tasks.subscribe();
        let list = tasks.list();
        let runs = list.iter().any(|task| !task.status.is_terminal());
        // What changed before the subscription is not reported.
        if states(&list) == known {
            tokio::select! {
                _ = changes.recv() => {}
                // Where no task runs, nothing changes by itself, and no timer is needed.
                () = tokio::time::sleep(REFRESH), if runs => {}
            }
        }
    }
    // The states before the log: the log of a task that has ended is complete.
    let list = tasks.list();
    let log = match log {
        Some(task) => Some((task.clone(), tail(&tasks, &task).await)),
        None => None,
    };
    spent.update(&list, &*context.store).await;
    LoadedTasks { tasks: list, now: now(), log, opens: false, spent, again: false }
}

/// Reads the end of a log.
async fn tail(tasks: &TaskManager, task: &TaskId) -> String {
    let mut text = String::new();
    let mut offset = 0;
    loop {
        match tasks.read_log(task, offset, 64 * 1024).await {
            Ok(page) => {
                text.push_str(&page.text);
                let cut = text.len().saturating_sub(usize::try_from(LOG).unwrap_or(usize::MAX));
                let cut = (cut..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                text.drain(..cut);
                offset = page.next;
                if !page.more {
                    return text;
                }
            }
            Err(error) => return format!("{text}\n{error}"),
        }
    }
}

impl Background {
    fn selected(&self) -> Option<TaskId> {
        self.list.selected().and_then(|item| item.value.task())
    }

    fn message_key(&mut self, key: &KeyEvent, action: Option<Action>) -> PageOutcome {
        let Some(text) = &mut self.message else { return PageOutcome::Ignored };
        match (action, key.code) {
            (Some(Action::Accept), _) => {
                let text = std::mem::take(text);
                self.message = None;
                let effects = self.selected().map(|task| send(task, text, self.spent.clone()));
                return PageOutcome::Stay(effects.into_iter().collect());
            }
            (Some(Action::Cancel | Action::ClearOrQuit), _) => self.message = None,
            (_, KeyCode::Backspace) => {
                text.pop();
            }
            (None, KeyCode::Char(letter)) => text.push(letter),
            _ => {}
        }
        PageOutcome::Stay(Vec::new())
    }

    fn log_key(&mut self, key: &KeyEvent, action: Option<Action>) -> PageOutcome {
        let Some(log) = &mut self.log else { return PageOutcome::Ignored };
        if log.scroll.key(key, action, &log.lines) {
            log.follows = log.scroll.at_end();
            return PageOutcome::Stay(Vec::new());
        }
        match (action, key.code) {
            (Some(Action::Cancel), _) | (None, KeyCode::Char('q')) => {
                self.log = None;
                PageOutcome::Stay(Vec::new())
            }
            _ => PageOutcome::Ignored,
        }
    }
}

fn send(task: TaskId, text: String, spent: Spent) -> Effect {
    work(move |context| async move {
        let runs = context.session.agent_runs();
        let sent = match runs.filter(|runs| runs.get(&task).is_ok()) {
            // An agent that has ended continues with the text.
            Some(runs) => runs.send(&task, &text).await.map(drop),
            None => match context.session.tasks() {
                Some(tasks) => tasks.send(&task, format!("{text}\n")),
                None => Ok(()),
            },
        };
        if let Err(error) = sent {
            context.report(&error.to_string());
        }
        found(&context, None, spent, Wait::No).await
    })
}

fn cancel(task: TaskId, spent: Spent) -> Effect {
    work(move |context| async move {
        if let Some(tasks) = context.session.tasks()
            && let Err(error) = tasks.cancel(&task).await
        {
            context.report(&error.to_string());
        }
        found(&context, None, spent, Wait::No).await
    })
}

impl Page for Background {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        if self.message.is_some() {
            return self.message_key(key, action);
        }
        if self.log.is_some() {
            return self.log_key(key, action);
        }
        let control = key.modifiers == KeyModifiers::CONTROL;
        match (key.code, self.selected()) {
            (KeyCode::Char('x'), Some(task)) if control => {
                if self.ending.take().as_ref() == Some(&task) {
                    return PageOutcome::Stay(vec![cancel(task, self.spent.clone())]);
                }
                self.ending = Some(task);
                return PageOutcome::Stay(Vec::new());
            }
            (KeyCode::Char('s'), Some(_)) if control => {
                self.message = Some(String::new());
                return PageOutcome::Stay(Vec::new());
            }
            _ => self.ending = None,
        }
        match self.list.key(key, action) {
            ListKey::Used => PageOutcome::Stay(Vec::new()),
            ListKey::Unused => PageOutcome::Ignored,
            ListKey::Accepted => {
                let spent = self.spent.clone();
                let log = self.selected().map(|task| read(Some(task), spent, Wait::No, false));
                PageOutcome::Stay(log.into_iter().collect())
            }
        }
    }

    fn paste(&mut self, text: &str) {
        match &mut self.message {
            Some(message) => message.push_str(text),
            None => self.list.paste(text),
        }
    }

    fn is_loading(&self) -> bool {
        self.list.is_loading()
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let Ok(found) = reply.downcast::<LoadedTasks>() else {
            return PageOutcome::Stay(Vec::new());
        };
        let LoadedTasks { tasks, now, log, opens, spent, again } = *found;
        let chosen = self.selected();
        let known = states(&tasks);
        let read_log = log.as_ref().map(|(task, _)| task.clone());
        self.list.set(tree::items(tasks, now, &spent));
        self.spent = spent;
        if let Some(chosen) = chosen {
            self.list.select(|node| node.task().as_ref() == Some(&chosen));
        }
        if let Some((task, text)) = log {
            match &mut self.log {
                Some(shown) if shown.task == task => {
                    (shown.text, shown.columns) = (text, 0);
                }
                None if !opens => {}
                _ => {
                    let (lines, scroll) = (Vec::new(), Scroll::default());
                    self.log = Some(Log { task, text, lines, columns: 0, scroll, follows: true });
                }
            }
        }
        if !again {
            return PageOutcome::Stay(Vec::new());
        }
        let shown = self.log.as_ref().map(|log| log.task.clone());
        // A log that was opened meanwhile is not as new as the states.
        let wait =
            if shown.is_some() && shown != read_log { Wait::No } else { Wait::ForChange(known) };
        PageOutcome::Stay(vec![read(shown, self.spent.clone(), wait, true)])
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        if let Some(log) = &mut self.log {
            if log.columns != size.columns {
                log.columns = size.columns;
                let lines = log.text.lines();
                log.lines = lines
                    .flat_map(|line| wrap(&Line::new(line, Role::Text), size.columns, 0))
                    .collect();
                if log.follows {
                    log.scroll.first = log.lines.len();
                }
            }
            return log.scroll.view(&log.lines, size, "/ finds · Esc back");
        }
        let title = "Background tasks";
        if self.message.is_none() && self.ending.is_none() {
            let keys = "Enter shows the log · Ctrl+S sends text · Ctrl+X ends it · Esc closes";
            let (lines, cursor) = self.list.page(title, keys, size);
            return (lines, Some(cursor));
        }
        let body = Size { rows: size.rows.saturating_sub(1), ..size };
        let (mut lines, cursor) = self.list.view(title, body);
        let Some(text) = &self.message else {
            lines.push(Line::new("Ctrl+X again ends it; any other key does not", Role::Warn));
            return (lines, Some(cursor));
        };
        let text = format!("send: {text}");
        let cursor = Cursor { row: lines.len(), column: width(&text) };
        lines.push(Line::new(text, Role::Warn));
        (lines, Some(cursor))
    }
}

#[cfg(test)]
mod tests;
