//! `robota mcp approve`: approves the tools that a server has now.

use super::args::NameArgs;
use super::{Connected, find};
use crate::setup::Setup;
use crate::{Exit, output};

/// Connects to the server and approves its tools.
pub(super) async fn run(args: &NameArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let connected = Connected::prepare(&setup);
    find(&connected.found, &args.name)?;
    let checked = connected.servers.check(&args.name).await;
    let approved = checked.and_then(|_| connected.servers.approve(&args.name));
    connected.close().await;
    let changes = approved?;
    output::line(&if changes.need_approval() {
        format!("Approved ({changes}).")
    } else {
        "There is nothing to approve.".to_owned()
    });
    Ok(Exit::Ok)
}
