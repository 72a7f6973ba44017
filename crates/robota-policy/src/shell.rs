//! What a shell command would run, as far as it can be known without running it.
//!
//! The text is parsed by a parser of bash ([`syntax`]) and, independently, by a general grammar;
//! only where both agree about every word is a command *proven*. Everything found on the way (also inside substitutions, functions and wrappers) is judged by deny and ask
//! rules; only what is proven can be covered by an allow rule or count as read-only.

pub(crate) mod assign;
mod awk;
pub(crate) mod bomb;
pub(crate) mod builtins;
pub(crate) mod danger;
mod danger_git;
mod danger_table;
pub(crate) mod expand;
pub(crate) mod files;
mod files_table;
pub(crate) mod mention;
pub(crate) mod parse;
pub(crate) mod readonly;
mod readonly_git;
mod readonly_table;
pub(crate) mod removal;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod sed;
mod syntax;
pub(crate) mod text;
pub(crate) mod vars;
pub(crate) mod word;
pub(crate) mod wrappers;
mod wrappers_table;

pub(crate) use parse::{Part, RedirectKind, Script};
pub(crate) use word::Word;
