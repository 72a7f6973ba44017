use std::path::PathBuf;

use super::*;
use crate::memory::{MAX_PENDING, MAX_RECALLED, MAX_RECALLED_CHARS, MemoryKind};

struct Project {
    dir: tempfile::TempDir,
    memory: ProjectMemory,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let memory = ProjectMemory::open(dir.path()).unwrap();
        Self { dir, memory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".robota/memory").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn add(&self, topic: &str, text: &str) -> Added {
        self.memory.add(&entry(topic, text)).unwrap()
    }
}

fn entry(topic: &str, text: &str) -> MemoryEntry {
    MemoryEntry::new(MemoryKind::Project, topic, text).unwrap()
}

#[test]
fn sdk_18_entries_go_to_topics_and_the_index_and_copies_are_reported() {
    let project = Project::new();
    assert!(!project.add("Build Steps", "Run `just test`.").deduplicated);
    assert!(!project.add("build-steps", "Release with `just ship`.").deduplicated);
    for copy in ["Run `just test`.", "run  just test", "RUN: just, test!"] {
        assert!(project.add("build steps", copy).deduplicated, "{copy}");
    }
    assert!(!project.add("style", "Run `just test`.").deduplicated, "another topic");
    assert_eq!(
        project.read("topics/build-steps.md"),
        "# build-steps\n\n- (project) Run `just test`.\n- (project) Release with `just ship`.\n"
    );
    assert_eq!(
        project.read("MEMORY.md"),
        "- [build-steps](topics/build-steps.md): Run `just test`.\n\
         - [style](topics/style.md): Run `just test`.\n"
    );
    assert_eq!(project.memory.topics(), ["build-steps", "style"]);
    let event = serde_json::to_value(project.add("style", "New.").event).unwrap();
    let expected = serde_json::json!({"type": "added", "kind": "project", "topic": "style",
        "text": "New.", "deduplicated": false});
    assert_eq!(event, expected);
}

#[test]
fn sdk_18_files_that_people_edited_are_kept() {
    let project = Project::new();
    project.write("MEMORY.md", "# Notes of the team\r\n\r\nSee the wiki.");
    project.write("topics/style.md", "Our style:\n* use tabs");
    assert!(project.add("style", "Use tabs.").deduplicated, "a line without a kind");
    project.add("style", "Use LF.");
    assert_eq!(project.read("topics/style.md"), "Our style:\n* use tabs\n- (project) Use LF.\n");
    let index = project.read("MEMORY.md");
    assert!(
        index.starts_with("# Notes of the team\r\n\r\nSee the wiki.\r\n- [style]"),
        "{index:?}"
    );
    project.write("topics/raw.md", b"\xff\xfe\xfd");
    assert!(project.memory.add(&entry("raw", "text")).is_err(), "not text: nothing is lost");
    assert_eq!(std::fs::read(project.path("topics/raw.md")).unwrap(), b"\xff\xfe\xfd");
}

#[test]
fn sdk_18_the_index_is_limited_in_lines_and_bytes() {
    assert_eq!((MAX_INDEX_LINES, MAX_INDEX_BYTES), (200, 25 * 1024));
    let project = Project::new();
    let empty = MemoryIndex { text: String::new(), truncated: false };
    assert_eq!(project.memory.index().unwrap(), empty);
    let exact = "x\n".repeat(MAX_INDEX_LINES);
    project.write("MEMORY.md", &exact);
    let index = project.memory.index().unwrap();
    assert_eq!((index.text.as_str(), index.truncated), (exact.as_str(), false));
    project.write("MEMORY.md", format!("{exact}more\n"));
    let index = project.memory.index().unwrap();
    assert_eq!((index.text.as_str(), index.truncated), (exact.as_str(), true));
    let wide = format!("{}\n", "ü".repeat(500));
    project.write("MEMORY.md", wide.repeat(100));
    let index = project.memory.index().unwrap();
    assert!(index.text.len() <= MAX_INDEX_BYTES && index.text.ends_with('\n') && index.truncated);
    assert_eq!(index.text.len() / wide.len(), MAX_INDEX_BYTES / wide.len());
    // The size of the rest makes no difference.
    project.write("MEMORY.md", format!("first\n{}", "more\n".repeat(500_000)));
    let index = project.memory.index().unwrap();
    assert!(index.text.starts_with("first\nmore\n") && index.truncated);
    assert_eq!(index.text.lines().count(), MAX_INDEX_LINES);
    project.write("MEMORY.md", "x".repeat(3_000_000));
    assert_eq!(project.memory.index().unwrap(), MemoryIndex { truncated: true, ..empty });
}

