//! The table of keys: the type of each value, how values of several files are merged, what a
//! checkout may do with the key, and whether this version uses it. `docs/settings.md` shows the
//! same table; a test compares the two.

use robota_core::permission::TrustLevel;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::model::{
    AgentPermissionSetting, Amount, BuiltInStatusLine, CommandLine, CompactThreshold, Disable,
    NotificationChannel, OneOrMany, OpenApiService, SandboxCredentials,
};
use crate::path::KeyPath;

/// The names of hook events, including those of other programs that read the same files. Hooks
/// under any other name never run; loading warns of them, because the name is probably a typo.
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

/// The type of an environment variable's value: a string without NUL, which no system accepts.
#[derive(serde::Deserialize)]
#[serde(try_from = "String")]
struct VariableValue;

impl TryFrom<String> for VariableValue {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.contains('\0') {
            Err("the value of a variable cannot contain NUL")
        } else {
            Ok(Self)
        }
    }
}

/// Returns whether the name is valid for an environment variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// How the values of several layers are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The highest layer that sets the key wins.
    Highest,
    /// The items of all layers, without repetitions in one layer, each with its origin.
    Union,
    /// The items of all layers, lowest layer first.
    Concat,
    /// Objects are merged field by field at any depth; other values as [`Merge::Highest`].
    Deep,
    /// The strict value wins, in any layer.
    Sticky(Strict),
    /// The rules of the permission mode: see `docs/settings.md`.
    Mode,
}

/// What a layer of a checkout may do with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckoutRule {
    /// The key can only forbid. It applies without trust.
    Tightens,
    /// This value can only forbid and applies without trust. Other values need trust.
    TightensWhen(Strict),
    /// This value can only forbid and applies without trust. Other values are always ignored in a
    /// checkout: it may add restrictions to the sandbox, but never remove one.
    OnlyTightensWhen(Strict),
    /// The key applies once the folder is trusted.
    Grants,
    /// The key is always ignored in a checkout.
    UserOnly,
    /// The key applies only in the files of the administrator.
    ManagedOnly,
    /// A stricter mode applies without trust, others need trust, `bypassPermissions` is always
    /// ignored.
    Mode,
}

/// Whether this version uses a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySupport {
    /// The program uses the key.
    Supported,
    /// The program uses the key, but some values have no effect. The program reports them where
    /// it applies the key.
    Partial,
    /// The value is an object of which the program uses only these members. Loading reports a warning for
    /// the others.
    Members(&'static [&'static str]),
    /// The key is accepted, because other programs read the same files, but has no effect yet.
    /// Loading reports a warning.
    NoEffect,
}

/// Says which value of a key is the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    /// `true` is strict: it forbids, or turns a protection on.
    True,
    /// `false` is strict: it turns something off.
    False,
    /// The strict value is `"disable"`.
    Disable,
}

impl Strict {
    /// Returns whether a value is the strict one.
    #[must_use]
    pub fn is(self, value: &Value) -> bool {
        match self {
            Self::True => *value == Value::Bool(true),
            Self::False => *value == Value::Bool(false),
            Self::Disable => value == "disable",
        }
    }
}

/// A part of a value that does not have the type of its key.
#[derive(Debug)]
pub(crate) struct Mismatch {
    pub(crate) path: Vec<Step>,
    pub(crate) message: String,
}

/// One step of the path to a part of a value.
#[derive(Debug)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// How the value of a key is validated.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// It deserialises as the type of its field in the settings.
    Type(fn(&Value) -> Result<(), Mismatch>),
    /// It is a list of strings. An item that is not a string is reported; the others apply.
    Texts,
    /// It is a list of descriptions of MCP servers. An item that is none is reported; the others apply.
    Servers,
    /// It is a list of hook groups. An invalid hook is reported and kept: it denies where hooks
    /// decide.
    Hooks,
}

