//! Decodes the output of a program to text and removes secrets while it streams. A secret or a
//! character that is split between two reads is held back until the rest arrives.

use robota_core::redact::{RedactedStream, Redactor};

/// Turns a stream of bytes into redacted text.
pub(crate) struct RedactingDecoder {
    stream: RedactedStream,
    /// The first bytes of a character whose remaining bytes have not arrived yet.
    incomplete: Vec<u8>,
}

impl RedactingDecoder {
    pub(crate) fn new(redactor: &Redactor) -> Self {
        Self { stream: redactor.stream(), incomplete: Vec::new() }
    }

    /// Returns the text of the next bytes. Holds back a suffix that may be the start of a character
    /// or of a secret.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = if self.incomplete.is_empty() {
            bytes
        } else {
            self.incomplete.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.incomplete);
            &joined
        };
        let mut text = String::with_capacity(rest.len());
        loop {
            match std::str::from_utf8(rest) {
                Ok(whole) => {
                    text.push_str(whole);
                    break;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(good));
                    // No length: the bytes are the start of a character, not invalid.
                    let Some(length) = error.error_len() else {
                        self.incomplete = bad.to_vec();
                        break;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &bad[length..];
                }
            }
        }
        self.stream.push(&text)
    }

    /// Returns the text that was held back. To be called once, at the end of the stream.
    pub(crate) fn finish(&mut self) -> String {
        let incomplete = std::mem::take(&mut self.incomplete);
        let mut text = self.stream.push(&String::from_utf8_lossy(&incomplete));
        text.push_str(&self.stream.finish());
        text
    }
}

#[cfg(test)]
mod tests;
