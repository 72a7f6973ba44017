//! `robota sessions list`: lists sessions, most recent first.

use robota_core::clock::{Clock as _, SystemClock};
use robota_core::journal::{JournalStore, PageMark, SessionFilter, SessionHead, SessionPage};
use serde_json::{Value, json};

use super::args::ListArgs;
use super::{Context, text, time};
use crate::{Exit, Usage, output};

/// The width of a title or name, in characters.
const TITLE_WIDTH: usize = 60;

/// Prints one page of sessions.
pub(super) async fn run(args: ListArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let now = SystemClock.now();
    let when =
        |text: &Option<String>| text.as_deref().map(|text| time::when(text, now)).transpose();
    // The project's own store has only sessions of the project and imported ones: list them all.
    let named = args.store.store.is_some();
    let filter = SessionFilter {
        prefix: args.prefix.clone(),
        cwd: (named && !args.all).then(|| context.cwd().display().to_string()),
        text: args.text.clone(),
        since: when(&args.since)?,
        until: when(&args.until)?,
        limit: Some(args.limit),
        after: args.after.as_deref().map(parse_mark).transpose()?,
    };
    let page = page(&*context.store, filter, args.agents).await?;
    if args.store.json {
        output::line(&to_json(&page).to_string());
        return Ok(Exit::Ok);
    }
    if page.sessions.is_empty() {
        output::note("no sessions");
        return Ok(Exit::Ok);
    }
    for line in table(&page.sessions) {
        output::line(&line);
    }
    if let Some(next) = &page.next {
        output::note(&format!("more sessions: --after {}", format_mark(next)));
    }
    Ok(Exit::Ok)
}

/// Reads a page. Sessions of agents are left out unless they are wanted; then the page is filled with
/// the sessions that follow.
async fn page(
    store: &dyn JournalStore,
    mut filter: SessionFilter,
    agents: bool,
) -> anyhow::Result<SessionPage> {
    if agents {
        return Ok(store.list(&filter).await?);
    }
    let mut sessions = Vec::new();
    let wanted = filter.limit.unwrap_or(usize::MAX);
    loop {
        let mut page = store.list(&filter).await?;
        let of_users = page.sessions.extract_if(.., |head| head.spawned_by.is_none());
        let room = wanted - sessions.len();
        let mut of_users: Vec<_> = of_users.collect();
        let next = if of_users.len() > room {
            of_users.truncate(room);
            let last = of_users.last();
            // The mark of the store is behind sessions that this page has no room for.
            last.map(|head| PageMark { updated: head.updated, session: head.session.clone() })
        } else {
            page.next
        };
        sessions.extend(of_users);
        match next {
            Some(next) if sessions.len() < wanted => filter.after = Some(next),
            next => return Ok(SessionPage { sessions, next }),
        }
    }
}

fn to_json(page: &SessionPage) -> Value {
    json!({"sessions": page.sessions, "next": page.next.as_ref().map(format_mark)})
}

fn format_mark(mark: &PageMark) -> String {
    format!("{}/{}", mark.updated, mark.session)
}

fn parse_mark(text: &str) -> Result<PageMark, Usage> {
    let invalid =
        || Usage(format!("--after: invalid position `{text}`; use the one that a list printed"));
    let (updated, session) = text.split_once('/').ok_or_else(invalid)?;
    Ok(PageMark { updated: updated.parse().map_err(|_| invalid())?, session: session.into() })
}

fn table(sessions: &[SessionHead]) -> Vec<String> {
    let ids = sessions.iter().map(|head| head.session.as_str().chars().count());
    let width = ids.max().unwrap_or(0).max(2);
    let mut lines = vec![format!("{:<width$}  {:<17}  {:>5}  TITLE", "ID", "CHANGED", "TURNS")];
    lines.extend(sessions.iter().map(|head| {
        let (id, changed) = (head.session.as_str(), time::minute(head.updated));
        format!("{id:<width$}  {changed:<17}  {:>5}  {}", head.turns, title(head))
    }));
    lines
}

fn title(head: &SessionHead) -> String {
    let title = head.title.as_deref().map(|title| text::short(title, TITLE_WIDTH));
    let name = head.name.as_deref().map(|name| format!("[{}]", text::short(name, TITLE_WIDTH)));
    let mut parts: Vec<String> = name.into_iter().chain(title).collect();
    if head.parent.is_some() {
        parts.push("(fork)".to_owned());
    }
    if let Some(spawned_by) = &head.spawned_by {
        parts.push(format!("(agent of {})", spawned_by.session));
    }
    if head.foreign {
        parts.push("(by another user: import it to use it)".to_owned());
    }
    parts.join(" ")
}
