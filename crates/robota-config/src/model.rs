//! The settings as types. Every field is optional: a file says what it wants to say. The JSON
//! Schema is made from these; what merges how is in [`crate::keys`].

mod provider;
mod sandbox;

use indexmap::IndexMap;
use robota_core::permission::TrustLevel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use provider::{DEFAULT_TIMEOUT, LegacyProvider, ProviderProfile};
pub use robota_core::hook::{
    CommandHook, HookCommon, HookDefinition, HookGroup, HttpHook, PromptHook, UnusableHook,
};
pub use sandbox::{SandboxFilesystem, SandboxNetwork, SandboxSettings};

/// One settings file, or all of them merged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(title = "Robota settings")]
pub struct SettingsFile {
    /// What tools may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionSettings>,
    /// Commands and calls at fixed points of a turn, by event.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub hooks: IndexMap<String, Vec<HookGroup>>,
    /// No hook runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_all_hooks: Option<bool>,
    /// The only URLs HTTP hooks may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_http_hook_urls: Option<Vec<String>>,
    /// The only variables HTTP hooks may put into headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_hook_allowed_env_vars: Option<Vec<String>>,
    /// Variables for everything that is run; an empty value unsets one.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,

    /// Which of the provider profiles is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_provider: Option<String>,
    /// Provider profiles, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub providers: IndexMap<String, ProviderProfile>,
    /// Vendors beside the built-in ones, by type: the fields of a vendor's profile
    /// (docs/providers.md).
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub vendors: IndexMap<String, Map<String, Value>>,
    /// The one provider of older versions; used when no profile is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<LegacyProvider>,
    /// The model, when the provider's profile names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models to try when the first is not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<OneOrMany>,
    /// How hard the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_level: Option<String>,
    /// Whether the model always thinks first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_thinking_enabled: Option<bool>,
    /// A command that prints the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_helper: Option<String>,

    /// A friendly name for a permission mode; `permissions.defaultMode` goes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_trust_level: Option<TrustLevel>,
    /// The language of the answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// A named set of defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The style of the answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_style: Option<String>,
    /// The agent the main conversation runs as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How full the context may get before it is compacted; `false` for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_compact_threshold: Option<CompactThreshold>,
    /// Whether the context is compacted by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_compact_enabled: Option<bool>,

    /// What commands may touch, enforced by the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxSettings>,
    /// A command that prints the status line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_line: Option<CommandLine>,
    /// What the built-in status line shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statusline: Option<BuiltInStatusLine>,

    /// Plugins that are switched on or off, by `name@marketplace`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub enabled_plugins: IndexMap<String, bool>,
    /// Where plugins come from, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub extra_known_marketplaces: IndexMap<String, Map<String, Value>>,
    /// MCP servers, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub mcp_servers: IndexMap<String, Map<String, Value>>,
    /// Whether every server of a project's `.mcp.json` is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_all_project_mcp_servers: Option<bool>,
    /// The servers of `.mcp.json` that are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_mcpjson_servers: Option<Vec<String>>,
    /// The servers of `.mcp.json` that are not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_mcpjson_servers: Option<Vec<String>>,

    /// Skills switched on or off, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub skill_overrides: IndexMap<String, String>,
    /// Skills run no commands while they load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_skill_shell_execution: Option<bool>,
    /// Context files that are left out, as globs over absolute paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claude_md_excludes: Option<Vec<String>>,
    /// Whether files are kept as they were before an edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_checkpointing_enabled: Option<bool>,
    /// How many days sessions are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cleanup_period_days: Option<std::num::NonZeroU32>,
    /// Where plans are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plans_directory: Option<String>,
    /// Words added to commits and pull requests.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attribution: Map<String, Value>,
    /// Project memory.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub memory: Map<String, Value>,
    /// Task files.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub task_context: Map<String, Value>,
    /// Servers and other transports, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub transports: IndexMap<String, Map<String, Value>>,
    /// Worktrees of subagents.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub worktree: Map<String, Value>,
    /// The colours of the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// Whether everything is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbose: Option<bool>,

    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What tools may do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionSettings {
    /// Rules for what runs without a question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules for what is always asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// Rules for what never runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The mode a session starts in: `plan`, `default`, `acceptEdits` or `bypassPermissions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<String>,
    /// Folders beside the working folder that count as part of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// `"disable"`: nobody may use the mode that asks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_bypass_permissions_mode: Option<Disable>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The one word it takes to switch something off for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Disable {
    /// It is off.
    Disable,
}

/// One text or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// A list.
    Many(Vec<String>),
}

/// How full the context may get: more than 0, at most 1, or `false` for no limit.
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
                _ => Err("it must be more than 0 and at most 1, or `false`"),
            },
            _ => Err("it must be a number between 0 and 1, or `false`"),
        }
    }
}

impl From<CompactThreshold> for Value {
    fn from(threshold: CompactThreshold) -> Self {
        threshold.0.map_or(Self::Bool(false), Self::from)
    }
}

/// A command whose output is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandLine {
    /// Always `command`.
    #[serde(rename = "type")]
    pub kind: CommandKind,
    /// What is run.
    pub command: String,
    /// Spaces before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<u16>,
    /// How often it is run again, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_interval: Option<std::num::NonZeroU32>,
}

/// The one kind of [`CommandLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandKind {
    /// A shell command.
    Command,
}

/// What the built-in status line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BuiltInStatusLine {
    /// Whether it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether it names the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<bool>,
}
