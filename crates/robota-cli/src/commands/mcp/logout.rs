//! `robota mcp logout`: forgets the login to a server.

use robota_sdk::McpSetup;
use robota_sdk::mcp::configured;

use super::args::NameArgs;
use super::find;
use super::login::token_store;
use crate::setup::{Setup, print_notice};
use crate::{Exit, output};

/// Deletes the tokens of a server.
pub(super) fn run(args: &NameArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let found = configured(&setup, &McpSetup::default());
    found.notices.iter().for_each(print_notice);
    let config = find(&found, &args.name)?;
    let removed = match config.url() {
        Some(url) => token_store(&setup)?.remove(url)?,
        None => false,
    };
    output::line(&if removed {
        format!("You are logged out of {}.", args.name)
    } else {
        format!("You were not logged in to {}.", args.name)
    });
    Ok(Exit::Ok)
}
