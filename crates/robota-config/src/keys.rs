//! The table of keys: what each may hold, how several files that set it are put together,
//! and what a checkout may do with it. `docs/settings.md` shows the same table, and a test
//! holds the two together.

use robota_core::permission::TrustLevel;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::model::{BuiltInStatusLine, CommandLine, CompactThreshold, Disable, OneOrMany};

/// The events that hooks can be put at. Hooks at any other name never run, and a guard that
/// never runs because of a typing mistake is worth a word.
pub const HOOK_EVENTS: &[&str] = &[
    "SessionStart",
    "Setup",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreModelCall",
    "PostModelCall",
    "PreToolUse",
    "PermissionRequest",
    "PermissionDenied",
    "PermissionDecision",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "MessageDisplay",
    "SubagentStart",
    "SubagentStop",
    "TaskCreated",
    "TaskCompleted",
    "Stop",
    "StopFailure",
    "TeammateIdle",
    "PreCompact",
    "PostCompact",
    "InstructionsLoaded",
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "WorktreeCreate",
    "WorktreeRemove",
    "Elicitation",
    "ElicitationResult",
    "PreModelSwitch",
    "PostModelSwitch",
    "SessionEnd",
];

/// What a variable can be set to: no system takes a NUL.
#[derive(serde::Deserialize)]
#[serde(try_from = "String")]
struct VariableValue;

impl TryFrom<String> for VariableValue {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.contains('\0') { Err("a variable cannot hold a NUL") } else { Ok(Self) }
    }
}

/// Whether a name can be that of a variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// How values of several layers become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The value of the highest layer.
    Highest,
    /// Every item of every layer, once per layer, each with its origin.
    Union,
    /// Every item of every layer, lowest layer first.
    Concat,
    /// Objects are put together field by field, at any depth; other values as [`Merge::Highest`].
    Deep,
    /// Once any layer says the strict word, it holds.
    Sticky(Strict),
    /// The permission mode: see `docs/settings.md`.
    Mode,
}

/// What a layer of a checkout may do with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It can only forbid: counts at once.
    Tightens,
    /// This value can only forbid and counts at once; others count once the folder is trusted.
    TightensWhen(Strict),
    /// Counts once the folder is trusted.
    Grants,
    /// Never counts from a checkout.
    UserOnly,
    /// Stricter modes count at once, others once the folder is trusted, `bypassPermissions` never.
    Mode,
}

/// The value of a key that forbids most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    /// `true`
    True,
    /// `false`
    False,
    /// `"disable"`
    Disable,
}

impl Strict {
    /// Whether a value is the strict one.
    #[must_use]
    pub fn is(self, value: &Value) -> bool {
        match self {
            Self::True => *value == Value::Bool(true),
            Self::False => *value == Value::Bool(false),
            Self::Disable => value == "disable",
        }
    }
}

/// Where in a value something is wrong, and what.
#[derive(Debug)]
pub(crate) struct Mismatch {
    pub(crate) path: Vec<Step>,
    pub(crate) message: String,
}

/// One step into a value.
#[derive(Debug)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// How a key's value is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// It is of a type.
    Type(fn(&Value) -> Result<(), Mismatch>),
    /// It is a list of texts; each is taken by itself.
    Texts,
    /// It is a list of hook groups; none is ever lost.
    Hooks,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct KeyRule {
    /// The key; `*` stands for any name.
    pub path: &'static str,
    /// How several layers become one.
    pub merge: Merge,
    /// What a checkout may do with it.
    pub effect: Effect,
    pub(crate) check: Check,
}

fn fits<T: DeserializeOwned>(value: &Value) -> Result<(), Mismatch> {
    use serde_path_to_error::Segment;
    match serde_path_to_error::deserialize::<_, T>(value) {
        Ok(_) => Ok(()),
        Err(error) => Err(Mismatch {
            path: error
                .path()
                .iter()
                .filter_map(|segment| match segment {
                    Segment::Seq { index } => Some(Step::Index(*index)),
                    Segment::Map { key } => Some(Step::Key(key.clone())),
                    Segment::Enum { .. } | Segment::Unknown => None,
                })
                .collect(),
            message: error.into_inner().to_string(),
        }),
    }
}

macro_rules! keys {
    ($( $path:literal $merge:expr, $effect:expr, $check:tt; )*) => {
        /// The table, in the order of `docs/settings.md`.
        pub const KEYS: &[KeyRule] = &[ $( KeyRule {
            path: $path,
            merge: $merge,
            effect: $effect,
            check: keys!(@check $check),
        }, )* ];
    };
    (@check texts) => { Check::Texts };
    (@check hooks) => { Check::Hooks };
    (@check ($type:ty)) => { Check::Type(fits::<$type>) };
}

use Effect::{Grants, Tightens, TightensWhen, UserOnly};
use Merge::{Concat, Deep, Highest, Sticky, Union};
use Strict::{Disable as DISABLE, False, True};

type Object = Map<String, Value>;

