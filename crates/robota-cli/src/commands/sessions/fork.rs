//! `robota sessions fork`: another session that goes on from a point of one.

use std::sync::Arc;

use robota_core::clock::SystemClock;
use robota_core::ids::{RandomIds, SessionId};
use robota_session::fork_stored;
use serde_json::json;

use super::Place;
use super::args::ForkArgs;
use super::find::find;
use crate::{Exit, output};

/// Forks it.
pub(super) async fn run(args: ForkArgs) -> anyhow::Result<Exit> {
    let place = Place::of(&args.store).await?;
    let parent = find(&*place.store, &args.session).await?;
    let child = args.id.map_or_else(|| SessionId::mint(&RandomIds), SessionId::from);
    let at = fork_stored(&*place.store, &parent, &args.at, &child, Arc::new(SystemClock)).await?;
    if args.store.json {
        let told = json!({"session": child, "parent": parent, "at": at});
        output::line(&told.to_string());
    } else {
        output::line(&format!("{child} goes on from {parent} at {at}"));
    }
    Ok(Exit::Ok)
}
