//! `/mcp`: shows the MCP servers, connects again, and approves changed tools.

use async_trait::async_trait;
use robota_mcp::client::{Approved, ServerReport, ServerStatus};
use serde_json::json;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;
use crate::mcp::SessionMcp;

pub(super) struct Mcp;

#[async_trait]
impl SystemCommand for Mcp {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("mcp", "Shows the MCP servers and their tools")
            .arguments("[reconnect|approve SERVER]")
            .subcommand("reconnect", "Connects to a server again")
            .subcommand("approve", "Approves what has changed in a server")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        // A session with a host has this part even without a server.
        let used = |mcp: &&SessionMcp| !(mcp.servers().is_empty() && mcp.errors().is_empty());
        let Some(mcp) = session.mcp().filter(used) else {
            return CommandResult::ok("No MCP servers are configured. To add one: robota mcp add");
        };
        let words: Vec<_> = arguments.split_whitespace().collect();
        match words.as_slice() {
            [] => CommandResult::ok(list(mcp)).with("servers", json!(mcp.servers().reports())),
            ["reconnect", server] => match mcp.servers().reconnect(server).await {
                Ok(report) => CommandResult::ok(line(mcp, &report)),
                Err(error) => CommandResult::failed(error.to_string()),
            },
            ["approve", server] => approve(mcp, server, None).await,
            ["approve", server, hash] => approve(mcp, server, Some(hash)).await,
            _ => CommandResult::failed("Usage: /mcp [reconnect SERVER|approve SERVER [HASH]]"),
        }
    }
}

/// Approves the tools as the server describes them now.
async fn approve(mcp: &SessionMcp, server: &str, hash: Option<&str>) -> CommandResult {
    let checked = mcp.servers().check(server).await;
    match checked.and_then(|_| mcp.servers().approve(server, hash)) {
        Ok(Approved { changes, review: Some(review) }) => {
            let mut lines = review.lines();
            lines.push(format!("Approved: {changes}."));
            CommandResult::ok(lines.join("\n"))
        }
        Ok(_) => CommandResult::ok("There is nothing to approve."),
        Err(error) => CommandResult::failed(error.to_string()),
    }
}

fn list(mcp: &SessionMcp) -> String {
    let mut lines: Vec<_> =
        mcp.servers().reports().iter().map(|report| line(mcp, report)).collect();
    for error in mcp.errors() {
        lines.push(format!("{}  not used: {}", error.name, error.message));
    }
    lines.join("\n")
}

fn line(mcp: &SessionMcp, report: &ServerReport) -> String {
    let status = match report.status {
        ServerStatus::Pending if report.tools.is_empty() => "not started".to_owned(),
        ServerStatus::Pending => "not started; it starts with the first call".to_owned(),
        ServerStatus::Starting => "starting".to_owned(),
        ServerStatus::Connected => "connected".to_owned(),
        ServerStatus::NeedsAuth => format!("needs a login: robota mcp login {}", report.name),
        ServerStatus::Disabled => "turned off".to_owned(),
        ServerStatus::Failed => report.error.clone().unwrap_or_else(|| "failed".to_owned()),
    };
    let mut line = format!("{}  {} tools  {status}", report.name, report.tools.len());
    if let Some(review) = mcp.servers().review(&report.name) {
        line.push_str("\n  Changes that are not used until you approve them:");
        for change in review.lines() {
            line.push_str(&format!("\n  {change}"));
        }
        line.push_str(&format!("\n  To approve: /mcp approve {} {}", report.name, review.hash));
    }
    line
}
