//! The options of a headless run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use robota_core::hook::SetupTrigger;
use robota_core::permission::Mode;
use serde::{Deserialize, Serialize};

use super::SettingsArgs;
use crate::debug::DebugLog;
use crate::headless::parse_mode;

/// The levels of `--effort`.
pub(crate) const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// How long a host may take to answer, in seconds, unless `--host-timeout` says it.
pub(crate) const HOST_TIMEOUT: u64 = 600;

/// A web tool that a model service runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NativeWebArg {
    /// Search the web.
    Search,
    /// Fetch pages.
    Fetch,
}

/// What agents may do without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentPermissionsArg {
    /// The rules of the session; its user answers the questions.
    Inherit,
    /// The same, without what the user has allowed for the session.
    Forward,
    /// The rules of the session; questions are denied.
    Deny,
}

impl From<AgentPermissionsArg> for robota_sdk::AgentPermissions {
    fn from(given: AgentPermissionsArg) -> Self {
        match given {
            AgentPermissionsArg::Inherit => Self::Inherit,
            AgentPermissionsArg::Forward => Self::Forward,
            AgentPermissionsArg::Deny => Self::Deny,
        }
    }
}

/// Options of a headless run (`robota -p`).
#[derive(Debug, Clone, Args)]
pub(crate) struct PrintArgs {
    /// Answer PROMPT and exit. Piped input is appended to the prompt; `-` takes the whole prompt
    /// from standard input.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1)]
    pub(crate) print: Option<Option<String>>,

    /// Prompt, if it does not follow -p directly.
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<String>,

    /// Run the Setup hooks of the settings (trigger `init`) before the first prompt.
    #[arg(long, conflicts_with = "maintenance")]
    pub(crate) init: bool,

    /// Run the Setup hooks (trigger `init`) and exit.
    #[arg(long, conflicts_with_all = ["maintenance", "print", "words"])]
    pub(crate) init_only: bool,

    /// Run the Setup hooks (trigger `maintenance`) before the first prompt.
    #[arg(long)]
    pub(crate) maintenance: bool,

    /// Write plain lines for a screen reader: nothing is redrawn, and questions are numbered lines.
    #[arg(long)]
    pub(crate) screen_reader: bool,

    /// Model provider: a profile from the settings, a vendor (see `robota models --all`), or
    /// scripted:FILE to replay a script.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,

    /// Model, or VENDOR/MODEL to select the provider as well.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Model that is used while the first one is overloaded; several are separated by commas and tried
    /// in this order.
    #[arg(long, value_name = "MODEL")]
    pub(crate) fallback_model: Option<String>,

    /// How hard the model thinks: low, medium, high, xhigh or max.
    #[arg(long, value_name = "LEVEL", value_parser = EFFORTS, hide_possible_values = true)]
    pub(crate) effort: Option<String>,

    /// Whether the model reasons before it answers [default: the setting alwaysThinkingEnabled,
    /// else the service decides].
    #[arg(long, value_name = "MODE", value_enum, conflicts_with = "max_thinking_tokens")]
    pub(crate) thinking: Option<ThinkingArg>,

    /// Approximate limit of reasoning tokens, for models that accept a number; 0 for no reasoning.
    #[arg(long, value_name = "N")]
    pub(crate) max_thinking_tokens: Option<u64>,