/// Says how the values of one key are merged, and which files may set it: one row of the table.
#[derive(Debug, Clone, Copy)]
pub struct KeyRule {
    /// The path of the key; `*` matches any name.
    pub path: &'static str,
    /// How the values of several layers are merged.
    pub merge: Merge,
    /// What a checkout may do with the key.
    pub effect: CheckoutRule,
    /// Whether this version uses the key.
    pub support: KeySupport,
    pub(crate) check: Check,
}

fn has_type<T: DeserializeOwned>(value: &Value) -> Result<(), Mismatch> {
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
    ($( $path:literal $merge:expr, $effect:expr, $support:expr, $check:tt; )*) => {
        /// Lists all keys, in the order of `docs/settings.md`.
        pub const KEYS: &[KeyRule] = &[ $( KeyRule {
            path: $path,
            merge: $merge,
            effect: $effect,
            support: $support,
            check: keys!(@check $check),
        }, )* ];
    };
    (@check texts) => { Check::Texts };
    (@check hooks) => { Check::Hooks };
    (@check servers) => { Check::Servers };
    (@check ($type:ty)) => { Check::Type(has_type::<$type>) };
}

use CheckoutRule::{Grants, ManagedOnly, OnlyTightensWhen, Tightens, TightensWhen, UserOnly};
use KeySupport::{Members, NoEffect, Partial, Supported};
use Merge::{Concat, Deep, Highest, Sticky, Union};
use Strict::{Disable as DISABLE, False, True};

type Object = Map<String, Value>;

