//! Leases of this store that no writer holds.
//!
//! A writer releases its lease when it is dropped. But an unreachable database does not receive the
//! release, and a database that crashes may lose it. So the store remembers which of its leases
//! ended: the next writer that opens the session through this store need not wait until such a
//! lease expires.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Identifies a lease; no other lease, here or elsewhere, ever has the same token.
pub(super) type Token = i64;

/// Returns a new token, which no lease had before.
pub(super) fn fresh_token() -> Token {
    // Each `RandomState` has its own keys from the system's random source. Tokens are random, not
    // counted, because a counted token that was never committed would be given out again. The shift
    // keeps it positive; zero is the token of a session without a writer.
    let random = RandomState::new().hash_one(std::process::id()) >> 1;
    Token::try_from(random.max(1)).unwrap_or(1)
}

/// The ended leases of one store, and when they ended.
#[derive(Debug)]
pub(super) struct EndedLeases {
    /// After this time they have expired in the database too.
    keep: Duration,
    tokens: Mutex<HashMap<Token, Instant>>,
}

impl EndedLeases {
    /// Creates the list for leases with that duration.
    pub(super) fn new(ttl: Duration) -> Self {
        // Twice the duration: the clocks of the process and the database may differ.
        Self { keep: ttl.saturating_mul(2), tokens: Mutex::default() }
    }

    /// Records that a lease ended.
    pub(super) fn add(&self, token: Token) {
        let now = Instant::now();
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, since| now.saturating_duration_since(*since) <= self.keep);
        tokens.entry(token).or_insert(now);
    }

    /// Returns whether this was a lease of this store that has ended.
    pub(super) fn contains(&self, token: Token) -> bool {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&token)
    }
}

#[cfg(test)]
mod tests;
