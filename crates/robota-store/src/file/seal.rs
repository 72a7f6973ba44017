//! Seals: who created a session. A session that came with a checked-out repository does not have
//! this user's seal.

use robota_core::hash::{hex, hmac_sha256};
use robota_core::ids::SessionId;

/// A secret of the user that seals the sessions they create.
#[derive(Clone)]
pub(super) struct OwnerKey(Vec<u8>);

impl std::fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnerKey(..)")
    }
}

impl OwnerKey {
    /// Uses this secret of the user for all seals.
    pub(super) fn new(secret: Vec<u8>) -> Self {
        Self(secret)
    }

    /// Returns the seal of a session that was created at that time.
    pub(super) fn seal(&self, session: &SessionId, created: jiff::Timestamp) -> String {
        // With the length first, two different pairs never give the same text.
        let id = session.as_str();
        let text = format!("robota session\n{}\n{id}\n{created}\n", id.len());
        hex(&hmac_sha256(&self.0, text.as_bytes()))
    }

    /// Returns whether a seal is the one of that session.
    pub(super) fn verify(&self, session: &SessionId, created: jiff::Timestamp, seal: &str) -> bool {
        let ours = self.seal(session, created);
        // Compares in constant time, so the duration does not reveal where the first difference is.
        ours.len() == seal.len()
            && ours.bytes().zip(seal.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b))
                == 0
    }
}

#[cfg(test)]
mod tests;
