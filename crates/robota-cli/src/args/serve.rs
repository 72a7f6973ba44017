//! The arguments of commands that serve sessions to other programs.

use std::path::PathBuf;

use clap::Args;
use robota_core::permission::Mode;

use super::SettingsArgs;
use super::headless::{Durability, EFFORTS};
use crate::debug::DebugLog;

/// `robota acp`
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// `robota mcp serve`
#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    /// Serve over HTTP at this address instead of standard input and output, e.g. 127.0.0.1:8765.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<std::net::SocketAddr>,

    /// File with the token that clients must send. Without it a new token is made and printed.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Host name by which clients may reach the server, besides loopback (repeatable).
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,

    /// Web page that may use the server, as scheme://host:port (repeatable).
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,

    /// Built-in tools to offer, separated by commas; `""` for none [default: all].
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,

    /// Do not offer the agent.
    #[arg(long)]
    pub(crate) no_agent: bool,

    /// Let the host decide about calls of the agent (agent_decide). A host that is a model then
    /// decides about its own calls.
    #[arg(long)]
    pub(crate) host_decides: bool,

    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// Options for the sessions that a command serves.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Model provider: a vendor, a profile from the settings, or scripted:FILE.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,

    /// Model, or VENDOR/MODEL to select the provider as well.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// How hard the model thinks: low, medium, high, xhigh or max.
    #[arg(long, value_name = "LEVEL", value_parser = EFFORTS, hide_possible_values = true)]
    pub(crate) effort: Option<String>,

    /// Permission mode: plan, default, dontAsk, acceptEdits or bypassPermissions.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<Mode>,

    /// Let clients switch to bypassPermissions.
    #[arg(long)]
    pub(crate) allow_dangerously_skip_permissions: bool,

    /// Session store: file[:DIR], sqlite:FILE or postgres://… [default: .robota/sessions].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,

    /// Fsync policy: strict, barrier or relaxed.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Durability::Barrier)]
    pub(crate) durability: Durability,

    #[command(flatten)]
    pub(crate) settings: SettingsArgs,

    /// Write a debug log to FILE [default: .robota/logs/debug.log].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) debug: Option<Option<PathBuf>>,
}

impl ServeArgs {
    /// Returns where the debug log goes; none if there is none.
    pub(crate) fn debug_log(&self) -> Option<DebugLog<'_>> {
        self.debug.as_ref().map(|file| DebugLog::File(file.as_deref()))
    }
}
