//! Live sessions on a PostgreSQL server that fails: connections that are cut around every commit,
//! a server that restarts and has forgotten events, a server that cannot be reached. The tests
//! never reopen a session: it recovers, or ends with an error that says why.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod scene;

use std::sync::Arc;

use robota_core::event::Event;
use robota_core::journal::JournalStore as _;
use robota_core::scripted::{Script, ScriptedAnswer};
use robota_session::{EventFilter, SessionError, StartAt};
use robota_store::{PostgresStore, SqlOptions};
use robota_testkit::postgres::CutPoint;
use scene::{Scene, assert_clear, quiet, retries, script, server};

/// One cut is repaired by the store, more of them by the session's retries.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_heals_whichever_commit_is_cut() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let every = async |cut: CutPoint, count: u64| {
        for nth in 1.. {
            let scene = Scene::new(&address, script(2), quiet(), retries(4, 1)).await;
            let id = format!("{cut:?}-{count}-{nth}");
            let mut live = scene.session(&id).await;
            scene.proxy.cut(nth, count, cut);
            for answer in ["Done it.", "Yes.", "Done it."] {
                assert_eq!(live.run("Go").await.unwrap(), answer, "{id}");
            }
            scene.end(live).await;
            if scene.proxy.cuts() == 0 {
                assert!(nth > 20, "{id}: that few commits");
                break;
            }
        }
    };
    tokio::join!(
        every(CutPoint::BeforeCommit, 1),
        every(CutPoint::AfterCommit, 1),
        every(CutPoint::BeforeCommit, 4),
        every(CutPoint::AfterCommit, 4),
    );
}

/// More cuts than retries: the turn or the send fails and says so, and the same session works
/// again as soon as the server can be reached.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_survives_more_cuts_than_retries() {
    const CUTS: u64 = 6;
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let every = async |cut: CutPoint| {
        let mut failures = 0;
        for nth in 1.. {
            let scene = Scene::new(&address, script(9), quiet(), retries(1, 1)).await;
            let id = format!("{cut:?}-{nth}");
            let mut live = scene.session(&id).await;
            scene.proxy.cut(nth, CUTS, cut);
            let mut answers = 0;
            while answers < 3 {
                let over = scene.proxy.cuts() == CUTS;
                match live.run("Go").await {
                    Ok(_) => answers += 1,
                    Err(error) => {
                        assert!(!over, "{id}: it failed after the last cut: {error}");
                        assert_clear(&error);
                        failures += 1;
                    }
                }
            }
            let cut = scene.proxy.cuts();
            if cut < CUTS {
                // The cuts would hit the end of the session too.
                scene.proxy.cut(u64::MAX / 2, 0, CutPoint::BeforeCommit);
            }
            scene.end(live).await;
            if cut == 0 {
                assert!(nth > 15, "{id}: that few commits");
                break;
            }
        }
        assert!(failures > 20, "{failures} failures");
    };
    tokio::join!(every(CutPoint::BeforeCommit), every(CutPoint::AfterCommit));
}

/// The server crashes in the middle of an answer and forgets what it did not sync. The session did
/// not: it writes it again, with the same numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_restores_what_a_server_forgot() {
    let Some(mut server) = server() else { return };
    let address = server.database().unwrap();
    // The server writes as late as possible without a sync, so that a crash loses something.
    let (client, connection) =
        tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    for setting in ["wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'"] {
        client.batch_execute(&format!("ALTER SYSTEM SET {setting}")).await.unwrap();
    }
    drop(client);
    let _ = connection.await.unwrap();
    server.restart().unwrap();

    // Now and then it writes just before it crashes.
    for attempt in 1..=5 {
        let script = Script::new()
            .answer(ScriptedAnswer::new().tool("look", serde_json::json!({"n": 1})))
            .answer(ScriptedAnswer::new().text("Half").gate("crash").text(" whole."))
            .text("After.");
        let scene = Scene::new(&address, script, quiet(), retries(20, 20)).await;
        let mut live = scene.session(&format!("forgotten-{attempt}")).await;
        let session = live.session.clone();
        let mut seen = session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
        let chat = session.chat("Go", EventFilter::default()).await.unwrap();
        live.acknowledged.push(chat.input().clone());
        let run = tokio::spawn(async move { chat.finish().await?.into_text() });
        let shown = loop {
            let event = seen.next_event().await.unwrap().unwrap();
            if matches!(event.event(), Event::TextChunk(_)) {
                break event.cursor().seq;
            }
        };
        scene.model.reached("crash").await;
        server.kill().unwrap();
        server.restart().unwrap();
        let kept = scene.direct.head(session.id()).await.unwrap().last.seq;
        scene.model.release("crash");
        assert_eq!(run.await.unwrap().unwrap(), "Half whole.");
        assert_eq!(live.run("And then?").await.unwrap(), "After.");
        scene.end(live).await;
        if kept < shown {
            return;
        }
    }
    panic!("the server never forgot anything");
}

