//! The sessions: search, preview, rename, fork and resume.

use std::any::Any;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use robota_core::clock::{Clock as _, SystemClock};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionFilter, SessionHead};

use super::list::{Item, List, ListKey};
use super::text::Scroll;
use super::{Opening, Page, PageContext, PageOutcome, transcript, work};
use crate::terminal::conversation::Entry;
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role};

/// How many sessions are listed.
const MOST: usize = 500;

/// The page of sessions.
struct Sessions {
    list: List<SessionHead>,
    now: Timestamp,
    /// The new name, while the user types it.
    renaming: Option<String>,
    /// The conversation of a session, while it is shown.
    preview: Option<Shown>,
}

struct Shown {
    entries: Vec<Entry>,
    lines: Vec<Line>,
    /// The width for which the lines were made.
    columns: usize,
    scroll: Scroll,
}

struct LoadedSessions(Result<Vec<SessionHead>, JournalError>, Timestamp);
struct Preview(Result<Vec<Entry>, String>);
struct Renamed(Result<(), String>);

/// Opens the page and asks for the sessions.
pub(super) fn open() -> Opening {
    let (list, now) = (List::loading(), Timestamp::UNIX_EPOCH);
    let page = Sessions { list, now, renaming: None, preview: None };
    Ok((Box::new(page), vec![find()]))
}

fn find() -> Effect {
    work(|context| async move {
        let filter = SessionFilter { limit: Some(MOST), ..SessionFilter::default() };
        let page = context.store.list(&filter).await;
        // Sessions of subagents belong to their parent.
        let heads = page.map(|page| page.sessions.into_iter().filter(|it| it.spawned_by.is_none()));
        LoadedSessions(heads.map(Iterator::collect), SystemClock.now())
    })
}

fn item(head: SessionHead, now: Timestamp) -> Item<SessionHead> {
    let title = head.name.clone().or_else(|| head.title.clone());
    let title = title.unwrap_or_else(|| head.session.to_string());
    let fork = if head.parent.is_some() { ", fork" } else { "" };
    let folder = head.cwd.as_deref().unwrap_or_default();
    let turns = if head.turns == 1 { "turn" } else { "turns" };
    let detail = format!("{}  {} {turns}{fork}  {folder}", age(head.updated, now), head.turns);
    Item { title, detail, value: head }
}

