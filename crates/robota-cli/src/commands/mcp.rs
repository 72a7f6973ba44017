//! `robota mcp`: the MCP servers of the user and of a folder.

mod add;
mod add_json;
mod approve;
pub(crate) mod args;
mod get;
mod list;
mod login;
mod logout;
mod remove;
mod serve;
mod test;

use std::sync::Arc;

use robota_exec::Supervisor;
use robota_mcp::client::McpServers;
use robota_mcp::config::ServerConfig;
use robota_sdk::mcp::{self, ConfiguredServers};
use robota_sdk::{McpSetup, processes};
use serde_json::{Value, json};

use crate::setup::{Setup, print_notice};
use crate::{Exit, Usage, setup};
use args::{McpArgs, McpCommand};

/// Runs a subcommand.
pub(crate) async fn run(args: McpArgs) -> anyhow::Result<Exit> {
    match args.command {
        McpCommand::Add(args) => add::run(&args),
        McpCommand::AddJson(args) => add_json::run(&args),
        McpCommand::Approve(args) => approve::run(&args).await,
        McpCommand::Get(args) => get::run(&args).await,
        McpCommand::List(args) => list::run(&args),
        McpCommand::Login(args) => login::run(&args).await,
        McpCommand::Logout(args) => logout::run(&args),
        McpCommand::Remove(args) => remove::run(&args),
        McpCommand::Serve(args) => serve::run(*args).await,
        McpCommand::Test(args) => test::run(&args).await,
    }
}

/// The configured servers, ready to be connected.
struct Connected {
    supervisor: Supervisor,
    servers: McpServers,
    found: ConfiguredServers,
}

impl Connected {
    /// Prepares the configured servers; none is started.
    fn prepare(setup: &Setup) -> Self {
        let found = mcp::configured(setup, &McpSetup::default());
        found.notices.iter().for_each(print_notice);
        let supervisor = match setup::reaper() {
            // Elsewhere the supervisor ends servers itself, which a killed process cannot do.
            Some(program) if cfg!(target_os = "linux") => Supervisor::with_reaper(program),
            _ => Supervisor::new(),
        };
        let environment = processes::command_environment(&setup.settings, &[]);
        let options = mcp::options(
            setup,
            &supervisor,
            &environment,
            Arc::new(|notice| print_notice(&notice)),
        );
        let servers = McpServers::new(found.configs.clone(), &options);
        Self { supervisor, servers, found }
    }

    /// Ends all servers.
    async fn close(self) {
        self.servers.close().await;
        self.supervisor.shutdown().await;
    }
}

/// Returns the configuration of a server.
fn find<'a>(found: &'a ConfiguredServers, name: &str) -> anyhow::Result<&'a ServerConfig> {
    let config = found.configs.iter().find(|config| config.name == name);
    config.ok_or_else(|| {
        if let Some(error) = found.errors.iter().find(|error| error.name == name) {
            let text = format!("the MCP server `{name}` cannot be used: {}", error.message);
            return Usage(text).into();
        }
        let names: Vec<_> = found.configs.iter().map(|config| config.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Usage(format!("there is no MCP server `{name}`; configured are: {names}")).into()
    })
}

/// Returns what is configured for a server as JSON, without secrets.
fn describe(found: &ConfiguredServers, config: &ServerConfig) -> Value {
    json!({
        "name": config.name,
        "transport": config.transport(),
        "target": config.summary(),
        "scope": found.scopes.get(&config.name).map(|scope| scope.name()),
    })
}
