//! `robota sessions prune`: the old ones go.

use robota_core::clock::{Clock as _, SystemClock};
use robota_core::journal::{Pruned, RetentionPolicy, prune};
use serde_json::{Value, json};

use super::args::PruneArgs;
use super::{Place, time};
use crate::{Exit, Usage, output};

/// Deletes them, or says which would go.
pub(super) async fn run(args: PruneArgs) -> anyhow::Result<Exit> {
    let policy = RetentionPolicy {
        keep_last: args.keep,
        older_than: args.older_than.as_deref().map(time::age).transpose()?,
        max_bytes: args.max_size.as_deref().map(time::size).transpose()?,
    };
    if policy == RetentionPolicy::default() {
        let text = "say which may go: --keep N, --older-than 30d, --max-size 2G";
        return Err(Usage(text.to_owned()).into());
    }
    let place = Place::of(&args.store).await?;
    let pruned = prune(&*place.store, policy, SystemClock.now(), args.dry_run).await?;
    let failed = pruned.iter().any(|pruned| pruned.kept.is_some());
    if args.store.json {
        let list: Vec<Value> = pruned.iter().map(to_json).collect();
        output::line(&json!({"dry_run": args.dry_run, "sessions": list}).to_string());
    } else {
        for one in &pruned {
            tell(one, args.dry_run);
        }
        if pruned.is_empty() {
            output::note("nothing to delete");
        }
    }
    Ok(if failed { Exit::Failure } else { Exit::Ok })
}

fn to_json(pruned: &Pruned) -> Value {
    let kept = pruned.kept.as_ref().map(ToString::to_string);
    json!({"session": pruned.session, "bytes": pruned.bytes, "kept": kept})
}

fn tell(pruned: &Pruned, dry_run: bool) {
    let (session, bytes) = (&pruned.session, time::bytes(pruned.bytes));
    match &pruned.kept {
        Some(error) => output::complain(&format!("{session} stays: {error}")),
        None if dry_run => output::line(&format!("would delete {session} ({bytes})")),
        None => output::line(&format!("deleted {session} ({bytes})")),
    }
}
