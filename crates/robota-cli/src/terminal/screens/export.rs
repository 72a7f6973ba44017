//! The conversation as Markdown: to a file, or to the clipboard.

use std::any::Any;
use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent};
use robota_sdk::Entered;

use super::text::Scroll;
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::run::write_new;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, wrap};

/// The page.
#[derive(Default)]
struct Export {
    text: Option<String>,
    lines: Vec<Line>,
    columns: usize,
    scroll: Scroll,
    message: Option<String>,
}

struct Exported(Result<String, String>);
struct Saved(Result<PathBuf, String>);

/// Opens the page and asks for the text.
pub(super) fn open() -> Opening {
    let find = work(|context| async move {
        Exported(match context.session.enter("/export").await {
            Ok(Entered::Command(result)) if result.success => {
                let text = result.data.get("text").and_then(serde_json::Value::as_str);
                Ok(text.unwrap_or(&result.message).to_owned())
            }
            Ok(Entered::Command(result)) => Err(result.message),
            Ok(Entered::Submitted(_)) => Err("/export is no command".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    });
    Ok((Box::new(Export::default()), vec![find]))
}

/// Saves the text in the folder, in a file that does not exist yet.
fn save(text: String) -> Effect {
    work(move |context| async move {
        let id = context.session.id().as_str();
        let id: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
        // The id can be a name with slashes, which would be folders.
        let short = &id[..id.len().min(8)];
        let file = context.setup.places.cwd.join(format!("conversation-{short}.md"));
        Saved(write_new(&file, &text).map(|()| file))
    })
}

/// Returns the sequence that puts a text into the clipboard, by OSC 52.
pub(super) fn copy(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    // OSC 52: works over SSH too, where a program on this machine could not reach the clipboard of
    // the user. Terminals give no answer, so success is not known.
    format!("\x1b]52;c;{encoded}\x07").into_bytes()
}

impl Page for Export {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        if self.scroll.key(key, action, &self.lines) {
            return PageOutcome::Stay(Vec::new());
        }
        match (action, key.code, &self.text) {
            (None, KeyCode::Char('s'), Some(text)) => PageOutcome::Stay(vec![save(text.clone())]),
            (None, KeyCode::Char('c'), Some(text)) => {
                let effects = vec![Effect::Write(copy(text))];
                self.message = Some("sent to the clipboard, if the terminal allows it".to_owned());
                PageOutcome::Stay(effects)
            }
            (None, KeyCode::Char('q'), _) => PageOutcome::Close(Vec::new()),
            _ => PageOutcome::Ignored,
        }
    }

    fn is_loading(&self) -> bool {
        self.text.is_none()
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let reply = match reply.downcast::<Exported>() {
            Ok(found) => match found.0 {
                Ok(text) => {
                    (self.text, self.columns) = (Some(text), 0);
                    return PageOutcome::Stay(Vec::new());
                }
                Err(why) => return PageOutcome::Fail(why),
            },
            Err(reply) => reply,
        };
        if let Ok(saved) = reply.downcast::<Saved>() {
            self.message = Some(match saved.0 {
                Ok(file) => format!("saved as {}", file.display()),
                Err(why) => why,
            });
        }
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        if self.columns != size.columns {
            self.columns = size.columns;
            let lines = self.text.as_deref().unwrap_or_default().lines();
            self.lines = lines
                .flat_map(|line| wrap(&Line::new(line, Role::Text), size.columns, 0))
                .collect();
        }
        let keys = "s saves it in this folder · c copies it · q closes";
        let keys = match &self.message {
            Some(message) => format!("{message} · {keys}"),
            None => keys.to_owned(),
        };
        self.scroll.view(&self.lines, size, &keys)
    }
}

#[cfg(test)]
mod tests;
