//! Approvals of an MCP host: each call is asked about once, and every answer counts, whichever tool calls
//! of the host have ended meanwhile.

use std::path::PathBuf;
use std::sync::Arc;

use robota_sdk::Transport as _;
use robota_server::mcp::{McpServer, McpServerOptions, McpTransport};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use crate::host::TestSessions;

/// A host with a user.
struct Host {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    next: i64,
    /// The messages that arrived and were not expected yet.
    seen: Vec<Value>,
    sessions: Arc<TestSessions>,
    /// What each request says about the host, if it is one of version 2026-07-28.
    meta: Option<Value>,
}

impl Host {
    /// Starts a server for a host of a version with a handshake.
    async fn start(script: &str) -> Self {
        let mut host = Self::connect(script, None);
        let initialize = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "x", "version": "1"},
        });
        let id = host.request("initialize", initialize).await;
        host.answer(id).await;
        host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        host
    }

    /// Starts a server for a host of version 2026-07-28, which takes no requests of a server.
    fn start_modern(script: &str, capabilities: &Value) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        });
        Self::connect(script, Some(meta))
    }

    fn connect(script: &str, meta: Option<Value>) -> Self {
        let sessions = TestSessions::new(script);
        let (client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let transport = McpTransport::Streams { input: Box::new(input), output: Box::new(output) };
        let options = McpServerOptions {
            version: "1",
            cwd: None,
            tools: None,
            agent: true,
            host_decides: false,
        };
        let mut server = McpServer::new(transport, options);
        server.attach(sessions.clone());
        tokio::spawn(async move { server.start().await });
        let (read, write) = tokio::io::split(client);
        let lines = BufReader::new(read).lines();
        Self { lines, write, next: 1, seen: Vec::new(), sessions, meta }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sessions.folder.path().join(name)
    }

    async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request, and returns its id.
    async fn request(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Begins a call of a tool, and returns the id of the request.
    async fn call(&mut self, tool: &str, arguments: Value) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Begins a call of a tool for a host that shows progress, and returns the id of the request.
    async fn call_with_progress(&mut self, tool: &str, arguments: Value) -> i64 {
        let meta = json!({"progressToken": self.next});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.request("tools/call", params).await
    }

    /// Waits for progress of a call, at least this step. Returns the message.
    async fn progress(&mut self, call: i64, step: u32) -> String {
        let progress = self.expect(|message| {
            let params = &message["params"];
            params["progressToken"] == call && params["progress"].as_f64() >= Some(step.into())
        });
        progress.await["params"]["message"].as_str().unwrap().to_owned()
    }

    /// Begins a call that waits for an agent, and returns the id of the request when it waits.
    async fn wait_for_agent(&mut self, session: &str) -> i64 {
        let id = self.call_with_progress("agent_wait", json!({"session": session})).await;
        self.progress(id, 1).await;
        id
    }

    /// Cancels a request.
    async fn cancel(&mut self, id: i64) {
        let params = json!({"requestId": id, "reason": "stopped"});
        let cancelled = "notifications/cancelled";
        self.send(&json!({"jsonrpc": "2.0", "method": cancelled, "params": params})).await;
    }

    /// Answers a question with an error.
    async fn fail(&mut self, question: &Value) {
        let error = json!({"code": -32603, "message": "no window"});
        self.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": error})).await;
    }

    /// Returns the first message that fits, also one that arrived before.
    async fn expect(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&fits) {
            return self.seen.remove(at);
        }
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the server answers");
            let message: Value = serde_json::from_str(&line).unwrap();
            if fits(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    /// Waits for the answer to a request.
    async fn answer(&mut self, id: i64) -> Value {
        self.expect(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// Waits for what a call of the agent returns.
    async fn report(&mut self, id: i64) -> Value {
        self.answer(id).await["result"]["structuredContent"].clone()
    }

    /// Waits for a question to the user.
    async fn question(&mut self) -> Value {
        self.expect(|message| message["method"] == "elicitation/create").await
    }

    /// Answers a question.
    async fn decide(&mut self, question: &Value, decision: &str) {
        let result = json!({"action": "accept", "content": {"decision": decision}});
        self.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    }

    /// Returns the questions that arrived and were not expected.
    fn more_questions(&self) -> usize {
        self.seen.iter().filter(|message| message["method"] == "elicitation/create").count()
    }
}

/// The agent wants to write a file, and says something after each prompt.
const WRITE: &str =
    "[{tools: [{tool: Write, input: {file_path: made, content: x}}]}, It is made., Two.]";

async fn session(host: &mut Host) -> String {
    let id = host.request("resources/list", json!({})).await;
    let listed = host.answer(id).await;
    let uri = listed["result"]["resources"][0]["uri"].as_str().unwrap().to_owned();
    uri.rsplit_once('/').unwrap().1.to_owned()
}

#[tokio::test]
async fn sdk_08_mcp_two_calls_that_wait_for_one_agent_ask_once() {
    let mut host = Host::start(WRITE).await;
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let question = host.question().await;
    let session = session(&mut host).await;
    // A call that asks does so before it waits.
    let looked = host.call("agent_wait", json!({"session": session, "timeout_ms": 0})).await;
    assert_eq!(host.report(looked).await["state"], "waiting_permission");
    let sent = host.call("agent_send", json!({"session": session, "prompt": "And now?"})).await;
    let waits = host.call("agent_wait", json!({"session": session})).await;
    host.decide(&question, "allow").await;
    assert_eq!(host.report(sent).await["text"], "Two.");
    for call in [started, waits] {
        assert_eq!(host.report(call).await["state"], "done");
    }
    assert_eq!(host.more_questions(), 0, "{:?}", host.seen);
    assert!(host.path("made").exists());
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_an_answer_counts_after_the_call_that_asked_has_ended() {
    let mut host = Host::start(WRITE).await;
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let question = host.question().await;
    // The user does not answer for a while: time is paused, and advances when nothing else can happen.
    let report = host.report(started).await;
    assert_eq!(report["state"], "waiting_permission", "{report}");
    let session = report["session"].clone();
    for _ in 0..3 {
        let waited = host.call("agent_wait", json!({"session": session})).await;
        assert_eq!(host.report(waited).await["state"], "waiting_permission");
    }
    host.decide(&question, "allow").await;
    let waited = host.call("agent_wait", json!({"session": session})).await;
    let report = host.report(waited).await;
    assert_eq!(
        (report["state"].as_str(), report["text"].as_str()),
        (Some("done"), Some("It is made."))
    );
    assert_eq!(host.more_questions(), 0, "{:?}", host.seen);
    assert!(host.path("made").exists());
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_if_a_call_cannot_ask_another_call_that_waits_does() {
    let mut host = Host::start(WRITE).await;
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let question = host.question().await;
    let session = session(&mut host).await;
    let second = host.wait_for_agent(&session).await;
    assert_eq!(host.more_questions(), 0, "{:?}", host.seen);
    host.fail(&question).await;
    let question = host.question().await;
    let third = host.wait_for_agent(&session).await;
    assert_eq!(host.more_questions(), 0, "{:?}", host.seen);
    host.cancel(second).await;
    let withdrawn = host.expect(|message| message["method"] == "notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    let question = host.question().await;
    host.decide(&question, "allow").await;
    for call in [started, third] {
        assert_eq!(host.report(call).await["text"], "It is made.");
    }
    assert_eq!(host.more_questions(), 0, "{:?}", host.seen);
    assert!(host.path("made").exists());
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_a_call_is_denied_when_no_call_that_waits_can_ask() {
    let mut host = Host::start(WRITE).await;
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let question = host.question().await;
    let session = session(&mut host).await;
    let second = host.wait_for_agent(&session).await;
    host.fail(&question).await;
    let question = host.question().await;
    host.fail(&question).await;
    for call in [started, second] {
        assert_eq!(host.report(call).await["text"], "It is made.");
    }
    assert_eq!(host.more_questions(), 0, "{:?}", host.seen);
    assert!(!host.path("made").exists());
}

#[tokio::test]
async fn sdk_08_mcp_a_question_is_withdrawn_when_its_turn_is_interrupted() {
    let mut host = Host::start(WRITE).await;
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let question = host.question().await;
    let session = session(&mut host).await;
    host.cancel(started).await;
    let withdrawn = host.expect(|message| message["method"] == "notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // An answer that comes too late changes nothing.
    host.decide(&question, "allow").await;
    let waited = host.call("agent_wait", json!({"session": session})).await;
    assert_eq!(host.report(waited).await["state"], "cancelled");
    assert!(!host.path("made").exists());
}

#[tokio::test]
async fn sdk_08_mcp_a_question_without_an_answer_does_not_block_other_calls() {
    let mut host = Host::start("[Unused.]").await;
    let input = json!({"file_path": "made", "content": "x"});
    let write = host.call("Write", input).await;
    let question = host.question().await;
    host.cancel(write).await;
    let withdrawn = host.expect(|message| message["method"] == "notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    std::fs::write(host.path("a.txt"), "content").unwrap();
    let read = host.call("Read", json!({"file_path": "a.txt"})).await;
    let answer = host.answer(read).await;
    assert!(
        answer["result"]["content"][0]["text"].as_str().unwrap().contains("content"),
        "{answer}"
    );
    assert!(!host.path("made").exists());
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_a_call_that_waits_gets_progress_and_does_not_wait_for_ever() {
    let mut host = Host::start("[Unused.]").await;
    std::fs::write(host.path("a.txt"), "content").unwrap();
    let write = host.call("Write", json!({"file_path": "made", "content": "x"})).await;
    let question = host.question().await;
    let read = host.call_with_progress("Read", json!({"file_path": "a.txt"})).await;
    // Hosts cancel a call that is silent for a minute.
    assert_eq!(host.progress(read, 1).await, "Read waits for another call");
    assert_eq!(host.progress(read, 20).await, "Read waits for another call");
    // The user does not answer, so that the write must not run.
    let denied = host.answer(write).await["result"].clone();
    assert_eq!(denied["isError"], true, "{denied}");
    let text = denied["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("did not answer within 5 minutes"), "{text}");
    let withdrawn = host.expect(|message| message["method"] == "notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    let answer = host.answer(read).await;
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("content"));
    assert!(!host.path("made").exists());
}

#[tokio::test]
async fn sdk_08_mcp_too_many_calls_that_wait_are_refused() {
    let mut host = Host::start("[Unused.]").await;
    let write = host.call("Write", json!({"file_path": "made", "content": "x"})).await;
    let question = host.question().await;
    for _ in 0..65 {
        host.call("Read", json!({"file_path": "a.txt"})).await;
    }
    let refused = host.expect(|message| message["result"]["isError"] == true).await;
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("64 calls wait already"), "{text}");
    host.decide(&question, "allow").await;
    assert_ne!(host.answer(write).await["result"]["isError"], true);
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_a_question_stays_open_while_no_other_call_waits() {
    let mut host = Host::start("[Unused.]").await;
    let input = json!({"file_path": "made", "content": "x"});
    let write = host.call_with_progress("Write", input).await;
    let question = host.question().await;
    // A progress notification every ten seconds: this is later than five minutes.
    assert_eq!(host.progress(write, 60).await, "Write runs");
    host.decide(&question, "allow").await;
    let answer = host.answer(write).await;
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(host.path("made").exists());
}

#[tokio::test]
async fn sdk_08_mcp_a_host_that_fails_to_ask_denies() {
    let mut host = Host::start(WRITE).await;
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let question = host.question().await;
    host.fail(&question).await;
    assert_eq!(host.report(started).await["text"], "It is made.");
    let write = host.call("Write", json!({"file_path": "made", "content": "x"})).await;
    let question = host.question().await;
    host.fail(&question).await;
    assert_eq!(host.answer(write).await["result"]["isError"], true);
    assert_eq!(host.more_questions(), 0, "{:?}", host.seen);
    assert!(!host.path("made").exists());
}

#[tokio::test]
async fn sdk_08_mcp_hosts_of_the_newest_version_are_asked_by_the_result_of_a_call() {
    let mut host = Host::start_modern(WRITE, &json!({"elicitation": {"form": {}}}));
    let input = json!({"file_path": "own", "content": "x"});
    let start = json!({"prompt": "Make a file."});
    for (tool, arguments, made) in [("Write", input, "own"), ("agent_start", start, "made")] {
        let first = host.call(tool, arguments.clone()).await;
        let asked = host.answer(first).await["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["method"], "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains(made), "{question}");
        assert!(!host.path(made).exists());
        let state = asked["requestState"].clone();
        let answer = json!({key: {"action": "accept", "content": {"decision": "allow"}}});
        let retry = |arguments: &Value| json!({"name": tool, "arguments": arguments, "inputResponses": answer, "requestState": state});
        // The answer counts for this call only.
        let other = host.request("tools/call", retry(&json!({"prompt": "Another."}))).await;
        assert_eq!(host.answer(other).await["error"]["code"], -32602);
        let again = host.request("tools/call", retry(&arguments)).await;
        let done = host.answer(again).await["result"].clone();
        assert_ne!(done["resultType"], "input_required", "{done}");
        assert_eq!(done.get("isError").unwrap_or(&json!(false)), &json!(false), "{done}");
        assert!(host.path(made).exists(), "{done}");
        let replayed = host.request("tools/call", retry(&arguments)).await;
        assert_eq!(host.answer(replayed).await["error"]["code"], -32602, "an answer counts once");
    }
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_a_call_that_gets_no_answer_from_a_host_is_cancelled() {
    let mut host = Host::start_modern("[Unused.]", &json!({"elicitation": {}}));
    let write = host.call("Write", json!({"file_path": "made", "content": "x"})).await;
    assert_eq!(host.answer(write).await["result"]["resultType"], "input_required");
    // The next call waits until the first one has ended.
    std::fs::write(host.path("a.txt"), "content").unwrap();
    let read = host.call("Read", json!({"file_path": "a.txt"})).await;
    let answer = host.answer(read).await;
    assert!(
        answer["result"]["content"][0]["text"].as_str().unwrap().contains("content"),
        "{answer}"
    );
    assert!(!host.path("made").exists());
}

#[tokio::test]
async fn sdk_08_mcp_a_host_of_the_newest_version_without_forms_is_not_asked() {
    let mut host = Host::start_modern(WRITE, &json!({}));
    let write = host.call("Write", json!({"file_path": "own", "content": "x"})).await;
    assert_eq!(host.answer(write).await["result"]["isError"], true);
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    assert_eq!(host.report(started).await["text"], "It is made.");
    assert!(!host.path("made").exists() && !host.path("own").exists());
}

#[tokio::test]
async fn sdk_08_mcp_agents_whose_start_was_cancelled_make_room_for_others() {
    let write = "{tools: [{tool: Write, input: {file_path: made, content: x}}]}";
    let mut host = Host::start(&format!("[{}]", [write; 17].join(", "))).await;
    for number in 0..17 {
        let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
        host.question().await;
        if number < 16 {
            host.cancel(started).await;
            host.expect(|message| message["method"] == "notifications/cancelled").await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_agents_whose_questions_were_abandoned_make_room_for_others() {
    let write = "{tools: [{tool: Write, input: {file_path: made, content: x}}]}";
    let script = format!("[{}]", [write; 17].join(", "));
    let mut host = Host::start_modern(&script, &json!({"elicitation": {"form": {}}}));
    for _ in 0..16 {
        let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
        let asked = host.answer(started).await["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
    }
    // The host never answers, and does not know the agents.
    for minute in 0.. {
        let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
        let asked = host.answer(started).await["result"].clone();
        if asked["resultType"] == "input_required" {
            break;
        }
        assert!(minute < 60, "{asked}");
        tokio::time::advance(std::time::Duration::from_secs(60)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_the_cancelled_call_of_a_waiting_prompt_stops_no_other_prompt() {
    let mut host = Host::start(WRITE).await;
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let question = host.question().await;
    let session = session(&mut host).await;
    let prompt = json!({"session": session, "prompt": "And now?"});
    let sent = host.call_with_progress("agent_send", prompt).await;
    // It reports progress while its prompt waits.
    host.progress(sent, 1).await;
    host.cancel(sent).await;
    // Ten seconds later, when nothing else could happen.
    host.wait_for_agent(&session).await;
    host.decide(&question, "allow").await;
    let report = host.report(started).await;
    assert_eq!((&report["state"], &report["text"]), (&json!("done"), &json!("It is made.")));
    assert!(host.path("made").exists());
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_an_abandoned_start_stops_no_work_of_a_host_that_uses_the_agent() {
    let mut host = Host::start_modern(WRITE, &json!({"elicitation": {"form": {}}}));
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let asked = host.answer(started).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    // Another host finds the agent in the list. The first one never comes back.
    let session = session(&mut host).await;
    let wait = json!({"session": session});
    let mut answer = Value::Null;
    for _ in 0..20 {
        let waited = host.call("agent_wait", wait.clone()).await;
        answer = host.answer(waited).await["result"].clone();
        if answer["resultType"] == "input_required" {
            break;
        }
    }
    assert_eq!(answer["resultType"], "input_required", "{answer}");
    let (key, _) = answer["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let allow = json!({key: {"action": "accept", "content": {"decision": "allow"}}});
    let state = answer["requestState"].clone();
    let retry = json!({"name": "agent_wait", "arguments": wait, "inputResponses": allow, "requestState": state});
    let waited = host.request("tools/call", retry).await;
    let report = host.report(waited).await;
    assert_eq!((&report["state"], &report["text"]), (&json!("done"), &json!("It is made.")));
    assert!(host.path("made").exists());
}

#[tokio::test(start_paused = true)]
async fn sdk_08_mcp_a_host_that_dropped_a_question_is_asked_again() {
    let mut host = Host::start_modern(WRITE, &json!({"elicitation": {"form": {}}}));
    let started = host.call("agent_start", json!({"prompt": "Make a file."})).await;
    let asked = host.answer(started).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (session, began) = (session(&mut host).await, tokio::time::Instant::now());
    // A host that shows the question to its user must not show it twice at once.
    for times in 0.. {
        let waited = host.call("agent_wait", json!({"session": session})).await;
        let answer = host.answer(waited).await["result"].clone();
        let asked_again = answer["resultType"] == "input_required";
        assert!(!asked_again || times > 0, "{answer}");
        if asked_again {
            break;
        }
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(200), "{:?}", began.elapsed());
}