/// Returns how long ago something was, in one unit.
fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    match seconds {
        0..60 => "now".to_owned(),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

impl Sessions {
    fn selected(&self) -> Option<SessionId> {
        self.list.selected().map(|item| item.value.session.clone())
    }

    fn rename_key(&mut self, key: &KeyEvent, action: Option<Action>) -> PageOutcome {
        let Some(name) = &mut self.renaming else { return PageOutcome::Ignored };
        match (action, key.code) {
            (Some(Action::Accept), _) => {
                let name = std::mem::take(name);
                self.renaming = None;
                match self.selected() {
                    Some(session) if !name.trim().is_empty() => {
                        return PageOutcome::Stay(vec![rename(session, name)]);
                    }
                    _ => {}
                }
            }
            (Some(Action::Cancel | Action::ClearOrQuit), _) => self.renaming = None,
            (_, KeyCode::Backspace) => {
                name.pop();
            }
            (None, KeyCode::Char(letter)) => name.push(letter),
            _ => {}
        }
        PageOutcome::Stay(Vec::new())
    }
}

fn rename(session: SessionId, name: String) -> Effect {
    work(move |context| async move {
        // The open session is written by this process; its journal must have one writer.
        if context.session.id() == &session {
            return Renamed(
                context.session.set_name(name).await.map_err(|error| error.to_string()),
            );
        }
        let renamed =
            robota_session::rename_stored(&*context.store, &session, name, Arc::new(SystemClock))
                .await;
        Renamed(renamed.map_err(|error| error.to_string()))
    })
}

fn preview(session: SessionId) -> Effect {
    work(move |context| async move {
        Preview(
            transcript::stored(&*context.store, &session).await.map_err(|error| error.to_string()),
        )
    })
}

impl Page for Sessions {
    fn key(
        &mut self,
        key: &KeyEvent,
        action: Option<Action>,
        context: &PageContext<'_>,
    ) -> PageOutcome {
        if self.renaming.is_some() {
            return self.rename_key(key, action);
        }
        if let Some(shown) = &mut self.preview {
            if shown.scroll.key(key, action, &shown.lines) {
                return PageOutcome::Stay(Vec::new());
            }
            return match (action, key.code) {
                // Back to the list.
                (Some(Action::Cancel), _) | (None, KeyCode::Char('q')) => {
                    self.preview = None;
                    PageOutcome::Stay(Vec::new())
                }
                _ => PageOutcome::Ignored,
            };
        }
        let control = key.modifiers == KeyModifiers::CONTROL;
        match (key.code, self.selected()) {
            (KeyCode::Char('v'), Some(session)) if control => {
                return PageOutcome::Stay(vec![preview(session)]);
            }
            (KeyCode::Char('n'), Some(_)) if control => {
                let name = self.list.selected().and_then(|item| item.value.name.clone());
                self.renaming = Some(name.unwrap_or_default());
                return PageOutcome::Stay(Vec::new());
            }
            (KeyCode::Char('f'), Some(session)) if control => {
                return PageOutcome::Switch { session, fork: true };
            }
            _ => {}
        }
        match self.list.key(key, action) {
            ListKey::Used => PageOutcome::Stay(Vec::new()),
            ListKey::Unused => PageOutcome::Ignored,
            ListKey::Accepted => match self.selected() {
                // It is open already; to open it again it would be closed first.
                Some(session) if context.facts.session == session.as_str() => {
                    PageOutcome::Close(Vec::new())
                }
                Some(session) => PageOutcome::Switch { session, fork: false },
                None => PageOutcome::Stay(Vec::new()),
            },
        }
    }

    fn paste(&mut self, text: &str) {
        match &mut self.renaming {
            Some(name) => name.push_str(text),
            None => self.list.paste(text),
        }
    }

    fn is_loading(&self) -> bool {
        self.list.is_loading()
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let reply = match reply.downcast::<LoadedSessions>() {
            Ok(found) => {
                let LoadedSessions(heads, now) = *found;
                return match heads {
                    Ok(heads) => {
                        self.now = now;
                        self.list.set(heads.into_iter().map(|head| item(head, now)).collect());
                        PageOutcome::Stay(Vec::new())
                    }
                    Err(error) => PageOutcome::Fail(error.to_string()),
                };
            }
            Err(reply) => reply,
        };
        let reply = match reply.downcast::<Preview>() {
            Ok(preview) => {
                return match preview.0 {
                    Ok(entries) => {
                        let (lines, scroll) = (Vec::new(), Scroll::default());
                        self.preview = Some(Shown { entries, lines, columns: 0, scroll });
                        PageOutcome::Stay(Vec::new())
                    }
                    Err(why) => PageOutcome::Fail(why),
                };
            }
            Err(reply) => reply,
        };
        match reply.downcast::<Renamed>().map(|renamed| renamed.0) {
            Ok(Ok(())) => PageOutcome::Stay(vec![find()]),
            Ok(Err(why)) => PageOutcome::Fail(why),
            Err(_) => PageOutcome::Stay(Vec::new()),
        }
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        if let Some(shown) = &mut self.preview {
            if shown.columns != size.columns {
                shown.columns = size.columns;
                shown.lines = transcript::lines(&shown.entries, size.columns, true).0;
            }
            return shown.scroll.view(&shown.lines, size, "/ finds · Esc back");
        }
        let Some(name) = &self.renaming else {
            let keys = "Enter resumes · Ctrl+F forks · Ctrl+V shows · Ctrl+N renames · Esc closes";
            let (lines, cursor) = self.list.page("Sessions", keys, size);
            return (lines, Some(cursor));
        };
        let body = Size { rows: size.rows.saturating_sub(1), ..size };
        let (mut lines, _) = self.list.view("Sessions", body);
        let text = format!("new name: {name}");
        let column = crate::terminal::text::width(&text);
        lines.push(Line::new(text, Role::Warn));
        let row = lines.len() - 1;
        (lines, Some(Cursor { row, column }))
    }
}

#[cfg(test)]
mod tests;
