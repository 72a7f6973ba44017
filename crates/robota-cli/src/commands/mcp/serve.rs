//! `robota mcp serve`: serves the built-in tools and the agent to MCP hosts.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use robota_core::ids::{Ids as _, RandomIds};
use robota_sdk::Transport as _;
use robota_server::mcp::{McpServer, McpServerOptions, McpTransport};

use crate::args::McpServeArgs;
use crate::hosted::ProgramSessions;
use crate::telemetry::Telemetry;
use crate::{Exit, Usage, debug, output, signals};

/// The shortest token that a file may have.
const MIN_TOKEN: usize = 16;

/// Serves until the host closes the connection, or a signal arrives.
pub(crate) async fn run(args: McpServeArgs) -> anyhow::Result<Exit> {
    let cancel = signals::cancel_on_interrupt()?;
    let telemetry = Telemetry::start(&robota_config::ProgramEnvironment::of_process());
    let cwd = robota_sdk::working_directory(args.serve.settings.cwd.as_deref())?;
    debug::start(args.serve.debug_log(), &cwd, &telemetry)?;
    let transport = match args.http {
        None => McpTransport::Stdio,
        Some(address) => listen(address, &args)?,
    };
    let options = McpServerOptions {
        version: env!("CARGO_PKG_VERSION"),
        cwd: Some(cwd),
        tools: args.tools.as_deref().map(tool_names),
        agent: !args.no_agent,
        host_decides: args.host_decides,
    };
    let mut server = McpServer::new(transport, options);
    if let Some(address) = server.address() {
        output::note(&format!("robota: MCP server at http://{address}/mcp"));
    }
    server.attach(Arc::new(ProgramSessions::new(args.serve)));
    let (stop, cancelled) = (server.stop_token(), cancel.token().clone());
    let watch = tokio::spawn(async move {
        cancelled.cancelled().await;
        stop.cancel();
    });
    let served = server.start().await;
    watch.abort();
    telemetry.finish().await;
    served?;
    Ok(cancel.exit().unwrap_or(Exit::Ok))
}

fn tool_names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Opens the socket. An address that other machines reach needs a host name and a token.
fn listen(address: SocketAddr, args: &McpServeArgs) -> anyhow::Result<McpTransport> {
    let loopback = address.ip().is_loopback();
    if !loopback && (args.token_file.is_none() || args.allow_host.is_empty()) {
        let problem = format!(
            "--http {address} can be reached by other machines: it needs --token-file, and \
             --allow-host with the name by which clients reach it"
        );
        return Err(Usage(problem).into());
    }
    let token = match &args.token_file {
        Some(file) => read_token(file)?,
        None => {
            // On loopback too: other users and web pages can reach it there.
            // Two ids, because a part of each is the time.
            let token = format!("{}{}", RandomIds.next().simple(), RandomIds.next().simple());
            output::note(&format!("robota: token: {token}"));
            token
        }
    };
    let listener = std::net::TcpListener::bind(address)
        .with_context(|| format!("cannot listen at {address}"))?;
    let bound = listener.local_addr().context("the socket has no address")?;
    let (mut hosts, mut origins) = (args.allow_host.clone(), args.allow_origin.clone());
    // Other host names are refused, so that a web page whose name leads to this machine cannot use
    // the server (DNS rebinding).
    if loopback || address.ip().is_unspecified() {
        for name in ["localhost", "127.0.0.1", "[::1]"] {
            hosts.push(format!("{name}:{}", bound.port()));
            origins.push(format!("http://{name}:{}", bound.port()));
        }
    }
    Ok(McpTransport::Http { listener, token, hosts, origins, ids: Arc::new(RandomIds) })
}

fn read_token(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the token file {}", file.display()))?;
    let token = text.trim().to_owned();
    if token.len() < MIN_TOKEN {
        let file = file.display();
        anyhow::bail!("the token in {file} must have at least {MIN_TOKEN} characters");
    }
    Ok(token)
}