/// The server is gone for longer than the session tries, in the middle of an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_outlives_a_server_that_was_gone() {
    let Some(mut server) = server() else { return };
    let address = server.database().unwrap();
    let script = Script::new()
        .answer(ScriptedAnswer::new().text("Half").gate("gone").text(" whole."))
        .text("After.");
    let scene = Scene::new(&address, script, quiet(), retries(2, 1)).await;
    let mut live = scene.session("gone").await;
    let chat = live.session.chat("Go", EventFilter::default()).await.unwrap();
    live.acknowledged.push(chat.input().clone());
    scene.model.reached("gone").await;
    server.kill().unwrap();
    scene.model.release("gone");
    assert_clear(&chat.finish().await.unwrap().into_text().unwrap_err());
    // What is sent meanwhile is refused.
    assert_clear(&live.session.send("Are you there?").await.unwrap_err());
    server.restart().unwrap();
    assert_eq!(live.run("And then?").await.unwrap(), "After.");
    let events = scene.end(live).await;
    let half = |event: &&robota_core::event::Envelope| match &event.event {
        Event::AssistantMessage(data) => data.message.text().contains("Half"),
        _ => false,
    };
    assert!(events.iter().any(|event| half(&event)), "the half answer is kept");
}

/// Connections are refused for a shorter time than the session retries: clients see no failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_waits_for_a_server_that_refuses() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let gated =
        Script::new().answer(ScriptedAnswer::new().text("Half").gate("refused").text(" whole."));
    let scene = Scene::new(&address, gated, quiet(), retries(3_000, 10)).await;
    let mut live = scene.session("refused").await;
    let chat = live.session.chat("Go", EventFilter::default()).await.unwrap();
    live.acknowledged.push(chat.input().clone());
    scene.model.reached("refused").await;
    scene.proxy.refuse(true);
    scene.model.release("refused");
    while scene.proxy.refused() < 3 {
        tokio::task::yield_now().await;
    }
    scene.proxy.refuse(false);
    assert_eq!(chat.finish().await.unwrap().into_text().unwrap(), "Half whole.");
    scene.end(live).await;
}

/// An input that was acknowledged waits behind a turn that the store fails: it is delivered
/// without a further call, once connections are accepted again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_recovers_without_being_reopened() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let script = Script::new()
        .answer(ScriptedAnswer::new().text("Half").gate("refused").text(" whole."))
        .text("After.");
    let scene = Scene::new(&address, script, quiet(), retries(2, 1)).await;
    let mut live = scene.session("itself").await;
    let first = live.session.chat("Go", EventFilter::default()).await.unwrap();
    let second = live.session.chat("And then?", EventFilter::default()).await.unwrap();
    live.acknowledged.extend([first.input().clone(), second.input().clone()]);
    scene.model.reached("refused").await;
    scene.proxy.refuse(true);
    scene.model.release("refused");
    assert_clear(&first.finish().await.unwrap().into_text().unwrap_err());
    scene.proxy.refuse(false);
    assert_eq!(second.finish().await.unwrap().into_text().unwrap(), "After.");
    scene.end(live).await;
}

/// An input that is sent while the turn before it fails, and accepted after that, has nothing to do
/// with the failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_a_failure_before_an_input_was_accepted_is_not_reported_for_it() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let script = Script::new()
        .answer(ScriptedAnswer::new().text("Half").gate("refused").text(" whole."))
        .text("After.");
    let scene = Scene::new(&address, script, quiet(), retries(100, 10)).await;
    let mut live = scene.session("between").await;
    let first = live.session.chat("Go", EventFilter::default()).await.unwrap();
    scene.model.reached("refused").await;
    scene.proxy.refuse(true);
    scene.model.release("refused");
    while scene.proxy.refused() < 1 {
        tokio::task::yield_now().await;
    }
    // The session's task is in the append that fails, and these wait in its mailbox. Between two of
    // them the turn does one thing: it is over before the last one is handled.
    let session = live.session.clone();
    let mut others: Vec<_> = (0..20).map(|_| Box::pin(session.status())).collect();
    for other in &mut others {
        assert!(futures::poll!(other).is_pending());
    }
    let mut second = Box::pin(session.chat("And then?", EventFilter::default()));
    assert!(futures::poll!(&mut second).is_pending());
    live.acknowledged.push(first.input().clone());
    assert_clear(&first.finish().await.unwrap().into_text().unwrap_err());
    scene.proxy.refuse(false);
    let second = second.await.unwrap();
    live.acknowledged.push(second.input().clone());
    assert_eq!(second.finish().await.unwrap().into_text().unwrap(), "After.");
    scene.end(live).await;
}

