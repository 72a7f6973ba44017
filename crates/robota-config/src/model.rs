//! The settings as types. Every field is optional, because each file sets only some keys. The JSON
//! Schema is generated from these types; [`crate::keys`] defines how keys are merged.

mod openapi;
mod provider;
mod sandbox;

use std::num::{NonZeroU32, NonZeroU64};

use indexmap::IndexMap;
use robota_core::permission::TrustLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::mcp::McpServerMatch;

pub use openapi::OpenApiService;
pub use provider::{DEFAULT_TIMEOUT, LegacyProvider, ProviderProfile};
pub use robota_core::hook::{
    CommandHook, HookCommon, HookDefinition, HookGroup, HttpHook, PromptHook, UnusableHook,
};
pub use sandbox::{
    HiddenSecret, SandboxCredentials, SandboxFilesystem, SandboxNetwork, SandboxSettings,
};

/// One settings file, or all of them merged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(title = "Robota settings")]
pub struct SettingsFile {
    /// Which calls run, ask or are denied, and the mode a session starts in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionSettings>,
    /// Hooks by event: commands that run at fixed points of a turn.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub hooks: IndexMap<String, Vec<HookGroup>>,
    /// Turns all hooks off, those of plugins and skills included, but not those of the administrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_all_hooks: Option<bool>,
    /// For the administrator: no hooks run but those of the managed settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_managed_hooks_only: Option<bool>,
    /// For the administrator: no rules allow calls but those of the managed settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_managed_permission_rules_only: Option<bool>,
    /// The URLs that HTTP hooks may call; absent for all public ones. Private addresses need an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_http_hook_urls: Option<Vec<String>>,
    /// The variables that HTTP hooks may use in headers; absent for all that a hook itself allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_hook_allowed_env_vars: Option<Vec<String>>,
    /// Environment variables for commands and providers; an empty value removes a variable.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    /// Variables that commands and hooks get although they have names of secrets, or a
    /// provider uses them as its key; `*` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_env: Option<Vec<String>>,

    /// The name of the provider profile to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_provider: Option<String>,
    /// Provider profiles, by the name that `currentProvider` and `--provider` take.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub providers: IndexMap<String, ProviderProfile>,
    /// Additional vendors, by type: the fields of a vendor's profile (docs/providers.md).
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub vendors: IndexMap<String, Map<String, Value>>,
    /// The provider of older versions; used if `currentProvider` is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<LegacyProvider>,
    /// How failed model calls are retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySettings>,
    /// Limits of what a session, a turn and a subagent may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetSettings>,
    /// The web tools that the model's service runs itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_web: Option<NativeWebSettings>,
    /// After this many rounds in which the same call failed, the model has to answer without tools; 0
    /// means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_repeated_failures: Option<u32>,
    /// The model to use if the provider's profile does not set one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models to use while the first is overloaded; the first of them is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<OneOrMany>,
    /// The models that may be used: short names or ids. A managed list replaces all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_models: Option<Vec<String>>,
    /// The reasoning effort of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_level: Option<String>,
    /// Whether the model always thinks before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_thinking_enabled: Option<bool>,
    /// A shell command that prints the API key of the model service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_helper: Option<String>,

    /// Another name for the permission mode: safe, moderate or full. `permissions.defaultMode`
    /// overrides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_trust_level: Option<TrustLevel>,
    /// The language of the answers, by its name, such as `German`. Absent leaves it to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// A named set of defaults. No effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The name of the output style, a file of `output-styles`. Absent or `default` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_style: Option<String>,
    /// The agent that the main conversation runs as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The fraction of the context window at which compaction starts; `false` for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_compact_threshold: Option<CompactThreshold>,
    /// Whether compaction starts automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_compact_enabled: Option<bool>,

    /// The sandbox for commands. Absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxSettings>,
    /// A command that prints more lines below the status line of the terminal. It gets the state of the
    /// session as JSON on standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_line: Option<CommandLine>,
    /// What the built-in status line shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statusline: Option<BuiltInStatusLine>,
    /// How the terminal reports that it waits for the user or that a turn ended; absent for not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_notif_channel: Option<NotificationChannel>,
    /// How long a session waits for the next prompt until Notification hooks run, in milliseconds; 60,000
    /// by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_idle_notif_threshold_ms: Option<u64>,
    /// Whether the terminal writes plain lines for screen readers and redraws nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen_reader: Option<bool>,

