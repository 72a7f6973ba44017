//! The lines that `--output-format stream-json` prints before the result. Each is one JSON object
//! with `type`, `uuid` and `session_id`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::initialize::PluginInfo;
use crate::message::{AssistantMessage, StreamEvent, UserMessage};
use crate::tag::tag;

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
// Hosts require the two keys that these types stand for, and this program has no other value.
tag!(Off, "off");
tag!(DefaultText, "default");

/// The head of every turn: what the session works with.
#[derive(Debug, Serialize, JsonSchema)]
// Hosts expect it after their first message, not after `initialize`, and again at every turn: what
// it lists can change between turns.
pub struct InitLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: InitTag,
    /// The folder in which tools run; paths in calls are relative to it.
    pub cwd: &'a str,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// The names of the tools that the model may call.
    pub tools: &'a [String],
    /// MCP servers, those that are not connected too.
    pub mcp_servers: Vec<McpServer>,
    /// Configured MCP servers that cannot be used; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_server_errors: Vec<McpServerError>,
    /// The id that the model service receives.
    pub model: &'a str,
    /// The permission mode at the start of the turn, in the spelling of `--permission-mode`.
    // This key and `apiKeySource` are camel case in the protocol, unlike the others of the line.
    #[serde(rename = "permissionMode")]
    pub permission_mode: &'a str,
    /// Commands that a prompt can start with.
    pub slash_commands: &'a [String],
    /// Those of them that have an effect in a terminal only; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terminal_slash_commands: Vec<&'a str>,
    /// Where the key of the model service comes from.
    #[serde(rename = "apiKeySource")]
    pub api_key_source: &'a str,
    /// The version of the protocol, and of this program.
    pub claude_code_version: &'a str,
    /// The output style of the settings, or `default`.
    pub output_style: &'a str,
    /// Agents that the model can start as tasks, with those of plugins.
    pub agents: &'a [String],
    /// Skills that the model can use.
    pub skills: &'a [String],
    /// The plugins that are in use; disabled ones are not listed.
    pub plugins: &'a [PluginInfo],
    /// Where notes for later sessions are kept.
    pub memory_paths: &'a MemoryPaths,
    /// What this program supports beyond the basic protocol.
    pub capabilities: &'a [&'a str],
    /// The folder in which the program was started.
    pub original_cwd: &'a str,
    /// Folders outside the working folder whose files belong to the workspace.
    pub additional_directories: &'a [String],
    /// Whether a faster mode of the model is in use.
    pub fast_mode_state: Off,
    /// How a client shows the transcript.
    pub view_mode: DefaultText,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// Where notes for later sessions are kept.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryPaths {
    /// The memory of the project, which the model can change if the user allows it.
    pub auto: String,
}

/// An MCP server of the session and the state of its connection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServer {
    /// The name in the configuration; the tools of the server have the prefix `mcp__NAME__`.
    pub name: String,
    /// Its state: `connected`, `pending`, `failed`, `disabled` or `needs-auth`.
    pub status: String,
    /// Where it is configured: `sdk` for a server in the host, `plugin`, `dynamic` for
    /// `--mcp-config`, or the scope of a file.
    pub source: String,
}

/// A configured MCP server that cannot be used.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerError {
    /// The name of the entry in the configuration.
    pub name: String,
    /// The kind of error: `invalid_config` or `url_missing_type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is wrong with the entry, for a person.
    pub message: String,
}

/// The subagent of a line; all fields are absent for the session itself.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct LineAgent<'a> {
    /// The id of the task that runs it, as in its `task_started` line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<&'a str>,
    /// The name of the agent, which the model chose as `subagent_type`; absent if the task has
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<&'a str>,
    /// The label of its task, which the model wrote for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_description: Option<&'a str>,
}

/// One block of an answer of the model; an answer with several blocks is several lines.
#[derive(Debug, Serialize, JsonSchema)]
// One block per line, as the protocol has it: hosts join the lines of an answer by `message.id`.
pub struct AssistantLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: AssistantTag,
    /// The answer, with this block as its only content.
    pub message: AssistantMessage<'a>,
    /// The call of the subagent that wrote it; null for the session itself.
    // Not left out: in the types of the Agent SDKs the key can be null, but not absent.
    pub parent_tool_use_id: Option<&'a str>,
    /// The subagent that wrote the block; its fields are absent for the session itself.
    #[serde(flatten)]
    pub agent: LineAgent<'a>,
    /// The class of the failure that this message reports; absent in an answer of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorClass>,
    /// True if the answer was cut short.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has. `--resume-session-at` takes it.
    pub uuid: &'a str,
    /// The id of the model call, which all blocks of one answer share; absent in lines of agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// The host's id of the message that the turn answers; only in the first line of a turn, and
    /// only if the host gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<&'a str>,
    /// The host's ids of all messages that the turn took so far, together with the one above.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub user_message_uuids: &'a [String],
    /// When the answer was complete or cut, as an RFC 3339 time.
    pub timestamp: String,
}