    /// What the service returns of the reasoning, if it has a choice.
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) thinking_display: Option<ThinkingDisplayArg>,

    /// How the answer is printed.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,

    /// How prompts are read from standard input.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = InputFormat::Text)]
    pub(crate) input_format: InputFormat,

    /// With stream-json: print the pieces of each answer as they arrive.
    #[arg(long)]
    pub(crate) include_partial_messages: bool,

    /// With stream-json: print when hooks start and what they decide.
    #[arg(long)]
    pub(crate) include_hook_events: bool,

    /// With stream-json in both directions: print each user message when it is delivered.
    #[arg(long)]
    pub(crate) replay_user_messages: bool,

    /// With stream-json: print the text and reasoning of agents, not only their calls.
    #[arg(long)]
    pub(crate) forward_subagent_text: bool,

    /// Send prompts that start with a slash to the model as they are, and offer no skills as commands.
    #[arg(long)]
    pub(crate) disable_slash_commands: bool,

    /// With text: print each tool call on standard error, as on a terminal. With json: print all
    /// lines as one array. stream-json requires this option, and always prints all lines. In the
    /// terminal interface: show the whole output of calls.
    #[arg(long)]
    pub(crate) verbose: bool,

    /// Permission mode: plan, default, acceptEdits, bypassPermissions or dontAsk. With -p, calls that
    /// need approval are denied unless a host answers (--permission-prompt-tool).
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    pub(crate) permission_mode: Option<Mode>,

    /// Same as --permission-mode bypassPermissions: allow everything except what deny rules, ask
    /// rules and the protection of critical paths forbid.
    #[arg(long)]
    pub(crate) dangerously_skip_permissions: bool,

    /// Let the host switch to bypassPermissions later.
    #[arg(long)]
    pub(crate) allow_dangerously_skip_permissions: bool,

    /// Who approves calls with -p: `stdio` asks the host with a control request (needs --input-format
    /// stream-json), `mcp__SERVER__TOOL` calls a tool of an MCP server.
    #[arg(long, value_name = "TOOL")]
    pub(crate) permission_prompt_tool: Option<String>,

    /// Whether calls that need approval are asked about at all: `none` denies them.
    #[arg(long, value_name = "WHO", value_enum, default_value_t = PermissionPrompts::Host)]
    pub(crate) permission_prompts: PermissionPrompts,

    /// How long the host may take to answer a request, in seconds. A call without an answer is
    /// denied.
    #[arg(long, value_name = "SECONDS", default_value_t = HOST_TIMEOUT)]
    pub(crate) host_timeout: u64,

    /// Sandbox for commands [default: from the settings].
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) sandbox: Option<SandboxLevelArg>,

    /// Maximum number of model calls per prompt; 0 for no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_turns: u32,

    /// Maximum price of all model calls of this run, in US dollars.
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) max_budget_usd: Option<f64>,

    /// Limit of what the session may use, earlier runs included (repeatable): usd=N, tokens=N, turns=N
    /// or seconds=N; with `turn.` in front for each prompt, with `subagent.` for each subagent.
    #[arg(long, value_name = "LIMIT=N")]
    pub(crate) budget: Vec<String>,

    /// How long failed model calls are retried, in seconds; 0 never retries [default: the setting
    /// retry.budget, else 300].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) retry_budget: Option<u64>,

    /// Let the model service search the web itself, or fetch pages (repeatable).
    #[arg(long, value_name = "TOOL", value_enum)]
    pub(crate) native_web: Vec<NativeWebArg>,

    /// Beta features of the Anthropic Messages API, which are sent in the header `anthropic-beta`
    /// (separated by commas, repeatable).
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) betas: Vec<String>,

    /// JSON Schema of the answer: the validated answer is in `structured_output`.
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) json_schema: Option<String>,

    /// Replace the system prompt.
    // A prompt may begin with a list, whose sign would be an option.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system_prompt: Option<String>,

    /// Replace the system prompt by the content of a file.
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt")]
    pub(crate) system_prompt_file: Option<PathBuf>,

    /// Add text to the system prompt.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) append_system_prompt: Option<String>,

    /// Add the content of a file to the system prompt.
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt")]
    pub(crate) append_system_prompt_file: Option<PathBuf>,

    /// Tools to offer, separated by commas; `""` for none, `default` for all.
    #[arg(long, value_name = "TOOLS", num_args = 1..)]
    pub(crate) tools: Option<Vec<String>>,

    /// Settings files to read, separated by commas: user, project, local.
    #[arg(long, value_name = "SOURCES")]
    pub(crate) setting_sources: Option<String>,

    /// Agents that the model can start, as JSON: `{"name": {"description": "…", "prompt": "…"}}`.
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,

    /// Run the conversation as this agent: with its prompt, tools, model, permission mode, hooks and
    /// limits [default: the setting `agent`].
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// What agents may do without a question: `inherit` has the rules of the session, and its user
    /// answers the questions; `forward` is without what the user has allowed for the session; `deny`
    /// denies the questions [default: the setting `agentPermissions`].
    #[arg(long, value_name = "RULES", value_enum)]
    pub(crate) agent_permissions: Option<AgentPermissionsArg>,

    /// Configuration of MCP servers: files or JSON (repeatable).
    #[arg(long, value_name = "FILE|JSON", num_args = 1..)]
    pub(crate) mcp_config: Vec<String>,

    /// Use only the MCP servers of --mcp-config.
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    pub(crate) settings: SettingsArgs,

    /// Write a debug log to FILE [default: .robota/logs/debug.log].
    // In `--debug PROMPT` the prompt would be the file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) debug: Option<Option<PathBuf>>,

    /// Same as --debug=FILE.
    #[arg(long, value_name = "FILE", conflicts_with = "debug")]
    pub(crate) debug_file: Option<PathBuf>,

    /// Write the debug log to standard error; in the terminal interface, to its file.
    #[arg(long)]
    pub(crate) debug_to_stderr: bool,
}

