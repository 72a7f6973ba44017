//! `robota sessions` through the real program.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::home::{Home, stderr, stdout};

/// A read of a file, a denied command, an answer.
const SCRIPT: &str = "
- text: I look first.
  tools:
    - {tool: Read, input: {file_path: notes.txt}}
    - {tool: Bash, input: {command: make install}}
  usage: {input: 1200, output: 30}
- {text: The notes say hello., usage: {input: 1300, output: 12}}
";

struct Project(Home);

impl Project {
    fn new() -> Self {
        let home = Home::new();
        home.write("project/script.yaml", SCRIPT).write("project/notes.txt", "hello world\n");
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path("project").join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        self.0.command(args).output().unwrap()
    }

    /// Runs `robota sessions ARGS`, which must exit with this code. Returns its output.
    #[track_caller]
    fn sessions(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(&[&["sessions"], args].concat());
        let (out, err) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
        if code == 0 { out } else { format!("{out}{err}") }
    }

    #[track_caller]
    fn json(&self, code: i32, args: &[&str]) -> Value {
        let output = self.run(&[&["sessions"], args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?} {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs a session and returns its id.
    fn session(&self, prompt: &str) -> String {
        let args = ["-p", prompt, "--provider", "scripted:script.yaml", "--output-format", "json"];
        let output = self.run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["session_id"].as_str().unwrap().to_owned()
    }

    /// Returns the first segment of a journal.
    fn segment(&self, session: &str) -> PathBuf {
        self.path(&format!(".robota/sessions/{session}/1.jsonl"))
    }
}

/// Replaces ids and folders, which differ in each run.
fn normalised(project: &Project, text: &str) -> String {
    let folder = project.0.path("project");
    let mut text = text.replace(&folder.display().to_string(), "/PROJECT");
    let mut ids = Vec::new();
    while let Some(at) = find_id(&text) {
        let id = text[at..at + 36].to_owned();
        ids.push(id.clone());
        text = text.replace(&id, &format!("ID{}{}", ids.len(), " ".repeat(33)));
    }
    text
}

/// Finds a UUID in a text.
fn find_id(text: &str) -> Option<usize> {
    let dashes = [8, 13, 18, 23];
    (0..text.len().saturating_sub(35)).find(|at| {
        text.get(*at..at + 36).is_some_and(|id| {
            id.bytes().enumerate().all(|(index, byte)| {
                if dashes.contains(&index) { byte == b'-' } else { byte.is_ascii_hexdigit() }
            })
        })
    })
}

fn filters() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME");
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\dZ", "DAY AND MINUTE   ");
    settings.add_filter(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME");
    settings.add_filter(r"\d+ ms|\d+\.\d s", "TOOK");
    settings.add_filter(r"ID(\d) +", "ID$1 ");
    settings.add_filter(r"\d+ events, last \d+-\d+", "N events, last CURSOR");
    settings
}

#[test]
fn sess_11_sessions_are_listed_newest_first() {
    let project = Project::new();
    assert_eq!(project.sessions(0, &["list"]), "");
    let first = project.session("Read the notes.");
    let second = project.session("What do\nthe notes say?");
    let list = project.sessions(0, &["list"]);
    let at = |id: &str| list.find(id).unwrap();
    assert!(at(&second) < at(&first));
    filters().bind(|| insta::assert_snapshot!("list", normalised(&project, &list)));

    let ids = |args: &[&str]| {
        let page = project.json(0, &[&["list"], args].concat());
        let ids = page["sessions"].as_array().unwrap().iter();
        let ids: Vec<_> = ids.map(|head| head["session"].as_str().unwrap().to_owned()).collect();
        (ids, page["next"].clone())
    };
    let (page, next) = ids(&["--limit", "1"]);
    assert_eq!(page, std::slice::from_ref(&second));
    let (page, next) = ids(&["--limit", "1", "--after", next.as_str().unwrap()]);
    assert_eq!((page, next), (vec![first.clone()], Value::Null));
    assert_eq!(ids(&["--text", "READ THE"]).0, std::slice::from_ref(&first));
    assert_eq!(ids(&["--prefix", &first]).0, std::slice::from_ref(&first));
    assert_eq!(ids(&["--since", "1h"]).0.len(), 2);
    assert_eq!(ids(&["--until", "2020-01-01"]).0.len(), 0);
    // A store that `--store` names may have sessions of other folders.
    let store = format!("file:{}", project.path(".robota/sessions").display());
    std::fs::create_dir(project.path("sub")).unwrap();
    assert_eq!(ids(&["--store", &store, "--cwd", "sub"]).0.len(), 0);
    assert_eq!(ids(&["--store", &store, "--cwd", "sub", "--all"]).0.len(), 2);
    project.sessions(2, &["list", "--since", "soon"]);
    project.sessions(2, &["list", "--store", "mysql:x"]);
}

#[test]
fn sess_12_show_prints_a_session_turn_by_turn() {
    let project = Project::new();
    let id = project.session("What do the notes say?");
    // A unique prefix of the id is enough.
    let shown = project.sessions(0, &["show", &id[..8]]);
    filters().bind(|| insta::assert_snapshot!("show", normalised(&project, &shown)));
    let lines = project.sessions(0, &["show", &id, "--events"]);
    assert_eq!(lines, std::fs::read_to_string(project.segment(&id)).unwrap());
    let transcript = project.json(0, &["show", &id]);
    assert_eq!(
        (transcript["turns"].as_u64(), transcript["usage"]["input_tokens"].as_u64()),
        (Some(1), Some(2500))
    );
    assert_eq!(transcript["entries"][0]["steps"][2]["decision"]["by"], "gate");
    let output = project.sessions(1, &["show", "nobody"]);
    assert!(output.contains("session `nobody` not found"), "{output}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let project = Project::new();
    let id = project.session("clear \u{1b}[2J the screen");
    assert!(!project.sessions(0, &["show", &id]).contains('\u{1b}'));
    assert!(!project.sessions(0, &["list"]).contains('\u{1b}'));
}

#[test]
fn sess_14_a_journal_is_exported_unchanged_and_imported_once() {
    let (project, other) = (Project::new(), Project::new());
    let id = project.session("What do the notes say?");
    let file = other.path("kept.jsonl");
    project.sessions(0, &["export", &id, "-o", file.to_str().unwrap()]);
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(project.segment(&id)).unwrap());
    assert_eq!(mode(&file), 0o600);
    let output = project.sessions(2, &["export", &id, "-o", file.to_str().unwrap()]);
    assert!(output.contains("pass --force to overwrite it"), "{output}");
    assert_eq!(
        project.sessions(0, &["export", &id]),
        project.sessions(0, &["show", &id, "--events"])
    );

    let output = other.sessions(0, &["import", "kept.jsonl"]);
    assert!(output.starts_with(&format!("imported {id}")), "{output}");
    let output = other.sessions(0, &["import", "kept.jsonl"]);
    assert!(output.contains("was already imported; nothing changed"), "{output}");
    assert_eq!(
        std::fs::read(other.segment(&id)).unwrap(),
        std::fs::read(project.segment(&id)).unwrap()
    );
    let copy = other.json(0, &["import", "kept.jsonl", "--id", "copy"]);
    assert_eq!((&copy["session"], &copy["already"]), (&"copy".into(), &false.into()));
    assert_eq!(other.json(0, &["list"])["sessions"].as_array().unwrap().len(), 2);
    // One's own session is not imported.
    let output = other.sessions(2, &["import", "copy"]);
    assert!(output.contains("is already yours"), "{output}");
}

#[test]
fn sess_14_records_and_logs_are_exported_validated_and_imported() {
    let (project, other) = (Project::new(), Project::new());
    let id = project.session("What do the notes say?");
    for format in ["record", "log"] {
        let name = format!("kept.{format}");
        let file = other.path(&name);
        let done = project
            .json(0, &["export", &id, "--format", format, "--output", file.to_str().unwrap()]);
        assert_eq!((&done["format"], &done["session"]), (&format.into(), &id.as_str().into()));
        assert_eq!(other.json(0, &["validate", &name])["reports"][0]["report"]["format"], format);
        let copy = format!("from-{format}");
        for already in [false, true] {
            let imported = other.json(0, &["import", &name, "--id", &copy]);
            assert_eq!(imported["already"], already, "{imported}");
        }
        assert_eq!(other.json(0, &["validate", &copy])["ok"], true);
        let transcript = other.json(0, &["show", &copy]);
        assert_eq!(transcript["usage"]["input_tokens"], 2500);
        let shown = other.sessions(0, &["show", &copy]);
        assert!(shown.contains("› What do the notes say?") && shown.contains("✓ Read"), "{shown}");
    }
    let readable = project.sessions(0, &["export", &id, "--format", "markdown"]);
    filters().bind(|| insta::assert_snapshot!("markdown", normalised(&project, &readable)));
    std::fs::write(other.path("unknown.json"), "{\"a\": 1}").unwrap();
    let output = other.sessions(2, &["import", "unknown.json"]);
    assert!(output.contains("not recognised as an export"), "{output}");
}

#[test]
fn sess_13_exports_redact_the_given_texts() {
    let project = Project::new();
    let id = project.session("My key is sk-live-12345678, keep it.");
    for format in ["journal", "record", "log", "markdown"] {
        let args = ["export", &id, "--format", format, "--redact", "sk-live-12345678"];
        let output = project.sessions(0, &args);
        assert!(!output.contains("sk-live") && output.contains("My key is [REDACTED]"), "{format}");
    }
    // The checksums of redacted lines are recomputed, so the copy is valid.
    let args = ["export", &id, "--redact", "sk-live-12345678", "-o", "clean.jsonl"];
    project.sessions(0, &args);
    project.sessions(0, &["import", "clean.jsonl", "--id", "clean"]);
    project.sessions(0, &["validate", "clean"]);
}

#[test]
fn sess_14_validate_reports_every_error() {
    let project = Project::new();
    let id = project.session("What do the notes say?");
    let output = project.sessions(0, &["validate"]);
    assert!(output.contains(": valid ("), "{output}");
    let segment = project.segment(&id);
    let whole = std::fs::read_to_string(&segment).unwrap();

    // A torn last line.
    std::fs::write(&segment, &whole[..whole.len() - 9]).unwrap();
    let report = project.json(0, &["validate", &id]);
    project.sessions(1, &["validate", &id, "--strict"]);
    let codes = |report: &Value| {
        let found = report["reports"][0]["report"]["findings"].as_array().unwrap().iter();
        found.map(|found| found["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&report), ["TORN_TAIL"]);
    // A turn without an end.
    let (open, _) = whole.split_at(whole.find("\"turn_finished\"").unwrap());
    let (open, _) = open.rsplit_once('\n').unwrap();
    std::fs::write(&segment, format!("{open}\n")).unwrap();
    assert_eq!(codes(&project.json(1, &["validate", &id])), ["MISSING_TERMINAL"]);

    // One changed byte, one missing line.
    let mut lines: Vec<_> = whole.lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.contains("\"tool_result\"")).unwrap();
    lines[at] = lines[at].replacen("hello", "hallo", 1);
    lines.remove(2);
    std::fs::write(&segment, lines.join("\n") + "\n").unwrap();
    let found = codes(&project.json(1, &["validate", &id]));
    for code in ["GAP", "BAD_CHECKSUM", "UNPAIRED_TOOL_USE"] {
        assert!(found.iter().any(|found| found == code), "{code}: {found:?}");
    }
    let output = project.sessions(1, &["validate", &id]);
    assert!(output.contains("BAD_CHECKSUM at ") && output.contains("line "), "{output}");
}

#[test]
fn kode_04_a_session_is_forked_at_a_safe_point() {
    let project = Project::new();
    let id = project.session("What do the notes say?");
    let before = std::fs::read(project.segment(&id)).unwrap();
    let fork = project.json(0, &["fork", &id, "--at", "sfp:1", "--id", "side"]);
    assert_eq!((&fork["session"], &fork["parent"]), (&"side".into(), &id.as_str().into()));
    let shown = project.sessions(0, &["show", "side"]);
    assert!(shown.contains("fork of") && !shown.contains("The notes say hello."), "{shown}");
    assert!(project.sessions(0, &["list"]).contains("(fork)"));
    project.sessions(0, &["fork", &id]);
    project.sessions(0, &["validate"]);
    assert_eq!(std::fs::read(project.segment(&id)).unwrap(), before);
    let output = project.sessions(1, &["fork", &id, "--at", "sfp:9"]);
    assert!(output.contains("safe points"), "{output}");
    project.sessions(2, &["fork", &id, "--at", "somewhere"]);
}

#[test]
fn sess_11_sessions_are_deleted_and_pruned() {
    let project = Project::new();
    let first = project.session("One.");
    let second = project.session("Two.");
    let third = project.session("Three.");
    let output = project.sessions(2, &["delete", &first]);
    assert!(output.contains("pass --yes to delete"), "{output}");
    assert_eq!(project.sessions(0, &["delete", "--yes", &first]), format!("deleted {first}\n"));
    // Deleting a session that does not exist is not an error.
    let deleted = project.json(0, &["delete", "--yes", &first]);
    assert_eq!(deleted["absent"][0], first.as_str());
    // Only generated ids are found by their beginning.
    for id in ["agent:a/session:copy", "agent:a/session:copy2"] {
        project.sessions(0, &["fork", &second, "--id", id]);
    }
    assert!(project.sessions(0, &["delete", "--yes", "agent:a/session:copy"]).contains("copy"));
    let deleted = project.json(0, &["delete", "--yes", "agent:a/session:copy"]);
    assert_eq!(deleted["absent"][0], "agent:a/session:copy", "copy2 is another session");
    project.sessions(0, &["delete", "--yes", "agent:a/session:copy2"]);

    project.sessions(2, &["prune"]);
    let would = project.sessions(0, &["prune", "--keep", "1", "--dry-run"]);
    assert!(would.starts_with(&format!("would delete {second}")), "{would}");
    assert_eq!(project.sessions(0, &["prune", "--keep", "1", "--older-than", "1d"]), "");
    let done = project.json(0, &["prune", "--keep", "1"]);
    assert_eq!(done["sessions"][0]["session"], second.as_str());
    let left = project.json(0, &["list"]);
    assert_eq!(left["sessions"][0]["session"], third.as_str());
    assert_eq!(left["sessions"].as_array().unwrap().len(), 1);
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> u32 {
    0o600
}
