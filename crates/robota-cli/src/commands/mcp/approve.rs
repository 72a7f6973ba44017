//! `robota mcp approve`: approves the tools that a server has now.

use super::args::ApproveArgs;
use super::{Connected, find};
use crate::setup::Setup;
use crate::{Exit, output};

/// Connects to the server and approves its tools.
pub(super) async fn run(args: &ApproveArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let connected = Connected::prepare(&setup);
    find(&connected.found, &args.name)?;
    let checked = connected.servers.check(&args.name).await;
    let approve = |_| connected.servers.approve(&args.name, args.hash.as_deref());
    let approved = checked.and_then(approve);
    // Also after a failure: the server was started by this command.
    connected.close().await;
    let approved = approved?;
    let Some(review) = &approved.review else {
        output::line("There is nothing to approve.");
        return Ok(Exit::Ok);
    };
    // The server may have other tools now than when they were last shown.
    review.lines().iter().for_each(|line| output::line(line));
    output::line(&format!("Approved ({}).", approved.changes));
    Ok(Exit::Ok)
}
