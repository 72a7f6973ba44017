//! Ids of tool calls, as each wire takes them.

use robota_core::ids::CallId;
use sha2::{Digest as _, Sha256};

/// What a wire asks of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// Anything that is not empty; may repeat from turn to turn.
    Any,
    /// Letters, digits, `_` and `-`, at most 64 of them, each id once in a conversation.
    Plain,
    /// Nine letters and digits.
    Alnum9,
}

impl IdRule {
    /// Whether an id can be sent as it is.
    pub(crate) fn takes(self, id: &str) -> bool {
        match self {
            Self::Any => !id.is_empty(),
            Self::Plain => {
                (1..=64).contains(&id.len())
                    && id
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
            }
            Self::Alnum9 => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        }
    }

    /// Whether an id must not come twice.
    pub(crate) fn unique(self) -> bool {
        match self {
            Self::Any => false,
            Self::Plain | Self::Alnum9 => true,
        }
    }

    /// An id in place of one that cannot be sent: always the same for the same call.
    pub(crate) fn make(self, call: &CallId) -> String {
        const LETTERS: &[u8; 62] =
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let length = match self {
            Self::Any | Self::Plain => 22,
            Self::Alnum9 => 9,
        };
        let digest = Sha256::digest(call.as_str().as_bytes());
        let letters = digest.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % 62]));
        let id: String = letters.take(length).collect();
        match self {
            Self::Any | Self::Plain => format!("call_{id}"),
            Self::Alnum9 => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_ids_are_taken_and_stable() {
        for rule in [IdRule::Any, IdRule::Plain, IdRule::Alnum9] {
            let id = rule.make(&"0193-a".into());
            assert!(rule.takes(&id), "{id}");
            assert_eq!(id, rule.make(&"0193-a".into()));
            assert_ne!(id, rule.make(&"0193-b".into()));
        }
        assert!(!IdRule::Plain.takes("call:1"));
        assert!(!IdRule::Plain.takes(&"x".repeat(65)));
        assert!(!IdRule::Alnum9.takes("toolu_a12"));
    }
}
