//! `robota mcp remove`: removes a server, and the login that no other server uses.

use robota_config::{McpScope, RemovedServer, remove_server, written_servers};
use robota_mcp::config::ServerConfig;
use serde_json::{Map, Value};

use super::args::RemoveArgs;
use super::login::token_store;
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// Removes a server from its file.
pub(super) fn run(args: &RemoveArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let scopes = match args.scope {
        Some(scope) => vec![McpScope::from(scope)],
        // The order in which servers are used: the entry in effect is the one that is removed.
        None => vec![McpScope::Local, McpScope::Project, McpScope::User],
    };
    for scope in scopes {
        if let Some(removed) = remove_server(&setup.places, scope, &args.name)? {
            let file = removed.file.display();
            output::line(&format!("Removed the MCP server {} from {file}.", args.name));
            remove_login(&setup, &args.name, &removed)?;
            return Ok(Exit::Ok);
        }
    }
    Err(Usage(format!("there is no MCP server `{}` that robota mcp can remove", args.name)).into())
}

/// Removes the login of a server that was removed. Logins are stored by address, so one that another
/// configured server has at the same address is kept.
fn remove_login(setup: &Setup, name: &str, removed: &RemovedServer) -> anyhow::Result<()> {
    let entry = removed.entry.as_object();
    let Some(url) = entry.and_then(|entry| url_of(setup, name, entry)) else { return Ok(()) };
    let tokens = token_store(setup)?;
    if !tokens.has(&url) {
        return Ok(());
    }
    let mut others = written_servers(&setup.places, &setup.settings);
    for plugin in setup.plugins.active() {
        others.extend(plugin.mcp_servers().0);
    }
    let same =
        others.iter().find(|(name, entry)| url_of(setup, name, entry).as_ref() == Some(&url));
    match same {
        Some((other, _)) => {
            output::line(&format!("The login was kept: the MCP server {other} uses it."));
        }
        None => {
            tokens.remove(&url)?;
            output::line(&format!("Removed the login to {name}."));
        }
    }
    Ok(())
}

/// Returns the address of an entry; none if it has none.
fn url_of(setup: &Setup, name: &str, entry: &Map<String, Value>) -> Option<String> {
    let variable = |name: &str| setup.environment.get(name).map(str::to_owned);
    let parsed = ServerConfig::parse(name, entry, &variable).ok()?;
    parsed.config.url().map(str::to_owned)
}
