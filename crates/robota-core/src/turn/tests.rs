//! The turn machine without any I/O: examples by rule, and properties over arbitrary runs.

mod abort;
mod batch;
mod compaction;
mod concurrency;
mod golden;
mod harness;
mod hooks;
mod invariants;
mod properties;
mod repeats;
mod retry;
mod rounds;
mod stops;
