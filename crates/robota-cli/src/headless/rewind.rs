//! Takes files back to their content before a message of the host.

use robota_core::event::{Cursor, Event};
use robota_core::ids::InputId;
use robota_session::{RestoreOptions, RestorePreview, RestoreScope, Session, SessionError};
use serde_json::{Value, json};

use super::writer::block_line_id;

/// How many events are read from the journal at a time.
const PAGE: usize = 4_096;

/// Restores the files; with `dry_run` it only reports what would change. The answer contains the reason
/// if the files cannot be restored.
pub(crate) async fn rewind_files(session: &Session, uuid: &str, dry_run: bool) -> Value {
    match try_rewind(session, uuid, dry_run).await {
        Ok(answer) => answer,
        Err(error) => json!({"canRewind": false, "error": error.to_string()}),
    }
}

async fn try_rewind(session: &Session, uuid: &str, dry_run: bool) -> Result<Value, SessionError> {
    let Some(message) = message_of(session, uuid).await? else {
        let text = format!("No file checkpoint found for message {uuid}.");
        return Ok(json!({"canRewind": false, "error": text}));
    };
    let checkpoints = session.checkpoints();
    let preview = checkpoints.preview(&message).await?;
    let (insertions, deletions) = changed_lines(&preview);
    let files: Vec<_> = preview.files.iter().map(|file| file.path.as_str()).collect();
    if dry_run {
        return Ok(json!({
            "canRewind": true,
            "filesChanged": files,
            "insertions": insertions,
            "deletions": deletions,
        }));
    }
    // Files that were changed since by others stay as they are; the answer names them.
    let options = RestoreOptions { scope: RestoreScope::Code, overwrite: false };
    let report = checkpoints.restore(&message, options).await?;
    let mut answer = json!({
        "canRewind": report.not_restored.is_empty() || !report.restored.is_empty(),
        "filesChanged": report.restored,
        "insertions": insertions,
        "deletions": deletions,
    });
    if !report.not_restored.is_empty() {
        let failed = report.not_restored.iter();
        let failed = failed.map(|file| format!("{} ({})", file.path, file.reason));
        let failed: Vec<_> = failed.collect();
        answer["error"] = format!("not restored: {}", failed.join(", ")).into();
    }
    Ok(answer)
}

/// Returns the message of the conversation for a line with this id: one that this program printed, or
/// one that the host sent.
async fn message_of(session: &Session, uuid: &str) -> Result<Option<String>, SessionError> {
    let (journal, mut after): (_, Option<Cursor>) = (session.journal(), None);
    let mut input: Option<InputId> = None;
    let mut found = None;
    loop {
        let page = journal.read(after, PAGE).await?;
        for event in &page {
            match event.event() {
                Event::InputAccepted(data)
                    if data.metadata.get("uuid").and_then(Value::as_str) == Some(uuid) =>
                {
                    input = Some(data.input.clone());
                }
                Event::UserMessage(data) => {
                    let id = data.message.id.as_str();
                    let sent = input.is_some() && data.input == input;
                    if sent || block_line_id(id, 0).is_some_and(|line| line.as_str() == uuid) {
                        found = Some(id.to_owned());
                    }
                }
                _ => {}
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.cursor()),
            _ => return Ok(found),
        }
    }
}

/// Counts the lines that a restore adds and removes.
fn changed_lines(preview: &RestorePreview) -> (usize, usize) {
    let count = |sign: char| {
        let files = preview.files.iter().filter(|file| file.problem.is_none());
        let diffs = files.filter_map(|file| file.diff.as_deref());
        // The names of the files come before the first hunk.
        let lines = diffs.flat_map(|diff| diff.lines().skip_while(|line| !line.starts_with("@@")));
        lines.filter(|line| line.starts_with(sign)).count()
    };
    (count('+'), count('-'))
}
