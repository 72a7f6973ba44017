//! Seals: who created a session. A session that came with a checked-out repository does not have
//! this user's seal.

use robota_core::blob::hex;
use robota_core::ids::SessionId;
use sha2::{Digest, Sha256};

/// The size of SHA-256's blocks.
const BLOCK: usize = 64;

/// A secret of the user that seals the sessions they create.
#[derive(Clone)]
pub(super) struct OwnerKey(Vec<u8>);

impl std::fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnerKey(..)")
    }
}

impl OwnerKey {
    /// Uses that secret.
    pub(super) fn new(secret: Vec<u8>) -> Self {
        Self(secret)
    }

    /// Returns the seal of a session that was created at that time.
    pub(super) fn seal(&self, session: &SessionId, created: jiff::Timestamp) -> String {
        // With the length first, two different pairs never give the same text.
        let id = session.as_str();
        let text = format!("robota session\n{}\n{id}\n{created}\n", id.len());
        hex(&hmac(&self.0, text.as_bytes()))
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

/// HMAC with SHA-256 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests;