impl PrintArgs {
    fn debug_in_file(&self) -> Option<DebugLog<'_>> {
        self.debug.as_ref().map(|file| DebugLog::File(file.as_deref()))
    }

    /// Returns where the debug log of a headless run goes; none if there is none.
    pub(crate) fn debug_log(&self) -> Option<DebugLog<'_>> {
        self.debug_to_stderr.then_some(DebugLog::Stderr).or_else(|| self.debug_in_file())
    }

    /// Returns where the debug log of the terminal interface goes; none if there is none. Standard
    /// error is the screen there.
    pub(crate) fn screen_debug_log(&self) -> Option<DebugLog<'_>> {
        self.debug_in_file().or(self.debug_to_stderr.then_some(DebugLog::File(None)))
    }

    /// Returns why the Setup hooks run; none if they do not.
    pub(crate) fn setup_trigger(&self) -> Option<SetupTrigger> {
        match (self.init || self.init_only, self.maintenance) {
            (true, _) => Some(SetupTrigger::Init),
            (false, true) => Some(SetupTrigger::Maintenance),
            (false, false) => None,
        }
    }
}

/// Whether a model reasons before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingArg {
    /// The model decides how much it reasons.
    #[value(alias = "enabled")]
    Adaptive,
    /// The model does not reason.
    Disabled,
}

/// Whether a service shows reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingDisplayArg {
    /// A summary.
    Summarized,
    /// Nothing.
    Omitted,
}

/// Who is asked about calls that need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionPrompts {
    /// The host or the MCP tool that --permission-prompt-tool names is asked.
    Host,
    /// No one is asked: the calls are denied.
    None,
}

/// How much a sandbox restricts commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxLevelArg {
    /// No restrictions.
    Off,
    /// Commands cannot change files. The network is off unless the settings turn it on.
    ReadOnly,
    /// Commands can change files only in the workspace and in temporary folders. The network is
    /// off unless the settings turn it on.
    WorkspaceWrite,
}

impl From<SandboxLevelArg> for robota_core::sandbox::SandboxLevel {
    fn from(level: SandboxLevelArg) -> Self {
        match level {
            SandboxLevelArg::Off => Self::Off,
            SandboxLevelArg::ReadOnly => Self::ReadOnly,
            SandboxLevelArg::WorkspaceWrite => Self::WorkspaceWrite,
        }
    }
}

/// Options that select a session and its store.
#[derive(Debug, Clone, Args)]
pub(crate) struct SessionArgs {
    /// Continue the most recent session in this folder.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) continue_latest: bool,

    /// Resume a session by id, unique id prefix or name.
    #[arg(short = 'r', long, value_name = "ID|NAME", num_args = 0..=1)]
    pub(crate) resume: Option<Option<String>>,

    /// With -c or -r: fork the session and continue the fork.
    #[arg(long)]
    pub(crate) fork_session: bool,

    /// Id for the new session: a UUID, or a name such as agent:dev/session:main.
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,

    /// With -r: go back to this message of the session, and continue from there. Takes the `uuid`
    /// of an assistant line of stream-json.
    #[arg(long, value_name = "UUID", requires = "resume")]
    pub(crate) resume_session_at: Option<String>,

    /// Keep the session in memory only.
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_session_persistence: bool,

    /// Display name for the session.
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Session store: file[:DIR], sqlite:FILE or postgres://… [default: .robota/sessions].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,

    /// Fsync policy: strict, barrier or relaxed. A crash of the program loses nothing under any
    /// of them; they differ in what a power failure can lose.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Durability::Barrier)]
    pub(crate) durability: Durability,
}

impl SessionArgs {
    /// Selects a session, or a fork of it, instead of what the options select.
    pub(crate) fn resume_only(&mut self, session: &str, fork: bool) {
        self.continue_latest = false;
        self.resume = Some(Some(session.to_owned()));
        self.fork_session = fork;
        // These belong to the session that the arguments named.
        (self.session_id, self.resume_session_at, self.name) = (None, None, None);
    }
}

/// When the store waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Durability {
    /// Fsync after every event: a power failure loses nothing.
    Strict,
    /// Fsync before an effect that depends on the event: a power failure can lose events after
    /// the last such point.
    #[default]
    Barrier,
    /// Never fsync: a power failure can lose the last minutes.
    Relaxed,
}

impl From<Durability> for robota_store::DurabilityLevel {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Strict => Self::Strict,
            Durability::Barrier => Self::Barrier,
            Durability::Relaxed => Self::Relaxed,
        }
    }
}

/// The output of a headless run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The final answer.
    Text,
    /// One JSON object with the answer, cost, token usage and session id.
    Json,
    /// One JSON object per line, as things happen (docs/headless.md).
    StreamJson,
    /// Journal events as JSON lines, as they are written.
    Events,
}

impl OutputFormat {
    /// Returns whether the output has a result that says whether the run failed.
    pub(crate) fn has_result(self) -> bool {
        matches!(self, Self::Json | Self::StreamJson)
    }
}

/// The input of a headless run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// The prompt.
    Text,
    /// One JSON object per line: user messages and control requests (docs/headless.md).
    StreamJson,
}
