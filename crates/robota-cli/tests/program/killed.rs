//! The program is killed during a call: its processes are ended, files are complete, and the next
//! run records what happened.

use std::path::PathBuf;
use std::process::Stdio;

use robota_core::message::BlobRef;
use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::home::Home;

const KEY: &str = "sk-test-0123456789abcdef";

struct Project(Home);

impl Project {
    fn new() -> Self {
        let home = Home::new();
        home.write("project/a.txt", "old a\n").write("project/src/b.txt", "old b\n");
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path("project").join(name)
    }

    fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn robota(&self, args: &[&str], origin: &str) -> Command {
        let mut command = self.0.command(args);
        command.env("ANTHROPIC_BASE_URL", origin).env("ANTHROPIC_API_KEY", KEY);
        command.stderr(Stdio::inherit());
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        command
    }

    /// Starts a run and waits for the first event that `until` accepts.
    async fn run_until(&self, origin: &str, until: impl Fn(&Value) -> bool) -> Child {
        let args = ["-p", "Go.", "--permission-mode", "bypassPermissions"];
        let args = [&args[..], &["--output-format", "events"]].concat();
        let mut child = self.robota(&args, origin).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if until(&serde_json::from_str(&line).unwrap()) {
                return child;
            }
        }
        panic!("the run ended before the event");
    }

    /// Continues the last session and returns all its events.
    async fn continue_session(&self) -> Vec<Value> {
        let mock = MockServer::start(Scenario::reply("I see.")).await.unwrap();
        let output =
            self.robota(&["-c", "-p", "What now?"], &mock.origin()).output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
        let list = self.robota(&["sessions", "list", "--json"], "").output().await.unwrap();
        let list: Value = serde_json::from_slice(&list.stdout).unwrap();
        let id = list["sessions"][0]["session"].as_str().unwrap();
        let valid = self.robota(&["sessions", "validate", id], "").output().await.unwrap();
        assert!(valid.status.success(), "{valid:?}");
        let shown = self.robota(&["sessions", "show", id, "--events"], "").output().await.unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

async fn kill(mut child: Child) {
    child.start_kill().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&child.wait().await.unwrap()),
        Some(9)
    );
}

/// Returns the result of the last call, as the model receives it.
fn last_result(events: &[Value]) -> String {
    let finished = events.iter().rfind(|event| event["type"] == "tool_finished").unwrap();
    let blocks = finished["data"]["outcome"]["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

/// Returns a scenario that reads both files, then changes both in one call.
fn edits() -> Scenario {
    let edit = |file: &str, old: &str, new: &str| json!({"file_path": file, "old_string": old, "new_string": new});
    let edits = [edit("a.txt", "old", "new"), edit("src/b.txt", "old", "new")];
    Scenario::reply(Reply::new().tool("Read", json!({"file_path": "a.txt"})))
        .then(Reply::new().tool("Read", json!({"file_path": "src/b.txt"})))
        .then(Reply::new().tool("MultiEdit", json!({"edits": edits})))
        .then("Done.")
}

#[tokio::test]
async fn sdk_17_killed_before_a_change_the_pre_images_are_stored_and_no_file_changes() {
    let project = Project::new();
    let mock = MockServer::start(edits()).await.unwrap();
    // The edit tool takes this lock before it changes files, so the run stops at `files_changing`.
    let folder = std::fs::File::open(project.path("")).unwrap();
    folder.lock().unwrap();
    let child = project.run_until(&mock.origin(), |event| event["type"] == "files_changing").await;
    kill(child).await;
    drop(folder);

    let events = project.continue_session().await;
    let event = events.iter().find(|event| event["type"] == "files_changing").unwrap();
    let files = event["data"]["files"].as_array().unwrap();
    for (file, (name, before)) in files.iter().zip([("a.txt", "old a\n"), ("src/b.txt", "old b\n")])
    {
        assert_eq!(file["path"], project.path(name).display().to_string());
        let blob = BlobRef::of(before.as_bytes());
        assert_eq!(file["before"]["sha256"], blob.sha256);
        let kept = format!(".robota/sessions/blobs/{}/{}", &blob.sha256[..2], blob.sha256);
        assert_eq!(project.content(&kept), before);
        assert_eq!(project.content(name), before);
    }
    let result = last_result(&events);
    assert!(
        result.contains("may have had effects") && result.contains("Not changed: "),
        "{result}"
    );
}

#[tokio::test]
async fn tool_02_killed_between_two_files_both_are_restored() {
    let project = Project::new();
    let mock = MockServer::start(edits()).await.unwrap();
    let folder = std::fs::File::open(project.path("")).unwrap();
    folder.lock().unwrap();
    let child = project.run_until(&mock.origin(), |event| event["type"] == "files_changing").await;
    kill(child).await;
    // The state between the two changes: the first file has its new content, and the swap file has
    // the old one.
    std::fs::write(project.path("a.txt"), "new a\n").unwrap();
    std::fs::write(project.path(".k1ll3d.robota-swap"), "old a\n").unwrap();
    drop(folder);

    let result = last_result(&project.continue_session().await);
    assert!(
        result.contains("Restored to its previous content") && result.contains("/a.txt"),
        "{result}"
    );
    assert!(result.contains("Not changed: ") && result.contains("/src/b.txt"), "{result}");
    assert_eq!(
        (project.content("a.txt"), project.content("src/b.txt")),
        ("old a\n".into(), "old b\n".into())
    );
    assert!(!project.path(".k1ll3d.robota-swap").exists());
}

/// Returns whether a process runs. A zombie does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[tokio::test]
async fn kode_05_the_processes_of_a_killed_run_are_ended_and_their_exit_is_recorded() {
    let project = Project::new();
    // The process leaves its group, session and parent, and ignores TERM and HUP.
    let command = "(setsid bash -c 'trap \"\" TERM HUP; echo $$ > left.pid; echo up; \
                   while :; do sleep 100; done' &) ; sleep 100; echo never";
    let scenario = Scenario::reply(Reply::new().tool("Bash", json!({"command": command})));
    let mock = MockServer::start(scenario.then("Done.")).await.unwrap();
    let is_up = |event: &Value| {
        event["type"] == "tool_output" && event["data"]["text"].as_str().unwrap().contains("up")
    };
    let child = project.run_until(&mock.origin(), is_up).await;
    let left = project.content("left.pid").trim().to_owned();
    assert!(runs(&left));
    kill(child).await;

    let events = project.continue_session().await;
    assert!(!runs(&left), "the process still runs");
    let started = events.iter().find(|event| event["type"] == "process_started").unwrap();
    assert!(!runs(&started["data"]["pid"].to_string()));
    let result = last_result(&events);
    // The reaper ended it by TERM, or the resume by KILL.
    assert!(result.contains("It ended with code 1") && result.contains("\nup\n"), "{result}");
    let records = std::fs::read_dir(project.path(".robota/reaper")).unwrap().count();
    assert_eq!(records, 0, "the exit is in the journal now");
}
