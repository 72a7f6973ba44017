//! Durable sessions: one task owns one session, its journal is the truth.
//!
//! What exists today is the [`PolicyGate`], the gate that puts `robota-policy` before every
//! tool call of the driver in [`robota_core`], and the [`RuleCondition`] for hooks that stand
//! under a permission rule.
//!
//! ```
//! use std::sync::Arc;
//!
//! use robota_policy::{LexicalPaths, List, Policy, PolicySpec, RuleSource, Workspace};
//! use robota_session::PolicyGate;
//!
//! let spec = PolicySpec::new(Workspace::new("/home/ada/app", "/home/ada"))
//!     .rules(List::Deny, RuleSource::session(), ["Bash(git push *)"]);
//! let (policy, errors) = Policy::new(&spec, &LexicalPaths);
//! assert!(errors.is_empty());
//! let gate = PolicyGate::new(policy, Arc::new(LexicalPaths));
//! # let _ = gate;
//! ```
//!
//! The session actor (mailbox in, events out), recovery from a crash at any point of a turn,
//! forks at safe points, compaction and replay are to come. They will drive the
//! one driver of [`robota_core`]; there is no second.

mod condition;
mod gate;
pub mod replay;

pub use condition::RuleCondition;
pub use gate::PolicyGate;
