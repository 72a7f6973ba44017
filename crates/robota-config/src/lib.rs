//! Loads and writes settings files, reads the files that people write for agents, and records trust.
//!
//! This is the lowest crate that may read the environment and the home directory; the crates below
//! receive what they need as arguments. It learns about the machine through [`Places`] and
//! [`ProgramEnvironment`] only.
//!
//! Six files are merged, lowest first: `~/.robota/settings.json`, `~/.claude/settings.json`,
//! and from the working folder `.robota/settings.json`, `.robota/settings.local.json`,
//! `.claude/settings.json`, `.claude/settings.local.json`; above them `--settings` and other
//! arguments. [`keys::KEYS`] defines how each key is merged, what a checkout may do with it, and
//! whether this version uses it.
//!
//! Three rules hold for any content of the files:
//!
//! - **Loading never fails.** [`Settings::report`] has every problem with file, line and key, and
//!   every value that is ignored.
//! - **A checkout can only forbid until the user trusts the folder** ([`TrustStore`]), and can never
//!   remove a restriction of the user.
//! - **An unreadable file never widens permissions.** While a file cannot be read, its restrictions
//!   are unknown, so every call needs approval.
//!
//! ```
//! use robota_config::{Places, TrustStore, load};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (home, project) = (home.path(), project.path());
//! std::fs::create_dir(home.join(".robota"))?;
//! std::fs::write(
//!     home.join(".robota/settings.json"),
//!     r#"{"permissions": {"deny": ["Read(.env)"]}}"#,
//! )?;
//! std::fs::create_dir(project.join(".claude"))?;
//! std::fs::write(
//!     project.join(".claude/settings.json"),
//!     r#"{"permissions": {"deny": [], "allow": ["Bash(curl *)"]}}"#,
//! )?;
//!
//! let places = Places::new(home, project);
//! let settings = load(&places, &TrustStore::load(&places), &|_, _| Ok(()));
//! assert_eq!(settings.permissions.deny[0].text, "Read(.env)");
//! assert!(settings.permissions.allow.iter().all(|rule| rule.text != "Bash(curl *)"));
//! assert!(settings.report.dropped[0].to_string().contains("this folder is not trusted"));
//! # Ok(()) }
//! ```
//!
//! The modules [`instructions`], [`skills`], [`agents`], [`output_styles`], [`project`] and [`tasks`]
//! read the other files of a user and a project, through one [`ContextReader`]. They run nothing; what
//! a file of a checkout may do is decided by [`TrustStore`].

pub mod agents;
mod available_models;
mod clean;
mod error;
mod files;
pub mod frontmatter;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod instructions;
mod json;
pub mod keys;
mod layer;
mod managed;
mod mcp;
pub mod mentions;
mod merge;
pub mod model;
pub mod output_styles;
mod path;
mod places;
pub mod plugins;
mod policy;
pub mod project;
mod provider;
mod reader;
mod report;
mod settings;
pub mod skills;
pub mod tasks;
mod trust;
mod validate;
mod write;

#[cfg(test)]
mod tests;

pub use available_models::{AvailableModels, ModelNotAvailable};
pub use clean::{clean, shown, visible};
pub use error::ConfigError;
pub use files::{Files, MAX_FILE_BYTES, read_regular};
pub use layer::{Layer, LayerScope, Origin};
pub use mcp::{
    ManagedServers, McpAccess, McpEntry, McpListing, McpScope, McpServerMatch, McpWriteError,
    ProjectServers, Reached, RemovedServer, add_server, check_mcp_argument, mcp_servers,
    remove_server, written_servers,
};
pub use model::SettingsFile;
pub use path::KeyPath;
pub use places::{Places, ProgramEnvironment, SettingSource, SettingsArgument};
pub use policy::rule_check;
pub use provider::ActiveProvider;
pub use reader::{ContextReader, ReadCounts};
pub use report::{Dropped, IgnoreReason, Problem, Report, Severity};
pub use settings::{
    EffectivePermissions, RuleCheck, RuleList, RuleText, SettingExplanation, Settings,
    SourcedHooks, load,
};
pub use trust::{
    FileRequest, NamedFiles, RepositoryProgram, Trust, TrustItem, TrustStore, TrustSubject,
    file_requests, import_requests,
};
pub use write::{SettingsWriter, Written, directories_key, mode_key};

/// Returns the JSON Schema of a settings file, for editors.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(SettingsFile)
}
