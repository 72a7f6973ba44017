//! Tool call ids, in the form that each wire accepts.

use robota_core::ids::CallId;
use sha2::{Digest as _, Sha256};

/// What a wire requires of tool call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// Any id that is not empty; ids may repeat between turns.
    Any,
    /// Letters, digits, `_` and `-`, at most 64 characters, unique in a conversation.
    Plain,
    /// Exactly nine letters and digits, unique in a conversation.
    Alnum9,
}

impl IdRule {
    /// Returns whether an id can be sent unchanged.
    pub(crate) fn accepts(self, id: &str) -> bool {
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

    /// Returns whether an id may occur only once in a conversation.
    pub(crate) fn unique(self) -> bool {
        match self {
            Self::Any => false,
            Self::Plain | Self::Alnum9 => true,
        }
    }

    /// Generates an id to replace one that cannot be sent. The same call always gets the same id.
    pub(crate) fn generate(self, call: &CallId) -> String {
        const LETTERS: &[u8; 62] =
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let length = match self {
            Self::Any | Self::Plain => 22,
            Self::Alnum9 => 9,
        };
        // A hash and not a counter: the same call must have the same id in every later request, or
        // the cache of the service misses.
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
    fn generated_ids_are_accepted_and_stable() {
        for rule in [IdRule::Any, IdRule::Plain, IdRule::Alnum9] {
            let id = rule.generate(&"0193-a".into());
            assert!(rule.accepts(&id), "{id}");
            assert_eq!(id, rule.generate(&"0193-a".into()));
            assert_ne!(id, rule.generate(&"0193-b".into()));
        }
        assert!(!IdRule::Plain.accepts("call:1"));
        assert!(!IdRule::Plain.accepts(&"x".repeat(65)));
        assert!(!IdRule::Alnum9.accepts("toolu_a12"));
    }
}
