//! The hooks of the session: what runs when, and from which file.

use robota_sdk::hooks::{HookEffect, HookListing, ListedHook};

use super::details::{self, Body, Entry, Kind, LoadedDetails};
use super::{Opening, work};

const KIND: Kind = Kind {
    title: "Hooks",
    empty: "No hooks are configured. docs/hooks.md shows how.",
    find: || {
        work(|context| async move {
            let listing = HookListing::of_session(&context.session);
            LoadedDetails(Ok(listing.iter().flat_map(entries).collect()))
        })
    },
};

/// Opens the page.
pub(super) fn open() -> Opening {
    details::open(&KIND)
}

fn entries(listing: &HookListing) -> Vec<Entry> {
    listing.hooks.iter().map(|hook| entry(hook, listing.disabled)).collect()
}

fn entry(hook: &ListedHook, disabled: bool) -> Entry {
    let matcher = hook.matcher.as_deref().map(|it| format!("({it})")).unwrap_or_default();
    let effect = match &hook.effect {
        _ if disabled => "off: disableAllHooks".to_owned(),
        HookEffect::Runs => "runs".to_owned(),
        HookEffect::RunsDetached => "runs in the background".to_owned(),
        HookEffect::Duplicate => "runs once: defined twice".to_owned(),
        HookEffect::Blocks(why) => format!("blocks: {why}"),
        HookEffect::Never(why) => format!("never runs: {why}"),
    };
    let mut text = format!(
        "{}{matcher}\n\n{}\n\nEffect: {effect}\nTime limit: {} s\nFrom: {}\n",
        hook.event,
        hook.label,
        hook.timeout.as_secs(),
        hook.source()
    );
    if let Some(condition) = &hook.condition {
        text.push_str(&format!("If: {condition}\n"));
    }
    for note in &hook.notes {
        text.push_str(&format!("Note: {note}\n"));
    }
    Entry {
        title: format!("{}{matcher}", hook.event),
        detail: format!("{}  [{effect}]", hook.label),
        body: Body::Text(text),
        file: hook.origin.as_ref().and_then(|origin| origin.file.clone()),
    }
}
