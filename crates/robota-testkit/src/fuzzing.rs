//! Entry points of the fuzz targets of the core: each function takes arbitrary bytes and panics
//! when an invariant is violated. `fuzz/` and the test that replays its corpora call them.
#![expect(clippy::expect_used, reason = "a violated invariant panics")]

mod bytes;
mod events;
mod fake_driver;
mod hook_outputs;
mod messages;
mod schemas;
mod scripts;
mod turns;

pub use events::events;
pub use hook_outputs::hook_outputs;
pub use messages::messages;
pub use schemas::schemas;
pub use scripts::scripts;
pub use turns::turns;
