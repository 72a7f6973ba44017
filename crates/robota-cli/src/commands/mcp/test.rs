//! `robota mcp test`: connects to servers and reports whether they answer.

use super::args::TestArgs;
use super::{Connected, find};
use crate::setup::Setup;
use crate::{Exit, output};

/// Connects to all servers at once.
pub(super) async fn run(args: &TestArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let connected = Connected::prepare(&setup);
    let mut names = args.names.clone();
    // All names are checked before a server is started.
    for name in &names {
        find(&connected.found, name)?;
    }
    if names.is_empty() {
        names = connected.found.configs.iter().map(|config| config.name.clone()).collect();
    }
    let checks = names.iter().map(|name| connected.servers.check(name));
    let results = futures::future::join_all(checks).await;
    let reports = connected.servers.reports();
    connected.close().await;
    if args.json {
        let of = |name: &String| reports.iter().find(|report| report.name == *name);
        let named: Vec<_> = names.iter().filter_map(of).collect();
        output::line(&serde_json::to_string_pretty(&named)?);
        return Ok(if results.iter().all(Result::is_ok) { Exit::Ok } else { Exit::Failure });
    }
    let mut exit = Exit::Ok;
    for (name, result) in names.iter().zip(results) {
        match result {
            Ok(report) => {
                let tools = output::counted(report.tools.len(), "tool");
                output::line(&format!("{name}: connected, {tools}, protocol {}", report.protocol));
            }
            Err(error) => {
                exit = Exit::Failure;
                output::line(&format!("{name}: {error}"));
            }
        }
    }
    Ok(exit)
}
