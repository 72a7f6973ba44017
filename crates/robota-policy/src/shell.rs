//! Determines what a shell command would run, without running it.
//!
//! The text is parsed by a parser of bash ([`syntax`]) and, independently, by a general grammar;
//! only where both agree about every word is a command *proven*. Everything found on the way
//! (also inside substitutions, functions and wrappers) is judged by deny and ask rules; only
//! what is proven can be covered by an allow rule or count as read-only.

pub(crate) mod bomb;
pub(crate) mod expand;
pub(crate) mod parse;
pub(crate) mod scan;
mod syntax;
pub(crate) mod vars;
pub(crate) mod word;

pub(crate) use parse::{Part, Redirect, RedirectKind, Script};
pub(crate) use word::Word;
