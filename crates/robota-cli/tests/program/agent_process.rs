//! Agents in processes of their own: real processes, and real kills. A named pipe that the agent's
//! command has open shows when everything below the agent has ended.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::Stdio;

use robota_testkit::mock::{MockServer, Reply, Scenario};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use tokio::io::AsyncBufReadExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::home::{Home, stderr, stdout};

const KEY: &str = "sk-test-0123456789abcdef";

/// The command of the agent: it runs until it is ended.
const WAIT: &str = "exec 3> pipe; echo up >&3; sleep 3600";

fn agents() -> String {
    json!({"worker": {"description": "Works", "prompt": "You work.", "ownProcess": true}})
        .to_string()
}

fn task() -> Value {
    json!({"prompt": "Do it.", "subagent_type": "worker", "description": "do it"})
}

/// Reads a named pipe: announces its first line, and ends with its last writer.
fn watch_pipe(path: PathBuf) -> (oneshot::Receiver<()>, JoinHandle<()>) {
    let (up, is_up) = oneshot::channel();
    let ended = tokio::task::spawn_blocking(move || {
        let mut pipe = BufReader::new(std::fs::File::open(path).unwrap());
        pipe.read_line(&mut String::new()).unwrap();
        let _ = up.send(());
        pipe.read_to_end(&mut Vec::new()).unwrap();
    });
    (is_up, ended)
}

fn pid(number: &Value) -> Pid {
    Pid::from_raw(i32::try_from(number.as_u64().unwrap()).unwrap()).unwrap()
}

/// Waits until a process has ended.
async fn gone(pid: Pid) {
    // A process that has ended already has no descriptor.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    tokio::task::spawn_blocking(move || {
        poll(&mut [PollFd::new(&process, PollFlags::IN)], None).unwrap();
    })
    .await
    .unwrap();
}

struct Run {
    home: Home,
    child: Child,
    lines: tokio::io::Lines<tokio::io::BufReader<tokio::process::ChildStdout>>,
    stdin: Option<ChildStdin>,
    seen: Vec<Value>,
    _mock: MockServer,
}

impl Run {
    /// Starts the program; its agent runs the command that waits.
    async fn start(scenario: Scenario, args: &[&str]) -> Self {
        let home = Home::new();
        let fifo = Command::new("mkfifo").arg(home.path("project/pipe")).status().await.unwrap();
        assert!(fifo.success());
        let mock = MockServer::start(scenario).await.unwrap();
        let agents = agents();
        let args = [&["-p", "--agents", &agents][..], args].concat();
        let mut command = home.command(&args);
        command.env("ANTHROPIC_BASE_URL", mock.origin()).env("ANTHROPIC_API_KEY", KEY);
        command.stderr(Stdio::inherit()).stdin(Stdio::piped());
        let mut child = Command::from(command).kill_on_drop(true).spawn().unwrap();
        let stdin = child.stdin.take();
        let lines = tokio::io::BufReader::new(child.stdout.take().unwrap()).lines();
        Self { home, child, lines, stdin, seen: Vec::new(), _mock: mock }
    }

    /// Starts a run that prints the events of its session.
    async fn events(scenario: Scenario) -> Self {
        let args = ["Go.", "--permission-mode", "bypassPermissions", "--output-format", "events"];
        let mut run = Self::start(scenario, &args).await;
        run.stdin = None;
        run
    }

