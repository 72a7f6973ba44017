//! Output as text without secrets, while it streams: neither a secret nor a character that is cut
//! in two by how the bytes arrive gets through.

use robota_core::redact::{RedactedStream, Redactor};

/// Makes clean text of bytes.
pub(crate) struct Clean {
    stream: RedactedStream,
    /// The beginning of a character whose rest has not come yet.
    cut: Vec<u8>,
}

impl Clean {
    pub(crate) fn new(redactor: &Redactor) -> Self {
        Self { stream: redactor.stream(), cut: Vec::new() }
    }

    /// The text of the next bytes, without what may be the beginning of a character or a secret.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let mut rest = if self.cut.is_empty() {
            bytes
        } else {
            self.cut.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.cut);
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
                    let Some(length) = error.error_len() else {
                        self.cut = bad.to_vec();
                        break;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &bad[length..];
                }
            }
        }
        self.stream.push(&text)
    }

    /// What was held back at the end.
    pub(crate) fn finish(&mut self) -> String {
        let cut = std::mem::take(&mut self.cut);
        let mut text = self.stream.push(&String::from_utf8_lossy(&cut));
        text.push_str(&self.stream.finish());
        text
    }
}

#[cfg(test)]
mod tests;
