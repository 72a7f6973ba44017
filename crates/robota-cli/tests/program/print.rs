//! `robota -p`: one turn without a terminal.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use robota_core::event::{Envelope, Event, TurnEnd};
use robota_core::state::State;
use serde_json::Value;

use crate::home::{Home, stderr, stdout};

struct Project(Home);

impl Project {
    fn new(script: &str) -> Self {
        let home = Home::new();
        home.write("project/script.yaml", script).write("project/notes.txt", "hello world\n");
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path("project").join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        self.0.command(args)
    }

    /// `robota -p PROMPT --provider scripted:script.yaml ARGS`
    fn print(&self, args: &[&str]) -> Output {
        let mut all = vec!["-p", "Do it", "--provider", "scripted:script.yaml"];
        all.extend(args);
        self.command(&all).output().unwrap()
    }

    fn sessions(&self) -> Vec<PathBuf> {
        let root = self.path(".robota/sessions");
        let mut found: Vec<_> = std::fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir() && !path.ends_with("blobs"))
            .collect();
        found.sort();
        found
    }

    /// Returns the journal of the only session.
    fn journal(&self) -> Vec<Envelope> {
        let sessions = self.sessions();
        assert_eq!(sessions.len(), 1);
        lines(&sessions[0]).iter().map(|line| Envelope::decode(line.as_bytes()).unwrap()).collect()
    }
}

