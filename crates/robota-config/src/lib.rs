//! What is on disk: settings layers and workspace trust.
//!
//! This is the lowest crate that may read the environment and the home directory; those below
//! are given what they need. Everything it needs to know about the machine comes in through
//! [`Places`] and [`Environment`].
//!
//! Six files are merged, lowest first: `~/.robota/settings.json`, `~/.claude/settings.json`,
//! and from the working folder `.robota/settings.json`, `.robota/settings.local.json`,
//! `.claude/settings.json`, `.claude/settings.local.json`; above them `--settings` and other
//! arguments. [`keys::KEYS`] says how each key is merged and what a checkout may do with it.
//!
//! Three rules hold whatever the files say:
//!
//! - **Loading never fails.** What is wrong is in [`Settings::report`], with file, line and
//!   key, and so is everything that did not count.
//! - **A checkout can only forbid until the user trusts the folder** ([`TrustStore`]), and never
//!   takes back what the user forbids.
//! - **What cannot be read never widens anything.** While a file cannot be read, it is not known
//!   what it forbids, so nothing is allowed without a question.
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

mod error;
mod files;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod json;
pub mod keys;
mod layer;
mod merge;
pub mod model;
mod path;
mod places;
mod policy;
mod provider;
mod report;
mod settings;
mod trust;
mod validate;
mod write;

#[cfg(test)]
mod tests;

pub use error::ConfigError;
pub use files::{Files, LARGEST_FILE};
pub use layer::{Layer, Origin, Scope};
pub use model::SettingsFile;
pub use path::KeyPath;
pub use places::{Environment, Places, SettingsArgument};
pub use policy::rule_check;
pub use provider::ActiveProvider;
pub use report::{Dropped, Problem, Reason, Report, Severity};
pub use settings::{
    Explanation, Permissions, RuleCheck, RuleList, RuleText, Settings, SourcedHooks, load,
};
pub use trust::{Trust, TrustItem, TrustStore, TrustSubject};
pub use write::{SettingsWriter, Written};

/// The JSON Schema of a settings file, for editors.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(SettingsFile)
}
