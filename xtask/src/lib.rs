//! The build steps of the project: what contributors and CI run.
//!
//! Each module is a step; `cargo xtask help` lists them.
//!
//! A check is a function from a [`tree::Tree`] (paths and texts) to findings, so a test can show
//! with two lines of text that it fails when it should:
//!
//! ```
//! use xtask::{tidy, tree::Tree};
//!
//! let tree = Tree::parse("-- docs/guide.md\nsee [this](missing.md)");
//! assert_eq!(tidy::links(&tree)?.len(), 1);
//! # Ok::<_, anyhow::Error>(())
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "they print to the terminal")]

pub mod bench;
pub mod fuzz;
#[cfg(feature = "generate")]
pub mod generate;
pub mod setup;
pub mod sh;
pub mod single_tests;
pub mod suite;
pub mod tidy;
pub mod tree;
