//! Session heads, lists, deletion and retention.

use jiff::SignedDuration;
use robota_core::event::{Durability, Renamed, StateSnapshot};
use robota_core::ids::SessionId;
use robota_core::journal::{
    JournalError, JournalStore, RetentionPolicy, SessionFilter, SessionHead, prune,
};
use serde_json::json;

use super::{
    at, create_session, created, cursor, envelope, id, input_event, rejected, seqs, turn_finished,
};

fn snapshot() -> StateSnapshot {
    let value = json!({
        "reducer": 1, "created": 1, "mode": robota_core::permission::Mode::default(), "view": {"events": []},
        "turns_completed": 1, "usage": robota_core::usage::Usage::default(),
        "safe_points": robota_core::state::SafePoints::default(),
    });
    serde_json::from_value(value).expect("a snapshot")
}

/// The head is the fold of all events after every append.
pub async fn sess_11_the_head_is_the_fold_of_the_events(store: &dyn JournalStore) {
    let session = id("s");
    let mut journal = store.create(&session).await.expect("create");
    let mut expected: Option<SessionHead> = None;
    let steps = [
        (created(&session, "/work", None), Durability::Synced),
        (input_event("  fix   the\ntests "), Durability::Synced),
        (turn_finished(), Durability::Synced),
        (snapshot().into(), Durability::Written),
        (Renamed { name: "tests".to_owned() }.into(), Durability::Written),
        (turn_finished(), Durability::Synced),
    ];
    for (seq, (event, durability)) in (1..).zip(steps) {
        let event = envelope(1, seq, event);
        journal.append(&[std::sync::Arc::clone(&event)], durability).await.expect("append");
        SessionHead::fold(&mut expected, &session, &event);
        let head = store.head(&session).await.expect("head");
        assert_eq!(Some(&head), expected.as_ref(), "after {seq}");
    }
    drop(journal);
    let head = store.head(&session).await.expect("head");
    assert_eq!((head.turns, head.snapshot, head.last), (2, Some(4), cursor(1, 6)));
    assert_eq!(
        (head.title.as_deref(), head.name.as_deref()),
        (Some("fix the tests"), Some("tests"))
    );
    assert_eq!(Some(head), expected);
}

async fn session_of(
    store: &dyn JournalStore,
    session: &SessionId,
    cwd: &str,
    text: &str,
    when: u64,
) {
    let mut journal = store.create(session).await.expect("create");
    let dated = |seq, event: robota_core::event::Event| {
        let mut event = (*envelope(1, seq, event)).clone();
        event.ts = at(when + seq);
        std::sync::Arc::new(event)
    };
    let events = [
        dated(1, created(session, cwd, None)),
        dated(2, input_event(text)),
        dated(3, turn_finished()),
    ];
    journal.append(&events, Durability::Synced).await.expect("append");
}

async fn listed(store: &dyn JournalStore, filter: &SessionFilter) -> Vec<String> {
    let page = store.list(filter).await.expect("list");
    page.sessions.iter().map(|head| head.session.to_string()).collect()
}

/// Sessions are listed newest first, with the same heads as `head` returns.
pub async fn sess_11_sessions_are_listed_newest_first(store: &dyn JournalStore) {
    assert!(listed(store, &SessionFilter::default()).await.is_empty());
    for (name, when) in [("b", 200), ("a", 100), ("d", 300), ("c", 300)] {
        session_of(store, &id(name), "/w", "hello", when).await;
    }
    // Of `c` and `d`, which are equally old, the id decides: a page must not depend on the
    // database.
    assert_eq!(listed(store, &SessionFilter::default()).await, ["c", "d", "b", "a"]);
    for head in store.list(&SessionFilter::default()).await.expect("list").sessions {
        assert_eq!(store.head(&head.session).await.expect("head"), head);
    }
    let mut journal = store.open(&id("a")).await.expect("open");
    let mut event = (*envelope(2, 4, turn_finished())).clone();
    event.ts = at(900);
    journal.append(&[std::sync::Arc::new(event)], Durability::Synced).await.expect("append");
    assert_eq!(listed(store, &SessionFilter::default()).await, ["a", "c", "d", "b"]);
}

