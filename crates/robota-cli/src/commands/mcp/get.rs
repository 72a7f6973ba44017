//! `robota mcp get`: connects to a server and shows its configuration and its tools.

use robota_mcp::catalog::ToolDefinition;
use robota_mcp::client::ServerReport;
use robota_mcp::names::shown;
use robota_mcp::review::ChangeReview;
use serde_json::{Value, json};

use super::args::GetArgs;
use super::{Connected, describe, find};
use crate::setup::Setup;
use crate::{Exit, output};

/// Shows a server.
pub(super) async fn run(args: &GetArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let connected = Connected::prepare(&setup);
    let config = find(&connected.found, &args.name)?;
    let mut described = describe(&connected.found, config);
    let (summary, scope) = (config.summary().to_owned(), described["scope"].clone());
    let report = connected.servers.check(&args.name).await;
    let tools = connected.servers.tools(&args.name);
    let review = connected.servers.review(&args.name);
    // Before anything is printed: a closed pipe must not leave the server running.
    connected.close().await;
    let exit = if report.is_ok() { Exit::Ok } else { Exit::Failure };
    if args.json {
        match report {
            Ok(report) => add_report(&mut described, &report, &tools, review.as_ref()),
            Err(error) => described["error"] = json!(error.to_string()),
        }
        output::line(&serde_json::to_string_pretty(&described)?);
        return Ok(exit);
    }
    output::line(&format!("{}: {summary}", args.name));
    if let Some(scope) = scope.as_str() {
        output::line(&format!("  scope: {scope}"));
    }
    match report {
        Ok(report) => print_report(&args.name, &report, &tools, review.as_ref()),
        Err(error) => output::line(&format!("  {error}")),
    }
    Ok(exit)
}

/// Returns the first line of a description.
fn first_line(tool: &ToolDefinition) -> String {
    let description = tool.description();
    description.lines().next().unwrap_or_default().chars().take(100).collect()
}

fn add_report(
    described: &mut Value,
    report: &ServerReport,
    tools: &[ToolDefinition],
    review: Option<&ChangeReview>,
) {
    let tools = tools.iter().map(|tool| {
        json!({"name": tool.name(), "description": tool.description(), "annotations": tool.annotations()})
    });
    described["tools"] = tools.collect();
    described["protocol"] = json!(report.protocol);
    described["serverInfo"] = report.server_info.clone();
    described["prompts"] = json!(report.prompts);
    described["instructions"] = json!(report.instructions);
    described["changes"] = json!(report.changes);
    described["review"] = json!(review);
}

fn print_report(
    name: &str,
    report: &ServerReport,
    tools: &[ToolDefinition],
    review: Option<&ChangeReview>,
) {
    output::line(&format!("  connected, protocol {}", report.protocol));
    for tool in tools {
        output::line(&format!("  {}  {}", shown(tool.name()), first_line(tool)));
    }
    if let Some(instructions) = &report.instructions {
        output::line("  instructions for models:");
        for line in instructions.lines() {
            output::line(&format!("    {line}"));
        }
    }
    let Some(review) = review else { return };
    for line in review.lines() {
        output::line(&format!("  {line}"));
    }
    output::line(&format!(
        "To approve exactly this: robota mcp approve {name} --hash {}",
        review.hash
    ));
}
