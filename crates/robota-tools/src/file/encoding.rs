//! Text encodings. Files are edited as UTF-8 and written back in their own encoding.

use encoding_rs::{Decoder, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::{BOM, is_binary};

/// Says how a text file is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, possibly with some invalid bytes.
    Utf8,
    /// UTF-16, little-endian, with a byte order mark.
    Utf16Le,
    /// UTF-16, big-endian, with a byte order mark.
    Utf16Be,
    /// Windows-1252, one byte per character; nearly the same as Latin-1.
    Windows1252,
}

impl Encoding {
    /// Detects the encoding from the start of a file; `None` if it is not text.
    #[must_use]
    pub fn of(start: &[u8]) -> Option<Self> {
        match start {
            // UTF-32, which would otherwise pass for UTF-16 with NUL characters.
            [0xFF, 0xFE, 0, 0, ..] => None,
            [0xFF, 0xFE, ..] => Some(Self::Utf16Le),
            [0xFE, 0xFF, ..] => Some(Self::Utf16Be),
            _ if is_binary(start) => None,
            _ if is_windows_1252(start) => Some(Self::Windows1252),
            _ => Some(Self::Utf8),
        }
    }

    /// Returns its name for messages; `None` for UTF-8, which is not mentioned.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::Utf16Le => Some("UTF-16LE"),
            Self::Utf16Be => Some("UTF-16BE"),
            Self::Windows1252 => Some("Windows-1252 (Latin-1)"),
        }
    }

    /// Returns a streaming decoder; `None` for UTF-8, which needs none.
    pub(super) fn decoder(self) -> Option<Decoder> {
        match self {
            Self::Utf8 => None,
            Self::Utf16Le => Some(UTF_16LE.new_decoder_without_bom_handling()),
            Self::Utf16Be => Some(UTF_16BE.new_decoder_without_bom_handling()),
            Self::Windows1252 => Some(WINDOWS_1252.new_decoder_without_bom_handling()),
        }
    }

    /// Decodes the content to UTF-8, including the byte order mark. `None` if encoding the result
    /// would not give the same bytes.
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

    /// Encodes UTF-8 text; `None` if this encoding cannot represent it.
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

/// Returns whether there are invalid UTF-8 bytes and no valid multi-byte character. A file with both is
/// treated as damaged UTF-8.
fn is_windows_1252(start: &[u8]) -> bool {
    if start.starts_with(BOM) {
        return false;
    }
    let (mut invalid, mut multi_byte) = (false, false);
    let mut chunks = start.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        multi_byte |= !chunk.valid().is_ascii();
        // A character that is cut by the end of `start` is not invalid.
        let cut = chunks.peek().is_none()
            && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        invalid |= !chunk.invalid().is_empty() && !cut;
    }
    invalid && !multi_byte
}

#[cfg(test)]
mod tests;
