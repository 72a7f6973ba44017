//! Decides which calls may run: permission rules, path rules and shell analysis.
//!
//! Every tool call is judged here before it runs. The crate is pure: it asks no user, runs no
//! program and reads no file; facts about files come through the [`Paths`] port. So a verdict
//! can be explained, tested and repeated.
//!
//! ```
//! use robota_core::permission::{Class, Verdict};
//! use robota_policy::{LexicalPaths, List, Policy, PolicySpec, RuleSource, ToolCall, Workspace};
//! use serde_json::json;
//!
//! let spec = PolicySpec::new(Workspace::new("/proj/app", "/home/ada"))
//!     .rules(List::Allow, RuleSource::session(), ["Bash(git *)"])
//!     .rules(List::Deny, RuleSource::session(), ["Bash(git push *)"]);
//! let (policy, errors) = Policy::new(&spec, &LexicalPaths);
//! assert!(errors.is_empty());
//!
//! let verdict = |command: &str| {
//!     let input = json!({ "command": command });
//!     let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
//!     policy.judge(&call, &LexicalPaths).verdict
//! };
//! assert_eq!(verdict("git commit -m 'a && b'"), Verdict::Allow);
//! assert_eq!(verdict("git fetch; rm -r x"), Verdict::Ask);
//! assert_eq!(verdict("sudo git push"), Verdict::Deny);
//! ```
//!
//! # How a verdict is made
//!
//! 1. The *base*: what the mode says, or an allow rule. Reads and commands proven read-only
//!    inside the workspace are free in every mode.
//! 2. The verdict is the strictest of the base, deny rules, ask rules, protected files,
//!    dangers and critical removals. In bypass mode only rules and critical removals remain.
//!
//! # Where things are
//!
//! - `rule`: the grammar of rules, both dialects, and what each kind matches;
//! - `glob`, `workspace`, `web`: wildcards, real paths, real hosts;
//! - `shell`: what a command would run: `syntax` (the parser of bash), `parse` (the commands, and
//!   a second reading by a general grammar), `word`, `expand`, `scan`;
//! - `program`: what is known of programs, as data (`program/data/*.prog`), the parser of their
//!   arguments, and the questions to it: `read_only`, `files`, `danger`, `wrap`, `reach`, `removal`;
//! - `judge`: from a call to a [`PolicyVerdict`]; `suggest`: what "always" saves; `explain`: the
//!   verdict on each command, and what a rule covers.
//!
//! [`Paths`]: robota_core::paths::Paths

mod call;
mod disk;
mod explain;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod glob;
mod judge;
mod limits;
mod policy;
mod presets;
mod program;
mod protect;
mod rule;
mod shell;
mod suggest;
mod verdict;
mod web;
mod words;
mod workspace;

pub use call::{ToolCall, name_denies};
pub use explain::{ExplainedCommand, Explanation, RuleExample, RuleExplanation, explain_rule};
pub use limits::{CallLimits, lists_tool};
pub use policy::{Policy, PolicySpec};
pub use presets::{DEFAULT_ALLOW, Preset, presets};
#[doc(hidden)]
pub use program::listing::{FreeCommand, FreeOption, free_commands};
pub use protect::protected;
pub use rule::{List, Rule, RuleError, RuleSource};
pub use suggest::{allows_other_commands, too_broad};
pub use verdict::{PolicyVerdict, Reason, RuleRef, Suggestion, VerdictSource};
pub use workspace::{LexicalPaths, Workspace};

use judge::is_sink as judge_sink;
