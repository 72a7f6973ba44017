//! The composition root: everything that a client of Robota uses.
//!
//! Every client (terminal, editor, server, script) opens an [`InteractiveSession`]: a durable
//! session with the settings, instructions, commands and skills of a folder. This crate wires the
//! crates below together and depends on no provider: the caller passes one in a [`ModelSetup`].

pub mod agents;
pub mod budget;
pub mod commands;
mod context;
pub mod costs;
pub mod error;
mod gated_tools;
pub mod hooks;
pub mod host;
pub mod import;
pub mod interactive;
pub mod listing;
pub mod mcp;
pub mod memory;
pub mod mentions;
pub mod model_setup;
pub mod notice;
mod openapi;
mod plan_mode;
pub mod plugins;
pub mod processes;
pub mod project;
pub mod prompt;
pub mod query;
pub mod run_plugins;
pub mod sandbox;
pub mod select;
pub mod self_hosting;
mod settings_hooks;
pub mod skills;
pub mod store;
mod tasks;
mod templates;
pub mod transcript;
pub mod transport;

pub use agents::{
    AgentHandle, AgentOptions, AgentPermissions, AgentProcess, AgentProgram, AgentResult, AgentRun,
    AgentRuns, AgentStart, agent_mode,
};
pub use budget::{Budget, BudgetLimits, BudgetUse};
pub use commands::{
    CommandInfo, CommandModule, CommandOrigin, CommandRegistry, CommandResult, CommandSafety,
    CommandSource, SessionPart, SystemCommand,
};
pub use costs::{Costs, ModelCost};
pub use error::SdkError;
pub use host::{HostError, HostedSession, OpenRequest, SessionHost};
pub use interactive::{
    BackgroundOptions, ClientHooks, Conversation, CostStatus, DiffLine, Entered, ExecutionResult,
    HOOK_WAKE, InteractiveEvent, InteractiveEvents, InteractiveSession, InteractiveSessionBuilder,
    LoadedContext, OfferedTools, Prepared, PreparedPrompt, Prompt, PromptBlock, PromptQueue,
    QueuedPrompt, SessionSelection, ShellRun, Spending, Submission, ToolEnd, ToolState, UsageKind,
    UsageSnapshot, config_change,
};
pub use listing::{DEFAULT_OUTPUT_STYLE, ProjectListing};
pub use mcp::{McpCallError, McpSetup, SessionMcp};
pub use model_setup::{CallSettings, DEFAULT_IDLE_TIMEOUT, ModelSetup};
pub use notice::Notice;
pub use project::{Project, ProjectOptions, working_directory};
pub use query::{QueryOptions, query};
pub use robota_core::event::Closed;
pub use robota_core::task::Isolation;
pub use robota_runtime::{
    AgentWork, Groups, ListedWorktree, LogPage, Removed, TaskEvent, TaskManager, TaskManagerError,
    Worktree, WorktreeError, Worktrees,
};
pub use select::{Earlier, SelectedSession, SessionChoice, find_session};
pub use settings_hooks::session_end_timeout;
pub use templates::template_of;
pub use transcript::SessionTranscript;
pub use transport::{Transport, TransportError, attach_transport};
