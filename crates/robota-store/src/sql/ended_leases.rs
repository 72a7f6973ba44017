//! The writers of this store that are over.
//!
//! A writer gives its lease back when it is dropped, but a database that cannot be reached hears
//! nothing of it, and one that dies may forget what it heard. So the store itself remembers which
//! of its own leases nobody has any more: whoever opens the session next through this store need
//! not wait until such a lease runs out.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What tells one lease from every other that was ever given, here or elsewhere.
pub(super) type Token = i64;

/// A token that nobody has, had or will have.
pub(super) fn fresh_token() -> Token {
    // Each state has keys of its own, from the system's randomness. A token that was never
    // committed must not be another's later, so they are not counted. One bit is left, so that it
    // is positive; zero is the row of a session without a writer.
    let random = RandomState::new().hash_one(std::process::id()) >> 1;
    Token::try_from(random.max(1)).unwrap_or(1)
}

/// The leases of one store that nobody has any more, and since when.
#[derive(Debug)]
pub(super) struct EndedLeases {
    /// Older than this they ran out in the database too.
    keep: Duration,
    tokens: Mutex<HashMap<Token, Instant>>,
}

impl EndedLeases {
    /// For leases that last so long.
    pub(super) fn new(ttl: Duration) -> Self {
        // Twice: two clocks need not agree on how long it is.
        Self { keep: ttl.saturating_mul(2), tokens: Mutex::default() }
    }

    /// Nobody has that lease any more.
    pub(super) fn add(&self, token: Token) {
        let now = Instant::now();
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, since| now.saturating_duration_since(*since) <= self.keep);
        tokens.entry(token).or_insert(now);
    }

    /// Whether it was a lease of this store, and is nobody's.
    pub(super) fn contains(&self, token: Token) -> bool {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&token)
    }
}

#[cfg(test)]
mod tests;
