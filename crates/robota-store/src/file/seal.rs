//! Whose a session is. A session that came with a checkout has no seal of this user's.

use robota_core::blob::hex;
use robota_core::ids::SessionId;
use sha2::{Digest, Sha256};

/// The size of SHA-256's blocks.
const BLOCK: usize = 64;

/// A secret of the user's, which seals the sessions they begin.
#[derive(Clone)]
pub(super) struct OwnerKey(Vec<u8>);

impl std::fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnerKey(..)")
    }
}

impl OwnerKey {
    /// That secret.
    pub(super) fn new(secret: Vec<u8>) -> Self {
        Self(secret)
    }

    /// The seal of a session that began then.
    pub(super) fn seal(&self, session: &SessionId, created: jiff::Timestamp) -> String {
        // Lengths first, so that no two pairs are one text.
        let id = session.as_str();
        let text = format!("robota session\n{}\n{id}\n{created}\n", id.len());
        hex(&hmac(&self.0, text.as_bytes()))
    }

    /// Whether a seal is that of such a session.
    pub(super) fn verify(&self, session: &SessionId, created: jiff::Timestamp, seal: &str) -> bool {
        let ours = self.seal(session, created);
        // Does not say where the first difference is.
        ours.len() == seal.len()
            && ours.bytes().zip(seal.bytes()).fold(0, |found, (a, b)| found | (a ^ b)) == 0
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
