//! The build steps of the project: what contributors and CI run.
//!
//! Each module is a step; `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "they print to the terminal")]

#[cfg(feature = "generate")]
pub mod generate;
pub mod programs;
pub mod setup;
pub mod sh;
pub mod suite;
pub mod tidy;
pub mod tree;
