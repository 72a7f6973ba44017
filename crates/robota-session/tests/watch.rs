//! Subscriptions: stored events joined to live ones, cursors, kinds, slow readers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::HashSet;
use std::sync::Arc;

use common::*;
use futures::StreamExt as _;
use robota_core::event::{Cursor, Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::permission::Class;
use robota_session::{EventFilter, EventKind, Resume, Session, StartAt, SubscriptionItem};
use robota_testkit::{Script, ScriptedAnswer, blocking_tool};

async fn all(session: &Session, since: StartAt) -> Vec<Arc<Envelope>> {
    let mut events = session.subscribe(since, EventFilter::Everything).await.unwrap();
    session.shutdown("end").await.unwrap();
    let mut seen = Vec::new();
    while let Some(observed) = events.next().await {
        match observed.unwrap() {
            SubscriptionItem::Event(event) => seen.push(event.envelope),
            SubscriptionItem::CursorReset { .. } => panic!("the cursor is good"),
        }
    }
    seen
}

#[test]
fn kode_03_a_subscriber_from_any_cursor_sees_exactly_what_follows_it() {
    both_runtimes(async || {
        let (first, _) = builder(Script::new().text("One.").text("Two."));
        let store = memory();
        let session = first.clone().create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.run("Hi").await.unwrap();
        let length = journal(&*store, &id).await.len();
        session.shutdown("end").await.unwrap();
        for at in 0..=length {
            let session =
                first.clone().resume(store.clone(), &id, Resume::default()).await.unwrap();
            let events = journal(&*store, &id).await;
            let since = match at {
                0 => StartAt::Start,
                at => StartAt::After(events[at - 1].cursor()),
            };
            let seen = all(&session, since).await;
            let expected = journal(&*store, &id).await;
            let seen: Vec<_> = seen.iter().map(|event| (**event).clone()).collect();
            assert_eq!(seen, expected[at..], "from {at}");
        }
    });
}

#[tokio::test(start_paused = true)]
async fn kode_03_a_slow_reader_catches_up_from_the_journal() {
    let long: Vec<String> = (0..3000).map(|n| format!("{n} ")).collect();
    // Each chunk is its own event: the stream pauses after it.
    let mut answer = ScriptedAnswer::new();
    for piece in &long {
        answer = answer.text(piece).pause(std::time::Duration::from_millis(20));
    }
    let (builder, _) = builder(Script::new().answer(answer));
    let store = memory();
    let session = builder.create(store.clone(), None).await.unwrap();
    let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
    let start = journal(&*store, session.id()).await.len();
    session.run("Count").await.unwrap();
    session.shutdown("end").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.next_event().await {
        seen.push((*event.unwrap().envelope).clone());
    }
    assert!(seen.len() > 3000, "{}", seen.len());
    assert_eq!(seen, journal(&*store, session.id()).await[start..]);
}

#[test]
fn kode_03_naming_kinds_replaces_the_default() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [look]\n- text: Done."));
        let session =
            builder.tools(tool(echo("look", Class::Inspect))).create(memory(), None).await.unwrap();
        let minimal = session.subscribe(StartAt::Start, EventFilter::default()).await.unwrap();
        let named =
            session.subscribe(StartAt::Start, [EventKind::State, EventKind::Commit]).await.unwrap();
        session.run("Go").await.unwrap();
        session.shutdown("end").await.unwrap();
        let kinds = |events: robota_session::Subscription| async {
            let seen: Vec<_> = events.collect().await;
            let kinds = seen.into_iter().flat_map(|observed| match observed.unwrap() {
                SubscriptionItem::Event(event) => event.kinds,
                SubscriptionItem::CursorReset { .. } => panic!(),
            });
            kinds.map(EventKind::name).collect::<Vec<_>>()
        };
        let minimal = kinds(minimal).await;
        let names = EventKind::MINIMAL.map(EventKind::name);
        let expected =
            ["text_chunk", "text", "tool_use", "tool_result", "usage", "error", "messages_update"];
        assert_eq!(names.iter().collect::<HashSet<_>>(), expected.iter().collect());
        for kind in names {
            assert_eq!(minimal.contains(&kind), kind != "error", "{kind} in {minimal:?}");
        }
        assert!(!minimal.contains(&"state"));
        let named = kinds(named).await;
        assert_eq!(named, ["state", "state", "commit", "commit", "state"], "begun, allowed, ended");
    });
}

