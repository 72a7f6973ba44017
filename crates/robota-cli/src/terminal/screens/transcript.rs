//! The whole conversation, with all output, to scroll and to search.

use std::any::Any;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent};
use robota_core::history::{EntryKind, HistoryEntry};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::message::Role as Author;
use robota_core::project::History;
use robota_sdk::SdkError;

use super::export::copy;
use super::text::Scroll;
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::terminal::conversation::Entry;
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::run::history;
use crate::terminal::screen::Cursor;
use crate::terminal::text::Line;
use crate::terminal::widgets::entry;

/// The page of the conversation.
struct Transcript {
    entries: Vec<Entry>,
    lines: Vec<Line>,
    /// The first line of each prompt.
    prompts: Vec<usize>,
    columns: usize,
    /// Whether calls show only their first line and the end of their output.
    folded: bool,
    message: Option<&'static str>,
    scroll: Scroll,
    /// Whether it was shown at its end.
    placed: bool,
}

struct Read(Result<Vec<Entry>, SdkError>);

/// Opens the page with what this program showed, and asks for what happened before.
pub(super) fn open(context: &PageContext<'_>) -> Opening {
    let page = Transcript {
        entries: context.entries.to_vec(),
        lines: Vec::new(),
        prompts: Vec::new(),
        columns: 0,
        folded: false,
        message: None,
        scroll: Scroll::default(),
        placed: false,
    };
    let read = work(|context| async move {
        Read(context.session.conversation().full_history().await.map(|history| entries(&history)))
    });
    Ok((Box::new(page), vec![read]))
}

/// Reads the conversation of a session that is not open.
pub(super) async fn stored(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<Vec<Entry>, SdkError> {
    let events = store.read(session, 0, usize::MAX).await?;
    let mut messages = History::default();
    events.iter().for_each(|event| messages.push(event));
    let mut all: Vec<HistoryEntry> = messages.drain().collect();
    all.extend(messages.finish());
    Ok(entries(&all))
}

/// Returns the messages of a history as entries.
fn entries(history: &[HistoryEntry]) -> Vec<Entry> {
    let messages = history.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Chat { role: Author::System, .. } | EntryKind::Event { .. } => None,
        EntryKind::Chat { data, .. } => Some(data),
    });
    history::of(&messages.collect::<Vec<_>>())
}

/// Renders entries, with all the output of calls or only its end. Returns the lines, and the first
/// line of each prompt.
pub(super) fn lines(entries: &[Entry], columns: usize, expanded: bool) -> (Vec<Line>, Vec<usize>) {
    let (mut lines, mut prompts) = (Vec::new(), Vec::new());
    let mut before = None;
    for one in entries {
        let start = lines.len();
        entry::append_live(one, before, (columns, Duration::ZERO, expanded), &mut lines);
        if matches!(one, Entry::Prompt(_)) {
            // The blank line before the prompt belongs to what is above.
            prompts.push((start + usize::from(before.is_some())).min(lines.len() - 1));
        }
        before = Some(one);
    }
    (lines, prompts)
}

impl Transcript {
    /// Folds the output of calls, or unfolds it. The prompt that is shown stays where it is.
    fn fold(&mut self) {
        self.folded = !self.folded;
        // The prompt above stays in view, because folding changes the numbers of the lines.
        let prompt = self.prompts.iter().rposition(|at| *at <= self.scroll.first);
        (self.lines, self.prompts) = lines(&self.entries, self.columns, !self.folded);
        if let Some(at) = prompt.and_then(|prompt| self.prompts.get(prompt)) {
            self.scroll.first = *at;
        }
    }

    /// Returns the Markdown of the answer to the last prompt that begins above the end of the screen.
    fn answer_text(&self) -> Option<String> {
        let shown = self.prompts.iter().rposition(|at| *at < self.scroll.end())?;
        let prompts = self.entries.iter().enumerate();
        let mut prompts = prompts.filter(|(_, entry)| matches!(entry, Entry::Prompt(_)));
        let start = prompts.nth(shown)?.0 + 1;
        let mut text = String::new();
        for entry in self.entries[start..].iter().take_while(|it| !matches!(it, Entry::Prompt(_))) {
            if let Entry::Text(block) = entry {
                if !text.is_empty() && !block.continues {
                    text.push('\n');
                }
                text.push_str(block.source.trim_end_matches('\n'));
                text.push('\n');
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

impl Page for Transcript {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        if self.scroll.key(key, action, &self.lines) {
            return PageOutcome::Stay(Vec::new());
        }
        let first = self.scroll.first;
        self.message = None;
        let jump = match (action, key.code) {
            (None, KeyCode::Char('o')) | (Some(Action::ToggleOutput), _) => {
                self.fold();
                return PageOutcome::Stay(Vec::new());
            }
            (None, KeyCode::Char('c')) => {
                let Some(text) = self.answer_text() else {
                    self.message = Some("there is no answer to copy");
                    return PageOutcome::Stay(Vec::new());
                };
                self.message =
                    Some("the answer was sent to the clipboard, if the terminal allows it");
                return PageOutcome::Stay(vec![Effect::Write(copy(&text))]);
            }
            (Some(Action::Transcript), _) | (None, KeyCode::Char('q')) => {
                return PageOutcome::Close(Vec::new());
            }
            (None, KeyCode::Char('[' | '{') | KeyCode::Left) => {
                self.prompts.iter().rev().find(|at| **at < first)
            }
            (None, KeyCode::Char(']' | '}') | KeyCode::Right) => {
                self.prompts.iter().find(|at| **at > first)
            }
            _ => return PageOutcome::Ignored,
        };
        self.scroll.first = jump.copied().unwrap_or(first);
        PageOutcome::Stay(Vec::new())
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        if let Ok(read) = reply.downcast::<Read>() {
            match read.0 {
                // What this program showed has the output of running commands and the notes of the
                // program too; it is complete unless the session began in another process.
                Ok(all) if prompts_of(&all) > prompts_of(&self.entries) => {
                    self.entries = all;
                    self.columns = 0;
                    self.placed = false;
                }
                Ok(_) => {}
                Err(error) => return PageOutcome::Fail(error.to_string()),
            }
        }
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        if self.columns != size.columns {
            self.columns = size.columns;
            (self.lines, self.prompts) = lines(&self.entries, size.columns, !self.folded);
        }
        if !self.placed {
            self.placed = true;
            self.scroll.first = self.lines.len();
        }
        let keys = "[ ] prompts · / finds · n next · o folds · c copies the answer · q closes";
        self.scroll.view(&self.lines, size, self.message.unwrap_or(keys))
    }
}

fn prompts_of(entries: &[Entry]) -> usize {
    entries.iter().filter(|entry| matches!(entry, Entry::Prompt(_))).count()
}
