//! Checkpoints of real files: sessions change them with tools and commands, and restores return
//! them, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod workspace;

use std::path::Path;
use std::sync::Arc;

use robota_core::event::Event;
use robota_core::journal::read_all;
use robota_core::project::ChangeKind;
use robota_core::scripted::Script;
use robota_session::{RestoreOptions, RestoreScope, Resume, SessionError};
use robota_tools::CaptureLimits;
use serde_json::{Value, json};
use workspace::{TestSession, tree};

fn code() -> RestoreOptions {
    RestoreOptions { scope: RestoreScope::Code, overwrite: false }
}

fn bash(script: Script, command: &str) -> Script {
    script.tool("Bash", json!({ "command": command }))
}

fn write(script: Script, path: &str, content: &str) -> Script {
    script.tool("Write", json!({ "file_path": path, "content": content }))
}

/// Runs one prompt per list of commands, and returns the trees before each prompt.
async fn run(test: &TestSession, turns: &[&[&str]]) -> (robota_session::Session, Vec<Value>) {
    let mut script = Script::new();
    for commands in turns {
        script = commands.iter().fold(script, |script, command| bash(script, command));
        script = script.text("done");
    }
    let session = test.create(script).await;
    let mut trees = Vec::new();
    for number in 1..=turns.len() {
        trees.push(tree(&test.root()));
        session.run(format!("Prompt {number}")).await.unwrap();
    }
    (session, trees)
}