    /// Plugins that are turned on or off, by `name@marketplace`. True uses only a plugin that
    /// the user enabled.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub enabled_plugins: IndexMap<String, bool>,
    /// The options of plugins, by `name@marketplace` or name: `{"options": {...}}`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub plugin_configs: IndexMap<String, Map<String, Value>>,
    /// Marketplaces that `robota plugin marketplace add NAME` knows, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub extra_known_marketplaces: IndexMap<String, Map<String, Value>>,
    /// Another name of `extraKnownMarketplaces`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub additional_marketplaces: IndexMap<String, Map<String, Value>>,
    /// MCP servers, by the name that is part of the names of their tools.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub mcp_servers: IndexMap<String, Map<String, Value>>,
    /// Whether every server of a project's `.mcp.json` is used. The default is true
    /// for a trusted folder; false uses those of `enabledMcpjsonServers` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_all_project_mcp_servers: Option<bool>,
    /// The servers of `.mcp.json` that are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_mcpjson_servers: Option<Vec<String>>,
    /// The servers of `.mcp.json` that are not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_mcpjson_servers: Option<Vec<String>>,
    /// The only MCP servers that are used; without it all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_mcp_servers: Option<Vec<McpServerMatch>>,
    /// MCP servers that are never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_mcp_servers: Option<Vec<McpServerMatch>>,
    /// For the administrator: only the managed settings can list allowed servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_managed_mcp_servers_only: Option<bool>,

    /// Web services whose operations are tools, by the name that the tools begin with.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub open_api: IndexMap<String, OpenApiService>,

    /// Skills that are turned on or off, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub skill_overrides: IndexMap<String, String>,
    /// Whether skills may not run commands while they load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_skill_shell_execution: Option<bool>,
    /// Context files that are excluded, as globs over absolute paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claude_md_excludes: Option<Vec<String>>,
    /// Whether the files that commands change are recorded, so that a checkpoint can restore them.
    /// The files that tools change are always recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_checkpointing_enabled: Option<bool>,
    /// The most files, folders and links of the working folder that are compared before and after a
    /// command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_checkpointing_max_files: Option<u32>,
    /// The number of days after which sessions are deleted. No effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cleanup_period_days: Option<std::num::NonZeroU32>,
    /// The folder for plans. No effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plans_directory: Option<String>,
    /// Text that is added to commits and pull requests. No effect yet.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attribution: Map<String, Value>,
    /// Options of project memory. `enabled` offers the command `/memory` to the
    /// model; other options have no effect yet.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub memory: Map<String, Value>,
    /// Options of task files: `enabled` (true if absent), and `dir` for another folder than
    /// `.agents/tasks`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub task_context: Map<String, Value>,
    /// Servers and other transports, by name. No effect yet.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub transports: IndexMap<String, Map<String, Value>>,
    /// Options of worktrees of subagents: `carryChanges` lets them begin with the uncommitted changes of the
    /// folder. Others have no effect.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub worktree: Map<String, Value>,
    /// Whether agents run in processes of their own, unless their definition says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_processes: Option<bool>,
    /// What agents may do without a question, and who answers the others; `inherit` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_permissions: Option<AgentPermissionSetting>,
    /// How many background tasks run at a time, and how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<BackgroundTasks>,
    /// The colour theme of the terminal. No effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// Whether the terminal shows the whole output of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose: Option<bool>,

    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How failed model calls are retried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RetrySettings {
    /// How long a series of failed calls may last, in seconds; 0 never retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
}

/// Limits of what a session, a turn and a subagent may use. At 80 % the user is warned, at 100 % the
/// work stops.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetSettings {
    /// The limits of all turns of one run of a session.
    #[serde(flatten)]
    pub session: LimitSettings,
    /// The limits of each turn, besides those of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<LimitSettings>,
    /// The limits of each subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<LimitSettings>,
}

/// Limits. An absent one does not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitSettings {
    /// The most US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<Amount>,
    /// The most tokens, sent and received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<std::num::NonZeroU64>,
    /// The most turns; for a session and a subagent only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<std::num::NonZeroU64>,
    /// The longest time in which turns run, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<std::num::NonZeroU64>,
}

/// An amount that is more than zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub struct Amount(#[schemars(range(min = 0.0))] pub f64);

