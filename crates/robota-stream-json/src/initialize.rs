//! What the answer to `initialize` says about this program, and the parts of it that `system/init`
//! has too.

use schemars::JsonSchema;
use serde::Serialize;

/// What the host can use: part of the answer to `initialize`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InitializeReply {
    /// Commands that a prompt can start with.
    pub commands: Vec<SlashCommand>,
    /// Agents that the model can start.
    pub agents: Vec<AgentInfo>,
    /// The output style of the settings, or `default`.
    pub output_style: String,
    /// The names that the setting `outputStyle` can have.
    pub available_output_styles: Vec<String>,
    /// Models that `set_model` takes.
    pub models: Vec<ModelInfo>,
    /// How this program reaches the model service.
    pub account: AccountInfo,
}

/// A command that a prompt can start with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
// The keys of the entries are camel case in the protocol, those of the answer itself are not.
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    /// The name that follows the slash in a prompt.
    pub name: String,
    /// The text that a menu shows next to the name.
    pub description: String,
    /// Its arguments, as a menu shows them; empty if it has none.
    pub argument_hint: String,
    /// True for a command of this program; absent for one of a user, a folder or a plugin.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub builtin: bool,
}

/// An agent that the model can start.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentInfo {
    /// The value that the model passes as `subagent_type`.
    pub name: String,
    /// When to use it: the text by which the model chooses an agent.
    pub description: String,
    /// Its model; absent for that of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// An entry of the menu of models in the host.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// What `set_model` takes; `default` stands for the model of the start.
    pub value: String,
    /// The id that the service receives.
    pub resolved_model: String,
    /// The name to show; `Default (…)` for the first one.
    pub display_name: String,
    /// The name of the model and, if it is known, the size of its context window.
    pub description: String,
    /// Whether it takes an effort level; absent if it does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub supports_effort: bool,
}

/// How this program reaches the model service.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountInfo {
    /// Where the key comes from: `ANTHROPIC_API_KEY`, `apiKeyHelper` or `none`. Never the key.
    pub api_key_source: String,
    /// The service; absent for one that hosts have no name for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_provider: Option<String>,
}

/// A plugin that is in use.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PluginInfo {
    /// The name that the plugin's manifest has, which is the prefix of its commands.
    pub name: String,
    /// The folder that has the plugin's files, as an absolute path.
    pub path: String,
    /// Where the plugin comes from: `name@marketplace`, or its name if it is from no
    /// marketplace.
    pub source: String,
    /// The version that the plugin's manifest names; absent if it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
