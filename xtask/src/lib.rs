//! The project's own process, as code: what a contributor and CI run.
//!
//! | command | what it does |
//! |---|---|
//! | `cargo xtask setup` | installs what the tests need (Debian, as root), or says what to install |
//! | `cargo xtask test` | everything that must hold before a change lands; all that CI runs |
//! | `cargo xtask tidy` | conventions no compiler checks, one small file per check |
//! | `cargo xtask gen [--check]` | writes the generated files, or says which are out of date |
//! | `cargo xtask fuzz --secs N [TARGET]` | fuzzes on stable Rust |
//! | `cargo xtask bench [FILTER]` | benchmarks, as ratios measured in one run |
//!
//! The checks are functions from a [`tree::Tree`] (paths and texts) to findings, so that a test
//! can show on two lines of text that each of them is able to fail:
//!
//! ```
//! use xtask::{tidy::unfinished, tree::Tree};
//!
//! let tree = Tree::of(&[("crates/a/src/lib.rs", "fn f() { todo!() }")]);
//! assert_eq!(unfinished::check(&tree).len(), 1);
//! ```
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build step talks to the terminal of whoever runs it"
)]

pub mod bench;
pub mod fuzz;
pub mod generate;
pub mod rust_scan;
pub mod rust_text;
pub mod setup;
pub mod sh;
pub mod suite;
pub mod tidy;
pub mod tree;
