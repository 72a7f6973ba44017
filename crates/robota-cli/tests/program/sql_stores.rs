//! Sessions in SQLite and PostgreSQL through the real program.

use std::path::{Path, PathBuf};
use std::process::Output;

use robota_testkit::postgres::PostgresServer;
use serde_json::Value;

use crate::home::{Home, stderr, stdout};

/// A read of a file, then an answer.
const READS: &str = "
- {text: I look first., tools: [{tool: Read, input: {file_path: notes.txt}}]}
- {text: The notes say hello., usage: {input: 1300, output: 12}}
";

/// Fails unless the model receives the whole conversation: prompt, answer with a call, result,
/// answer, prompt.
const EXPECTS_HISTORY: &str = "- expect: {messages: 5}\n  text: I remember.";

/// A project whose sessions are in a database.
struct Project {
    home: Home,
    store: String,
}

impl Project {
    fn new(store: impl FnOnce(&Path) -> String) -> Self {
        let home = Home::new();
        home.write("project/notes.txt", "hello world\n");
        let store = store(&home.path("project"));
        Self { home, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path("project").join(name)
    }

    /// Runs the program with these arguments and `--store`.
    fn run(&self, args: &[&str]) -> Output {
        self.home.command(&[args, &["--store", &self.store]].concat()).output().unwrap()
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
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.sessions(0, &[args, &["--json"]].concat())).unwrap()
    }

    /// Returns the ids of all sessions, most recent first.
    #[track_caller]
    fn listed(&self) -> Vec<String> {
        let page = self.json(&["list"]);
        let heads = page["sessions"].as_array().unwrap().iter();
        heads.map(|head| head["session"].as_str().unwrap().to_owned()).collect()
    }

    /// Runs one prompt. Returns the session id and the answer.
    #[track_caller]
    fn prompt(&self, script: &str, prompt: &str, args: &[&str]) -> (String, String) {
        std::fs::write(self.path("script.yaml"), script).unwrap();
        let arguments =
            ["-p", prompt, "--provider", "scripted:script.yaml", "--output-format", "json"];
        let output = self.run(&[&arguments, args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |name: &str| value[name].as_str().unwrap().to_owned();
        (text("session_id"), text("result"))
    }
}

/// Runs every `sessions` command, each in its own process.
fn exercise_all_commands(project: &Project) {
    assert!(project.listed().is_empty());
    let (id, answer) = project.prompt(READS, "What do the notes say?", &[]);
    assert_eq!(answer, "The notes say hello.");
    let (again, answer) = project.prompt(EXPECTS_HISTORY, "And what did I ask?", &["-c"]);
    assert_eq!((&again, answer.as_str()), (&id, "I remember."));
    let (other, _) = project.prompt("- Hello.", "Something else.", &[]);
    assert_eq!(project.listed(), [other, id.clone()]);
    let list = project.sessions(0, &["list"]);
    assert!(list.contains(&id) && list.contains("What do the notes say?"), "{list}");

    let shown = project.sessions(0, &["show", &id[..13]]);
    for part in ["What do the notes say?", "✓ Read", "And what did I ask?", "I remember."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let transcript = project.json(&["show", &id]);
    assert_eq!(transcript["turns"], 2);
    let events = project.sessions(0, &["show", &id, "--events"]);
    for (line, seq) in events.lines().zip(1_u64..) {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], seq);
    }
    let output = project.sessions(0, &["validate"]);
    assert!(output.contains(": valid ("), "{output}");
    assert_eq!(project.json(&["validate", &id])["ok"], true);

    // An export can be imported again.
    project.sessions(0, &["export", &id, "-o", "kept.jsonl"]);
    project.sessions(0, &["import", "kept.jsonl", "--id", "copy"]);
    assert_eq!(project.json(&["validate", "copy"])["ok"], true);

    // A fork stays when its parent is deleted.
    let fork = project.json(&["fork", &id, "--at", "sfp:1", "--id", "side"]);
    assert_eq!((&fork["session"], &fork["parent"]), (&"side".into(), &id.as_str().into()));
    let shown = project.sessions(0, &["show", "side"]);
    assert!(shown.contains("fork of") && !shown.contains("I remember."), "{shown}");
    let output = project.sessions(2, &["delete", &id]);
    assert!(output.contains("pass --yes to delete"), "{output}");
    assert_eq!(project.sessions(0, &["delete", "--yes", &id]), format!("deleted {id}\n"));
    let deleted = project.json(&["delete", "--yes", &id]);
    assert_eq!(deleted["absent"][0], id.as_str());
    let output = project.sessions(1, &["show", &id]);
    assert!(output.contains("not found"), "{output}");
    project.sessions(0, &["validate"]);
    let (fork, _) = project.prompt("- Here I am.", "Are you there?", &["-r", "side"]);
    assert_eq!(fork, "side");
    let listed = project.listed();
    assert_eq!((listed.len(), listed[0].as_str()), (3, "side"));

    // The most recent session is kept.
    let done = project.json(&["prune", "--keep", "1"]);
    assert_eq!(done["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(project.listed(), ["side"]);
    // No session is in files.
    assert!(!project.path(".robota/sessions").exists());
}

#[test]
fn sess_11_kode_12_all_commands_work_on_sqlite() {
    let project = Project::new(|folder| format!("sqlite:{}/sessions.db", folder.display()));
    exercise_all_commands(&project);
    assert!(project.path("sessions.db").is_file());
    std::fs::write(project.path("text"), "no database, but long enough to look at. ".repeat(99))
        .unwrap();
    let refused = Project::new(|_| format!("sqlite:{}", project.path("text").display()));
    let output = refused.sessions(1, &["list"]);
    assert!(output.contains("not a database"), "{output}");
}

#[test]
fn sess_11_kode_12_all_commands_work_on_postgresql() {
    let Some(mut server) = PostgresServer::start().unwrap() else { return };
    let address = server.database().unwrap();
    let part = |name: &str| {
        let mut parts = address.split(' ').filter_map(|part| part.split_once('='));
        parts.find(|(key, _)| *key == name).unwrap().1.to_owned()
    };
    // The host is a folder with a socket, which has to be escaped in a URL.
    let host = part("host").replace('/', "%2F");
    let store = format!("postgres://{}@{host}/{}", part("user"), part("dbname"));
    let project = Project::new(|_| store);
    exercise_all_commands(&project);
    server.kill().unwrap();
    let output = project.sessions(1, &["list"]);
    assert!(output.contains("PostgreSQL at"), "{output}");
    server.restart().unwrap();
    assert_eq!(project.listed(), ["side"]);
}