/// The server cannot be reached when an input has just been accepted: the caller gets to know that
/// it was, so that it does not send it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_an_input_that_was_accepted_is_never_reported_as_refused() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let script =
        Script::new().answer(ScriptedAnswer::new().gate("accepted").text("Yes.")).text("After.");
    let scene = Scene::new(&address, script, quiet(), retries(2, 1)).await;
    let mut live = scene.session("accepted").await;
    let session = live.session.clone();
    let mut events = session.subscribe(StartAt::Now, EventFilter::Everything).await.unwrap();
    let mut chat = Box::pin(session.chat("Go", EventFilter::default()));
    assert!(futures::poll!(&mut chat).is_pending());
    scene.model.reached("accepted").await;
    let accepted = events.next_event().await.unwrap().unwrap();
    assert!(matches!(accepted.event(), Event::InputAccepted(_)), "{accepted:?}");
    scene.proxy.refuse(true);
    let chat = chat.await.unwrap();
    live.acknowledged.push(chat.input().clone());
    scene.model.release("accepted");
    assert_clear(&chat.finish().await.unwrap().into_text().unwrap_err());
    scene.proxy.refuse(false);
    assert_eq!(live.run("And then?").await.unwrap(), "After.");
    scene.end(live).await;
}

/// The server no longer answers, without closing connections, while an append waits for it. The session
/// ends as soon as its lease is over: it does not wait for the append.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_ends_with_its_lease_when_the_server_is_silent() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let script = Script::new()
        .answer(ScriptedAnswer::new().text("Half").gate("silent").text(" whole."))
        .text("After.");
    let lease = std::time::Duration::from_secs(1);
    let options = SqlOptions { lease, ..quiet() };
    let scene = Scene::new(&address, script, options, retries(4, 1)).await;
    let live = scene.session("silent").await;
    let chat = live.session.chat("Go", EventFilter::default()).await.unwrap();
    scene.model.reached("silent").await;
    scene.proxy.silence_for_good();
    let silent = std::time::Instant::now();
    scene.model.release("silent");
    let lost = |error: &SessionError| {
        assert!(error.to_string().contains("could not renew its lease"), "{error}");
    };
    lost(&chat.finish().await.unwrap_err());
    // An append without an answer takes ten seconds, and is then repeated.
    assert!(silent.elapsed() < std::time::Duration::from_secs(9), "{:?}", silent.elapsed());
    lost(&live.session.status().await.unwrap_err());
}

/// As soon as a session is shut down, another process can open it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kode_12_a_session_that_was_shut_down_can_be_opened_by_another_store() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let scene = Scene::new(&address, script(5), SqlOptions::default(), retries(1, 1)).await;
    let other = Arc::new(PostgresStore::connect(&address).await.unwrap());
    let mut live = scene.session("handed").await;
    live.run("Go").await.unwrap();
    let id = live.session.id().clone();
    live.session.shutdown("end").await.unwrap();
    for store in [&other, &scene.store].into_iter().cycle().take(8) {
        let session = scene.builder().resume(store.clone(), &id, Default::default()).await;
        session.unwrap().shutdown("end").await.unwrap();
    }
}

/// The lease cannot be renewed: the session ends, and every call says why. Another process can
/// continue it, and nothing acknowledged is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sess_08_kode_12_a_live_session_ends_when_its_lease_cannot_be_renewed() {
    let Some(server) = server() else { return };
    let address = server.database().unwrap();
    let script = Script::new()
        .answer(ScriptedAnswer::new().text("Half").gate("never"))
        .text("After.")
        .text("Yes.");
    let lease = std::time::Duration::from_secs(1);
    let options = SqlOptions { lease, ..quiet() };
    let scene = Scene::new(&address, script, options, retries(1, 1)).await;
    let live = scene.session("lost").await;
    let mut events = live.session.subscribe(StartAt::Start, EventFilter::Everything).await.unwrap();
    let chat = live.session.chat("Go", EventFilter::default()).await.unwrap();
    let waiting = live.session.chat("And then?", EventFilter::default()).await.unwrap();
    let mut acknowledged = vec![chat.input().clone(), waiting.input().clone()];
    // Nothing is left to be written: only the lease can fail.
    while !matches!(events.next_event().await.unwrap().unwrap().event(), Event::TextChunk(_)) {}
    scene.proxy.refuse(true);
    let lost = |error: &SessionError| {
        assert!(error.to_string().contains("could not renew its lease"), "{error}");
    };
    lost(&chat.finish().await.unwrap_err());
    lost(&waiting.finish().await.unwrap_err());
    lost(&live.session.send("Are you there?").await.unwrap_err());
    lost(&live.session.status().await.unwrap_err());
    let id = live.session.id().clone();
    drop(live);
    // Through the same store, which knows that the lease is over.
    scene.proxy.refuse(false);
    let session = scene.builder().resume(scene.store.clone(), &id, Default::default()).await;
    let session = session.unwrap();
    acknowledged.push(session.reply("And now?").await.unwrap().input);
    session.shutdown("end").await.unwrap();
    scene.check(&id, &acknowledged, "lost").await;
}
