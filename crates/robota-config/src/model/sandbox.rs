//! The `sandbox` settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The sandbox for commands. A leading `/` in a path is the root of the file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxSettings {
    /// Whether commands run in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether the program fails if the system has no sandbox. Otherwise commands run without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_if_unavailable: Option<bool>,
    /// Whether a command that is allowed only because it was proven to change nothing runs where it
    /// cannot: without write access and without the network, also if the sandbox is off. Without
    /// it, a mistake in the proof has effects. `true` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_fence: Option<bool>,
    /// Whether a command in the sandbox runs without approval. `true` has no effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_allow_bash_if_sandboxed: Option<bool>,
    /// Commands that run outside the sandbox. No effect yet: every command runs in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded_commands: Vec<String>,
    /// Whether a command may ask to run outside the sandbox. `true` has no effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_unsandboxed_commands: Option<bool>,
    /// Which files commands may read and write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<SandboxFilesystem>,
    /// Secrets that are hidden from commands: `files` (paths) and `envVars` (names), each a list of
    /// strings.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub credentials: Map<String, Value>,
    /// Which hosts commands may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<SandboxNetwork>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Which files commands may read and write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxFilesystem {
    /// Paths that may be written, in addition to the workspace and temporary folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_write: Vec<String>,
    /// Paths that may not be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_write: Vec<String>,
    /// Paths below `denyRead` that may be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_read: Vec<String>,
    /// Paths that may not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_read: Vec<String>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Which hosts commands may reach. Only `allowedDomains: ["*"]` without `deniedDomains` turns the
/// network on; single hosts cannot be allowed yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxNetwork {
    /// Hosts that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Hosts that may not be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_domains: Vec<String>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