    /// Waits for the first line that `until` accepts.
    async fn until(&mut self, until: impl Fn(&Value) -> bool) -> Value {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            let line: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(line.clone());
            if until(&line) {
                return line;
            }
        }
        panic!("the run ended before: {:#?}", self.seen.last());
    }

    async fn placed(&mut self, field: &str) -> Value {
        let is = |event: &Value| is(event, "placed") && change(event)[field] != Value::Null;
        change(&self.until(is).await)[field].clone()
    }

    async fn sessions(&self) -> Vec<Value> {
        let list = self.home.robota(&["sessions", "list", "--agents", "--json"], &[]).await;
        let list: Value = serde_json::from_str(&stdout(&list)).unwrap();
        list["sessions"].as_array().unwrap().clone()
    }

    async fn events_of(&self, session: &Value) -> Vec<Value> {
        let id = session.as_str().unwrap();
        let shown = self.home.robota(&["sessions", "show", id, "--events"], &[]).await;
        stdout(&shown).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Returns the change of a task in an event.
fn change(event: &Value) -> &Value {
    &event["data"]["change"]
}

/// Returns whether an event is such a change of a task.
fn is(event: &Value, kind: &str) -> bool {
    event["type"] == "task_changed" && change(event)["type"] == kind
}

fn waits() -> Scenario {
    Scenario::reply(Reply::new().tool("Agent", task()))
        .then(Reply::new().tool("Bash", json!({"command": WAIT})))
        .then("All done.")
}

#[tokio::test]
async fn run_04_an_agent_in_a_process_of_its_own_answers_and_its_use_is_counted() {
    let home = Home::new();
    home.write("project/notes.txt", "hello\n");
    let scenario = Scenario::reply(Reply::new().tool("Agent", task()))
        .then(Reply::new().tool("Read", json!({"file_path": "notes.txt"})))
        .then("It says hello.")
        .then("All done.");
    let mock = MockServer::start(scenario).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let agents = agents();
    let args = ["-p", "Go.", "--output-format", "stream-json", "--verbose"];
    let args = [&args[..], &["--agents", &agents, "--allowedTools", "Agent"]].concat();
    let output = home.robota(&args, &variables).await;
    assert_eq!(output.status.code(), Some(0), "{} {}", stdout(&output), stderr(&output));
    let lines: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |subtype: &str| lines.iter().find(|line| line["subtype"] == subtype).unwrap();
    assert_eq!(of("task_progress")["last_tool_name"], "Read");
    assert_eq!(of("task_notification")["status"], "completed");
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "All done.");
    // Two model calls of the session, two of the agent.
    let calls = mock.calls();
    assert_eq!(calls.len(), 4);
    assert!(calls[1].system().starts_with("You work."), "{}", calls[1].system());
    assert_eq!(calls[1].header("x-api-key"), Some(KEY));
    let models = result["modelUsage"].as_object().unwrap().values();
    let tokens: u64 = models.map(|used| used["outputTokens"].as_u64().unwrap()).sum();
    let of_session = result["usage"]["output_tokens"].as_u64().unwrap();
    assert!(tokens > of_session, "the agent's tokens are counted: {result}");
    // Its journal names the session that started it.
    let list = home.robota(&["sessions", "list", "--agents", "--json"], &[]).await;
    let list: Value = serde_json::from_str(&stdout(&list)).unwrap();
    let sessions = list["sessions"].as_array().unwrap();
    let agent = sessions.iter().find(|it| it["spawned_by"] != Value::Null).unwrap();
    let parent = sessions.iter().find(|it| it["spawned_by"] == Value::Null).unwrap();
    assert_eq!(agent["spawned_by"]["session"], parent["session"]);
    let id = agent["session"].as_str().unwrap();
    let valid = home.robota(&["sessions", "validate", id], &[]).await;
    assert!(valid.status.success(), "{}", stderr(&valid));
}

