//! The types of permission decisions: the class of a call, the user's mode, and the verdict. The
//! rules that lead from a call to a verdict are in `robota-policy`; the simplest rule, mode ×
//! class, is [`Mode::verdict`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use update::{DirectoryUpdate, PermissionUpdate, RuleUpdate, UpdateDestination};

pub(crate) mod update;

/// What one tool call can do. It is a property of the *call*, not of the tool: `ls` and `rm` are
/// both calls of Bash.
///
/// ```
/// use robota_core::permission::Class;
///
/// assert_eq!(serde_json::to_string(&Class::Modify)?, "\"modify\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(
    description = "What one tool call can do. It is a property of the *call*, not of the tool: `ls` and `rm` are\nboth calls of Bash."
)]
pub enum Class {
    /// Reads only, and only inside the workspace. May run in parallel and before the answer has
    /// ended.
    Inspect,
    /// Changes files, and has no other effect.
    Modify,
    /// Runs something whose effects are not known.
    Execute,
}

/// What the agent may do without asking.
///
/// ```
/// use robota_core::permission::{Class, Mode, Verdict};
///
/// let mode: Mode = "acceptEdits".parse()?;
/// assert_eq!(mode.verdict(Class::Modify), Verdict::Allow);
/// assert_eq!(mode.verdict(Class::Execute), Verdict::Ask);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "What the agent may do without asking.")]
pub enum Mode {
    /// Only reading: a call that would change or run something is denied.
    Plan,
    /// Read without asking, ask before anything else.
    #[default]
    #[serde(alias = "manual")]
    Default,
    /// As default, but without questions: what needs approval is denied.
    DontAsk,
    /// Read and edit without asking, ask before commands.
    AcceptEdits,
    /// Everything without asking. Deny rules, ask rules and critical removals still apply.
    BypassPermissions,
}

/// Names three of the modes as users of other agents know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    /// [`Mode::Plan`]: the agent only reads.
    Safe,
    /// [`Mode::Default`]: asks before anything but reading.
    Moderate,
    /// [`Mode::AcceptEdits`]: the agent edits files without a question.
    Full,
}

/// The decision about a call. Ordered from least to most strict, so that the strictest of several
/// is their maximum.
///
/// ```
/// use robota_core::permission::Verdict;
///
/// assert_eq!(Verdict::Allow.max(Verdict::Ask), Verdict::Ask);
/// assert!(Verdict::Deny > Verdict::Ask);
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(
    description = "The decision about a call. Ordered from least to most strict, so that the strictest of several\nis their maximum."
)]
pub enum Verdict {
    /// The call runs without a question.
    Allow,
    /// The call needs approval. Without an approver it is denied.
    Ask,
    /// The call does not run, and no approver is asked.
    Deny,
}

impl Mode {
    /// All modes, from the strictest to the loosest.
    pub const ALL: [Self; 5] =
        [Self::Plan, Self::DontAsk, Self::Default, Self::AcceptEdits, Self::BypassPermissions];

    /// Returns the verdict of this mode for a call of that class if no rule applies.
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
            | (Self::Default | Self::DontAsk, Class::Modify | Class::Execute) => Verdict::Ask,
        }
    }

    /// Returns the name that is used in settings and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::DontAsk => "dontAsk",
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
            format!("unknown permission mode `{text}`; use one of {}", names.join(", "))
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