// A row: path, how layers merge, what a checkout may do, whether it is used, and the type of the
// value.
keys! {
    "permissions.allow" Union, Grants, Supported, texts;
    "permissions.ask" Union, Tightens, Supported, texts;
    "permissions.deny" Union, Tightens, Supported, texts;
    "permissions.defaultMode" Merge::Mode, CheckoutRule::Mode, Supported, (String);
    "permissions.additionalDirectories" Union, Grants, Supported, texts;
    "permissions.disableBypassPermissionsMode" Sticky(DISABLE), Tightens, Supported, (Disable);
    "allowManagedPermissionRulesOnly" Sticky(True), ManagedOnly, Supported, (bool);
    "defaultTrustLevel" Merge::Mode, CheckoutRule::Mode, Supported, (TrustLevel);

    "hooks.*" Concat, Grants, Supported, hooks;
    "disableAllHooks" Highest, UserOnly, Supported, (bool);
    "allowManagedHooksOnly" Sticky(True), ManagedOnly, Supported, (bool);
    "allowedHttpHookUrls" Union, Grants, Supported, texts;
    "httpHookAllowedEnvVars" Union, Grants, Supported, texts;
    "env.*" Highest, Grants, Supported, (VariableValue);
    "passEnv" Union, Grants, Supported, texts;

    "currentProvider" Highest, Grants, Supported, (String);
    "providers.*.type" Highest, Grants, Supported, (String);
    "providers.*.model" Highest, Grants, Supported, (String);
    "providers.*.apiKey" Highest, Grants, Supported, (String);
    "providers.*.baseURL" Highest, Grants, Supported, (String);
    "providers.*.timeout" Highest, Grants, Supported, (std::num::NonZeroU64);
    "providers.*.options" Deep, Grants, Supported, (Object);
    "vendors.*" Deep, Grants, Supported, (Object);
    "provider.name" Highest, Grants, Supported, (String);
    "provider.type" Highest, Grants, Supported, (String);
    "provider.model" Highest, Grants, Supported, (String);
    "provider.apiKey" Highest, Grants, Supported, (String);
    "provider.baseURL" Highest, Grants, Supported, (String);
    "provider.timeout" Highest, Grants, Supported, (std::num::NonZeroU64);
    "provider.options" Deep, Grants, Supported, (Object);
    "apiKeyHelper" Highest, Grants, Supported, (String);
    "retry.budget" Highest, Grants, Supported, (u64);
    "budget.usd" Highest, Grants, Supported, (Amount);
    "budget.tokens" Highest, Grants, Supported, (std::num::NonZeroU64);
    "budget.turns" Highest, Grants, Supported, (std::num::NonZeroU64);
    "budget.seconds" Highest, Grants, Supported, (std::num::NonZeroU64);
    "budget.turn.usd" Highest, Grants, Supported, (Amount);
    "budget.turn.tokens" Highest, Grants, Supported, (std::num::NonZeroU64);
    "budget.turn.seconds" Highest, Grants, Supported, (std::num::NonZeroU64);
    "budget.subagent.usd" Highest, Grants, Supported, (Amount);
    "budget.subagent.tokens" Highest, Grants, Supported, (std::num::NonZeroU64);
    "budget.subagent.turns" Highest, Grants, Supported, (std::num::NonZeroU64);
    "budget.subagent.seconds" Highest, Grants, Supported, (std::num::NonZeroU64);
    "nativeWeb.search" Highest, Grants, Supported, (bool);
    "nativeWeb.fetch" Highest, Grants, Supported, (bool);
    "maxRepeatedFailures" Highest, Grants, Supported, (u32);
    "model" Highest, Grants, Supported, (String);
    "fallbackModel" Highest, Grants, Supported, (OneOrMany);
    "availableModels" Union, Grants, Supported, texts;
    "effortLevel" Highest, Grants, Supported, (String);
    "alwaysThinkingEnabled" Highest, Grants, Supported, (bool);

    "sandbox.enabled" Highest, OnlyTightensWhen(True), Supported, (bool);
    "sandbox.failIfUnavailable" Highest, OnlyTightensWhen(True), Supported, (bool);
    "sandbox.readOnlyFence" Highest, OnlyTightensWhen(True), Supported, (bool);
    "sandbox.autoAllowBashIfSandboxed" Highest, OnlyTightensWhen(False), Partial, (bool);
    "sandbox.allowUnsandboxedCommands" Highest, OnlyTightensWhen(False), Partial, (bool);
    "sandbox.excludedCommands" Union, UserOnly, Partial, texts;
    "sandbox.filesystem.allowWrite" Union, UserOnly, Supported, texts;
    "sandbox.filesystem.denyWrite" Union, Tightens, Supported, texts;
    "sandbox.filesystem.allowRead" Union, UserOnly, Supported, texts;
    "sandbox.filesystem.denyRead" Union, Tightens, Supported, texts;
    "sandbox.credentials" Highest, UserOnly, Supported, (SandboxCredentials);
    "sandbox.network.allowedDomains" Union, UserOnly, Partial, texts;
    "sandbox.network.deniedDomains" Union, Tightens, Partial, texts;

    "mcpServers.*" Highest, Grants, Supported, (Object);
    "enableAllProjectMcpServers" Highest, TightensWhen(False), Supported, (bool);
    "enabledMcpjsonServers" Union, Grants, Supported, texts;
    "disabledMcpjsonServers" Union, Tightens, Supported, texts;
    "allowedMcpServers" Union, UserOnly, Supported, servers;
    "deniedMcpServers" Union, Tightens, Supported, servers;
    "allowManagedMcpServersOnly" Sticky(True), ManagedOnly, Supported, (bool);
    "openApi.*" Highest, Grants, Supported, (OpenApiService);
    "enabledPlugins.*" Highest, Grants, Supported, (bool);
    "pluginConfigs.*" Highest, UserOnly, Supported, (Object);
    "extraKnownMarketplaces.*" Highest, Grants, Supported, (Object);
    "additionalMarketplaces.*" Highest, Grants, Supported, (Object);
    "skillOverrides.*" Highest, Grants, Supported, (String);
    "disableSkillShellExecution" Sticky(True), TightensWhen(True), Supported, (bool);

    "language" Highest, Grants, Supported, (String);
    "preset" Highest, Grants, NoEffect, (String);
    "outputStyle" Highest, Grants, Supported, (String);
    "agent" Highest, Grants, Supported, (String);
    "statusLine" Highest, Grants, Supported, (CommandLine);
    "statusline" Highest, Grants, Supported, (BuiltInStatusLine);
    "preferredNotifChannel" Highest, UserOnly, Supported, (NotificationChannel);
    "messageIdleNotifThresholdMs" Highest, UserOnly, Supported, (u64);
    "screenReader" Highest, UserOnly, Supported, (bool);
    "autoCompactThreshold" Highest, Grants, Supported, (CompactThreshold);
    "autoCompactEnabled" Highest, Grants, Supported, (bool);
    "claudeMdExcludes" Union, Grants, Supported, texts;
    "fileCheckpointingEnabled" Highest, Grants, Supported, (bool);
    "fileCheckpointingMaxFiles" Highest, Grants, Supported, (u32);
    "cleanupPeriodDays" Highest, UserOnly, NoEffect, (std::num::NonZeroU32);
    "plansDirectory" Highest, Grants, NoEffect, (String);
    "attribution" Highest, Grants, NoEffect, (Object);
    "memory" Highest, Grants, Members(&["enabled"]), (Object);
    "taskContext" Highest, Grants, Supported, (Object);
    "transports.*" Highest, Grants, NoEffect, (Object);
    "worktree" Highest, Grants, Members(&["carryChanges"]), (Object);
    "agentProcesses" Highest, Grants, Supported, (bool);
    "agentPermissions" Highest, Grants, Supported, (AgentPermissionSetting);
    "backgroundTasks.agents" Highest, Grants, Supported, (std::num::NonZeroU32);
    "backgroundTasks.processes" Highest, Grants, Supported, (std::num::NonZeroU32);
    "backgroundTasks.agentSeconds" Highest, Grants, Supported, (std::num::NonZeroU64);
    "backgroundTasks.agentIdleSeconds" Highest, Grants, Supported, (std::num::NonZeroU64);
    "backgroundTasks.processSeconds" Highest, Grants, Supported, (std::num::NonZeroU64);
    "theme" Highest, Grants, NoEffect, (String);
    "verbose" Highest, Grants, Supported, (bool);
}

