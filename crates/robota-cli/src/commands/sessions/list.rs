//! `robota sessions list`: the sessions there are, newest first.

use robota_core::clock::{Clock as _, SystemClock};
use robota_core::journal::{PageMark, SessionFilter, SessionHead, SessionPage};
use serde_json::{Value, json};

use super::args::ListArgs;
use super::{Place, text, time};
use crate::{Exit, Usage, output};

/// How wide the words of a session may be.
const WORDS: usize = 60;

/// Lists them.
pub(super) async fn run(args: ListArgs) -> anyhow::Result<Exit> {
    let place = Place::of(&args.store).await?;
    let now = SystemClock.now();
    let when =
        |text: &Option<String>| text.as_deref().map(|text| time::when(text, now)).transpose();
    // A project's own store holds the project's sessions and those imported into it.
    let named = args.store.store.is_some();
    let filter = SessionFilter {
        prefix: args.prefix.clone(),
        cwd: (named && !args.all).then(|| place.cwd().display().to_string()),
        text: args.text.clone(),
        since: when(&args.since)?,
        until: when(&args.until)?,
        limit: Some(args.limit),
        after: args.after.as_deref().map(mark).transpose()?,
    };
    let page = place.store.list(&filter).await?;
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
        output::note(&format!("more: --after {}", write_mark(next)));
    }
    Ok(Exit::Ok)
}

fn to_json(page: &SessionPage) -> Value {
    json!({"sessions": page.sessions, "next": page.next.as_ref().map(write_mark)})
}

fn write_mark(mark: &PageMark) -> String {
    format!("{}/{}", mark.updated, mark.session)
}

fn mark(text: &str) -> Result<PageMark, Usage> {
    let wrong = || Usage(format!("`{text}` is not where a list ended"));
    let (updated, session) = text.split_once('/').ok_or_else(wrong)?;
    Ok(PageMark { updated: updated.parse().map_err(|_| wrong())?, session: session.into() })
}

fn table(sessions: &[SessionHead]) -> Vec<String> {
    let ids = sessions.iter().map(|head| head.session.as_str().chars().count());
    let width = ids.max().unwrap_or(0).max(2);
    let mut lines = vec![format!("{:<width$}  {:<17}  {:>5}  WHAT", "ID", "CHANGED", "TURNS")];
    lines.extend(sessions.iter().map(|head| {
        let (id, changed) = (head.session.as_str(), time::minute(head.updated));
        format!("{id:<width$}  {changed:<17}  {:>5}  {}", head.turns, words(head))
    }));
    lines
}

fn words(head: &SessionHead) -> String {
    let title = head.title.as_deref().map(|title| text::short(title, WORDS));
    let name = head.name.as_deref().map(|name| format!("[{}]", text::short(name, WORDS)));
    let mut words: Vec<String> = name.into_iter().chain(title).collect();
    if head.parent.is_some() {
        words.push("(fork)".to_owned());
    }
    if head.foreign {
        words.push("(not yours: import it to use it)".to_owned());
    }
    words.join(" ")
}
