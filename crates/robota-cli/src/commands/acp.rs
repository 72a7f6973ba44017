//! `robota acp`: serves an editor by the Agent Client Protocol.

use std::sync::Arc;

use robota_sdk::Transport as _;
use robota_server::acp::{AcpAgent, MAX_LINE};

use crate::args::AcpArgs;
use crate::hosted::ProgramSessions;
use crate::lines::{StdoutLines, read_stdin};
use crate::telemetry::Telemetry;
use crate::{Exit, debug, signals};

/// Serves the editor until it closes standard input.
pub(crate) async fn run(args: AcpArgs) -> anyhow::Result<Exit> {
    let cancel = signals::cancel_on_interrupt()?;
    let environment = robota_config::ProgramEnvironment::of_process();
    let telemetry = Telemetry::start(&environment);
    let cwd = robota_sdk::working_directory(args.serve.settings.cwd.as_deref())?;
    debug::start(args.serve.debug_log(), &cwd, &telemetry)?;
    // The editor may close either stream.
    let gone = cancel.token().child_token();
    let out = StdoutLines::start(gone.clone());
    let mut agent =
        AcpAgent::new(read_stdin(MAX_LINE), out.lines.clone(), env!("CARGO_PKG_VERSION"));
    agent.attach(Arc::new(ProgramSessions::new(args.serve)));
    let stop = agent.stop_token();
    let watch = tokio::spawn(async move {
        gone.cancelled().await;
        stop.cancel();
    });
    let served = agent.start().await;
    watch.abort();
    // The writer ends when the last sender is dropped, and the agent has one.
    drop(agent);
    out.finish().await;
    telemetry.finish().await;
    served?;
    Ok(cancel.exit().unwrap_or(Exit::Ok))
}