#[test]
fn sdk_18_hidden_text_in_files_is_not_returned() {
    const HIDDEN: &str = "\u{1b}]52;c;aGk=\u{7}\u{1b}[8mseen\u{1b}[0m\u{202e}\u{200b}\u{e0041}";
    let project = Project::new();
    project.write("MEMORY.md", format!("a{HIDDEN}\tb\r\n"));
    assert_eq!(project.memory.index().unwrap().text, "aseen\tb\n");
    project.write("topics/style.md", format!("style: {HIDDEN}\n"));
    assert_eq!(project.memory.topic("style").unwrap(), "style: seen\n");
    assert_eq!(project.memory.recall("style").0[0].text, "style: seen\n");
    project.write(&format!("topics/{HIDDEN}.md"), "text");
    assert_eq!(project.memory.topics(), ["style"]);
    // The escapes of JSON are decoded after the file was read.
    let candidate = serde_json::json!({
        "id": format!("mem_1{HIDDEN}"), "kind": "user", "topic": HIDDEN, "text": format!("x\n{HIDDEN}"),
    });
    let mut text = serde_json::json!({"version": 1, "candidates": [candidate]}).to_string();
    text = text.replace('\u{202e}', "\\u202e");
    project.write("pending.json", text);
    let pending = project.memory.pending().unwrap();
    let fields = [&pending[0].id, &pending[0].topic, &pending[0].text];
    assert_eq!(fields, ["mem_1seen", "seen", "x seen"]);
    // What was shown is what is stored, by the id that was shown.
    project.memory.approve("mem_1seen").unwrap();
    assert!(project.read("topics/seen.md").ends_with("- (user) x seen\n"));
    let kind = r#"{"version": 1, "candidates": [{"id": "1", "kind": "\u001b[31m", "topic": "t", "text": "x"}]}"#;
    project.write("pending.json", kind);
    let error = project.memory.pending().unwrap_err().to_string();
    assert!(error.contains("pending.json") && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn sdk_18_reading_creates_nothing() {
    let project = Project::new();
    assert!(project.memory.index().is_ok() && project.memory.topics().is_empty());
    assert!(project.memory.pending().unwrap().is_empty());
    assert!(project.memory.recall("anything").0.is_empty());
    assert!(matches!(project.memory.topic("x"), Err(MemoryError::Unknown { .. })));
    assert!(project.memory.reject("mem_0").is_err() && project.memory.approve("mem_0").is_err());
    assert!(!project.dir.path().join(".robota").exists());
}

#[test]
fn sdk_18_what_must_not_be_stored_is_refused_everywhere() {
    let new = |topic: &str, text: &str| MemoryEntry::new(MemoryKind::User, topic, text);
    for (topic, text) in [
        ("db", "the password is hunter2"),
        ("pay", "card 4111 1111 1111 1111"),
        ("me", "SSN 123-45-6789"),
        ("4111111111111111", "mine"),
    ] {
        let error = new(topic, text).unwrap_err();
        assert!(matches!(error, MemoryError::Refused(_)), "{error}");
        let event = serde_json::to_string(&error.event().unwrap()).unwrap();
        assert!(!event.contains("hunter2") && !event.contains("4111"), "{event}");
    }
    // A candidate whose file was edited is checked again.
    let project = Project::new();
    project.memory.propose(&entry("db", "use postgres")).unwrap();
    let id = project.memory.pending().unwrap()[0].id.clone();
    let edited = project.read("pending.json").replace("use postgres", "the password is hunter2");
    project.write("pending.json", edited);
    assert!(matches!(project.memory.approve(&id), Err(MemoryError::Refused(_))));
    assert!(!project.path("topics").exists());
}

#[test]
fn sdk_18_topics_and_texts_are_one_plain_line() {
    let new = |topic: &str, text: &str| MemoryEntry::new(MemoryKind::User, topic, text);
    for topic in
        ["", "-", "..", "../x", "a/b", "a\\b", "a.md", "x\0y", "\u{1b}[2J", &"x".repeat(65)]
    {
        assert!(matches!(new(topic, "text"), Err(MemoryError::Invalid(_))), "{topic:?}");
    }
    assert_eq!(new("빌드 방법", "text").unwrap().topic(), "빌드-방법");
    let text = "one\ntwo\r\n# three \u{1b}[31mred\u{7}";
    assert_eq!(new("x", text).unwrap().text(), "one two # three red");
    assert!(new("x", "  \n ").is_err() && new("x", &"x".repeat(2_001)).is_err());
}

#[test]
fn sdk_18_candidates_wait_until_they_are_approved_or_rejected() {
    let project = Project::new();
    let first = project.memory.propose(&entry("build", "Use just.")).unwrap();
    project.memory.propose(&entry("build", "Use just.")).unwrap();
    project.memory.propose(&entry("style", "Use tabs.")).unwrap();
    let pending = project.memory.pending().unwrap();
    let [build, style] = &pending[..] else { panic!("{pending:?}") };
    assert!(build.id.starts_with("mem_") && build.id.len() == 16, "{}", build.id);
    let (id, topic) = (build.id.clone(), "build".to_owned());
    assert_eq!(first, MemoryEvent::Proposed { id: id.clone(), topic: topic.clone() });
    assert!(project.memory.topics().is_empty(), "a candidate is not part of the memory");
    let approved = project.memory.approve(&id).unwrap();
    assert_eq!(
        approved.event,
        MemoryEvent::Approved { id: id.clone(), topic, deduplicated: false }
    );
    let rejected = project.memory.reject(&style.id).unwrap();
    assert_eq!(rejected, MemoryEvent::Rejected { id: style.id.clone() });
    assert!(project.memory.pending().unwrap().is_empty());
    assert_eq!(project.memory.topics(), ["build"]);
    assert!(matches!(project.memory.approve(&id), Err(MemoryError::Unknown { .. })));
}

#[test]
fn sdk_18_the_pending_store_is_bounded_and_never_overwritten_when_damaged() {
    let project = Project::new();
    for at in 0..MAX_PENDING {
        project.memory.propose(&entry("x", &format!("Fact {at}."))).unwrap();
    }
    let full = project.memory.propose(&entry("x", "One more."));
    assert!(matches!(full, Err(MemoryError::TooMany(MAX_PENDING))));
    project.write("pending.json", "{\"version\": 1, \"candidates\": [");
    assert!(matches!(project.memory.pending(), Err(MemoryError::Damaged { .. })));
    assert!(project.memory.propose(&entry("x", "y")).is_err());
    assert_eq!(project.read("pending.json"), "{\"version\": 1, \"candidates\": [");
}

#[test]
fn sdk_18_recall_returns_the_best_topics_cut_to_size() {
    let project = Project::new();
    for at in 0..8 {
        project.write(&format!("topics/t{at}.md"), "deploy notes\n");
    }
    project.write("topics/deploy.md", format!("how to deploy\n{}", "ü".repeat(5_000)));
    project.write("topics/other.md", "nothing here\n");
    let (recalled, event) = project.memory.recall("How do I DEPLOY?");
    assert_eq!(recalled.len(), MAX_RECALLED);
    assert_eq!((recalled[0].topic.as_str(), recalled[0].truncated), ("deploy", true));
    assert_eq!(recalled[0].text.chars().count(), MAX_RECALLED_CHARS);
    let topics = ["deploy", "t0", "t1", "t2", "t3"].map(str::to_owned).to_vec();
    assert_eq!(event, MemoryEvent::Recalled { topics });
    assert!(project.memory.recall("is it of no").0.is_empty());
}

#[cfg(unix)]
#[test]
fn sdk_18_links_are_refused() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.md"), "outside").unwrap();
    // The folder, a topic, the index and the list of candidates.
    let folder = Project::new();
    symlink(outside.path(), folder.dir.path().join(".robota")).unwrap();
    assert!(folder.memory.add(&entry("x", "y")).is_err() && folder.memory.topics().is_empty());
    let topics = Project::new();
    std::fs::create_dir_all(topics.path("")).unwrap();
    symlink(outside.path(), topics.path("topics")).unwrap();
    assert!(topics.memory.topics().is_empty() && topics.memory.topic("secret").is_err());
    assert!(topics.memory.recall("outside").0.is_empty());
    assert!(topics.memory.add(&entry("new", "y")).is_err());
    for name in ["topics/x.md", "MEMORY.md", "pending.json"] {
        let project = Project::new();
        std::fs::create_dir_all(project.path("topics")).unwrap();
        symlink(outside.path().join("secret.md"), project.path(name)).unwrap();
        let added = project.memory.add(&entry("x", "y")).is_err();
        let proposed = project.memory.propose(&entry("x", "y")).is_err();
        assert!(added || proposed, "{name}");
        assert!(project.memory.recall("outside").0.is_empty(), "{name}");
        assert!(project.memory.index().map_or(true, |index| !index.text.contains("outside")));
    }
    let names: Vec<_> = std::fs::read_dir(outside.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing was written outside");
    assert_eq!(std::fs::read_to_string(outside.path().join("secret.md")).unwrap(), "outside");
}
