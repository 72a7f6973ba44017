//! `/diff`: shows what changed in the files since the first prompt, or since a checkpoint.

use async_trait::async_trait;
use serde_json::json;

use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Diff;

#[async_trait]
impl SystemCommand for Diff {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("diff", "Shows what changed in the files since the first prompt")
            .arguments("[CHECKPOINT]")
            .reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let checkpoints = session.session().checkpoints();
        let checkpoint = match arguments.trim() {
            "" => match checkpoints.list().await {
                // In whichever order they are listed: the first prompt has the smallest number.
                Ok(list) => list.iter().min_by_key(|it| it.number).map(|it| it.id.clone()),
                Err(error) => return failed(&error),
            },
            id => Some(id.to_owned()),
        };
        let Some(checkpoint) = checkpoint else {
            return CommandResult::ok("No files have changed.").with("files", json!([]));
        };
        let preview = match checkpoints.preview(&checkpoint).await {
            Ok(preview) => preview,
            Err(error) => return failed(&error),
        };
        let (mut text, mut files) = (Vec::new(), Vec::new());
        for file in &preview.files {
            // The preview has the way back; users want to see what was done.
            let diff = file.diff.as_deref().map(reversed);
            text.push(match &diff {
                Some(diff) => diff.clone(),
                None => format!("{}: not text", file.path),
            });
            files.push(json!({"path": file.path, "change": file.change, "diff": diff}));
        }
        if text.is_empty() {
            return CommandResult::ok("No files have changed.").with("files", json!([]));
        }
        CommandResult::ok(text.join("\n")).with("files", json!(files))
    }
}

/// Returns the diff in the other direction.
fn reversed(diff: &str) -> String {
    let mut out = Vec::new();
    // In a group of changes the removed lines come first.
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut header = true;
    for line in diff.lines() {
        header &= !line.starts_with("@@");
        match line.as_bytes().first() {
            // In the header `---` and `+++` name files; they are no changed lines.
            Some(b'-') if !header => added.push(format!("+{}", &line[1..])),
            Some(b'+') if !header => removed.push(format!("-{}", &line[1..])),
            // "No newline at end of file" belongs to the line before.
            Some(b'\\') if !removed.is_empty() => removed.push(line.to_owned()),
            Some(b'\\') if !added.is_empty() => added.push(line.to_owned()),
            _ => {
                out.append(&mut removed);
                out.append(&mut added);
                out.push(reversed_header(line));
            }
        }
    }
    out.append(&mut removed);
    out.append(&mut added);
    out.join("\n")
}

/// Swaps the positions of a hunk: `@@ -1,2 +3,4 @@` becomes `@@ -3,4 +1,2 @@`.
fn reversed_header(line: &str) -> String {
    let positions = || {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, rest) = rest.split_once(" @@")?;
        Some(format!("@@ -{new} +{old} @@{rest}"))
    };
    positions().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::reversed;

    #[test]
    fn a_reversed_diff_shows_the_other_direction() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@ fn\n one\n-two\n+2\n+2b\n three";
        let expected = "--- a/x\n+++ b/x\n@@ -1,4 +1,3 @@ fn\n one\n-2\n-2b\n+two\n three";
        assert_eq!(reversed(diff), expected);
        assert_eq!(reversed(expected), diff);
    }
}
