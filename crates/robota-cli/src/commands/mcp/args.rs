//! The arguments of `robota mcp`.

use clap::{Args, Subcommand};

use crate::args::McpServeArgs;

/// `robota mcp`
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// The subcommands of `robota mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve the built-in tools and the agent to an MCP host.
    Serve(Box<McpServeArgs>),
}