fn lines(session: &Path) -> Vec<String> {
    let mut segments: Vec<_> = std::fs::read_dir(session)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    segments.sort();
    segments
        .iter()
        .flat_map(|segment| {
            let text = std::fs::read_to_string(segment).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn cli_03_text_is_the_answer_and_nothing_else() {
    let output = Project::new("- Hello.").print(&[]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Hello.\n"));
    assert_eq!(stderr(&output), "");
}

#[test]
fn cli_03_json_is_one_object() {
    let project = Project::new(
        "- tools: [{tool: Read, input: {file_path: notes.txt}}]\n- {text: Seen., usage: {input: 7, output: 2}}",
    );
    let output = project.print(&["--output-format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(value["result"], "Seen.");
    assert_eq!(value["subtype"], "success");
    assert_eq!(value["num_turns"], 2);
    assert_eq!(value["permission_denials"], serde_json::json!([]));
    crate::schema::assert_valid(&value);
    assert_eq!(value["usage"]["input_tokens"], 7);
    let folder = project.sessions().remove(0);
    assert_eq!(value["session_id"], folder.file_name().unwrap().to_str().unwrap());
}

#[test]
fn cli_03_events_are_the_bytes_of_the_journal() {
    let project = Project::new("- tools: [{tool: Bash, input: {command: echo hi}}]\n- Done.");
    let output =
        project.print(&["--output-format", "events", "--permission-mode", "bypassPermissions"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed: Vec<_> = stdout(&output).lines().map(str::to_owned).collect();
    assert_eq!(printed, lines(&project.sessions()[0]));
    let state = State::fold(&project.journal()).unwrap();
    assert!(state.turn.is_none());
    assert_eq!(state.view.messages[2].tool_results().next().unwrap().as_text(), "hi\n");
}

#[test]
fn the_permission_mode_decides_which_calls_run() {
    let edit = "{tool: Edit, input: {file_path: notes.txt, old_string: world, new_string: moon}}";
    let bash = "{tool: Bash, input: {command: sh -c 'touch made'}}";
    let read = "{tool: Read, input: {file_path: notes.txt}}";
    let script = format!("- tools: [{read}]\n- tools: [{edit}]\n- tools: [{bash}]\n- Done.");
    for (mode, edited, ran) in [
        ("plan", false, false),
        ("default", false, false),
        ("acceptEdits", true, false),
        ("bypassPermissions", true, true),
    ] {
        let project = Project::new(&script);
        let output = project.print(&["--permission-mode", mode]);
        assert_eq!(output.status.code(), Some(0), "{mode}: {}", stderr(&output));
        let text = std::fs::read_to_string(project.path("notes.txt")).unwrap();
        assert_eq!(text == "hello moon\n", edited, "{mode}");
        assert_eq!(project.path("made").exists(), ran, "{mode}");
        let denied = project
            .journal()
            .iter()
            .filter(|envelope| match &envelope.event {
                Event::ToolFinished(data) => data.outcome.error_code.as_deref() == Some("denied"),
                _ => false,
            })
            .count();
        assert_eq!(denied, 2 - usize::from(edited) - usize::from(ran), "{mode}");
    }
}

#[test]
fn cli_03_errors_say_what_to_do() {
    let missing = Project::new("").command(&["-p", "Hi"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(3));
    assert!(stderr(&missing).contains("--provider") && stderr(&missing).contains("robota demo"));

    let output =
        Project::new("- error: {kind: authentication, message: The key was refused.}").print(&[]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("The key was refused."), "{}", stderr(&output));

    let broken = Project::new("- {tex: Hello}").print(&[]);
    assert_eq!(broken.status.code(), Some(3));
    assert!(stderr(&broken).contains("script.yaml") && stderr(&broken).contains("tex"));

    let none = Project::new("- Hi").command(&["-p"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    let flag = Project::new("- Hi").print(&["--permission-mode", "yolo"]);
    assert_eq!(flag.status.code(), Some(2));
    assert!(stderr(&flag).contains("acceptEdits"), "{}", stderr(&flag));
}

#[test]
fn cli_03_the_turn_limit_ends_the_run_with_its_own_exit_code() {
    let script =
        "- {text: So far., tools: [{tool: Read, input: {file_path: notes.txt}}]}\n- Never.";
    let output = Project::new(script).print(&["--max-turns", "1"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(4), "So far.\n"));
    assert!(stderr(&output).contains("--max-turns"));
    let output = Project::new(script).print(&["--max-turns", "1", "--output-format", "json"]);
    let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((output.status.code(), &value["num_turns"]), (Some(4), &Value::from(2)));
    assert_eq!(value["subtype"], "error_max_turns");
    assert_eq!(value["errors"][0], "Reached maximum number of turns (1)");
    assert_eq!(value.get("result"), None);
}

/// A run has no limit of model calls by default, so the same failing call has a limit of its own.
#[test]
fn core_16_a_call_that_fails_again_and_again_ends_the_run() {
    let failing = "- tools: [{tool: Read, input: {file_path: missing.txt}}]\n";
    let script = format!("{}- It does not exist.\n- Never.", failing.repeat(5));
    let output = Project::new(&script).print(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(stdout(&output), "It does not exist.\n");
    assert!(stderr(&output).contains("calls that cannot succeed"), "{}", stderr(&output));
}

#[test]
fn cli_03_piped_input_is_appended_to_the_prompt() {
    let project = Project::new("- {expect: {last: \"Do it\\n\\nfrom the pipe\"}, text: Both.}");
    let mut child = project
        .command(&["-p", "Do it", "--provider", "scripted:script.yaml"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from the pipe\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Both.\n"));
}

#[test]
fn cli_03_an_open_but_silent_input_does_not_hang() {
    let project = Project::new("- Hello.");
    let mut child = project
        .command(&["-p", "Hi", "--provider", "scripted:script.yaml"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Held open until the program has ended.
    let held = child.stdin.take().unwrap();
    let output = child.wait_with_output().unwrap();
    drop(held);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Hello.\n"));
    assert!(stderr(&output).contains("silent"), "{}", stderr(&output));
}

/// Ctrl-C while a command runs: the command and its children end, every call has its result,
/// the journal is whole, and the exit code says so.
#[cfg(unix)]
#[test]
fn cli_03_an_interrupt_ends_the_turn_and_its_children() {
    let project = Project::new(
        "- tools: [{tool: Bash, input: {command: \"echo $$ > pid; sleep 1000 & wait\"}}]\n- Never.",
    );
    let fifo = project.path("pid");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let child = project
        .command(&[
            "-p",
            "Do it",
            "--provider",
            "scripted:script.yaml",
            "--permission-mode",
            "bypassPermissions",
            "--output-format",
            "events",
        ])
        .spawn()
        .unwrap();
    let (output, pid) = interrupt_when_started(child, &fifo);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let journal = project.journal();
    let state = State::fold(&journal).unwrap();
    assert!(state.turn.is_none(), "nothing is left open");
    assert_eq!(state.view.messages.last().unwrap().tool_results().count(), 1);
    assert!(journal.iter().any(|line| matches!(
        &line.event,
        Event::TurnFinished(data) if data.end == TurnEnd::Interrupted
    )));
    assert!(matches!(&journal.last().unwrap().event, Event::Closed(_)));
    let alive = Command::new("kill").args(["-0", pid.trim()]).output().unwrap();
    assert!(!alive.status.success(), "the command still runs");
}

/// Sends SIGINT once the command runs, which says so through a pipe, with its process id.
#[cfg(unix)]
fn interrupt_when_started(child: Child, fifo: &Path) -> (Output, String) {
    // Opening waits for the writer: the command itself.
    let pid = std::fs::read_to_string(fifo).unwrap();
    let interrupted =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    (child.wait_with_output().unwrap(), pid)
}

#[test]
fn the_version_needs_no_home_and_writes_no_file() {
    let project = Project::new("");
    for flag in ["--version", "-V"] {
        let output = project.command(&[flag]).env_clear().output().unwrap();
        let expected = format!("robota {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!((output.status.code(), stdout(&output)), (Some(0), expected));
    }
    assert!(!project.path(".robota").exists());
}

#[test]
fn debug_writes_a_log_file_without_content() {
    let project = Project::new("- tools: [{tool: Read, input: {file_path: notes.txt}}]\n- Done.");
    let output = project.print(&["--debug"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Done.\n"));
    assert!(stderr(&output).contains("debug.log"));
    let trace = std::fs::read_to_string(project.path(".robota/logs/debug.log")).unwrap();
    assert!(trace.contains("turn"), "{trace}");
    assert!(!trace.contains("hello world"), "no content in the trace: {trace}");
}

#[test]
fn cli_03_verbose_prints_the_calls_of_a_run() {
    let command = r#"{command: "printf 'a\\tb' > made"}"#;
    let script = format!("- tools: [{{tool: Bash, input: {command}}}]\n- Done.");
    let project = Project::new(&script);
    for (args, printed) in [(&["--verbose"][..], true), (&[], false)] {
        let output = project.print(&[args, &["--dangerously-skip-permissions"]].concat());
        assert_eq!(stdout(&output), "Done.\n", "{}", stderr(&output));
        let line = stderr(&output).lines().any(|line| line.starts_with("robota: Bash printf"));
        assert_eq!(line, printed, "{}", stderr(&output));
    }
}

#[test]
fn cli_03_the_debug_log_can_go_to_standard_error() {
    let project = Project::new("- tools: [{tool: Read, input: {file_path: notes.txt}}]\n- Done.");
    let output = project.print(&["--debug-to-stderr"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Done.\n"));
    assert!(stderr(&output).contains(" DEBUG "), "{}", stderr(&output));
    assert!(!stderr(&output).contains("hello world"), "no content: {}", stderr(&output));
    assert!(!project.path(".robota/logs").exists());
}

#[test]
fn a_folder_that_cannot_be_used_is_named_in_the_error() {
    let project = Project::new("- Hi");
    let output = project.print(&["--cwd", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nowhere"), "{}", stderr(&output));
    // A file where the sessions should be.
    std::fs::write(project.path(".robota"), "").unwrap();
    let output = project.print(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(".robota"), "{}", stderr(&output));
}

#[test]
fn the_demo_edits_crashes_and_recovers() {
    let project = Project::new("");
    let dir = project.path("demo");
    let output = project.command(&["demo", "--dir", dir.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for expected in [
        "✓ Read",
        "✓ Edit",
        "-echo \"Helo",
        "+echo \"Hello",
        "✓ Bash",
        "all checks pass",
        "tool_started",
        "Try next",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    let fixed = std::fs::read_to_string(dir.join("greet.sh")).unwrap();
    assert!(fixed.contains("Hello, $name!"));
    let again = project.command(&["demo", "--dir", dir.to_str().unwrap()]).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "a folder that is not empty is refused");
}
