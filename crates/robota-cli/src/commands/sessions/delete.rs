//! `robota sessions delete`: deletes sessions and the blobs that only they refer to.

use std::io::{BufRead as _, IsTerminal as _};

use robota_core::ids::SessionId;
use robota_sdk::{SdkError, find_session};
use serde_json::json;

use super::Context;
use super::args::DeleteArgs;
use crate::{Exit, Usage, output};

/// Deletes the named sessions. A missing session is not an error; a failed deletion is.
pub(super) async fn run(args: DeleteArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let (mut matches, mut absent) = (Vec::new(), Vec::new());
    for text in &args.sessions {
        match find_session(&*context.store, text).await {
            // Two of the names can mean the same session.
            Ok(session) if matches.contains(&session) => {}
            Ok(session) => matches.push(session),
            Err(SdkError::SessionNotFound(text)) => absent.push(text),
            Err(error) => return Err(error.into()),
        }
    }
    if !args.yes && !matches.is_empty() && !confirm(&matches)? {
        output::note("nothing was deleted");
        return Ok(Exit::Failure);
    }
    let (mut deleted, mut failed) = (Vec::new(), Vec::new());
    for session in matches {
        match context.store.delete(&session).await {
            Ok(true) => deleted.push(session),
            // Another process deleted it while the user was asked.
            Ok(false) => absent.push(session.to_string()),
            Err(error) => failed.push((session, error)),
        }
    }
    for (session, error) in &failed {
        output::error(&format!("cannot delete {session}: {error}"));
    }
    if args.store.json {
        let kept: Vec<_> = failed.iter().map(|(session, _)| session).collect();
        let result = json!({"deleted": deleted, "absent": absent, "kept": kept});
        output::line(&result.to_string());
    } else {
        for session in &deleted {
            output::line(&format!("deleted {session}"));
        }
        for text in &absent {
            output::note(&format!("session `{text}` not found"));
        }
    }
    Ok(if failed.is_empty() { Exit::Ok } else { Exit::Failure })
}

/// Asks the user on the terminal whether to delete the sessions.
fn confirm(sessions: &[SessionId]) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        let text = "cannot ask for confirmation without a terminal; pass --yes to delete";
        return Err(Usage(text.to_owned()).into());
    }
    for session in sessions {
        output::note(&format!("  {session}"));
    }
    output::note("Delete these sessions permanently? [y/N]");
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