#[tokio::test]
async fn sdk_17_commands_of_all_kinds_are_rolled_back() {
    let test = TestSession::new();
    std::fs::create_dir_all(test.root().join("sub/deep")).unwrap();
    for (path, content) in [("a", "one\n"), ("b", "two\n"), ("sub/c", "three"), ("sub/deep/d", "")]
    {
        std::fs::write(test.root().join(path), content).unwrap();
    }
    std::fs::write(test.root().join("binary"), [0, 255, 1, 254]).unwrap();
    std::os::unix::fs::symlink("a", test.root().join("link")).unwrap();
    let turns: &[&[&str]] = &[
        &["echo more >> a; printf x > new; mkdir -p empty/folder"],
        &["rm b; mv sub moved; chmod 600 a", "ln -sfn moved link; printf '\\0\\1' > binary"],
        &["mv moved m2; ln -s m2 moved"],
        &["rm -r moved m2; mkdir b; touch b/file; rm new; ln -s /etc/passwd new"],
    ];
    let (session, mut trees) = run(&test, turns).await;
    trees.push(tree(&test.root()));
    let list = session.checkpoints().list().await.unwrap();
    assert_eq!(list.len(), 4);
    assert_eq!(list[0].prompt, "Prompt 1");
    let touched = |at: usize, path: &str| {
        let path = test.root().join(path).display().to_string();
        list[at].files.iter().find(|file| file.path == path).map(|file| file.change)
    };
    assert_eq!(touched(0, "a"), Some(ChangeKind::Modified));
    assert_eq!(touched(0, "new"), Some(ChangeKind::Created));
    assert_eq!(touched(1, "b"), Some(ChangeKind::Deleted));
    // Any order: later checkpoints stay reachable, and each restore can be undone.
    for at in [1, 0, 3, 2, 0, 1] {
        let before = tree(&test.root());
        let report = session.checkpoints().restore(&list[at].id, code()).await.unwrap();
        assert_eq!(report.not_restored, [], "checkpoint {at}");
        assert_eq!(tree(&test.root()), trees[at], "checkpoint {at}");
        if let Some(undo) = report.undo {
            session.checkpoints().restore(&undo, code()).await.unwrap();
            assert_eq!(tree(&test.root()), before);
        }
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    assert!(passwd.contains("root"), "nothing was written through the link");
}

#[tokio::test]
async fn sdk_17_edits_by_tools_and_commands_of_one_turn_are_one_checkpoint() {
    let test = TestSession::new();
    std::fs::write(test.root().join("f"), "original\n").unwrap();
    let script = write(Script::new(), "made/by/tool", "new\n");
    let script = bash(script, "echo command >> made/by/tool; sed -i s/original/changed/ f");
    let script = script.tool("Read", json!({ "file_path": "f" }));
    let script = script
        .tool("Edit", json!({ "file_path": "f", "old_string": "changed", "new_string": "again" }));
    let session = test.create(script.text("done")).await;
    let before = tree(&test.root());
    session.run("Go").await.unwrap();
    assert_eq!(std::fs::read_to_string(test.root().join("f")).unwrap(), "again\n");
    let preview = session.checkpoints().preview("1").await.unwrap();
    let diff = preview
        .files
        .iter()
        .find_map(|file| file.diff.clone().filter(|_| file.path.ends_with("/f")));
    assert!(diff.unwrap().contains("-again\n+original\n"));
    let report = session.checkpoints().restore("1", code()).await.unwrap();
    assert_eq!(report.not_restored, []);
    assert_eq!(tree(&test.root()), before, "the folders that Write created are removed");
}

#[tokio::test]
async fn sdk_17_what_the_user_changed_is_overwritten_only_on_request() {
    let test = TestSession::new();
    std::fs::write(test.root().join("f"), "1").unwrap();
    let (session, trees) = run(&test, &[&["printf 2 > f; printf x > g; mkdir d; touch d/x"]]).await;
    std::fs::write(test.root().join("f"), "user").unwrap();
    std::fs::write(test.root().join("d/mine"), "user").unwrap();
    let preview = session.checkpoints().preview("1").await.unwrap();
    let problems: Vec<_> = preview.files.iter().filter(|file| file.problem.is_some()).collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let report = session.checkpoints().restore("1", code()).await.unwrap();
    let not: Vec<_> = report.not_restored.iter().map(|not| not.path.as_str()).collect();
    let path = |name: &str| test.root().join(name).display().to_string();
    assert_eq!(not, [path("f"), path("d")]);
    assert_eq!(std::fs::read_to_string(test.root().join("f")).unwrap(), "user");
    assert_eq!(std::fs::read_to_string(test.root().join("d/mine")).unwrap(), "user");
    assert!(!test.root().join("g").exists());
    let overwrite = RestoreOptions { overwrite: true, ..code() };
    let report = session.checkpoints().restore("1", overwrite).await.unwrap();
    assert_eq!(report.not_restored.len(), 1, "a file of the user keeps its folder");
    assert_eq!(std::fs::read_to_string(test.root().join("f")).unwrap(), "1");
    // The overwritten content is not lost.
    let undo = report.undo.unwrap();
    session.checkpoints().restore(&undo, code()).await.unwrap();
    assert_eq!(std::fs::read_to_string(test.root().join("f")).unwrap(), "user");
    std::fs::remove_file(test.root().join("d/mine")).unwrap();
    session.checkpoints().restore("1", overwrite).await.unwrap();
    assert_eq!(tree(&test.root()), trees[0]);
}

#[tokio::test]
async fn sdk_17_a_change_of_the_user_between_two_commands_is_kept_as_a_pre_image() {
    let test = TestSession::new();
    std::fs::write(test.root().join("f"), "1").unwrap();
    let script = bash(bash(Script::new(), "printf 2 > f").text("one"), "printf 3 > f").text("two");
    let session = test.create(script).await;
    session.run("One").await.unwrap();
    std::fs::write(test.root().join("f"), "user").unwrap();
    session.run("Two").await.unwrap();
    session.checkpoints().restore("2", code()).await.unwrap();
    assert_eq!(std::fs::read_to_string(test.root().join("f")).unwrap(), "user");
    let report = session.checkpoints().restore("1", code()).await.unwrap();
    assert_eq!(report.not_restored.len(), 1, "the user's change would be lost");
}

#[tokio::test]
async fn sdk_17_a_link_that_leaves_the_workspace_is_not_followed() {
    let test = TestSession::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("victim"), "safe").unwrap();
    std::fs::create_dir(test.root().join("d")).unwrap();
    std::fs::write(test.root().join("d/victim"), "old").unwrap();
    let (session, _) = run(&test, &[&["printf new > d/victim"]]).await;
    std::fs::remove_dir_all(test.root().join("d")).unwrap();
    std::os::unix::fs::symlink(outside.path(), test.root().join("d")).unwrap();
    for overwrite in [false, true] {
        let options = RestoreOptions { overwrite, ..code() };
        let report = session.checkpoints().restore("1", options).await.unwrap();
        assert_eq!(report.not_restored.len(), 1);
        let victim = std::fs::read_to_string(outside.path().join("victim")).unwrap();
        assert_eq!(victim, "safe");
    }
}