#[test]
fn kode_03_a_cursor_of_lost_events_is_reset() {
    both_runtimes(async || {
        let (first, _) = builder(Script::new().text("One.").text("Two.").text("Three."));
        let store = memory();
        let session = first.clone().create(store.clone(), None).await.unwrap();
        let id = session.id().clone();
        session.run("Hi").await.unwrap();
        session.shutdown("end").await.unwrap();
        let events = journal(&*store, &id).await;
        let last = events.last().unwrap().cursor();

        // A power failure lost the last five events, and another writer continued.
        let kept = &events[..events.len() - 5];
        let store = crashed(&id, kept).await;
        let session = first.clone().resume(store.clone(), &id, Resume::default()).await.unwrap();
        session.run("Again").await.unwrap();
        let valid = kept.last().unwrap().cursor();
        let mut stream = session.subscribe(last, EventFilter::Everything).await.unwrap();
        let reset = stream.next().await.unwrap().unwrap();
        assert_eq!(reset, SubscriptionItem::CursorReset { asked: last, valid: Some(valid) });
        let next = stream.next_event().await.unwrap().unwrap();
        assert_eq!(next.cursor(), Cursor { epoch: 2, seq: valid.seq + 1 });
        assert!(matches!(next.event(), Event::Opened(_)));

        // Past the end, and of a writer that never existed.
        let end = journal(&*store, &id).await.last().unwrap().cursor();
        for asked in
            [Cursor { epoch: end.epoch, seq: end.seq + 100 }, Cursor { epoch: 9, seq: end.seq }]
        {
            let mut stream = session.subscribe(asked, EventFilter::Everything).await.unwrap();
            let reset = stream.next().await.unwrap().unwrap();
            assert_eq!(reset, SubscriptionItem::CursorReset { asked, valid: Some(end) });
        }
    });
}

#[test]
fn kode_03_subscribers_that_start_during_a_turn_see_every_event_once() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [slow]\n- text: Done."));
        let slow = blocking_tool("slow", Class::Execute);
        let store = memory();
        let session = builder
            .tools(tool(slow.clone()))
            .gate(allow())
            .create(store.clone(), None)
            .await
            .unwrap();
        let input = session.send("Go").await.unwrap();
        slow.started(1).await;
        let early = session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
        let cursor = session.status().await.unwrap().cursor.unwrap();
        let late = session.subscribe(cursor, EventFilter::Everything).await.unwrap();
        slow.release("ok");
        let mut wait = session.subscribe(cursor, [EventKind::State]).await.unwrap();
        while !matches!(wait.next_event().await.unwrap().unwrap().event(), Event::TurnFinished(_)) {
        }
        session.shutdown("end").await.unwrap();
        let events = journal(&*store, session.id()).await;
        let seen = |stream: robota_session::Subscription| async {
            let seen: Vec<_> = stream.collect().await;
            let seen = seen.into_iter().map(|observed| match observed.unwrap() {
                SubscriptionItem::Event(event) => (*event.envelope).clone(),
                SubscriptionItem::CursorReset { .. } => panic!(),
            });
            seen.collect::<Vec<_>>()
        };
        assert_eq!(seen(early).await, events);
        let after = usize::try_from(cursor.seq).unwrap();
        assert_eq!(seen(late).await, events[after..]);
        drop(input);
    });
}

#[test]
fn kode_03_a_fork_keeps_the_sequence_numbers_up_to_its_point() {
    both_runtimes(async || {
        let (builder, _) = builder(Script::new().text("One.").text("Two."));
        let store = memory();
        let session = builder.create(store.clone(), None).await.unwrap();
        session.run("Hi").await.unwrap();
        let at = session.status().await.unwrap().cursor.unwrap();
        let child = session.fork(&robota_session::Selector::Latest, None).await.unwrap();
        child.run("More").await.unwrap();
        let mut stream = child.subscribe(at, EventFilter::Everything).await.unwrap();
        let first = stream.next_event().await.unwrap().unwrap();
        assert!(matches!(first.event(), Event::SessionCreated(_)));
        assert_eq!(first.cursor().seq, at.seq + 1);
        let ids: [&SessionId; 2] = [session.id(), child.id()];
        assert_ne!(ids[0], ids[1]);
    });
}