impl TryFrom<f64> for Amount {
    type Error = &'static str;

    fn try_from(amount: f64) -> Result<Self, Self::Error> {
        let valid = amount.is_finite() && amount > 0.0;
        valid.then_some(Self(amount)).ok_or("expected a number above 0")
    }
}

/// The web tools that the model's service runs itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NativeWebSettings {
    /// Use the service's own web search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<bool>,
    /// Use the service's own web fetch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch: Option<bool>,
}

/// Which calls run, ask or are denied, and the mode a session starts in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionSettings {
    /// Rules for calls that run without approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules for calls that need approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Rules for calls that are denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The mode a session starts in: `plan`, `default`, `dontAsk`, `acceptEdits` or
    /// `bypassPermissions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<String>,
    /// Folders that belong to the workspace in addition to the working folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// `"disable"` forbids the mode `bypassPermissions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_bypass_permissions_mode: Option<Disable>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The only value of `permissions.disableBypassPermissionsMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Disable {
    /// The mode is forbidden.
    Disable,
}

/// One string or a list of strings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One string, as most people write it.
    One(String),
    /// A list of strings.
    Many(Vec<String>),
}

/// A fraction of the context window: more than 0, at most 1, or `false` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct CompactThreshold(pub Option<f64>);

impl JsonSchema for CompactThreshold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CompactThreshold".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "type": "number", "exclusiveMinimum": 0, "maximum": 1 },
                { "const": false },
            ],
        })
    }
}

impl TryFrom<Value> for CompactThreshold {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::Bool(false) => Ok(Self(None)),
            Value::Number(number) => match number.as_f64() {
                Some(fraction) if fraction > 0.0 && fraction <= 1.0 => Ok(Self(Some(fraction))),
                _ => Err("expected a number above 0 and at most 1, or `false`"),
            },
            _ => Err("expected a number above 0 and at most 1, or `false`"),
        }
    }
}

impl From<CompactThreshold> for Value {
    fn from(threshold: CompactThreshold) -> Self {
        threshold.0.map_or(Self::Bool(false), Self::from)
    }
}

/// A command that prints the status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandLine {
    /// Always `command`; Claude Code writes it.
    #[serde(rename = "type")]
    pub kind: CommandKind,
    /// The shell command to run. Its output is shown below the status line.
    pub command: String,
    /// The number of spaces in front of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<u16>,
    /// The interval at which the command runs again, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_interval: Option<std::num::NonZeroU32>,
}

/// The only kind of [`CommandLine`], so that a file of Claude Code is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CommandKind {
    /// A command of the shell, which reads the state of the session from its standard input.
    Command,
}

/// How the terminal reports that it waits for the user or that a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationChannel {
    /// What the terminal is known to support; otherwise the bell.
    Auto,
    /// The bell of the terminal (BEL).
    TerminalBell,
    /// A notification by OSC 9, as iTerm2 and others show it.
    #[serde(alias = "osc9")]
    Iterm2,
    /// A notification by OSC 9, and the bell.
    Iterm2WithBell,
    /// A notification by OSC 777, as Ghostty, WezTerm and others show it.
    #[serde(alias = "osc777")]
    Ghostty,
    /// A notification by OSC 99, as kitty shows it.
    #[serde(alias = "osc99")]
    Kitty,
    /// No notification, not even the bell.
    NotificationsDisabled,
}

/// What the built-in status line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BuiltInStatusLine {
    /// Whether the status line is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether the status line shows the git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<bool>,
}

/// What agents may do without a question, and who answers the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentPermissionSetting {
    /// The rules of the session; its user answers the questions.
    Inherit,
    /// The same, without what the user has allowed for the session.
    Forward,
    /// The rules of the session; questions are denied.
    Deny,
    /// The same, and these rules allow calls.
    Allow(Vec<String>),
}

/// Limits of background tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BackgroundTasks {
    /// How many agents run at a time; 8 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<NonZeroU32>,
    /// How many commands run in the background at a time; 64 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<NonZeroU32>,
    /// The longest time that an agent runs, in seconds; no limit by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_seconds: Option<NonZeroU64>,
    /// The longest time that an agent does nothing, in seconds; 600 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_idle_seconds: Option<NonZeroU64>,
    /// The longest time that a command runs in the background, in seconds; no limit by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_seconds: Option<NonZeroU64>,
}
