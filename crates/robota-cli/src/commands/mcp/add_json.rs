//! `robota mcp add-json`: adds a server from JSON.

use serde_json::{Map, Value};

use super::add::write;
use super::args::AddJsonArgs;
use crate::setup::Setup;
use crate::{Exit, Usage};

/// Adds a server.
pub(super) fn run(args: &AddJsonArgs) -> anyhow::Result<Exit> {
    let entry: Map<String, Value> = serde_json::from_str(&args.json)
        .map_err(|error| Usage(format!("the entry is not a JSON object: {error}")))?;
    let setup = Setup::load(&args.settings, None)?;
    write(&setup.places, args.scope.into(), &args.name, entry)
}
