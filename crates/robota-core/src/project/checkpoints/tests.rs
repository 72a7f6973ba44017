use super::*;
use crate::checkpoint::NotSaved;
use crate::event::*;
use crate::message::{BlobRef, Message};

/// Numbers events and projects them.
struct Journal {
    seq: u64,
    log: CheckpointLog,
}

impl Journal {
    fn new(cwd: Option<&str>) -> Self {
        let mut journal = Self { seq: 0, log: CheckpointLog::default() };
        let cwd = cwd.map(str::to_owned);
        let (session, parent, spawned_by) = ("s".into(), None, None);
        journal.add(None, SessionCreated { session, format: FORMAT, cwd, parent, spawned_by });
        journal
    }

    fn add(&mut self, turn: Option<&str>, event: impl Into<Event>) {
        self.seq += 1;
        let (seq, event) = (self.seq, event.into());
        let ts = "2026-01-02T03:04:05Z".parse().unwrap();
        let turn = turn.map(TurnId::from);
        self.log.push(&Envelope { seq, epoch: 1, ts, turn, event, min_reader: None });
    }

    fn prompt(&mut self, turn: &str, text: &str) {
        let input = InputId::from(format!("in-{turn}"));
        let content = vec![Block::text(text)];
        let metadata = serde_json::Map::new();
        let delivery = Delivery::AfterTurn;
        self.add(
            None,
            InputAccepted { input: input.clone(), delivery, content, metadata, source: None },
        );
        let (provider, model) = ("p".to_owned(), "m".to_owned());
        let input = Some(input);
        let started = TurnStarted { input: input.clone(), provider, model, max_rounds: 0 };
        self.add(Some(turn), started);
        let mut message = Message::user(&crate::ids::CountingIds::default(), text);
        message.id = format!("m-{turn}").as_str().into();
        self.add(Some(turn), UserMessage { message: message.into(), input, author: Author::User });
    }

    fn command(&mut self, turn: &str, files: Vec<FileDelta>) {
        self.add(Some(turn), FilesChanged { call: "c".into(), files, late: false });
    }
}

fn file(text: &str) -> PathState {
    let blob = BlobRef::of(text.as_bytes());
    let saved = SavedContent { len: blob.bytes, offset: 0, blob: blob.clone() };
    let content = FileContent { hash: blob.sha256, saved: Some(saved) };
    PathState::File { content, mode: Some(0o644) }
}

fn delta(path: &str, before: PathState, after: PathState) -> FileDelta {
    FileDelta { path: path.to_owned(), before, after }
}

#[test]
fn sdk_17_every_prompt_has_a_checkpoint_also_when_nothing_was_edited() {
    let mut journal = Journal::new(Some("/srv"));
    journal.prompt("t1", "\n  Fix the bug\nplease");
    journal.add(
        Some("t1"),
        FilesChanging {
            call: "c".into(),
            files: vec![FileChange {
                path: "/srv/new/a".to_owned(),
                before: None,
                mode: None,
                after_sha256: BlobRef::of(b"a").sha256,
                new_folders: vec!["/srv/new".to_owned()],
            }],
        },
    );
    journal.command("t1", vec![delta("/srv/b", file("1"), PathState::Missing)]);
    journal.prompt("t2", &"x".repeat(200));
    journal.prompt("t3", "Third");
    journal.command("t3", vec![delta("/srv/new/a", file("a"), file("b"))]);
    let list = journal.log.list();
    let ids: Vec<_> = list.iter().map(|it| (it.number, it.id.as_str())).collect();
    assert_eq!(ids, [(1, "t1"), (2, "t2"), (3, "t3")]);
    assert_eq!(list[0].prompt, "Fix the bug");
    assert_eq!(list[1].prompt.chars().count(), 81);
    let files = |at: usize| -> Vec<_> {
        list[at].files.iter().map(|file| (file.path.as_str(), file.change)).collect()
    };
    let [created, deleted] = [ChangeKind::Created, ChangeKind::Deleted];
    assert_eq!(files(0), [("/srv/new/a", created), ("/srv/b", deleted)]);
    assert_eq!(files(1), []);
    assert_eq!(files(2), [("/srv/new/a", ChangeKind::Modified)]);
    for reference in ["t2", "2", "m-t2"] {
        assert_eq!(journal.log.find(reference).unwrap().id, "t2");
    }
    assert_eq!(journal.log.find("t9"), None);
    // The state before the first prompt: three paths return to it, the folder included.
    let plan = journal.log.plan(&list[0]);
    let paths: Vec<_> = plan.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["/srv/new", "/srv/new/a", "/srv/b"]);
    assert_eq!(plan[1].target, PathState::Missing);
    assert_eq!(journal.log.plan(&list[1]).len(), 1);
}

#[test]
fn sdk_17_a_session_without_a_working_directory_has_no_checkpoints() {
    let mut journal = Journal::new(None);
    journal.prompt("t1", "Hello");
    assert_eq!(journal.log.list(), []);
    assert_eq!(journal.log.find("t1"), None);
}

#[test]
fn sdk_17_a_restore_is_a_checkpoint_and_later_ones_stay() {
    let mut journal = Journal::new(Some("/srv"));
    journal.prompt("t1", "One");
    journal.command("t1", vec![delta("/srv/a", file("0"), file("1"))]);
    journal.prompt("t2", "Two");
    journal.command("t2", vec![delta("/srv/a", file("1"), file("2"))]);
    journal.add(
        None,
        RestoreStarted {
            restore: "r1".to_owned(),
            checkpoint: "t1".to_owned(),
            files: vec![delta("/srv/a", file("2"), file("0"))],
            view: None,
            last_message: Some("m9".into()),
        },
    );
    let list = journal.log.list();
    assert_eq!(list[2].kind, CheckpointKind::Restore);
    assert_eq!(list[2].prompt, "restore of checkpoint 1");
    assert_eq!(list[2].last_message, Some("m9".into()));
    let target = |at: usize| journal.log.plan(&list[at]).pop().map(|file| file.target);
    assert_eq!(target(1), Some(file("1")), "a later checkpoint is reached from an earlier state");
    assert_eq!(target(2), Some(file("2")), "undoes the restore");
}

#[test]
fn sdk_17_a_checkpoint_names_what_was_not_compared() {
    let mut journal = Journal::new(Some("/srv"));
    journal.prompt("t1", "One");
    let not_covered =
        vec![NotCovered { path: "/srv/target".to_owned(), reason: NotSaved::OverLimit }];
    journal.add(
        Some("t1"),
        FilesWatched {
            call: "c".into(),
            root: "/srv".to_owned(),
            trees: Vec::new(),
            changes: crate::checkpoint::TreeChange::default(),
            not_covered: not_covered.clone(),
        },
    );
    journal.prompt("t2", "Two");
    journal.prompt("t3", "Three");
    let started = ToolStarted { call: "c2".into(), class: Class::Execute, input: None };
    journal.add(Some("t3"), started);
    let unsaved = PathState::Unsaved { reason: NotSaved::TooLarge };
    journal.command("t3", vec![delta("/srv/big", unsaved, file("1"))]);
    let list = journal.log.list();
    assert_eq!(list[0].not_covered, not_covered);
    assert_eq!(list[1].not_covered, [], "no command ran");
    assert_eq!(list[2].not_covered, not_covered);
    assert!(!list[2].files[0].restorable);
}
