//! `robota mcp get`: connects to a server and shows its configuration and its tools.

use super::args::NameArgs;
use super::{Connected, find};
use crate::setup::Setup;
use crate::{Exit, output};

/// Shows a server.
pub(super) async fn run(args: &NameArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let connected = Connected::prepare(&setup);
    let config = find(&connected.found, &args.name)?;
    output::line(&format!("{}: {}", config.name, config.summary()));
    if let Some(scope) = connected.found.scopes.get(&config.name) {
        output::line(&format!("  scope: {}", scope.name()));
    }
    let report = connected.servers.check(&args.name).await;
    let tools = connected.servers.tools(&args.name);
    connected.close().await;
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            output::line(&format!("  {error}"));
            return Ok(Exit::Failure);
        }
    };
    output::line(&format!("  connected, protocol {}", report.protocol));
    for tool in &tools {
        let description = tool.description();
        let first = description.lines().next().unwrap_or_default();
        let first: String = first.chars().take(100).collect();
        output::line(&format!("  {}  {first}", tool.name()));
    }
    if let Some(changes) = &report.changes {
        for (word, names) in [("new", &changes.added), ("changed", &changes.changed)] {
            if !names.is_empty() {
                output::line(&format!("  {word}, waiting for approval: {}", names.join(", ")));
            }
        }
        output::line(&format!("To approve them: robota mcp approve {}", args.name));
    }
    Ok(Exit::Ok)
}
