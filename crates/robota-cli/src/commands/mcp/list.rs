//! `robota mcp list`: lists the configured servers.

use robota_mcp::client::ServerStatus;
use robota_sdk::McpSetup;
use robota_sdk::mcp::configured;

use super::args::ListArgs;
use super::{Connected, describe};
use crate::setup::{Setup, print_notice};
use crate::{Exit, output};

/// Lists the servers without starting them.
pub(super) fn run(args: &ListArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    if args.json {
        let found = configured(&setup, &McpSetup::default());
        found.notices.iter().for_each(print_notice);
        let servers: Vec<_> = found.configs.iter().map(|config| describe(&found, config)).collect();
        output::line(&serde_json::to_string_pretty(&servers)?);
        return Ok(Exit::Ok);
    }
    let connected = Connected::prepare(&setup);
    if connected.servers.is_empty() {
        output::line("No MCP servers are configured. To add one: robota mcp add NAME -- COMMAND");
        return Ok(Exit::Ok);
    }
    let reports = connected.servers.reports();
    for config in &connected.found.configs {
        // A server that another one shares its name with is not used; a notice says so.
        let Some(report) = reports.iter().find(|report| report.name == config.name) else {
            continue;
        };
        let scope = connected.found.scopes.get(&config.name).map_or("", |scope| scope.name());
        let known = match (report.status, report.tools.len()) {
            (ServerStatus::Pending, 0) => "not connected yet".to_owned(),
            (_, count) => output::counted(count, "tool"),
        };
        output::line(&format!("{}: {} ({scope}, {known})", config.name, config.summary()));
    }
    Ok(Exit::Ok)
}