#[tokio::test]
async fn sec_no_other_process_can_read_the_credentials_of_an_agent() {
    let mut run = Run::events(waits()).await;
    let (is_up, ended) = watch_pipe(run.home.path("project/pipe"));
    let number = run.placed("pid").await;
    is_up.await.unwrap();
    for file in ["environ", "cmdline"] {
        let text = std::fs::read(format!("/proc/{number}/{file}")).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(!text.is_empty() && !text.contains(KEY), "{file}: {text}");
    }
    run.child.start_kill().unwrap();
    run.child.wait().await.unwrap();
    ended.await.unwrap();
    gone(pid(&number)).await;
    std::fs::remove_file(run.home.path("project/pipe")).unwrap();
    assert_eq!(crate::home::files_with(KEY, &run.home.path("")), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn run_04_a_killed_agent_process_is_reported_and_leaves_nothing() {
    let mut run = Run::events(waits()).await;
    let (is_up, ended) = watch_pipe(run.home.path("project/pipe"));
    let session = run.placed("session").await;
    let number = run.placed("pid").await;
    is_up.await.unwrap();
    kill_process(pid(&number), Signal::KILL).unwrap();
    // Its command ends too.
    ended.await.unwrap();
    let finished = run.until(|event| is(event, "finished")).await;
    let end = change(&finished);
    assert_eq!((&end["status"], &end["error"]["category"]), (&json!("failed"), &json!("crash")));
    let message = end["error"]["message"].as_str().unwrap();
    assert!(message.contains("ended by signal 9"), "{message}");
    // The session continues, and the journal of the agent is closed.
    assert!(run.child.wait().await.unwrap().success());
    let events = run.events_of(&session).await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "closed", "{last}");
    assert!(last.to_string().contains("signal 9"), "{last}");
    let result = events.iter().rfind(|event| event["type"] == "tool_finished").unwrap();
    assert!(result.to_string().contains("may have had effects"), "{result}");
}

#[tokio::test]
async fn run_04_when_the_parent_is_killed_no_process_is_left_and_the_journals_tell() {
    let mut run = Run::events(waits()).await;
    let (is_up, ended) = watch_pipe(run.home.path("project/pipe"));
    let session = run.placed("session").await;
    let number = run.placed("pid").await;
    is_up.await.unwrap();
    run.child.start_kill().unwrap();
    run.child.wait().await.unwrap();
    ended.await.unwrap();
    gone(pid(&number)).await;
    // The next run reads what happened.
    let mock = MockServer::start(Scenario::reply("I see.")).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let agents = agents();
    let args = ["-c", "-p", "What now?", "--agents", &agents];
    let output = run.home.robota(&args, &variables).await;
    assert!(output.status.success(), "{}", stderr(&output));
    let sessions = run.sessions().await;
    let parent = sessions.iter().find(|it| it["spawned_by"] == Value::Null).unwrap();
    let events = run.events_of(&parent["session"]).await;
    let finished = events.iter().find(|event| is(event, "finished")).unwrap();
    assert_eq!(change(finished)["error"]["category"], "interrupted");
    // The turn of the agent is closed too: by its process, or by this run.
    let events = run.events_of(&session).await;
    let ends = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(ends("turn_started"), ends("turn_finished"), "{:#?}", events.last());
    assert_eq!(events.last().unwrap()["type"], "closed");
}

#[tokio::test]
async fn run_04_the_question_of_an_agent_process_goes_to_the_host_and_cancel_ends_everything() {
    let args = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"];
    let args = [&args[..], &["--permission-prompt-tool", "stdio", "--allowedTools", "Agent"]];
    let mut run = Run::start(waits(), &args.concat()).await;
    let mut stdin = run.stdin.take().unwrap();
    let mut send = async |line: Value| {
        tokio::io::AsyncWriteExt::write_all(&mut stdin, format!("{line}\n").as_bytes())
            .await
            .unwrap();
    };
    send(json!({"type": "user", "message": {"role": "user", "content": "Go."}})).await;
    let (is_up, ended) = watch_pipe(run.home.path("project/pipe"));
    let asked = run.until(|line| line["request"]["subtype"] == "can_use_tool").await;
    let request = &asked["request"];
    assert_eq!(request["tool_name"], "Bash");
    let started = run.seen.iter().find(|line| line["subtype"] == "task_started").unwrap();
    assert_eq!(request["agent_id"], started["task_id"], "{request}");
    let allow = json!({"behavior": "allow", "updatedInput": request["input"]});
    send(json!({"type": "control_response", "response": {
        "subtype": "success", "request_id": asked["request_id"], "response": allow,
    }}))
    .await;
    is_up.await.unwrap();
    let started = run.seen.iter().find(|line| line["subtype"] == "task_started").unwrap();
    let stop = json!({"subtype": "stop_task", "task_id": started["task_id"]});
    send(json!({"type": "control_request", "request_id": "s1", "request": stop})).await;
    ended.await.unwrap();
    let line = run.until(|line| line["subtype"] == "task_notification").await;
    assert_eq!(line["status"], "stopped", "{line}");
    run.until(|line| line["type"] == "result").await;
    drop(stdin);
    run.child.wait().await.unwrap();
}

/// Talks JSON-RPC to `robota acp` or `robota mcp serve` line by line, and allows every call that it is
/// asked about.
struct Peer {
    child: Child,
    stdin: ChildStdin,
    lines: tokio::io::Lines<tokio::io::BufReader<tokio::process::ChildStdout>>,
    /// What the editor was asked to allow.
    asked: Vec<Value>,
}

impl Peer {
    /// Starts the program in a home with an agent that has a process of its own.
    async fn start(home: &Home, args: &[&str], scenario: Scenario) -> (Self, MockServer) {
        let worker = "---\nname: worker\ndescription: Works\nownProcess: true\n---\nYou work.\n";
        home.write("home/.robota/agents/worker.md", worker);
        let mock = MockServer::start(scenario).await.unwrap();
        let mut command = home.command(args);
        command.env("ANTHROPIC_BASE_URL", mock.origin()).env("ANTHROPIC_API_KEY", KEY);
        command.stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = Command::from(command).kill_on_drop(true).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let lines = tokio::io::BufReader::new(stdout).lines();
        (Self { child, stdin, lines, asked: Vec::new() }, mock)
    }

    /// Closes the connection and waits for the end.
    async fn end(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().await.unwrap().success());
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        tokio::io::AsyncWriteExt::write_all(&mut self.stdin, line.as_bytes()).await.unwrap();
    }

    /// Sends a request and returns its result.
    async fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        while let Some(line) = self.lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "session/request_permission" {
                self.asked.push(message["params"]["toolCall"].clone());
                let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
                self.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": outcome})).await;
            } else if message["id"] == id && message.get("method").is_none() {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
        panic!("the agent ended before it answered {method}");
    }
}

