//! Which bytes stand for which text. Files are edited as UTF-8 and written back as they were.

use encoding_rs::{Decoder, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::{BOM, is_binary};

/// How a text file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, perhaps with some bytes that are not.
    Utf8,
    /// UTF-16 with the low byte first, marked as such.
    Utf16Le,
    /// UTF-16 with the high byte first, marked as such.
    Utf16Be,
    /// One byte, one character, as Western Windows and (nearly) Latin-1 have it.
    Windows1252,
}

impl Encoding {
    /// The encoding of a file that starts like this; `None` if it is not text.
    #[must_use]
    pub fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0xFF, 0xFE, 0, 0, ..] => None,
            [0xFF, 0xFE, ..] => Some(Self::Utf16Le),
            [0xFE, 0xFF, ..] => Some(Self::Utf16Be),
            _ if is_binary(start) => None,
            _ if single_bytes(start) => Some(Self::Windows1252),
            _ => Some(Self::Utf8),
        }
    }

    /// Its name, for people; `None` for what needs no mention.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::Utf16Le => Some("UTF-16LE"),
            Self::Utf16Be => Some("UTF-16BE"),
            Self::Windows1252 => Some("Windows-1252 (Latin-1)"),
        }
    }

    /// Reads a stream of it; `None` if its bytes are the text.
    pub(super) fn decoder(self) -> Option<Decoder> {
        match self {
            Self::Utf8 => None,
            Self::Utf16Le => Some(UTF_16LE.new_decoder_without_bom_handling()),
            Self::Utf16Be => Some(UTF_16BE.new_decoder_without_bom_handling()),
            Self::Windows1252 => Some(WINDOWS_1252.new_decoder_without_bom_handling()),
        }
    }

    /// The content as UTF-8, a mark included. `None` if it would not come back as it was.
    pub(super) fn decode(self, content: &[u8]) -> Option<Vec<u8>> {
        let encoding = match self {
            Self::Utf8 => return Some(content.to_vec()),
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Windows1252 => WINDOWS_1252,
        };
        let (text, malformed) = encoding.decode_without_bom_handling(content);
        let text = text.into_owned().into_bytes();
        (!malformed && self.encode(&text).as_deref() == Some(content)).then_some(text)
    }

    /// The text in this encoding; `None` if it has characters that this has not.
    pub(super) fn encode(self, text: &[u8]) -> Option<Vec<u8>> {
        let units = |to_bytes: fn(u16) -> [u8; 2]| {
            let text = std::str::from_utf8(text).ok()?;
            Some(text.encode_utf16().flat_map(to_bytes).collect())
        };
        match self {
            Self::Utf8 => Some(text.to_vec()),
            Self::Utf16Le => units(u16::to_le_bytes),
            Self::Utf16Be => units(u16::to_be_bytes),
            Self::Windows1252 => {
                let (bytes, _, unmappable) = WINDOWS_1252.encode(std::str::from_utf8(text).ok()?);
                (!unmappable).then(|| bytes.into_owned())
            }
        }
    }
}

/// Whether there are bytes that UTF-8 does not have, and no character that only UTF-8 would
/// write with several: a file that is mostly UTF-8 stays UTF-8.
fn single_bytes(start: &[u8]) -> bool {
    if start.starts_with(BOM) {
        return false;
    }
    let (mut wrong, mut several) = (false, false);
    let mut chunks = start.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        several |= !chunk.valid().is_ascii();
        // A character that the end of what we look at has cut is not wrong.
        let cut = chunks.peek().is_none()
            && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        wrong |= !chunk.invalid().is_empty() && !cut;
    }
    wrong && !several
}

#[cfg(test)]
mod tests;