/// The class of a failed model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The service refused the key or the login.
    AuthenticationFailed,
    /// The account has to be paid.
    BillingError,
    /// Too many requests were sent, or a quota is used up.
    RateLimit,
    /// The service is overloaded; a later call can succeed.
    Overloaded,
    /// The service rejected the request; the same request fails again.
    InvalidRequest,
    /// The model does not exist, or the key may not use it.
    ModelNotFound,
    /// The service failed, or could not be reached.
    ServerError,
    /// A failure that has no class of its own.
    Unknown,
}

/// A message of the user, or the result of a tool call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UserLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: UserTag,
    /// Results of calls, or the content of a replayed or synthetic message.
    pub message: UserMessage<'a>,
    /// The call of the subagent that it belongs to; null for the session itself.
    pub parent_tool_use_id: Option<&'a str>,
    /// The subagent whose conversation has the message; its fields are absent for the session
    /// itself.
    #[serde(flatten)]
    pub agent: LineAgent<'a>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// Unique per line; that of the host in a replayed message.
    pub uuid: &'a str,
    /// When it was added to the conversation.
    pub timestamp: String,
    /// What the tool returned, as an object, or `Error: …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    // Not typed: each tool has a shape of its own, that of the output types in the Agent SDK.
    pub tool_use_result: Option<Value>,
    /// How the permission of each call was decided whose result the line has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_result_meta: Vec<ResultMeta<'a>>,
    /// True for a message that neither the user nor a tool wrote.
    #[serde(rename = "isSynthetic", skip_serializing_if = "std::ops::Not::not")]
    pub is_synthetic: bool,
    /// True for a message that the host sent.
    #[serde(rename = "isReplay", skip_serializing_if = "std::ops::Not::not")]
    pub is_replay: bool,
}

/// How the permission of a call was decided.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResultMeta<'a> {
    /// The id of the `tool_use` block.
    pub id: &'a str,
    /// What was decided, and by whom.
    pub permission_decision: DecisionMeta,
}

/// What was decided about a call before it ran, and by whom.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct DecisionMeta {
    /// What was decided; a question that stayed open is a denial.
    pub decision: DecisionText,
    /// Who decided: a rule, a hook or a person.
    pub source: DecisionSource,
    /// What led to the decision; this program records no more than who decided.
    pub reason_type: DecisionSource,
}

/// What was decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionText {
    /// The call was allowed and ran; its result can still be an error.
    Allow,
    /// The call was not run; the model reads why in the result.
    Deny,
}

/// Who decided whether a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionSource {
    /// The rules and the mode, without a question.
    Rule,
    /// A hook that ran before the call.
    Hook,
    /// The host that was asked, or the user who answered there.
    User,
}

/// One event of a streamed answer (`--include-partial-messages`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct StreamEventLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: StreamEventTag,
    /// The event, in the shape of the Messages API whatever service answered.
    pub event: StreamEvent<'a>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// The call of the subagent; null for the session itself.
    // Null today, because pieces of the answers of agents are not printed; the key must be there.
    pub parent_tool_use_id: Option<&'a str>,
    /// A UUID that no other line has.
    pub uuid: &'a str,
    /// How long the first piece took; only on `message_start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    /// The host's id of the message that the turn answers; only in the first event of a turn, and
    /// only if the host gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<&'a str>,
    /// The host's ids of all messages that the turn took so far, together with the one above.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub user_message_uuids: &'a [String],
}

/// What the session does between two answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: StatusTag,
    /// What it does; null when a compaction ended.
    pub status: Option<StatusText>,
    /// The permission mode, after it changed.
    #[serde(rename = "permissionMode", skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<&'a str>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// What the session does while it prints no blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusText {
    /// It calls the model, and no piece of the answer has come.
    Requesting,
    /// A model summarises the conversation to free the context window.
    Compacting,
}

/// A model call failed and will be retried.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RetryLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: RetryTag,
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// One more than `attempt`: how many follow depends on later failures and is not known.
    pub max_retries: u32,
    /// The wait before the next attempt, in milliseconds.
    pub retry_delay_ms: u64,
    /// The HTTP status; null if there was none.
    pub error_status: Option<u16>,
    /// The class by which a host decides what to show.
    pub error: ErrorClass,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// The state of the service's rate limits changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RateLimitLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    // Not a `system` line: it has no subtype.
    pub kind: RateLimitTag,
    /// The limit of which the largest share is used.
    pub rate_limit_info: RateLimitInfo,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// The state of the service's rate limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitInfo {
    /// Whether the service takes calls now; derived from the used share of the limits.
    pub status: RateLimitStatus,
    /// When the limit that is most used is reset, in seconds since 1970; absent if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
    /// The used share of that limit, from 0 to 1; absent if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
}

