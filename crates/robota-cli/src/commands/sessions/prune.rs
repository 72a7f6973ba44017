//! `robota sessions prune`: deletes old sessions.

use robota_core::clock::{Clock as _, SystemClock};
use robota_core::journal::{Pruned, RetentionPolicy, prune};
use serde_json::{Value, json};

use super::args::PruneArgs;
use super::{Context, time};
use crate::{Exit, Usage, output};

/// Deletes the sessions that the policy does not keep; with `--dry-run` only lists them.
pub(super) async fn run(args: PruneArgs) -> anyhow::Result<Exit> {
    let policy = RetentionPolicy {
        keep_last: args.keep,
        older_than: args.older_than.as_deref().map(time::age).transpose()?,
        max_bytes: args.max_size.as_deref().map(time::size).transpose()?,
    };
    if policy == RetentionPolicy::default() {
        let text = "pass at least one of --keep N, --older-than 30d, --max-size 2G";
        return Err(Usage(text.to_owned()).into());
    }
    let context = Context::open(&args.store).await?;
    let pruned = prune(&*context.store, policy, SystemClock.now(), args.dry_run).await?;
    let failed = pruned.iter().any(|pruned| pruned.kept.is_some());
    if args.store.json {
        let list: Vec<Value> = pruned.iter().map(to_json).collect();
        output::line(&json!({"dry_run": args.dry_run, "sessions": list}).to_string());
    } else {
        for one in &pruned {
            print_result(one, args.dry_run);
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

fn print_result(pruned: &Pruned, dry_run: bool) {
    let (session, bytes) = (&pruned.session, time::bytes(pruned.bytes));
    match &pruned.kept {
        Some(error) => output::error(&format!("cannot delete {session}: {error}")),
        None if dry_run => output::line(&format!("would delete {session} ({bytes})")),
        None => output::line(&format!("deleted {session} ({bytes})")),
    }
}
