//! `robota mcp remove`: removes a server.

use robota_config::{McpScope, remove_server};

use super::args::RemoveArgs;
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// Removes a server from its file.
pub(super) fn run(args: &RemoveArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let scopes = match args.scope {
        Some(scope) => vec![McpScope::from(scope)],
        None => vec![McpScope::Local, McpScope::Project, McpScope::User],
    };
    for scope in scopes {
        if let Some(file) = remove_server(&setup.places, scope, &args.name)? {
            output::line(&format!("Removed the MCP server {} from {}.", args.name, file.display()));
            return Ok(Exit::Ok);
        }
    }
    Err(Usage(format!("there is no MCP server `{}` that robota mcp can remove", args.name)).into())
}
