//! `robota mcp`: one file per subcommand.

mod serve;

use crate::Exit;
use crate::args::{McpArgs, McpCommand};

/// Runs a subcommand.
pub(crate) async fn run(args: McpArgs) -> anyhow::Result<Exit> {
    match args.command {
        McpCommand::Serve(args) => serve::run(*args).await,
    }
}