#[tokio::test]
async fn sdk_17_the_conversation_goes_back_and_forth() {
    let test = TestSession::new();
    let script = bash(Script::new(), "printf 1 > f").text("first").text("second").text("third");
    let session = test.create(script).await;
    for prompt in ["One", "Two", "Three"] {
        session.run(prompt).await.unwrap();
    }
    let texts = || async {
        let messages = session.context().messages().await.unwrap();
        messages
            .iter()
            .map(|message| message.text())
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
    };
    let all = texts().await;
    let conversation = RestoreOptions { scope: RestoreScope::Conversation, overwrite: false };
    let report = session.checkpoints().restore("2", conversation).await.unwrap();
    assert!(report.conversation);
    assert_eq!(texts().await, ["One", "first"]);
    assert!(test.root().join("f").exists(), "the files stay");
    let both = RestoreOptions::default();
    session.checkpoints().restore("1", both).await.unwrap();
    assert_eq!(texts().await, [""; 0]);
    assert!(!test.root().join("f").exists());
    // Later checkpoints stay reachable, and the first restore can be undone.
    session.checkpoints().restore("3", conversation).await.unwrap();
    assert_eq!(texts().await, ["One", "first", "Two", "second"]);
    session.checkpoints().restore(&report.undo.unwrap(), both).await.unwrap();
    assert_eq!(texts().await, all);
    assert!(test.root().join("f").exists());
    let unknown = session.checkpoints().restore("99", both).await;
    assert!(matches!(unknown, Err(SessionError::NoSuchCheckpoint(_))));
}

#[tokio::test]
async fn sdk_17_a_restore_is_refused_while_a_turn_runs() {
    let test = TestSession::new();
    let script = bash(Script::new(), "mkfifo pipe; read line < pipe");
    let session = test.create(script.text("done")).await;
    session.send("Go").await.unwrap();
    while !test.root().join("pipe").exists() {
        tokio::task::yield_now().await;
    }
    let refused = session.checkpoints().restore("1", code()).await;
    assert!(matches!(refused, Err(SessionError::Busy { .. })), "{refused:?}");
    session.interrupt(None).await.unwrap();
    session.checkpoints().restore("1", code()).await.unwrap();
}

#[tokio::test]
async fn sdk_17_what_is_beyond_a_limit_is_named() {
    let mut test = TestSession::new();
    test.limits = Some(CaptureLimits {
        file_bytes: 100,
        ignored_file_bytes: 10,
        ignored_entries: 3,
        ..CaptureLimits::default()
    });
    let root = test.root();
    std::fs::write(root.join(".gitignore"), "*.log\nout/\nsmall/\n").unwrap();
    std::fs::write(root.join("large"), "l".repeat(101)).unwrap();
    std::fs::write(root.join("long.log"), "12345678901").unwrap();
    std::fs::write(root.join("short.log"), "1234567890").unwrap();
    for folder in ["out", "small", "secret"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    for file in ["out/1", "out/2", "out/3", "out/4", "small/1"] {
        std::fs::write(root.join(file), "x").unwrap();
    }
    let change =
        "for f in large long.log short.log out/1 small/1; do echo changed > $f; done; mkfifo pipe";
    let (session, _) = run(&test, &[&[change]]).await;
    let list = session.checkpoints().list().await.unwrap();
    let uncovered: Vec<_> = list[0].not_covered.iter().map(|it| it.path.clone()).collect();
    assert_eq!(uncovered, [root.join("out").display().to_string()]);
    let report = session.checkpoints().restore("1", code()).await.unwrap();
    let mut not: Vec<_> = report
        .not_restored
        .iter()
        .map(|not| not.path.strip_prefix(&format!("{}/", root.display())).unwrap().to_owned())
        .collect();
    not.sort();
    assert_eq!(not, ["large", "long.log", "pipe"]);
    assert!(report.not_restored.iter().any(|not| not.reason.contains("larger than the limit")));
    assert_eq!(std::fs::read_to_string(root.join("short.log")).unwrap(), "1234567890");
    assert_eq!(std::fs::read_to_string(root.join("small/1")).unwrap(), "x");
    assert_eq!(std::fs::read_to_string(root.join("out/1")).unwrap(), "changed\n", "not covered");
}

#[tokio::test]
async fn sdk_17_too_many_files_or_bytes_are_named_and_the_rest_is_covered() {
    let mut test = TestSession::new();
    let root = test.root();
    std::fs::create_dir(root.join("many")).unwrap();
    for number in 0..20 {
        std::fs::write(root.join(format!("many/{number}")), "x").unwrap();
    }
    std::fs::write(root.join("f"), "1").unwrap();
    test.limits = Some(CaptureLimits { entries: 10, ..CaptureLimits::default() });
    let (session, _) = run(&test, &[&["echo 2 > f; echo 2 > many/1"]]).await;
    let list = session.checkpoints().list().await.unwrap();
    assert_eq!(list[0].not_covered[0].path, root.join("many").display().to_string());
    session.checkpoints().restore("1", code()).await.unwrap();
    assert_eq!(std::fs::read_to_string(root.join("f")).unwrap(), "1");
    session.shutdown("end").await.unwrap();

    let mut test = TestSession::new();
    test.limits = Some(CaptureLimits { total_bytes: 4, ..CaptureLimits::default() });
    std::fs::write(test.root().join("a"), "123").unwrap();
    std::fs::write(test.root().join("b"), "456").unwrap();
    let (session, _) = run(&test, &[&["echo 2 > a; echo 2 > b"]]).await;
    let report = session.checkpoints().restore("1", code()).await.unwrap();
    assert_eq!(report.not_restored.len(), 1);
    assert!(report.not_restored[0].reason.contains("limits"));
}

#[tokio::test]
async fn sdk_17_commands_that_only_read_and_a_switched_off_capture_record_nothing() {
    let mut test = TestSession::new();
    std::fs::write(test.root().join("f"), "1").unwrap();
    let script = bash(bash(Script::new(), "cat f"), "cat f > g").text("done");
    let session = test.create(script).await;
    session.run("Go").await.unwrap();
    let count = |kind: &'static str, id: robota_core::ids::SessionId| {
        let store = test.store.clone();
        async move {
            let events = read_all(&*store, &id, 0).await.unwrap();
            events.iter().filter(|event| event.event.kind() == kind).count()
        }
    };
    assert_eq!(count("files_watched", session.id().clone()).await, 1);
    assert_eq!(count("files_changed", session.id().clone()).await, 1);
    session.shutdown("end").await.unwrap();
    test.limits = None;
    let session = test.create(bash(Script::new(), "cat f > h").text("done")).await;
    session.run("Go").await.unwrap();
    let events = read_all(&*test.store, session.id(), 0).await.unwrap();
    let recorded = |event: &Event| matches!(event, Event::FilesWatched(_) | Event::FilesChanged(_));
    assert!(!events.iter().any(|event| recorded(&event.event)));
    assert_eq!(session.checkpoints().list().await.unwrap().len(), 1, "still one per prompt");
}

