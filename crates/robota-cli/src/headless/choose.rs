//! The session that the arguments of a run name.

use robota_core::ids::SessionName;
use robota_core::journal::{JournalStore, SessionFilter};
use robota_sdk::{Earlier, SessionChoice};

use crate::Usage;
use crate::args::SessionArgs;

/// Returns the session that the arguments name.
pub(crate) async fn session_choice(
    args: &SessionArgs,
    store: &dyn JournalStore,
    cwd: &str,
) -> anyhow::Result<SessionChoice> {
    let id = args.session_id.clone();
    // A plain word is a mistake more often than a name, and hosts expect an error.
    let is_name = |id: &str| id.contains(':') && SessionName::parse(id).is_ok();
    if let Some(id) = &id
        && !is_name(id)
        && uuid::Uuid::try_parse(id).is_err()
    {
        return Err(Usage(
            "Error: Invalid session ID. Must be a valid UUID. (A name such as \
             agent:dev/session:main is an id, too.)"
                .to_owned(),
        )
        .into());
    }
    let earlier = if args.continue_latest {
        Some(Earlier::Latest)
    } else {
        match &args.resume {
            Some(Some(name)) => Some(Earlier::Named(name.clone())),
            Some(None) => return Err(Usage(missing_id(store, cwd).await?).into()),
            None => None,
        }
    };
    match (earlier, args.fork_session) {
        (None, true) => Err(Usage(
            "Error: --fork-session requires --continue (-c) or --resume (-r)".to_owned(),
        )
        .into()),
        (None, false) => Ok(SessionChoice::New(id)),
        (Some(_), false) if id.is_some() => Err(Usage(
            "Error: --session-id can only be used with --continue or --resume if --fork-session is \
             also specified."
                .into(),
        )
        .into()),
        (Some(earlier), false) => Ok(SessionChoice::Earlier(earlier)),
        (Some(of), true) => Ok(SessionChoice::Fork { of, id }),
    }
}

/// What `-r` without a session says in a headless run.
const NO_ID: &str = "Error: --resume requires a valid session ID or name when used with --print.";

/// Returns the usage error for `-r` without a session: it lists the most recent ones.
async fn missing_id(store: &dyn JournalStore, cwd: &str) -> anyhow::Result<String> {
    let filter =
        SessionFilter { cwd: Some(cwd.to_owned()), limit: Some(5), ..SessionFilter::default() };
    let sessions = store.list(&filter).await?.sessions;
    if sessions.is_empty() {
        return Ok(format!("{NO_ID} There is no session in {cwd}."));
    }
    let mut text = format!("{NO_ID} Recent sessions:");
    for head in sessions {
        let title = head.name.or(head.title).unwrap_or_default();
        text.push_str(&format!("\n  {}  {title}", head.session));
    }
    Ok(text)
}
