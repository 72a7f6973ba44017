//! Continued, resumed and forked sessions through the real program.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::home::{Home, stderr};

struct Project(Home);

impl Project {
    fn new() -> Self {
        Self(Home::new())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        self.0.command(args)
    }

    /// Runs one prompt with this script as the model.
    fn prompt(&self, script: &str, args: &[&str]) -> Output {
        let mut all = self.arguments(script);
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        self.command(&all).output().unwrap()
    }

    fn arguments(&self, script: &str) -> Vec<String> {
        std::fs::write(self.path("script.yaml"), script).unwrap();
        let provider = format!("scripted:{}", self.path("script.yaml").display());
        ["-p", "Continue", "--provider", &provider, "--output-format", "json"]
            .map(str::to_owned)
            .to_vec()
    }

    /// Runs one prompt, which must succeed. Returns the session id and the answer.
    fn session(&self, script: &str, args: &[&str]) -> (String, String) {
        let output = self.prompt(script, args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |key: &str| value[key].as_str().unwrap().to_owned();
        (text("session_id"), text("result"))
    }
}

/// Returns a script that fails unless the model receives this many messages.
fn expects_messages(messages: usize) -> String {
    format!("- expect: {{messages: {messages}}}\n  text: I remember.")
}

#[test]
fn sdk_06_continue_and_resume_keep_the_conversation() {
    let project = Project::new();
    let (first, _) = project.session("- Hello.", &["-n", "my work"]);
    let (again, text) = project.session(&expects_messages(3), &["-c"]);
    assert_eq!((&again, text.as_str()), (&first, "I remember."));
    let (by_id, _) = project.session(&expects_messages(5), &["-r", &first]);
    let (by_name, _) = project.session(&expects_messages(7), &["--resume", "my work"]);
    let (by_prefix, _) = project.session(&expects_messages(9), &["-r", &first[..20]]);
    assert!([by_id, by_name, by_prefix].iter().all(|id| *id == first));
    let (other, _) = project.session("- Hello.", &[]);
    assert_ne!(other, first, "without -c a new session is created");
}

#[test]
fn sdk_06_a_fork_continues_and_its_parent_is_unchanged() {
    let project = Project::new();
    let (first, _) = project.session("- Hello.", &[]);
    let own = "11111111-2222-4333-8444-555555555555";
    let (fork, _) =
        project.session(&expects_messages(3), &["-c", "--fork-session", "--session-id", own]);
    assert_eq!(fork, own);
    let (still, _) = project.session(&expects_messages(3), &["-r", &first]);
    assert_eq!(still, first, "the parent does not have the messages of its fork");
    let (latest, _) = project.session(&expects_messages(5), &["-r", own]);
    assert_eq!(latest, own);
}

#[test]
fn kode_11_a_given_session_id_is_validated_and_unique() {
    let project = Project::new();
    let id = "org:acme/agent:dev/session:main";
    let (given, _) = project.session("- Hello.", &["--session-id", id]);
    assert_eq!(given, id);
    let taken = project.prompt("- Hello.", &["--session-id", id]);
    assert_eq!(taken.status.code(), Some(1));
    assert!(stderr(&taken).contains("already"), "{}", stderr(&taken));
    for hostile in ["../../etc/passwd", "agent:/session:x", "a\u{0}b", "", "agent:x/session:..\n"] {
        if hostile.contains('\u{0}') {
            continue;
        }
        let refused = project.prompt("- Hello.", &["--session-id", hostile]);
        assert_eq!(refused.status.code(), Some(2), "{hostile:?}: {}", stderr(&refused));
    }
}

#[test]
fn cli_03_a_session_that_cannot_be_resumed_is_an_error() {
    let project = Project::new();
    let none = project.prompt("- Hello.", &["-c"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("no session"), "{}", stderr(&none));
    let (first, _) = project.session("- Hello.", &[]);
    let unknown = project.prompt("- Hello.", &["-r", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    let without_id = project.prompt("- Hello.", &["-r"]);
    assert_eq!(without_id.status.code(), Some(2));
    assert!(stderr(&without_id).contains(&first), "{}", stderr(&without_id));
    let store = project.prompt("- Hello.", &["--store", "floppy:a"]);
    assert_eq!(store.status.code(), Some(2));
    assert!(stderr(&store).contains("sqlite"), "{}", stderr(&store));
}

/// A session that came with a checkout was not written by this user, although git made the user the
/// owner of its files.
#[test]
fn sess_18_a_session_of_a_checkout_is_never_resumed() {
    let (theirs, mine) = (Project::new(), Project::new());
    let (id, _) = theirs.session("- Trust me.", &[]);
    let copied = Command::new("cp")
        .args(["-r"])
        .arg(theirs.path("project/.robota"))
        .arg(mine.path("project/"))
        .status()
        .unwrap();
    assert!(copied.success());
    for args in [&["-c"][..], &["-r", &id], &["-r", &id, "--fork-session"]] {
        let refused = mine.prompt("- Hello.", args);
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
        assert!(!stderr(&refused).is_empty());
    }
}

/// The program is killed while a command runs. The next run closes the call and continues.
#[cfg(target_os = "linux")]
#[test]
fn kode_05_a_killed_run_can_be_continued() {
    let project = Project::new();
    let fifo = project.path("project/running");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script =
        "- tools: [{tool: Bash, input: {command: \"echo $$ > running; sleep 1000\"}}]\n- Never.";
    let mut arguments = project.arguments(script);
    arguments.extend(["--permission-mode", "bypassPermissions"].map(str::to_owned));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let mut child = project.command(&arguments).spawn().unwrap();
    // Opening the pipe waits for its writer, the command.
    let pid = std::fs::read_to_string(&fifo).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let (_, text) = project
        .session("- expect: {messages: 4, last: Continue}\n  text: I see what happened.", &["-c"]);
    assert_eq!(text, "I see what happened.");
    // The reaper ends the command of the killed run; the process may stay a zombie for a moment.
    let state = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
    let ended = || {
        std::fs::read_to_string(&state)
            .map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
    };
    let started = std::time::Instant::now();
    while !ended() {
        assert!(
            started.elapsed().as_secs() < 30,
            "the command still runs after the program was killed"
        );
        std::thread::yield_now();
    }
}