#[tokio::test]
async fn sdk_17_a_command_in_the_background_is_covered() {
    let test = TestSession::new();
    std::fs::write(test.root().join("f"), "1").unwrap();
    let command = "printf 2 > f; printf x > new; mv new made; echo ready";
    let script = Script::new()
        .tool("Bash", json!({ "command": command, "run_in_background": true }))
        .text("started");
    let session = test.create(script).await;
    let before = tree(&test.root());
    session.run("Go").await.unwrap();
    while !test.root().join("made").exists() {
        tokio::task::yield_now().await;
    }
    let report = session.checkpoints().restore("1", code()).await.unwrap();
    assert_eq!(report.not_restored, []);
    assert_eq!(tree(&test.root()), before);
}

#[tokio::test]
async fn sdk_17_checkpoints_survive_a_resume() {
    let test = TestSession::new();
    std::fs::write(test.root().join("f"), "1").unwrap();
    let (session, trees) = run(&test, &[&["printf 2 > f"], &["rm f"]]).await;
    let id = session.id().clone();
    session.shutdown("end").await.unwrap();
    let builder = test.builder(bash(Script::new(), "printf 3 > f").text("done"));
    let session = builder.resume(test.store.clone(), &id, Resume::default()).await.unwrap();
    session.run("Three").await.unwrap();
    for at in [0, 1] {
        let number = (at + 1).to_string();
        session.checkpoints().restore(&number, code()).await.unwrap();
        assert_eq!(tree(&test.root()), trees[at]);
    }
    session.shutdown("end").await.unwrap();
    // The same without an open session.
    let report = restore_stored(&test, &id, "2").await;
    assert_eq!(report.not_restored, []);
    let stored = robota_session::checkpoints(&*test.store, &id).await.unwrap();
    assert_eq!(stored.len(), 5, "three prompts, two restores; the last one had nothing to do");
}

async fn restore_stored(
    test: &TestSession,
    id: &robota_core::ids::SessionId,
    checkpoint: &str,
) -> robota_session::RestoreReport {
    robota_session::restore_stored(
        &*test.store,
        id,
        (checkpoint, code()),
        (&robota_tools::LocalFiles, &test.root()),
        (Arc::new(robota_core::clock::SystemClock), &robota_core::ids::RandomIds),
    )
    .await
    .unwrap()
}

#[tokio::test]
async fn sdk_17_nothing_outside_of_the_folder_is_restored() {
    let test = TestSession::new();
    std::fs::create_dir(test.root().join("inside")).unwrap();
    let (session, _) = run(&test, &[&["touch outside inside/f"]]).await;
    let id = session.id().clone();
    session.shutdown("end").await.unwrap();
    let report = robota_session::restore_stored(
        &*test.store,
        &id,
        ("1", code()),
        (&robota_tools::LocalFiles, &test.root().join("inside")),
        (Arc::new(robota_core::clock::SystemClock), &robota_core::ids::RandomIds),
    )
    .await
    .unwrap();
    assert_eq!(report.not_restored.len(), 1);
    assert!(Path::new(&test.root().join("outside")).exists());
    assert!(!test.root().join("inside/f").exists());
}
