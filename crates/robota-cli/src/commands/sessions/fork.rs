//! `robota sessions fork`: creates a session that starts from a point of another.

use std::sync::Arc;

use robota_core::clock::SystemClock;
use robota_core::ids::{RandomIds, SessionId};
use robota_sdk::find_session;
use robota_session::fork_stored;
use serde_json::json;

use super::Context;
use super::args::ForkArgs;
use crate::{Exit, output};

/// Forks a session.
pub(super) async fn run(args: ForkArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let parent = find_session(&*context.store, &args.session).await?;
    let child = args.id.map_or_else(|| SessionId::mint(&RandomIds), SessionId::from);
    let at = fork_stored(&*context.store, &parent, &args.at, &child, Arc::new(SystemClock)).await?;
    if args.store.json {
        let result = json!({"session": child, "parent": parent, "at": at});
        output::line(&result.to_string());
    } else {
        output::line(&format!("forked {parent} at {at} to {child}"));
    }
    Ok(Exit::Ok)
}