#[tokio::test]
async fn run_04_an_editor_has_agents_in_processes_and_is_asked_about_their_calls() {
    let home = Home::new();
    let scenario = Scenario::reply(Reply::new().tool("Agent", task()))
        .then(Reply::new().tool("Bash", json!({"command": "touch made"})))
        .then("It is made.")
        .then("All done.");
    let (mut editor, _mock) = Peer::start(&home, &["acp"], scenario).await;
    editor.request(1, "initialize", json!({"protocolVersion": 1})).await;
    let cwd = home.path("project");
    let new = editor.request(2, "session/new", json!({"cwd": cwd, "mcpServers": []})).await;
    let prompt = json!([{"type": "text", "text": "Go."}]);
    let params = json!({"sessionId": new["sessionId"], "prompt": prompt});
    let end = editor.request(3, "session/prompt", params).await;
    assert_eq!(end["stopReason"], "end_turn");
    let titles: Vec<_> = editor.asked.iter().map(|call| call["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), 1, "{titles:?}");
    assert!(titles[0].starts_with("worker (agent-") && titles[0].contains("touch made"));
    assert!(home.path("project/made").exists());
    editor.end().await;
    assert_eq!(in_processes(&home, new["sessionId"].as_str().unwrap()).await, 1);
}

/// Counts the agents of a session that had processes of their own.
async fn in_processes(home: &Home, session: &str) -> usize {
    let shown = home.robota(&["sessions", "show", session, "--events"], &[]).await;
    let events = stdout_lines(&shown).map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| is(event, "placed") && change(event)["pid"] != Value::Null).count()
}

#[tokio::test]
async fn run_04_an_mcp_host_has_agents_in_processes() {
    let home = Home::new();
    let scenario = Scenario::reply(Reply::new().tool("Agent", task())).then("Made.").then("Done.");
    let (mut host, _mock) = Peer::start(&home, &["mcp", "serve"], scenario).await;
    let info = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    host.request(1, "initialize", hello).await;
    host.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let call = json!({"name": "agent_start", "arguments": {"prompt": "Go."}});
    let answer = host.request(2, "tools/call", call).await["structuredContent"].clone();
    assert_eq!((&answer["state"], &answer["text"]), (&json!("done"), &json!("Done.")));
    host.end().await;
    assert_eq!(in_processes(&home, answer["session"].as_str().unwrap()).await, 1);
}

#[tokio::test]
async fn run_04_schedules_have_agents_in_processes() {
    let home = Home::new();
    home.write("project/script.yaml", "- Hi.");
    let first = ["-p", "Hello.", "--name", "standup", "--provider", "scripted:script.yaml"];
    assert!(home.robota(&first, &[]).await.status.success());
    let add = ["schedule", "add", "standup", "Go.", "--every", "1s"];
    assert!(home.robota(&add, &[]).await.status.success());
    let scenario = Scenario::reply(Reply::new().tool("Agent", task())).then("Made.").then("Done.");
    let args = ["schedule", "run", "standup", "--model", "mock-model"];
    let (mut peer, _mock) = Peer::start(&home, &args, scenario).await;
    while let Some(line) = peer.lines.next_line().await.unwrap() {
        if line.contains("Done.") {
            break;
        }
    }
    let number = i32::try_from(peer.child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(number).unwrap(), Signal::INT).unwrap();
    peer.child.wait().await.unwrap();
    assert_eq!(in_processes(&home, "standup").await, 1);
}

#[tokio::test]
async fn run_04_schedules_run_as_the_agent_of_the_settings() {
    let home = Home::new();
    home.write("project/script.yaml", "- Hi.");
    let first = ["-p", "Hello.", "--name", "standup", "--provider", "scripted:script.yaml"];
    assert!(home.robota(&first, &[]).await.status.success());
    let add = ["schedule", "add", "standup", "Go.", "--every", "1s"];
    assert!(home.robota(&add, &[]).await.status.success());
    home.write("home/.robota/settings.json", json!({"agent": "keeper"}));
    let header = "name: keeper\ndescription: Keeps\nmodel: keepers-model\n";
    home.write("home/.robota/agents/keeper.md", format!("---\n{header}---\nYou keep it tidy.\n"));
    let scenario = Scenario::reply(Reply::new().text("Done."));
    let (mut peer, mock) = Peer::start(&home, &["schedule", "run", "standup"], scenario).await;
    let request = mock.call(1).await;
    let sent = request.json.to_string();
    assert!(sent.contains("You keep it tidy.") && sent.contains("keepers-model"), "{sent}");
    let number = i32::try_from(peer.child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(number).unwrap(), Signal::INT).unwrap();
    peer.child.wait().await.unwrap();
}

fn stdout_lines(output: &std::process::Output) -> impl Iterator<Item = &str> {
    std::str::from_utf8(&output.stdout).unwrap().lines()
}
