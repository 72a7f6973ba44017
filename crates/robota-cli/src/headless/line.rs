//! The lines that `--output-format stream-json` prints before the result. Each is one JSON object
//! with `type`, `uuid` and `session_id`.
//!
//! `cargo xtask gen` makes `docs/schema/stream-json.schema.json` from these types; this file uses
//! nothing of this crate but its siblings.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::message::{AssistantMessage, StreamEvent, UserMessage};
use super::tag::tag;

tag!(SystemTag, "system");
tag!(InitTag, "init");
tag!(AssistantTag, "assistant");
tag!(UserTag, "user");
tag!(StreamEventTag, "stream_event");
tag!(StatusTag, "status");
tag!(RetryTag, "api_retry");
tag!(CompactTag, "compact_boundary");
tag!(HookStartedTag, "hook_started");
tag!(HookResponseTag, "hook_response");
tag!(DeniedTag, "permission_denied");
tag!(InformationalTag, "informational");
tag!(SessionStateTag, "session_state_changed");
tag!(RateLimitTag, "rate_limit_event");
tag!(BlockedKind, "blocked_by_hook");
tag!(Off, "off");
tag!(DefaultText, "default");

/// The head of every turn: what the session works with.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InitLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: InitTag,
    /// The working folder.
    pub(crate) cwd: &'a str,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// The names of the tools that the model may call.
    pub(crate) tools: &'a [String],
    /// MCP servers and their state.
    pub(crate) mcp_servers: [McpServer; 0],
    /// The model's id.
    pub(crate) model: &'a str,
    /// The permission mode.
    #[serde(rename = "permissionMode")]
    pub(crate) permission_mode: &'a str,
    /// Commands that a prompt can start with.
    pub(crate) slash_commands: &'a [String],
    /// Where the key of the model service comes from.
    #[serde(rename = "apiKeySource")]
    pub(crate) api_key_source: &'a str,
    /// The version of the protocol, and of this program.
    pub(crate) claude_code_version: &'a str,
    /// The output style.
    pub(crate) output_style: &'a str,
    /// Agents that the model can start.
    pub(crate) agents: [&'a str; 0],
    /// Skills that the model can use.
    pub(crate) skills: &'a [String],
    /// Loaded plugins.
    pub(crate) plugins: [McpServer; 0],
    /// What this program supports beyond the basic protocol.
    pub(crate) capabilities: &'a [&'a str],
    /// The folder in which the program was started.
    pub(crate) original_cwd: &'a str,
    /// Further folders of the workspace.
    pub(crate) additional_directories: &'a [String],
    /// Whether a faster mode of the model is in use.
    pub(crate) fast_mode_state: Off,
    /// How a client shows the transcript.
    pub(crate) view_mode: DefaultText,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// A server or plugin: there are none yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct McpServer {
    /// Its name.
    pub(crate) name: String,
    /// Its state.
    pub(crate) status: String,
}

/// One block of an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AssistantLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: AssistantTag,
    /// The answer, with this block as its only content.
    pub(crate) message: AssistantMessage<'a>,
    /// The call of the subagent that wrote it; null for the session itself.
    pub(crate) parent_tool_use_id: Option<&'a str>,
    /// The class of the failure that this message reports; absent in an answer of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorClass>,
    /// True if the answer was cut short.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) aborted: bool,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line. `--resume-session-at` takes it.
    pub(crate) uuid: &'a str,
    /// The id of the model call.
    pub(crate) request_id: &'a str,
    /// When the answer was complete.
    pub(crate) timestamp: String,
}

/// The class of a failed model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorClass {
    AuthenticationFailed,
    BillingError,
    RateLimit,
    Overloaded,
    InvalidRequest,
    ModelNotFound,
    ServerError,
    Unknown,
}

/// A message of the user, or the result of a tool call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UserLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: UserTag,
    /// The message.
    pub(crate) message: UserMessage<'a>,
    /// The call of the subagent that it belongs to; null for the session itself.
    pub(crate) parent_tool_use_id: Option<&'a str>,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line; that of the host in a replayed message.
    pub(crate) uuid: &'a str,
    /// When it was added to the conversation.
    pub(crate) timestamp: String,
    /// What the tool returned, as an object, or `Error: …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_use_result: Option<Value>,
    /// How the permission of the call was decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_result_meta: Vec<ResultMeta<'a>>,
    /// True for a message that neither the user nor a tool wrote.
    #[serde(rename = "isSynthetic", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_synthetic: bool,
    /// True for a message that the host sent.
    #[serde(rename = "isReplay", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_replay: bool,
}

/// How the permission of a call was decided.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResultMeta<'a> {
    /// The id of the call.
    pub(crate) id: &'a str,
    /// The decision.
    pub(crate) permission_decision: DecisionMeta,
}

/// A decision about a call.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct DecisionMeta {
    /// What was decided.
    pub(crate) decision: DecisionText,
    /// Who decided.
    pub(crate) source: DecisionSource,
    /// What led to it.
    pub(crate) reason_type: DecisionSource,
}

/// What was decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionText {
    Allow,
    Deny,
}

