//! A list whose entries have a text: part of the pages of memory, agents, hooks and changed files. The
//! file of an entry can be opened in the user's editor.

use std::any::Any;
use std::path::{Path, PathBuf};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use robota_config::Places;

use super::list::{Item, List, ListKey};
use super::text::Scroll;
use super::{FileEdited, Opening, Page, PageContext, PageOutcome};
use crate::terminal::diff::{self, DiffLine};
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::run::short;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, wrap};

/// One entry.
pub(super) struct Entry {
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) body: Body,
    /// The file that the editor opens.
    pub(super) file: Option<PathBuf>,
}

/// What Enter shows.
#[derive(Clone)]
pub(super) enum Body {
    /// Plain text, which is wrapped.
    Text(String),
    /// The changes of a file.
    Diff {
        /// The file.
        path: String,
        /// The changes.
        lines: Vec<DiffLine>,
    },
}

/// Returns the name of a file on a page: relative to the folder of the session, or with `~`. The
/// start of a long path would leave no room for its end.
pub(super) fn file_name(file: &Path, places: &Places) -> String {
    match file.strip_prefix(&places.cwd) {
        Ok(inside) if inside != Path::new("") => inside.display().to_string(),
        _ => short(file, places.home.as_deref()),
    }
}

/// What a page consists of, and how it is found.
pub(super) struct Kind {
    pub(super) title: &'static str,
    /// Why nothing is there.
    pub(super) empty: &'static str,
    /// Asks for the entries; the answer is [`LoadedDetails`].
    pub(super) find: fn() -> Effect,
}

/// The entries, or why they cannot be found.
pub(super) struct LoadedDetails(pub(super) Result<Vec<Entry>, String>);

/// The page.
struct Details {
    kind: &'static Kind,
    list: List<(Body, Option<PathBuf>)>,
    shown: Option<Shown>,
}

struct Shown {
    title: String,
    body: Body,
    lines: Vec<Line>,
    /// The width for which the lines were made.
    columns: usize,
    scroll: Scroll,
}

/// Opens a page.
pub(super) fn open(kind: &'static Kind) -> Opening {
    let page = Details { kind, list: List::loading(), shown: None };
    Ok((Box::new(page), vec![(kind.find)()]))
}

fn render(title: &str, body: &Body, columns: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    // Some texts begin with the title themselves.
    if !matches!(body, Body::Text(text) if text.starts_with(title)) {
        rows = wrap(&Line::new(title, Role::Accent), columns, 2);
        rows.push(Line::default());
    }
    match body {
        Body::Text(text) => {
            let lines = text.lines();
            rows.extend(lines.flat_map(|line| wrap(&Line::new(line, Role::Text), columns, 2)));
        }
        Body::Diff { path, lines } => rows.extend(diff::render(lines, Some(path), columns)),
    }
    rows
}

impl Details {
    fn edit(&self) -> Option<PageOutcome> {
        let file = self.list.selected()?.value.1.clone()?;
        Some(PageOutcome::Stay(vec![Effect::EditFile(file)]))
    }

    /// Shows the new text of the shown entry, or the list if the entry no longer exists.
    fn refresh_shown(&mut self, entries: &[Entry]) {
        self.shown = self.shown.take().and_then(|shown| {
            let entry = entries.iter().find(|entry| entry.title == shown.title)?;
            // No terminal has 0 columns, so the next view makes the lines again.
            Some(Shown { body: entry.body.clone(), columns: 0, ..shown })
        });
    }
}

impl Page for Details {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        let control = key.modifiers == KeyModifiers::CONTROL;
        if key.code == KeyCode::Char('e') && control {
            return self.edit().unwrap_or_else(|| PageOutcome::Stay(Vec::new()));
        }
        if let Some(shown) = &mut self.shown {
            if shown.scroll.key(key, action, &shown.lines) {
                return PageOutcome::Stay(Vec::new());
            }
            return match (action, key.code) {
                (Some(Action::Cancel), _) | (None, KeyCode::Char('q')) => {
                    self.shown = None;
                    PageOutcome::Stay(Vec::new())
                }
                _ => PageOutcome::Ignored,
            };
        }
        match self.list.key(key, action) {
            ListKey::Used => PageOutcome::Stay(Vec::new()),
            ListKey::Unused => PageOutcome::Ignored,
            ListKey::Accepted => {
                if let Some(item) = self.list.selected() {
                    let (title, body) = (item.title.clone(), item.value.0.clone());
                    let (lines, scroll) = (Vec::new(), Scroll::default());
                    self.shown = Some(Shown { title, body, lines, columns: 0, scroll });
                }
                PageOutcome::Stay(Vec::new())
            }
        }
    }

    fn paste(&mut self, text: &str) {
        self.list.paste(text);
    }

    fn is_loading(&self) -> bool {
        self.list.is_loading()
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let reply = match reply.downcast::<LoadedDetails>() {
            Ok(found) => {
                return match found.0 {
                    Ok(entries) => {
                        self.refresh_shown(&entries);
                        let items = entries.into_iter().map(|entry| {
                            let Entry { title, detail, body, file } = entry;
                            Item { title, detail, value: (body, file) }
                        });
                        self.list.set(items.collect());
                        PageOutcome::Stay(Vec::new())
                    }
                    Err(why) => PageOutcome::Fail(why),
                };
            }
            Err(reply) => reply,
        };
        if reply.is::<FileEdited>() {
            return PageOutcome::Stay(vec![(self.kind.find)()]);
        }
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        let edits = self.list.selected().is_some_and(|item| item.value.1.is_some());
        let editor = if edits { " · Ctrl+E opens the file in the editor" } else { "" };
        if let Some(shown) = &mut self.shown {
            if shown.columns != size.columns {
                shown.columns = size.columns;
                shown.lines = render(&shown.title, &shown.body, size.columns);
            }
            let keys = format!("/ finds{editor} · Esc back");
            return shown.scroll.view(&shown.lines, size, &keys);
        }
        let keys = format!("Enter shows it{editor} · Esc closes");
        let (mut lines, cursor) = self.list.page(self.kind.title, &keys, size);
        if !self.list.is_loading() && self.list.is_empty() {
            let why = wrap(&Line::new(self.kind.empty, Role::Dim), size.columns, 0);
            for (row, line) in lines.iter_mut().skip(2).zip(why) {
                *row = line;
            }
        }
        (lines, Some(cursor))
    }
}

#[cfg(test)]
mod tests;
