//! The messages of ACP version 1, as types.
//!
//! They are not generated: the official crates make `serde_json` keep raw values, which is not
//! allowed here (`docs/decisions/0007-acp-types-by-hand.md`). Tests check every message against the
//! official schema. Version 2 will get a module next to this one.

use serde::{Deserialize, Deserializer};

mod client;
mod content;
mod initialize;
mod session;
mod update;

pub use client::{
    CreateTerminalRequest, CreateTerminalResponse, FormRequest, FormResponse, PermissionOption,
    PermissionOptionKind, PermissionOutcome, PermissionRequest, PermissionResponse,
    ReadFileRequest, ReadFileResponse, TerminalExit, TerminalOutput, TerminalRequest,
    WriteFileRequest,
};
pub use content::{ContentBlock, Resource, ResourceContents};
pub use initialize::{
    AgentCapabilities, AuthMethod, AuthenticateRequest, Capability, ClientCapabilities,
    FileCapabilities, Implementation, InitializeRequest, InitializeResponse, McpCapabilities,
    PromptCapabilities, SessionCapabilities,
};
pub use session::{
    ConfigOption, ConfigValue, ForkedSession, ListRequest, ListResponse, McpServer, Mode,
    ModeState, NameValue, OpenedSession, PromptRequest, PromptResponse, SelectOption,
    SessionFolder, SessionInfo, SessionReference, SetConfigRequest, SetConfigResponse,
    SetModeRequest, StopReason,
};
pub use update::{
    Command, CommandInput, Cost, Location, Notification, PlanEntry, PlanStatus, Priority, ToolCall,
    ToolCallContent, ToolCallStatus, ToolKind, Update,
};

/// The version of the protocol that this module implements. Editors must use it, or disconnect.
pub const VERSION: u16 = 1;

/// No model can be used: the client offers to sign in. Reserved by the protocol.
pub const AUTH_REQUIRED: i32 = -32000;
/// There is no such session or resource. Reserved by the protocol.
pub const NOT_FOUND: i32 = -32002;
/// The request was cancelled. JSON-RPC of editors has this code from LSP.
pub const CANCELLED: i32 = -32800;

/// Reads a field for which clients send null where they mean that they leave it out.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