/// Filters are combined, and pages follow each other.
pub async fn sess_11_lists_are_filtered_and_paged(store: &dyn JournalStore) {
    for (name, cwd, text, when) in [
        ("org:x/agent:a/session:1", "/one", "Fix the Übung", 100),
        ("org:x/agent:a/session:2", "/two", "write docs", 200),
        ("org:y/agent:a/session:3", "/one", "100% of_it", 300),
        ("plain", "/two", "nothing", 400),
    ] {
        session_of(store, &id(name), cwd, text, when).await;
    }
    let none = SessionFilter::default();
    let some = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (SessionFilter { prefix: some("org:x/"), ..none.clone() }, &["2", "1"][..]),
        // A prefix is a border between tenants, so it is compared exactly; a text is for people.
        (SessionFilter { prefix: some("ORG:x/"), ..none.clone() }, &[]),
        // A database must not take `%` and `_` for wildcards.
        (SessionFilter { prefix: some("org:%"), ..none.clone() }, &[]),
        (SessionFilter { cwd: some("/one"), ..none.clone() }, &["3", "1"]),
        (SessionFilter { text: some("ÜBUNG"), ..none.clone() }, &["1"]),
        (SessionFilter { text: some("0% OF_"), ..none.clone() }, &["3"]),
        (SessionFilter { text: some("Agent:"), ..none.clone() }, &["3", "2", "1"]),
        (SessionFilter { since: Some(at(203)), ..none.clone() }, &["plain", "3", "2"]),
        (SessionFilter { until: Some(at(203)), ..none.clone() }, &["1"]),
        (
            SessionFilter { text: some("i"), cwd: some("/one"), limit: Some(1), ..none.clone() },
            &["3"],
        ),
        (SessionFilter { limit: Some(0), ..none.clone() }, &[]),
    ] {
        let ids = listed(store, &filter).await;
        let short: Vec<_> = ids.iter().filter_map(|id| id.rsplit(':').next()).collect();
        assert_eq!(short, expected, "{filter:?}");
    }
    let mut filter = SessionFilter { limit: Some(3), ..none };
    let page = store.list(&filter).await.expect("list");
    assert_eq!(page.sessions.len(), 3);
    filter.after = page.next;
    assert!(filter.after.is_some());
    let page = store.list(&filter).await.expect("list");
    assert_eq!(
        page.sessions.first().map(|head| head.session.to_string()),
        Some("org:x/agent:a/session:1".to_owned())
    );
    assert_eq!((page.sessions.len(), page.next), (1, None));
}

/// Deleting a session removes it and nothing else.
pub async fn sess_11_deleted_sessions_are_removed(store: &dyn JournalStore) {
    drop(create_session(store, &id("a"), 3).await);
    drop(create_session(store, &id("b"), 2).await);
    assert!(store.delete(&id("a")).await.expect("delete"));
    assert!(!store.delete(&id("a")).await.expect("no error if absent"));
    assert!(matches!(rejected(store.open(&id("a")).await), JournalError::NotFound(_)));
    assert_eq!(listed(store, &SessionFilter::default()).await, ["b"]);
    // The id is free again, and no event of the old session comes back with it.
    drop(create_session(store, &id("a"), 1).await);
    assert_eq!(seqs(store, &id("a")).await, [1]);
    assert_eq!(seqs(store, &id("b")).await, [1, 2]);
}

/// Retention deletes what a dry run reports, and never an open session.
pub async fn sess_11_retention_deletes_what_the_policy_does_not_keep(store: &dyn JournalStore) {
    for (name, when) in [("a", 100), ("b", 200), ("c", 300), ("d", 400)] {
        session_of(store, &id(name), "/w", "hello", when).await;
    }
    let open = store.open(&id("b")).await.expect("open");
    let policy = RetentionPolicy {
        keep_last: Some(1),
        older_than: Some(SignedDuration::from_secs(250)),
        max_bytes: None,
    };
    // `c` is not old enough, and `d` is also the last one.
    let would = prune(store, policy, at(500), true).await.expect("prune");
    let names: Vec<_> = would.iter().map(|pruned| pruned.session.to_string()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(would.iter().all(|pruned| pruned.kept.is_none() && pruned.bytes > 0));
    assert_eq!(listed(store, &SessionFilter::default()).await.len(), 4, "a dry run");
    let did = prune(store, policy, at(500), false).await.expect("prune");
    assert!(did[0].kept.is_none());
    // The open session is kept, and the reason is reported.
    assert!(matches!(did[1].kept, Some(JournalError::Locked { .. })));
    assert_eq!(listed(store, &SessionFilter::default()).await, ["d", "c", "b"]);
    drop(open);
}
