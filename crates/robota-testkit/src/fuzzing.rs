//! What the fuzzer calls to test the core: each function takes any bytes at all and panics when a
//! promise is broken. `fuzz/` and the test that replays its corpora call them.
#![expect(clippy::expect_used, reason = "a broken promise is told by panicking")]

mod bytes;
mod events;
mod hook_outputs;
mod messages;
mod schemas;
mod scripts;
mod turns;
mod world;

pub use events::events;
pub use hook_outputs::hook_outputs;
pub use messages::messages;
pub use schemas::schemas;
pub use scripts::scripts;
pub use turns::turns;