/// Who decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionSource {
    /// The rules and the mode.
    Rule,
    /// A hook.
    Hook,
    /// The host, or its user.
    User,
}

/// One event of a streamed answer (`--include-partial-messages`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamEventLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: StreamEventTag,
    /// The event.
    pub(crate) event: StreamEvent<'a>,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// The call of the subagent; null for the session itself.
    pub(crate) parent_tool_use_id: Option<&'a str>,
    /// Unique per line.
    pub(crate) uuid: &'a str,
    /// How long the first piece took; only on `message_start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttft_ms: Option<u64>,
}

/// What the session does between two answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: StatusTag,
    /// What it does; null when a compaction ended.
    pub(crate) status: Option<StatusText>,
    /// The permission mode, after it changed.
    #[serde(rename = "permissionMode", skip_serializing_if = "Option::is_none")]
    pub(crate) permission_mode: Option<&'a str>,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// What the session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StatusText {
    /// It calls the model.
    Requesting,
    /// It summarises the conversation.
    Compacting,
}

/// A model call failed and will be retried.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RetryLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: RetryTag,
    /// The attempt that failed, from 1.
    pub(crate) attempt: u32,
    /// The most attempts that are made.
    pub(crate) max_retries: u32,
    /// The wait before the next attempt.
    pub(crate) retry_delay_ms: u64,
    /// The HTTP status; null if there was none.
    pub(crate) error_status: Option<u16>,
    /// The class of the failure.
    pub(crate) error: ErrorClass,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// The state of the service's rate limits changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RateLimitLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: RateLimitTag,
    /// The state.
    pub(crate) rate_limit_info: RateLimitInfo,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// The state of the service's rate limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RateLimitInfo {
    /// Whether calls are allowed.
    pub(crate) status: RateLimitStatus,
    /// When the limit that is most used is reset, in seconds since 1970; absent if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resets_at: Option<i64>,
    /// The used share of that limit, from 0 to 1; absent if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) utilization: Option<f64>,
}

/// Whether a service allows more calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RateLimitStatus {
    /// It does.
    #[default]
    Allowed,
    /// It does, and a limit is nearly reached.
    AllowedWarning,
    /// It does not: a limit is reached.
    Rejected,
}

/// A summary replaced the older messages.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompactLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: CompactTag,
    /// What caused it, and the size before.
    pub(crate) compact_metadata: CompactMetadata,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// What caused a compaction, and the size before.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct CompactMetadata {
    /// What caused it.
    pub(crate) trigger: CompactCause,
    /// The tokens of the conversation before.
    pub(crate) pre_tokens: u64,
}

/// What caused a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactCause {
    Auto,
    Manual,
}

/// Hooks are about to run (`--include-hook-events`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookStartedLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: HookStartedTag,
    /// Joins the two lines of one run.
    pub(crate) hook_id: &'a str,
    /// The event and, at a tool's hook, the tool.
    pub(crate) hook_name: &'a str,
    /// The event.
    pub(crate) hook_event: &'a str,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// Hooks finished (`--include-hook-events`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookResponseLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: HookResponseTag,
    /// Joins the two lines of one run.
    pub(crate) hook_id: &'a str,
    /// The event and, at a tool's hook, the tool.
    pub(crate) hook_name: &'a str,
    /// The event.
    pub(crate) hook_event: &'a str,
    /// The merged decision of the hooks, and their reason.
    pub(crate) output: String,
    /// The same as `output`.
    pub(crate) stdout: String,
    /// Empty: the journal records decisions, not streams.
    pub(crate) stderr: &'a str,
    /// How the hooks ended.
    pub(crate) outcome: HookOutcome,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// How hooks ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HookOutcome {
    Success,
    Error,
    Cancelled,
}

/// A call was denied, and no host was asked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeniedLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: DeniedTag,
    /// The tool's name.
    pub(crate) tool_name: &'a str,
    /// The id of the call.
    pub(crate) tool_use_id: &'a str,
    /// Why it was denied.
    pub(crate) message: &'a str,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// A text for the user.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InformationalLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: InformationalTag,
    /// The text.
    pub(crate) content: &'a str,
    /// How prominent it is.
    pub(crate) level: WarningText,
    /// True if the turn does not go on.
    pub(crate) prevent_continuation: bool,
    /// What became of the prompt.
    pub(crate) prompt_submit_outcome: PromptOutcome<'a>,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

tag!(WarningText, "warning");

/// What became of a prompt that a hook blocked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PromptOutcome<'a> {
    /// What happened.
    pub(crate) kind: BlockedKind,
    /// The reason of the hook.
    pub(crate) reason: &'a str,
}

/// Whether a turn runs, for hosts that ask for it with `CLAUDE_CODE_SDK_READS_SESSION_STATE=1`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionStateLine<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: SystemTag,
    pub(crate) subtype: SessionStateTag,
    /// The state.
    pub(crate) state: SessionStateText,
    /// True: the host reads the line, its user does not.
    pub(crate) sdk_host_only: bool,
    /// The session's id.
    pub(crate) session_id: &'a str,
    /// Unique per line.
    pub(crate) uuid: &'a str,
}

/// Whether a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionStateText {
    Idle,
    Running,
    RequiresAction,
}
