//! `robota sessions`, run as a person or a script runs it.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::home::{Home, stderr, stdout};

/// A look at a file, a refused command, an answer.
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

    /// `robota sessions ARGS`, which must end so.
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

    /// Runs a session; its id.
    fn session(&self, prompt: &str) -> String {
        let args = ["-p", prompt, "--provider", "scripted:script.yaml", "--output-format", "json"];
        let output = self.run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["session_id"].as_str().unwrap().to_owned()
    }

    /// The first segment of a journal.
    fn segment(&self, session: &str) -> PathBuf {
        self.path(&format!(".robota/sessions/{session}/1.jsonl"))
    }
}

/// Ids, times and folders are others each time.
fn settled(project: &Project, text: &str) -> String {
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

/// Where a UUID is in a text.
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
    filters().bind(|| insta::assert_snapshot!("list", settled(&project, &list)));

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
    // A store that is named may hold sessions of other folders.
    let store = format!("file:{}", project.path(".robota/sessions").display());
    std::fs::create_dir(project.path("sub")).unwrap();
    assert_eq!(ids(&["--store", &store, "--cwd", "sub"]).0.len(), 0);
    assert_eq!(ids(&["--store", &store, "--cwd", "sub", "--all"]).0.len(), 2);
    project.sessions(2, &["list", "--since", "soon"]);
    project.sessions(2, &["list", "--store", "mysql:x"]);
}

#[test]
fn sess_12_a_session_is_told_turn_by_turn() {
    let project = Project::new();
    let id = project.session("What do the notes say?");
    // The beginning of an id is enough where it is the only one.
    let shown = project.sessions(0, &["show", &id[..8]]);
    filters().bind(|| insta::assert_snapshot!("show", settled(&project, &shown)));
    let lines = project.sessions(0, &["show", &id, "--events"]);
    assert_eq!(lines, std::fs::read_to_string(project.segment(&id)).unwrap());
    let told = project.json(0, &["show", &id]);
    assert_eq!(
        (told["turns"].as_u64(), told["usage"]["input_tokens"].as_u64()),
        (Some(1), Some(2500))
    );
    assert_eq!(told["entries"][0]["steps"][2]["decision"]["by"], "gate");
    let said = project.sessions(1, &["show", "nobody"]);
    assert!(said.contains("there is no session `nobody`"), "{said}");
}

#[test]
fn what_a_terminal_would_obey_is_shown_not_done() {
    let project = Project::new();
    let id = project.session("clear \u{1b}[2J the screen");
    assert!(!project.sessions(0, &["show", &id]).contains('\u{1b}'));
    assert!(!project.sessions(0, &["list"]).contains('\u{1b}'));
}

#[test]
fn sess_14_a_journal_is_exported_as_it_is_and_imported_once() {
    let (project, other) = (Project::new(), Project::new());
    let id = project.session("What do the notes say?");
    let file = other.path("kept.jsonl");
    project.sessions(0, &["export", &id, "-o", file.to_str().unwrap()]);
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(project.segment(&id)).unwrap());
    assert_eq!(mode(&file), 0o600);
    let said = project.sessions(2, &["export", &id, "-o", file.to_str().unwrap()]);
    assert!(said.contains("--force writes over it"), "{said}");
    assert_eq!(
        project.sessions(0, &["export", &id]),
        project.sessions(0, &["show", &id, "--events"])
    );

    let said = other.sessions(0, &["import", "kept.jsonl"]);
    assert!(said.starts_with(&format!("imported {id}")), "{said}");
    let said = other.sessions(0, &["import", "kept.jsonl"]);
    assert!(said.contains("was imported before; nothing was done"), "{said}");
    assert_eq!(
        std::fs::read(other.segment(&id)).unwrap(),
        std::fs::read(project.segment(&id)).unwrap()
    );
    let copy = other.json(0, &["import", "kept.jsonl", "--id", "copy"]);
    assert_eq!((&copy["session"], &copy["already"]), (&"copy".into(), &false.into()));
    assert_eq!(other.json(0, &["list"])["sessions"].as_array().unwrap().len(), 2);
    // What is one's own needs no import.
    let said = other.sessions(2, &["import", "copy"]);
    assert!(said.contains("is yours already"), "{said}");
}

