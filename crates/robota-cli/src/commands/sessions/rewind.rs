//! `robota sessions rewind`: lists the checkpoints of a session and restores one.

use std::path::Path;
use std::sync::Arc;

use robota_core::clock::SystemClock;
use robota_core::ids::RandomIds;
use robota_core::project::{ChangeKind, Checkpoint};
use robota_sdk::find_session;
use robota_session::{
    RestoreOptions, RestorePreview, RestoreReport, RestoreScope, checkpoints, preview_restore,
    restore_stored,
};
use robota_tools::LocalFiles;

use super::args::RewindArgs;
use super::{Context, text, time};
use crate::{Exit, Usage, output};

/// The width of a prompt, in characters.
const PROMPT_WIDTH: usize = 60;
/// The most paths that are listed without `--json`.
const MAX_PATHS: usize = 20;

/// Lists checkpoints, shows what a restore would do, or restores one.
pub(super) async fn run(args: RewindArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let (store, root) = (&*context.store, context.cwd().to_owned());
    let session = find_session(store, &args.session).await?;
    let Some(checkpoint) = &args.to else {
        let list = checkpoints(store, &session).await?;
        print(args.store.json, &list, || list_text(&list))?;
        return Ok(Exit::Ok);
    };
    let cwd = store.head(&session).await?.cwd;
    // A restore changes no files outside the folder of the command, so elsewhere it would restore
    // none of them.
    if let Some(cwd) = cwd.filter(|cwd| Path::new(cwd) != root) {
        let text = format!("the session works in {cwd}; add `--cwd {cwd}` to restore its files");
        return Err(Usage(text).into());
    }
    if args.diff {
        let preview = preview_restore(store, &session, checkpoint, &LocalFiles, &root).await?;
        print(args.store.json, &preview, || preview_text(&preview, &root))?;
        return Ok(Exit::Ok);
    }
    let scope = match (args.code, args.conversation) {
        (true, false) => RestoreScope::Code,
        (false, true) => RestoreScope::Conversation,
        _ => RestoreScope::Both,
    };
    let options = RestoreOptions { scope, overwrite: args.overwrite };
    let clock = Arc::new(SystemClock);
    let target = (checkpoint.as_str(), options);
    let restore =
        restore_stored(store, &session, target, (&LocalFiles, &root), (clock, &RandomIds));
    let report = restore.await?;
    print(args.store.json, &report, || report_text(&report, &root))?;
    // A partial restore is a failure for scripts: the folder now has files of both states.
    Ok(if report.not_restored.is_empty() { Exit::Ok } else { Exit::Failure })
}

fn print(
    json: bool,
    value: &impl serde::Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    output::line(&if json { serde_json::to_string(value)? } else { text() });
    Ok(())
}

fn list_text(list: &[Checkpoint]) -> String {
    if list.is_empty() {
        return "The session has no checkpoints.".to_owned();
    }
    let mut lines = Vec::new();
    for checkpoint in list {
        let prompt = text::short(&checkpoint.prompt, PROMPT_WIDTH);
        lines.push(format!(
            "{:>4}  {}  {prompt}",
            checkpoint.number,
            time::minute(checkpoint.time)
        ));
        let count = |kind| checkpoint.files.iter().filter(|file| file.change == kind).count();
        let counts = [
            ("created", count(ChangeKind::Created)),
            ("modified", count(ChangeKind::Modified)),
            ("deleted", count(ChangeKind::Deleted)),
        ];
        let counts: Vec<_> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        if !counts.is_empty() {
            lines.push(format!("      files: {}", counts.join(", ")));
        }
        for not in checkpoint.not_covered.iter().take(MAX_PATHS) {
            lines.push(format!(
                "      not covered: {} ({})",
                text::short(&not.path, 200),
                not.reason
            ));
        }
    }
    lines.join("\n")
}

fn preview_text(preview: &RestorePreview, root: &Path) -> String {
    let mut lines = vec![format!(
        "Restoring checkpoint {} ({}) changes:",
        preview.checkpoint.number,
        text::short(&preview.checkpoint.prompt, PROMPT_WIDTH)
    )];
    for file in &preview.files {
        let now = match file.change {
            ChangeKind::Created => "created since, will be deleted",
            ChangeKind::Modified => "modified since",
            ChangeKind::Deleted => "deleted since, will be created",
        };
        let path = relative(&file.path, root);
        match &file.problem {
            Some(problem) => lines.push(format!("! {path}: not restored, {problem}")),
            None => lines.push(format!("  {path}: {now}")),
        }
        lines.extend(file.diff.as_ref().map(|diff| text::plain(diff.trim_end())));
    }
    if preview.files.is_empty() {
        lines.push("  no files".to_owned());
    }
    match preview.messages_removed {
        Some(messages) => lines.push(format!("{messages} messages leave the conversation")),
        None => lines.push("the conversation cannot be restored".to_owned()),
    }
    lines.join("\n")
}

fn report_text(report: &RestoreReport, root: &Path) -> String {
    let mut lines = Vec::new();
    let number = report.checkpoint.number;
    lines.push(match (report.restored.len(), report.conversation) {
        (0, false) => format!("checkpoint {number}: no files to restore"),
        (files, false) => {
            format!("restored checkpoint {number}: {}", output::counted(files, "path"))
        }
        (files, true) => {
            let files = output::counted(files, "path");
            format!("restored checkpoint {number}: the conversation, {files}")
        }
    });
    for not in report.not_restored.iter().take(MAX_PATHS) {
        lines.push(format!("! {}: not restored, {}", relative(&not.path, root), not.reason));
    }
    if report.not_restored.len() > MAX_PATHS {
        lines.push(format!("! … and {} more", report.not_restored.len() - MAX_PATHS));
    }
    if let Some(undo) = &report.undo {
        lines.push(format!("to undo: --to {undo}"));
    }
    lines.join("\n")
}

fn relative(path: &str, root: &Path) -> String {
    let inside = Path::new(path).strip_prefix(root).map(|inside| inside.display().to_string());
    text::short(&inside.unwrap_or_else(|_| path.to_owned()), 200)
}
