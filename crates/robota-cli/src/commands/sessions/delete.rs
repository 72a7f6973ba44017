//! `robota sessions delete`: sessions and the blobs only they refer to.

use std::io::{BufRead as _, IsTerminal as _};

use robota_core::ids::SessionId;
use serde_json::json;

use super::Place;
use super::args::DeleteArgs;
use super::find::{NotFound, find};
use crate::{Exit, Usage, output};

/// Deletes them. One that is not there is no error; one that could not be deleted is.
pub(super) async fn run(args: DeleteArgs) -> anyhow::Result<Exit> {
    let place = Place::of(&args.store).await?;
    let (mut found, mut absent) = (Vec::new(), Vec::new());
    for text in &args.sessions {
        match find(&*place.store, text).await {
            Ok(session) if found.contains(&session) => {}
            Ok(session) => found.push(session),
            Err(error) => match error.downcast_ref::<NotFound>() {
                Some(NotFound::None(text)) => absent.push(text.clone()),
                Some(NotFound::Several(..)) | None => return Err(error),
            },
        }
    }
    if !args.yes && !found.is_empty() && !asked(&found)? {
        output::note("nothing was deleted");
        return Ok(Exit::Failure);
    }
    let (mut deleted, mut failed) = (Vec::new(), Vec::new());
    for session in found {
        match place.store.delete(&session).await {
            Ok(true) => deleted.push(session),
            Ok(false) => absent.push(session.to_string()),
            Err(error) => failed.push((session, error)),
        }
    }
    for (session, error) in &failed {
        output::complain(&format!("{session} could not be deleted: {error}"));
    }
    if args.store.json {
        let kept: Vec<_> = failed.iter().map(|(session, _)| session).collect();
        let told = json!({"deleted": deleted, "absent": absent, "kept": kept});
        output::line(&told.to_string());
    } else {
        for session in &deleted {
            output::line(&format!("deleted {session}"));
        }
        for text in &absent {
            output::note(&format!("there is no session `{text}`"));
        }
    }
    Ok(if failed.is_empty() { Exit::Ok } else { Exit::Failure })
}

fn asked(sessions: &[SessionId]) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        let text = "nobody is there to ask; --yes deletes without a question";
        return Err(Usage(text.to_owned()).into());
    }
    for session in sessions {
        output::note(&format!("  {session}"));
    }
    output::note("Delete these for ever? [y/N]");
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
