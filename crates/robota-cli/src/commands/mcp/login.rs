//! `robota mcp login`: logs in to a server.

use std::io::BufRead as _;

use robota_mcp::oauth::{TokenStore, start_login};
use robota_sdk::McpSetup;
use robota_sdk::mcp::configured;

use super::args::LoginArgs;
use super::find;
use crate::setup::{Setup, print_notice};
use crate::{Exit, output};

/// Logs in: prints the address to open and waits for the browser.
pub(super) async fn run(args: &LoginArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let found = configured(&setup, &McpSetup::default());
    found.notices.iter().for_each(print_notice);
    let config = find(&found, &args.name)?;
    let tokens = token_store(&setup)?;
    let login = start_login(config, &tokens).await?;
    output::line("Open this address in a browser:");
    output::line(login.url());
    if args.paste {
        output::line("Then paste the address to which the browser was redirected:");
        // A blocking read, during which the runtime serves the connections of the login.
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        login.finish_with(line.await??.trim()).await?;
    } else {
        login.finish().await?;
    }
    output::line(&format!("You are logged in to {}.", args.name));
    Ok(Exit::Ok)
}

/// Returns the file with tokens.
pub(super) fn token_store(setup: &Setup) -> anyhow::Result<TokenStore> {
    let folder = setup.places.mcp_folder();
    let folder = folder.ok_or_else(|| anyhow::anyhow!("there is no home folder for tokens"))?;
    Ok(TokenStore::new(folder.join("tokens.json")))
}
