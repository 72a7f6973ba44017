//! The build steps of the project: what contributors and CI run.
//!
//! | command | what it does |
//! |---|---|
//! | `cargo xtask setup` | installs what the tests need (Debian, as root), or says what to install |
//! | `cargo xtask test` | runs every check and every test; CI runs this and nothing else |
//! | `cargo xtask tidy` | checks conventions that no compiler and no lint checks |
//! | `cargo xtask gen [--check]` | writes the generated files, or reports which are out of date |
//! | `cargo xtask fuzz --secs N [TARGET]` | fuzzes on stable Rust |
//! | `cargo xtask oracle --secs N` | runs what the permission policy calls read-only |
//! | `cargo xtask bench [FILTER]` | runs the benchmarks and prints ratios measured in one run |
//! | `cargo xtask screens` | draws the pictures of the terminal program in `docs/screens` |
//!
//! A check is a function from a [`tree::Tree`] (paths and texts) to findings, so a test can show
//! with two lines of text that it fails when it should:
//!
//! ```
//! use xtask::{tidy, tree::Tree};
//!
//! let tree = Tree::of(&[("docs/guide.md", "see [this](missing.md)")]);
//! assert_eq!(tidy::links(&tree).len(), 1);
//! ```
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the build steps print to the terminal"
)]

pub mod bench;
pub mod fuzz;
#[cfg(feature = "generate")]
pub mod generate;
pub mod oracle;
mod pty;
pub mod screens;
pub mod setup;
pub mod sh;
pub mod suite;
pub mod tidy;
pub mod tree;
