//! Pasted texts and images. In the buffer each is one private character, so that it is edited like
//! a letter; the view shows its label.

use std::path::PathBuf;
use std::sync::Arc;

use super::Draft;

/// Pasted texts with more lines or characters become placeholders.
const LINES: usize = 5;
const CHARACTERS: usize = 1000;

/// The first of the private characters.
// Plane 15 is for private use: texts do not have these characters, and `clean` removes them.
const FIRST: u32 = 0xf_0000;
// The last two code points of a plane are no characters.
const COUNT: u32 = 0xfffe;

/// An image that is sent with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Image {
    /// A file, which is read when the text is sent.
    File(PathBuf),
    /// The bytes of a PNG image, from the clipboard.
    Png(Arc<[u8]>),
}

#[derive(Debug)]
pub(super) enum Attachment {
    Pasted(String),
    Image(Image),
}

/// The attachments of a text. Numbers count each kind.
#[derive(Debug, Default)]
pub(super) struct Attachments(Vec<(Attachment, usize)>);

impl Attachments {
    /// Keeps an attachment and returns the character that represents it.
    pub(super) fn add(&mut self, attachment: Attachment) -> char {
        let same = |other: &&(Attachment, usize)| {
            matches!(other.0, Attachment::Image(_)) == matches!(attachment, Attachment::Image(_))
        };
        // Never reused while the text is edited: undo can bring a placeholder back.
        let number = self.0.iter().filter(same).count() + 1;
        self.0.push((attachment, number));
        let index = u32::try_from(self.0.len() - 1).unwrap_or(0);
        char::from_u32(FIRST + index % COUNT).unwrap_or(' ')
    }

    fn get(&self, letter: char) -> Option<&(Attachment, usize)> {
        if !is_placeholder(letter) {
            return None;
        }
        self.0.get(usize::try_from(u32::from(letter) - FIRST).ok()?)
    }

    /// Returns the pasted text that a character represents.
    pub(super) fn pasted(&self, letter: char) -> Option<&str> {
        match self.get(letter)? {
            (Attachment::Pasted(text), _) => Some(text),
            (Attachment::Image(_), _) => None,
        }
    }

    /// Returns how a character is shown, if it is a placeholder.
    pub(super) fn label(&self, letter: char) -> Option<String> {
        Some(match self.get(letter)? {
            (Attachment::Pasted(text), number) => {
                let lines = text.lines().count();
                let size = if lines > 1 {
                    format!("{lines} lines")
                } else {
                    format!("{} characters", text.chars().count())
                };
                format!("[Pasted text #{number}, {size}]")
            }
            (Attachment::Image(_), number) => format!("[Image #{number}]"),
        })
    }

    /// Returns what a text with placeholders means.
    pub(super) fn expand(&self, text: &str) -> Draft {
        let mut draft = Draft::default();
        for letter in text.chars() {
            match self.get(letter) {
                Some((Attachment::Pasted(text), _)) => draft.text.push_str(text),
                Some((Attachment::Image(image), number)) => {
                    draft.text.push_str(&format!("[Image #{number}]"));
                    if !draft.images.iter().any(|(other, _)| other == number) {
                        draft.images.push((*number, image.clone()));
                    }
                }
                None => draft.text.push(letter),
            }
        }
        draft
    }
}

/// Returns whether a pasted text becomes a placeholder.
pub(super) fn is_long(text: &str) -> bool {
    text.lines().nth(LINES).is_some() || text.chars().nth(CHARACTERS).is_some()
}

/// Returns whether a character can represent an attachment.
pub(super) fn is_placeholder(letter: char) -> bool {
    (FIRST..FIRST + COUNT).contains(&u32::from(letter))
}