#[test]
fn sess_14_records_and_logs_are_exported_checked_and_imported() {
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
        let told = other.json(0, &["show", &copy]);
        assert_eq!(told["usage"]["input_tokens"], 2500);
        let shown = other.sessions(0, &["show", &copy]);
        assert!(shown.contains("› What do the notes say?") && shown.contains("✓ Read"), "{shown}");
    }
    let readable = project.sessions(0, &["export", &id, "--format", "markdown"]);
    filters().bind(|| insta::assert_snapshot!("markdown", settled(&project, &readable)));
    std::fs::write(other.path("odd.json"), "{\"a\": 1}").unwrap();
    let said = other.sessions(2, &["import", "odd.json"]);
    assert!(said.contains("looks like no export"), "{said}");
}

#[test]
fn sess_13_exports_have_what_is_named_taken_out() {
    let project = Project::new();
    let id = project.session("My key is sk-live-12345678, keep it.");
    for format in ["journal", "record", "log", "markdown"] {
        let args = ["export", &id, "--format", format, "--redact", "sk-live-12345678"];
        let said = project.sessions(0, &args);
        assert!(!said.contains("sk-live") && said.contains("My key is [REDACTED]"), "{format}");
    }
    // What is changed has its checksum made anew: the copy can be used.
    let args = ["export", &id, "--redact", "sk-live-12345678", "-o", "clean.jsonl"];
    project.sessions(0, &args);
    project.sessions(0, &["import", "clean.jsonl", "--id", "clean"]);
    project.sessions(0, &["validate", "clean"]);
}

#[test]
fn sess_14_validate_reports_all_that_is_wrong() {
    let project = Project::new();
    let id = project.session("What do the notes say?");
    let said = project.sessions(0, &["validate"]);
    assert!(said.contains("nothing is wrong"), "{said}");
    let segment = project.segment(&id);
    let whole = std::fs::read_to_string(&segment).unwrap();

    // The last line was being written.
    std::fs::write(&segment, &whole[..whole.len() - 9]).unwrap();
    let report = project.json(0, &["validate", &id]);
    project.sessions(1, &["validate", &id, "--strict"]);
    let codes = |report: &Value| {
        let found = report["reports"][0]["report"]["findings"].as_array().unwrap().iter();
        found.map(|found| found["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&report), ["TORN_TAIL"]);
    // The turn has not ended.
    let (open, _) = whole.split_at(whole.find("\"turn_finished\"").unwrap());
    let (open, _) = open.rsplit_once('\n').unwrap();
    std::fs::write(&segment, format!("{open}\n")).unwrap();
    assert_eq!(codes(&project.json(1, &["validate", &id])), ["MISSING_TERMINAL"]);

    // One byte is another, one line is gone.
    let mut lines: Vec<_> = whole.lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.contains("\"tool_result\"")).unwrap();
    lines[at] = lines[at].replacen("hello", "hallo", 1);
    lines.remove(2);
    std::fs::write(&segment, lines.join("\n") + "\n").unwrap();
    let found = codes(&project.json(1, &["validate", &id]));
    for code in ["GAP", "BAD_CHECKSUM", "UNPAIRED_TOOL_USE"] {
        assert!(found.iter().any(|found| found == code), "{code}: {found:?}");
    }
    let said = project.sessions(1, &["validate", &id]);
    assert!(said.contains("BAD_CHECKSUM at ") && said.contains("line "), "{said}");
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
    let said = project.sessions(1, &["fork", &id, "--at", "sfp:9"]);
    assert!(said.contains("safe points"), "{said}");
    project.sessions(2, &["fork", &id, "--at", "somewhere"]);
}

#[test]
fn sess_11_sessions_are_deleted_and_pruned() {
    let project = Project::new();
    let first = project.session("One.");
    let second = project.session("Two.");
    let third = project.session("Three.");
    let said = project.sessions(2, &["delete", &first]);
    assert!(said.contains("--yes deletes without a question"), "{said}");
    assert_eq!(project.sessions(0, &["delete", "--yes", &first]), format!("deleted {first}\n"));
    // It is not there any more: that is what was wanted.
    let gone = project.json(0, &["delete", "--yes", &first]);
    assert_eq!(gone["absent"][0], first.as_str());

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