keys! {
    "permissions.allow" Union, Grants, texts;
    "permissions.ask" Union, Tightens, texts;
    "permissions.deny" Union, Tightens, texts;
    "permissions.defaultMode" Merge::Mode, Effect::Mode, (String);
    "permissions.additionalDirectories" Union, Grants, texts;
    "permissions.disableBypassPermissionsMode" Sticky(DISABLE), Tightens, (Disable);
    "defaultTrustLevel" Merge::Mode, Effect::Mode, (TrustLevel);

    "hooks.*" Concat, Grants, hooks;
    "disableAllHooks" Highest, UserOnly, (bool);
    "allowedHttpHookUrls" Union, Grants, texts;
    "httpHookAllowedEnvVars" Union, Grants, texts;
    "env.*" Highest, Grants, (VariableValue);

    "currentProvider" Highest, Grants, (String);
    "providers.*.type" Highest, Grants, (String);
    "providers.*.model" Highest, Grants, (String);
    "providers.*.apiKey" Highest, Grants, (String);
    "providers.*.baseURL" Highest, Grants, (String);
    "providers.*.timeout" Highest, Grants, (std::num::NonZeroU64);
    "providers.*.options" Deep, Grants, (Object);
    "vendors.*" Deep, Grants, (Object);
    "provider.name" Highest, Grants, (String);
    "provider.type" Highest, Grants, (String);
    "provider.model" Highest, Grants, (String);
    "provider.apiKey" Highest, Grants, (String);
    "provider.baseURL" Highest, Grants, (String);
    "provider.timeout" Highest, Grants, (std::num::NonZeroU64);
    "provider.options" Deep, Grants, (Object);
    "apiKeyHelper" Highest, Grants, (String);
    "model" Highest, Grants, (String);
    "fallbackModel" Highest, Grants, (OneOrMany);
    "effortLevel" Highest, Grants, (String);
    "alwaysThinkingEnabled" Highest, Grants, (bool);

    "sandbox.enabled" Highest, TightensWhen(True), (bool);
    "sandbox.failIfUnavailable" Highest, TightensWhen(True), (bool);
    "sandbox.autoAllowBashIfSandboxed" Highest, TightensWhen(False), (bool);
    "sandbox.allowUnsandboxedCommands" Highest, TightensWhen(False), (bool);
    "sandbox.excludedCommands" Union, Grants, texts;
    "sandbox.filesystem.allowWrite" Union, Grants, texts;
    "sandbox.filesystem.denyWrite" Union, Tightens, texts;
    "sandbox.filesystem.allowRead" Union, Grants, texts;
    "sandbox.filesystem.denyRead" Union, Tightens, texts;
    "sandbox.network.allowedDomains" Union, Grants, texts;
    "sandbox.network.deniedDomains" Union, Tightens, texts;

    "mcpServers.*" Highest, Grants, (Object);
    "enableAllProjectMcpServers" Highest, TightensWhen(False), (bool);
    "enabledMcpjsonServers" Union, Grants, texts;
    "disabledMcpjsonServers" Union, Tightens, texts;
    "enabledPlugins.*" Highest, Grants, (bool);
    "extraKnownMarketplaces.*" Highest, Grants, (Object);
    "skillOverrides.*" Highest, Grants, (String);
    "disableSkillShellExecution" Sticky(True), TightensWhen(True), (bool);

    "language" Highest, Grants, (String);
    "preset" Highest, Grants, (String);
    "outputStyle" Highest, Grants, (String);
    "agent" Highest, Grants, (String);
    "statusLine" Highest, Grants, (CommandLine);
    "statusline" Highest, Grants, (BuiltInStatusLine);
    "autoCompactThreshold" Highest, Grants, (CompactThreshold);
    "autoCompactEnabled" Highest, Grants, (bool);
    "claudeMdExcludes" Union, Grants, texts;
    "fileCheckpointingEnabled" Highest, Grants, (bool);
    "cleanupPeriodDays" Highest, UserOnly, (std::num::NonZeroU32);
    "plansDirectory" Highest, Grants, (String);
    "attribution" Highest, Grants, (Object);
    "memory" Highest, Grants, (Object);
    "taskContext" Highest, Grants, (Object);
    "transports.*" Highest, Grants, (Object);
    "worktree" Highest, Grants, (Object);
    "theme" Highest, Grants, (String);
    "verbose" Highest, Grants, (bool);
}

/// What the table says about a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    /// It is a key.
    Rule(&'static KeyRule),
    /// It is an object that holds keys.
    Object,
    /// It is neither.
    Unknown,
}

/// Looks a path up.
pub(crate) fn find(path: &[String]) -> Found {
    let mut found = Found::Unknown;
    for rule in KEYS {
        let mut steps = rule.path.split('.');
        let fits =
            path.iter().all(|name| steps.next().is_some_and(|step| step == "*" || step == name));
        if fits && steps.next().is_none() {
            return Found::Rule(rule);
        }
        if fits {
            found = Found::Object;
        }
    }
    found
}

/// Whether something at or below a path can forbid: if it cannot be read, it is not known
/// what it forbids.
pub(crate) fn may_forbid(path: &[String]) -> bool {
    KEYS.iter().any(|rule| {
        let forbids = match rule.effect {
            Effect::Tightens | Effect::TightensWhen(_) | Effect::Mode => true,
            Effect::Grants | Effect::UserOnly => false,
        };
        let mut steps = rule.path.split('.');
        forbids
            && path.iter().all(|name| steps.next().is_some_and(|step| step == "*" || step == name))
    })
}
