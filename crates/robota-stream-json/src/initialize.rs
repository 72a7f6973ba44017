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
    /// The output style.
    pub output_style: String,
    /// All output styles.
    pub available_output_styles: Vec<String>,
    /// Models that `set_model` takes.
    pub models: Vec<ModelInfo>,
    /// How this program reaches the model service.
    pub account: AccountInfo,
}

/// A command that a prompt can start with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
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
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Its model; absent for that of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A model that `set_model` takes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// What `set_model` takes.
    pub value: String,
    /// The id that the service receives.
    pub resolved_model: String,
    /// The name to show.
    pub display_name: String,
    /// What is known about it.
    pub description: String,
    /// Whether it takes an effort level.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub supports_effort: bool,
}

/// How this program reaches the model service.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountInfo {
    /// Where the key comes from.
    pub api_key_source: String,
    /// The service; absent for one that hosts have no name for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_provider: Option<String>,
}

/// A plugin that is in use.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PluginInfo {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// `name@marketplace`, or the name.
    pub source: String,
    /// Its version; absent if it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
