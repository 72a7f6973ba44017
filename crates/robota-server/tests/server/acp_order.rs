//! Messages of an editor that change a session are applied in the order in which they arrive, whichever
//! of their tasks runs first.

use std::sync::Arc;
use std::time::Duration;

use robota_core::event::Event;
use robota_sdk::Transport as _;
use robota_server::acp::{AcpAgent, InputLine};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::host::TestSessions;

struct Editor {
    lines: mpsc::Sender<InputLine>,
    out: mpsc::Receiver<String>,
    next: i64,
}

impl Editor {
    /// Starts an agent and opens a session.
    async fn open(sessions: Arc<TestSessions>) -> (Self, String) {
        let (lines, input) = mpsc::channel(64);
        let (output, out) = mpsc::channel(1_024);
        let mut agent = AcpAgent::new(input, output, "1");
        let cwd = sessions.folder.path().to_owned();
        agent.attach(sessions);
        tokio::spawn(async move { agent.start().await });
        let mut editor = Self { lines, out, next: 1 };
        let initialize = editor.send("initialize", json!({"protocolVersion": 1})).await;
        editor.answer(initialize).await;
        let new = editor.send("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
        let session = editor.answer(new).await["result"]["sessionId"].as_str().unwrap().to_owned();
        (editor, session)
    }

    /// Sends a request, and returns its id.
    async fn send(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.lines.send(InputLine::Line(line.to_string().into_bytes())).await.unwrap();
        id
    }

    async fn prompt(&mut self, session: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": "Go."}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": prompt})).await
    }

    /// Returns the next message.
    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.out.recv().await.unwrap()).unwrap()
    }

    /// Waits for the answer to a request.
    async fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.message().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Returns the messages that the agent sends before it waits for something else.
    async fn until_idle(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        // Time is paused: it advances only when no task can run.
        while let Ok(message) = tokio::time::timeout(Duration::from_secs(60), self.message()).await
        {
            messages.push(message);
        }
        messages
    }
}

async fn kinds(sessions: &TestSessions, session: &str) -> Vec<String> {
    let events = sessions.store.read(&session.into(), 0, 1_000).await.unwrap();
    events.iter().map(|event| event.event.kind().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn sdk_08_acp_a_prompt_waits_for_the_change_before_it() {
    let sessions = TestSessions::new("[One., Two.]");
    let (mut editor, session) = Editor::open(sessions.clone()).await;
    let model = json!({"sessionId": session, "configId": "model", "value": "second"});
    let changed = editor.send("session/set_config_option", model).await;
    let prompt = editor.prompt(&session).await;
    // The change of the model is held. Nothing of the prompt happens.
    let before = editor.until_idle().await;
    let answers: Vec<_> = before.iter().filter(|message| message.get("id").is_some()).collect();
    assert!(answers.is_empty(), "{answers:?}");
    assert!(!kinds(&sessions, &session).await.contains(&"input_accepted".to_owned()));
    sessions.model_changes.add_permits(1);
    assert!(editor.answer(changed).await["result"]["configOptions"].is_array());
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    let events = sessions.store.read(&session.as_str().into(), 0, 1_000).await.unwrap();
    let models: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            Event::TurnStarted(data) => Some(data.model.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["second"]);
}

#[tokio::test(start_paused = true)]
async fn sdk_08_acp_changes_after_a_prompt_do_not_wait_for_its_turn() {
    let sessions = TestSessions::new("[{steps: [{text: One.}, {stall: {gate: held}}]}, Two.]");
    let (mut editor, session) = Editor::open(sessions.clone()).await;
    let prompt = editor.prompt(&session).await;
    sessions.provider.reached("held").await;
    let mode = json!({"sessionId": session, "modeId": "plan"});
    let changed = editor.send("session/set_mode", mode).await;
    assert_eq!(editor.answer(changed).await["result"], json!({}));
    sessions.provider.release("held");
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    let kinds = kinds(&sessions, &session).await;
    let at = |name: &str| kinds.iter().position(|kind| kind == name).unwrap();
    assert!(at("input_accepted") < at("mode_changed"), "{kinds:?}");
    assert!(at("mode_changed") < at("turn_finished"), "{kinds:?}");
}

#[tokio::test(start_paused = true)]
async fn sdk_08_acp_a_mode_and_a_prompt_in_one_write_are_applied_in_order() {
    for _ in 0..20 {
        let sessions = TestSessions::new("[One.]");
        let (mut editor, session) = Editor::open(sessions.clone()).await;
        let mode = json!({"sessionId": session, "modeId": "plan"});
        editor.send("session/set_mode", mode).await;
        let prompt = editor.prompt(&session).await;
        editor.answer(prompt).await;
        let kinds = kinds(&sessions, &session).await;
        let at = |name: &str| kinds.iter().position(|kind| kind == name).unwrap();
        assert!(at("mode_changed") < at("input_accepted"), "{kinds:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sdk_08_acp_a_prompt_after_a_close_is_refused() {
    let sessions = TestSessions::new("[One.]");
    let (mut editor, session) = Editor::open(sessions.clone()).await;
    let closed = editor.send("session/close", json!({"sessionId": session})).await;
    let prompt = editor.prompt(&session).await;
    assert_eq!(editor.answer(closed).await["result"], json!({}));
    let refused = editor.answer(prompt).await;
    assert_eq!(refused["error"]["code"], -32002, "{refused}");
    assert!(!kinds(&sessions, &session).await.contains(&"input_accepted".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn sdk_08_acp_a_load_for_another_folder_leaves_the_session_open() {
    let sessions = TestSessions::new("[One.]");
    let (mut editor, session) = Editor::open(sessions.clone()).await;
    let other = tempfile::tempdir().unwrap();
    let load = json!({"sessionId": session, "cwd": other.path(), "mcpServers": []});
    let refused = editor.send("session/load", load).await;
    let refused = editor.answer(refused).await;
    assert_eq!(refused["error"]["code"], -32002, "{refused}");
    assert_eq!(refused["error"]["data"]["sessionId"], json!(session));
    let prompt = editor.prompt(&session).await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
}

#[tokio::test(start_paused = true)]
async fn sdk_08_acp_what_was_read_before_the_end_of_the_input_is_answered() {
    let sessions = TestSessions::new("[One.]");
    let (lines, input) = mpsc::channel(64);
    let (output, mut out) = mpsc::channel(1_024);
    let mut agent = AcpAgent::new(input, output, "1");
    agent.attach(sessions.clone());
    let new = json!({"cwd": sessions.folder.path(), "mcpServers": []});
    let requests = [("initialize", json!({"protocolVersion": 1})), ("session/new", new)];
    for (id, (method, params)) in requests.into_iter().enumerate() {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        lines.send(InputLine::Line(line.to_string().into_bytes())).await.unwrap();
    }
    drop(lines);
    agent.start().await.unwrap();
    drop(agent);
    let mut answered = Vec::new();
    while let Some(line) = out.recv().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        answered.extend(message["result"].is_object().then(|| message["id"].as_u64()).flatten());
    }
    answered.sort_unstable();
    assert_eq!(answered, [0, 1]);
}
