//! `robota mcp`: one file per subcommand.

pub(crate) mod args;
mod serve;

use crate::Exit;
use args::{McpArgs, McpCommand};

/// Runs a subcommand.
pub(crate) async fn run(args: McpArgs) -> anyhow::Result<Exit> {
    match args.command {
        McpCommand::Serve(args) => serve::run(*args).await,
    }
}