/// Whether a service allows more calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateLimitStatus {
    /// It does. The state before the first line, too.
    #[default]
    Allowed,
    /// It does, and a limit is nearly reached.
    AllowedWarning,
    /// It does not: a limit is reached.
    Rejected,
}

/// A summary replaced the older messages.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompactLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: CompactTag,
    /// What caused it, and the size before.
    pub compact_metadata: CompactMetadata,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// What caused a compaction, and the size before.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct CompactMetadata {
    /// What caused it; `pre_tokens` says how full the window was.
    pub trigger: CompactCause,
    /// The tokens that the conversation took in the context window before.
    pub pre_tokens: u64,
}

/// What made this program replace older messages by a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactCause {
    /// The context window was nearly full.
    Auto,
    /// The user or the host asked for it with `/compact`.
    Manual,
}

/// A hook starts (`--include-hook-events`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookStartedLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: HookStartedTag,
    /// Joins the two lines of one run.
    pub hook_id: &'a str,
    /// The event, and what the matcher was compared with, such as the tool.
    pub hook_name: &'a str,
    /// The name of the hook event, such as `PreToolUse`.
    pub hook_event: &'a str,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// A hook ended (`--include-hook-events`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookResponseLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: HookResponseTag,
    /// Joins the two lines of one run.
    pub hook_id: &'a str,
    /// The event, and what the matcher was compared with, such as the tool.
    pub hook_name: &'a str,
    /// The name of the hook event, such as `PreToolUse`.
    pub hook_event: &'a str,
    /// What it printed: standard output, then standard error.
    // The protocol has what was printed twice: joined here, and apart below.
    pub output: String,
    /// What it printed to standard output; of a callback the answer.
    pub stdout: String,
    /// What it printed to standard error, or why it did not run.
    pub stderr: String,
    /// Its exit code; absent if it did not exit by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How the hook ended: with success, with an error, or cancelled.
    pub outcome: HookOutcome,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// How a hook ended; hosts show an error to their user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookOutcome {
    /// It ended with code 0, so its output counts.
    Success,
    /// It ended with another code or by a signal, or did not run.
    Error,
    /// Its time was up, or it was withdrawn because the turn was interrupted.
    Cancelled,
}

/// A call was denied, and not by the host that was asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeniedLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: DeniedTag,
    /// The name by which the model called the tool.
    pub tool_name: &'a str,
    /// The id of the `tool_use` block.
    pub tool_use_id: &'a str,
    /// What decided: `rule` (also for the mode), `hook` or `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_reason_type: Option<DecisionSource>,
    /// Why it was denied; the model reads the same text.
    pub message: &'a str,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// A text for the user that is no part of the conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InformationalLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: InformationalTag,
    /// The reason of the hook that blocked the prompt, or why a fallback model is not used.
    pub content: &'a str,
    /// Always a warning: no other text is sent this way.
    pub level: WarningText,
    /// True: the turn ends without a model call.
    pub prevent_continuation: bool,
    /// Whether the prompt was answered or blocked; absent if the line is not about a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_submit_outcome: Option<PromptOutcome<'a>>,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

tag!(WarningText, "warning");

/// The outcome of a prompt that a hook blocked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptOutcome<'a> {
    /// Always that a hook blocked the prompt; hosts distinguish outcomes by it.
    pub kind: BlockedKind,
    /// The reason of the hook, which `content` repeats.
    pub reason: &'a str,
}

/// Whether a turn runs, for hosts that ask for it with `CLAUDE_CODE_SDK_READS_SESSION_STATE=1`.
#[derive(Debug, Serialize, JsonSchema)]
// With these lines the Agent SDKs close standard input after `idle`. Without them they close it
// after the first result, and can then no longer answer questions of agents in the background.
pub struct SessionStateLine<'a> {
    /// Hosts select the shape of a line by this, and for `system` by the subtype.
    #[serde(rename = "type")]
    pub kind: SystemTag,
    /// With `type` it selects the shape of the line.
    pub subtype: SessionStateTag,
    /// What the session does since this line.
    pub state: SessionStateText,
    /// True: the host reads the line, its user does not.
    pub sdk_host_only: bool,
    /// The id that `--resume` takes.
    pub session_id: &'a str,
    /// A UUID that no other line has.
    pub uuid: &'a str,
}

/// Whether a turn runs, or waits for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStateText {
    /// No turn and no agent in the background runs; the session waits for a message.
    Idle,
    /// A turn runs, and waits for nothing.
    Running,
    /// A turn waits for an answer of the host.
    RequiresAction,
}
