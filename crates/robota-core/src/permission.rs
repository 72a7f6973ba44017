//! The words of permission: what kind of thing a call does, which mode the user chose, and
//! what was decided. The rules that lead from one to the other are `robota-policy`'s; the
//! simplest rule, mode × class, is [`Mode::verdict`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one tool call does to the world. It belongs to the *call*, not to the tool: `ls` and
/// `rm` are both Bash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Only looks, and only inside the workspace: may run in parallel and before the
    /// response has ended.
    Inspect,
    /// Changes files.
    Modify,
    /// Runs something whose effects are not known.
    Execute,
}

/// How much the user lets the agent do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Look, change nothing.
    Plan,
    /// Look freely, ask before anything else.
    #[default]
    Default,
    /// Edits are free, commands ask.
    AcceptEdits,
    /// Everything is free (deny rules, ask rules and critical removals still hold).
    BypassPermissions,
}

/// Friendly names for three of the modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    /// Plan mode.
    Safe,
    /// Default mode.
    Moderate,
    /// Edits are accepted.
    Full,
}

/// What is decided about a call. Ordered from loosest to strictest, so that the strictest of
/// several is their maximum.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// Somebody must be asked; with nobody to ask it is a denial.
    Ask,
    /// It does not run.
    Deny,
}

impl Mode {
    /// All modes, in the order a user cycles through them.
    pub const ALL: [Self; 4] =
        [Self::Plan, Self::Default, Self::AcceptEdits, Self::BypassPermissions];

    /// What this mode says about a call of that class when no rule says anything.
    ///
    /// ```
    /// use robota_core::permission::{Class, Mode, Verdict};
    /// assert_eq!(Mode::Plan.verdict(Class::Execute), Verdict::Deny);
    /// assert_eq!(Mode::AcceptEdits.verdict(Class::Modify), Verdict::Allow);
    /// ```
    #[must_use]
    pub fn verdict(self, class: Class) -> Verdict {
        match (self, class) {
            (_, Class::Inspect) | (Self::BypassPermissions, _) => Verdict::Allow,
            (Self::Plan, Class::Modify | Class::Execute) => Verdict::Deny,
            (Self::AcceptEdits, Class::Modify) => Verdict::Allow,
            (Self::AcceptEdits, Class::Execute)
            | (Self::Default, Class::Modify | Class::Execute) => Verdict::Ask,
        }
    }

    /// The name used in settings and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::BypassPermissions => "bypassPermissions",
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|mode| mode.name()).collect();
            format!("unknown permission mode `{text}`; one of {}", names.join(", "))
        })
    }
}

impl From<TrustLevel> for Mode {
    fn from(level: TrustLevel) -> Self {
        match level {
            TrustLevel::Safe => Self::Plan,
            TrustLevel::Moderate => Self::Default,
            TrustLevel::Full => Self::AcceptEdits,
        }
    }
}
