//! The checkpoints: one for each prompt. The user chooses one, sees what a restore would change, and
//! restores the files, the conversation or both.

use std::any::Any;

use crossterm::event::{KeyCode, KeyEvent};
use robota_core::project::{Checkpoint, CheckpointKind};
use robota_sdk::interactive::diff_lines;
use robota_session::{RestorePreview, SessionError};

use super::list::{Item, List, ListKey};
use super::text::Scroll;
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::terminal::diff;
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, wrap};

/// The page of checkpoints.
struct Rewind {
    list: List<Checkpoint>,
    /// What a restore of the chosen checkpoint would do.
    preview: Option<Chosen>,
}

struct Chosen {
    preview: RestorePreview,
    lines: Vec<Line>,
    /// The width for which the lines were made.
    columns: usize,
    scroll: Scroll,
}

struct LoadedCheckpoints(Result<Vec<Checkpoint>, SessionError>);
struct Previewed(Result<RestorePreview, SessionError>);

/// Opens the page and asks for the checkpoints.
pub(super) fn open(context: &PageContext<'_>) -> Opening {
    // A call of the turn could use half of the restored files.
    if context.busy {
        return Err("stop the turn before you go back (Esc)".to_owned());
    }
    let find = work(|context| async move {
        LoadedCheckpoints(context.session.session().checkpoints().list().await)
    });
    Ok((Box::new(Rewind { list: List::loading(), preview: None }), vec![find]))
}

fn item(checkpoint: Checkpoint) -> Item<Checkpoint> {
    let files = match checkpoint.files.len() {
        0 => "no files changed".to_owned(),
        1 => "1 file changed".to_owned(),
        count => format!("{count} files changed"),
    };
    let title = match checkpoint.kind {
        CheckpointKind::Prompt => checkpoint.prompt.clone(),
        _ => format!("({})", checkpoint.prompt),
    };
    Item { title, detail: files, value: checkpoint }
}

impl Rewind {
    /// Restores what the user chose, with the command `/rewind`.
    fn restore(&self, scope: &str) -> PageOutcome {
        match &self.preview {
            Some(chosen) => {
                // By the command, so that the conversation shows what was done, as after a typed
                // one.
                PageOutcome::Enter(format!("/rewind {scope} {}", chosen.preview.checkpoint.id))
            }
            None => PageOutcome::Ignored,
        }
    }

    fn preview_key(&mut self, key: &KeyEvent, action: Option<Action>) -> PageOutcome {
        let Some(chosen) = &mut self.preview else { return PageOutcome::Ignored };
        if chosen.scroll.key(key, action, &chosen.lines) {
            return PageOutcome::Stay(Vec::new());
        }
        match (action, key.code) {
            (Some(Action::Cancel), _) | (None, KeyCode::Char('q')) => {
                self.preview = None;
                PageOutcome::Stay(Vec::new())
            }
            (None, KeyCode::Char('b')) => self.restore("restore"),
            (None, KeyCode::Char('f')) => self.restore("code"),
            (None, KeyCode::Char('c')) => self.restore("conversation"),
            _ => PageOutcome::Ignored,
        }
    }
}

impl Page for Rewind {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        if self.preview.is_some() {
            return self.preview_key(key, action);
        }
        match self.list.key(key, action) {
            ListKey::Used => PageOutcome::Stay(Vec::new()),
            ListKey::Unused => PageOutcome::Ignored,
            ListKey::Accepted => {
                PageOutcome::Stay(self.list.selected().map(preview).into_iter().collect())
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
        let reply = match reply.downcast::<LoadedCheckpoints>() {
            Ok(found) => {
                return match found.0 {
                    Ok(list) if list.is_empty() => {
                        PageOutcome::Fail("there is nothing to go back to".to_owned())
                    }
                    Ok(list) => {
                        // The last prompt is the one that users go back to most.
                        self.list.set(list.into_iter().rev().map(item).collect());
                        PageOutcome::Stay(Vec::new())
                    }
                    Err(error) => PageOutcome::Fail(error.to_string()),
                };
            }
            Err(reply) => reply,
        };
        if let Ok(previewed) = reply.downcast::<Previewed>() {
            match previewed.0 {
                Ok(preview) => {
                    let (lines, scroll) = (Vec::new(), Scroll::default());
                    self.preview = Some(Chosen { preview, lines, columns: 0, scroll });
                }
                Err(error) => return PageOutcome::Fail(error.to_string()),
            }
        }
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, context: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        if let Some(chosen) = &mut self.preview {
            if chosen.columns != size.columns {
                chosen.columns = size.columns;
                let root = &context.facts.root;
                chosen.lines = preview_lines(&chosen.preview, root, size.columns);
            }
            let keys = "b files and conversation · f files · c conversation · Esc back";
            return chosen.scroll.view(&chosen.lines, size, keys);
        }
        let keys = "Enter shows what would change · Esc closes";
        let (lines, cursor) = self.list.page("Go back to before a prompt", keys, size);
        (lines, Some(cursor))
    }
}

fn preview(item: &Item<Checkpoint>) -> Effect {
    let id = item.value.id.clone();
    work(move |context| async move {
        Previewed(context.session.session().checkpoints().preview(&id).await)
    })
}

/// Renders what a restore would do.
fn preview_lines(preview: &RestorePreview, root: &str, columns: usize) -> Vec<Line> {
    let title = format!("Before: {}", preview.checkpoint.prompt);
    let mut lines = wrap(&Line::new(title, Role::Accent), columns, 2);
    let messages = match preview.messages_removed {
        Some(count) => format!("Conversation: {count} messages are removed"),
        None => "Conversation: cannot be restored".to_owned(),
    };
    lines.push(Line::new(messages, Role::Text));
    let files = match preview.files.len() {
        0 => "Files: none differs".to_owned(),
        1 => "Files: 1 differs".to_owned(),
        count => format!("Files: {count} differ"),
    };
    lines.push(Line::new(files, Role::Text));
    for file in &preview.files {
        lines.push(Line::default());
        // Files of the folder are named as the calls name them.
        let inside = file.path.strip_prefix(root).and_then(|path| path.strip_prefix('/'));
        let name = inside.unwrap_or(&file.path);
        lines.extend(wrap(&Line::new(name, Role::Text.bold()), columns, 2));
        match (&file.problem, &file.diff) {
            (Some(problem), _) => {
                let text = format!("not restored: {problem}");
                lines.extend(wrap(&Line::new(text, Role::Warn), columns, 2));
            }
            (None, Some(changes)) => {
                lines.extend(diff::render(&diff_lines(changes), Some(&file.path), columns));
            }
            (None, None) => lines.push(Line::new("not text", Role::Dim)),
        }
    }
    for not in &preview.checkpoint.not_covered {
        let text = format!("not compared: {} ({})", not.path, not.reason);
        lines.extend(wrap(&Line::new(text, Role::Dim), columns, 2));
    }
    lines
}
