//! What the fuzzer calls: each function takes any bytes at all and panics when a promise is
//! broken. Behind the feature `fuzzing`, so that `fuzz/` and the test that replays its corpora
//! can reach them; no program needs it.
#![expect(clippy::expect_used, reason = "a broken promise is told by panicking")]

mod bytes;
mod events;
mod hook_outputs;
mod messages;
mod schemas;
#[cfg(feature = "scripted")]
mod scripts;
mod turns;
mod world;

pub use events::events;
pub use hook_outputs::hook_outputs;
pub use messages::messages;
pub use schemas::schemas;
#[cfg(feature = "scripted")]
pub use scripts::scripts;
pub use turns::turns;

#[cfg(test)]
mod tests;