/// Returns whether this version uses a key; none for a path that is no key of the table.
#[must_use]
pub fn support(key: &KeyPath) -> Option<KeySupport> {
    match find(key.names()) {
        Found::Rule(rule) => Some(rule.support),
        Found::Object | Found::Unknown => None,
    }
}

/// The result of looking up a path in the table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    /// The path is a key of the table, with or without a name for `*`.
    Rule(&'static KeyRule),
    /// The path is an object that contains keys.
    Object,
    /// The path is neither.
    Unknown,
}

/// Looks up a path in the table.
pub(crate) fn find(path: &[String]) -> Found {
    let mut found = Found::Unknown;
    // The first row decides; no path matches two rows of the table.
    for rule in KEYS {
        let mut steps = rule.path.split('.');
        let matches =
            path.iter().all(|name| steps.next().is_some_and(|step| step == "*" || step == name));
        if matches && steps.next().is_none() {
            return Found::Rule(rule);
        }
        if matches {
            found = Found::Object;
        }
    }
    found
}

/// Returns whether a key at or below a path can forbid. If such a value cannot be read, its
/// restrictions are unknown.
pub(crate) fn may_forbid(path: &[String]) -> bool {
    // By the prefix: an unreadable `permissions` may contain a deny rule.
    KEYS.iter().any(|rule| {
        let forbids = match rule.effect {
            CheckoutRule::Tightens
            | CheckoutRule::TightensWhen(_)
            | CheckoutRule::OnlyTightensWhen(_)
            | CheckoutRule::Mode => true,
            // The files of the administrator are strict, like those that can forbid.
            CheckoutRule::ManagedOnly => true,
            // What commands cannot read; a checkout cannot replace the list of the user.
            CheckoutRule::UserOnly => rule.path == "sandbox.credentials",
            CheckoutRule::Grants => false,
        };
        let mut steps = rule.path.split('.');
        forbids
            && path.iter().all(|name| steps.next().is_some_and(|step| step == "*" || step == name))
    })
}
