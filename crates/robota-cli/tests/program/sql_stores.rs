//! The program on databases: the same sessions, kept elsewhere.

use std::path::{Path, PathBuf};
use std::process::Output;

use robota_testkit::postgres::PostgresServer;
use serde_json::Value;

use crate::home::{Home, stderr, stdout};

/// A look at a file, then an answer.
const LOOKS: &str = "
- {text: I look first., tools: [{tool: Read, input: {file_path: notes.txt}}]}
- {text: The notes say hello., usage: {input: 1300, output: 12}}
";

/// Insists on having been told all of that before: prompt, answer with a call, result, answer.
const REMEMBERS: &str = "- expect: {messages: 5}\n  text: I remember.";

/// A project whose sessions are kept in a database.
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

    /// Runs the program with these words and the store's name.
    fn run(&self, args: &[&str]) -> Output {
        self.home.command(&[args, &["--store", &self.store]].concat()).output().unwrap()
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
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.sessions(0, &[args, &["--json"]].concat())).unwrap()
    }

    /// The ids of a list, newest first.
    #[track_caller]
    fn listed(&self) -> Vec<String> {
        let page = self.json(&["list"]);
        let heads = page["sessions"].as_array().unwrap().iter();
        heads.map(|head| head["session"].as_str().unwrap().to_owned()).collect()
    }

    /// Says something; the session's id and the answer.
    #[track_caller]
    fn say(&self, script: &str, prompt: &str, args: &[&str]) -> (String, String) {
        std::fs::write(self.path("script.yaml"), script).unwrap();
        let words = ["-p", prompt, "--provider", "scripted:script.yaml", "--output-format", "json"];
        let output = self.run(&[&words, args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let word = |name: &str| value[name].as_str().unwrap().to_owned();
        (word("session_id"), word("result"))
    }
}

/// All that can be done with sessions, each step by a program of its own.
fn lives_of_sessions(project: &Project) {
    assert!(project.listed().is_empty());
    let (id, answer) = project.say(LOOKS, "What do the notes say?", &[]);
    assert_eq!(answer, "The notes say hello.");
    let (again, answer) = project.say(REMEMBERS, "And what did I ask?", &["-c"]);
    assert_eq!((&again, answer.as_str()), (&id, "I remember."));
    let (other, _) = project.say("- Hello.", "Something else.", &[]);
    assert_eq!(project.listed(), [other, id.clone()]);
    let list = project.sessions(0, &["list"]);
    assert!(list.contains(&id) && list.contains("What do the notes say?"), "{list}");

    let shown = project.sessions(0, &["show", &id[..13]]);
    for part in ["What do the notes say?", "✓ Read", "And what did I ask?", "I remember."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let told = project.json(&["show", &id]);
    assert_eq!(told["turns"], 2);
    let events = project.sessions(0, &["show", &id, "--events"]);
    for (line, seq) in events.lines().zip(1_u64..) {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], seq);
    }
    let said = project.sessions(0, &["validate"]);
    assert!(said.contains("nothing is wrong"), "{said}");
    assert_eq!(project.json(&["validate", &id])["ok"], true);

    // What is exported comes back as it was.
    project.sessions(0, &["export", &id, "-o", "kept.jsonl"]);
    project.sessions(0, &["import", "kept.jsonl", "--id", "copy"]);
    assert_eq!(project.json(&["validate", "copy"])["ok"], true);

    // A fork outlives what it came from.
    let fork = project.json(&["fork", &id, "--at", "sfp:1", "--id", "side"]);
    assert_eq!((&fork["session"], &fork["parent"]), (&"side".into(), &id.as_str().into()));
    let shown = project.sessions(0, &["show", "side"]);
    assert!(shown.contains("fork of") && !shown.contains("I remember."), "{shown}");
    let said = project.sessions(2, &["delete", &id]);
    assert!(said.contains("--yes deletes without a question"), "{said}");
    assert_eq!(project.sessions(0, &["delete", "--yes", &id]), format!("deleted {id}\n"));
    let gone = project.json(&["delete", "--yes", &id]);
    assert_eq!(gone["absent"][0], id.as_str());
    let said = project.sessions(1, &["show", &id]);
    assert!(said.contains("there is no session"), "{said}");
    project.sessions(0, &["validate"]);
    let (fork, _) = project.say("- Here I am.", "Are you there?", &["-r", "side"]);
    assert_eq!(fork, "side");
    let listed = project.listed();
    assert_eq!((listed.len(), listed[0].as_str()), (3, "side"));

    // The newest is kept, whatever it is.
    let done = project.json(&["prune", "--keep", "1"]);
    assert_eq!(done["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(project.listed(), ["side"]);
    // Nothing of it is in files.
    assert!(!project.path(".robota/sessions").exists());
}

#[test]
fn sess_11_kode_12_sessions_live_in_sqlite() {
    let project = Project::new(|folder| format!("sqlite:{}/sessions.db", folder.display()));
    lives_of_sessions(&project);
    assert!(project.path("sessions.db").is_file());
    std::fs::write(project.path("text"), "no database, but long enough to look at. ".repeat(99))
        .unwrap();
    let refused = Project::new(|_| format!("sqlite:{}", project.path("text").display()));
    let said = refused.sessions(1, &["list"]);
    assert!(said.contains("not a database"), "{said}");
}

#[test]
fn sess_11_kode_12_sessions_live_in_postgresql() {
    let Some(mut server) = PostgresServer::start().unwrap() else { return };
    let address = server.database().unwrap();
    let word = |name: &str| {
        let mut words = address.split(' ').filter_map(|word| word.split_once('='));
        words.find(|(key, _)| *key == name).unwrap().1.to_owned()
    };
    // A folder with a socket in it, as a part of an address.
    let host = word("host").replace('/', "%2F");
    let store = format!("postgres://{}@{host}/{}", word("user"), word("dbname"));
    let project = Project::new(|_| store);
    lives_of_sessions(&project);
    server.kill().unwrap();
    let said = project.sessions(1, &["list"]);
    assert!(said.contains("PostgreSQL at"), "{said}");
    server.restart().unwrap();
    assert_eq!(project.listed(), ["side"]);
}
