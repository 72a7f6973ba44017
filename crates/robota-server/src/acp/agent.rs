//! The agent: reads the messages of an editor and answers them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use robota_sdk::host::SessionHost;
use robota_sdk::{HostError, Transport, TransportError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, InputLine, MAX_LINE};
use super::open::{Earlier, Open};
use super::rpc::{self, Incoming, PARSE_ERROR, RequestId, RpcError};
use super::sessions::{Sessions, host_error, json_of};
use super::v1::{
    self, AgentCapabilities, AuthMethod, AuthenticateRequest, Capability, ClientCapabilities,
    Implementation, InitializeRequest, InitializeResponse, McpCapabilities, PromptCapabilities,
    PromptRequest, SessionCapabilities, SessionReference,
};

/// The id of the only way to sign in: the editor runs `robota setup` in a terminal.
const SETUP: &str = "robota-setup";

/// The time for the answers to requests that were read before the end of the input.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Serves one editor.
///
/// The caller reads and writes the lines, so that it decides on which threads that happens.
pub struct AcpAgent {
    lines: mpsc::Receiver<InputLine>,
    connection: Arc<Connection>,
    sessions: Option<Arc<Sessions>>,
    version: &'static str,
    stop: CancellationToken,
    /// The sessions of the prompts that run, by the id of the request.
    prompts: Arc<Mutex<HashMap<RequestId, Arc<Open>>>>,
}

impl AcpAgent {
    /// Makes an agent that reads `lines` and writes to `out`. `version` is that of the program.
    #[must_use]
    pub fn new(
        lines: mpsc::Receiver<InputLine>,
        out: mpsc::Sender<String>,
        version: &'static str,
    ) -> Self {
        Self {
            lines,
            connection: Arc::new(Connection::new(out)),
            sessions: None,
            version,
            stop: CancellationToken::new(),
            prompts: Arc::default(),
        }
    }

    /// Returns the token that stops the agent.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }
}

#[async_trait::async_trait]
impl Transport for AcpAgent {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn attach(&mut self, sessions: Arc<dyn SessionHost>) {
        self.sessions = Some(Arc::new(Sessions::new(self.connection.clone(), sessions)));
    }

    async fn start(&mut self) -> Result<(), TransportError> {
        let sessions = self.sessions.clone().ok_or(TransportError::NotAttached("acp"))?;
        let mut requests = JoinSet::new();
        loop {
            let line = tokio::select! {
                () = self.stop.cancelled() => break,
                // Removes finished tasks; otherwise the set would grow with every request.
                Some(_) = requests.join_next() => continue,
                line = self.lines.recv() => line,
            };
            match line {
                None => break,
                Some(InputLine::TooLong) => {
                    let problem = format!("a line must not be longer than {MAX_LINE} bytes");
                    let error = RpcError::new(PARSE_ERROR, problem);
                    // Without an id: the line was skipped, so the id of its request is not known.
                    self.connection.respond(None, Err(error)).await;
                }
                Some(InputLine::Line(line)) if line.trim_ascii().is_empty() => {}
                Some(InputLine::Line(line)) => match rpc::parse(&line) {
                    Ok(message) => self.take(message, &sessions, &mut requests).await,
                    Err(error) => self.connection.respond(None, Err(error)).await,
                },
            }
        }
        self.stop().await;
        // Requests that were read are answered, also if the input ended right after them.
        let answered = async { while requests.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_ANSWERS, answered).await.is_err() {
            requests.shutdown().await;
        }
        // One of them may have opened a session after the others were closed.
        sessions.close_all().await;
        Ok(())
    }

    async fn stop(&mut self) {
        self.stop.cancel();
        // Before the sessions close: a turn that waits for an answer of the editor would never end.
        self.connection.end();
        if let Some(sessions) = &self.sessions {
            sessions.close_all().await;
        }
    }
}

impl AcpAgent {
    async fn take(&self, message: Incoming, sessions: &Arc<Sessions>, requests: &mut JoinSet<()>) {
        match message {
            Incoming::Response { id, result } => self.connection.on_response(&id, result),
            Incoming::Notification { method, params } => {
                self.notified(&method, params, sessions, requests);
            }
            // The session of a prompt is looked up now, so that a cancellation that follows finds
            // the prompt.
            Incoming::Request { id, method, params } if method == "session/prompt" => {
                let request = match read::<PromptRequest>(params) {
                    Ok(request) => request,
                    Err(error) => return self.connection.respond(Some(&id), Err(error)).await,
                };
                let open = match sessions.get(&request.session_id) {
                    Ok(open) => open,
                    Err(error) => return self.connection.respond(Some(&id), Err(error)).await,
                };
                let prompts = self.prompts.clone();
                prompts
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(id.clone(), open.clone());
                // Also taken now: the next message may be a cancellation, or another change.
                let (place, turn) = (open.accept_prompt(), open.turn());
                let (sessions, connection) = (sessions.clone(), self.connection.clone());
                requests.spawn(async move {
                    let result = sessions.prompt(&open, request, (&place, turn)).await;
                    prompts.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                    connection.respond(Some(&id), result).await;
                    // After the response: a prompt that waits behind a cancellation starts once the
                    // editor has the answer.
                    drop(place);
                    // Some editors drop what they get before the first prompt.
                    open.send_commands().await;
                });
            }
            Incoming::Request { id, method, params } => {
                let named = params.get("sessionId").and_then(Value::as_str);
                let open = named.and_then(|id| sessions.get(id).ok());
                // Also taken now: requests of one session are applied in the order of arrival.
                let turn = open.as_ref().map(|open| open.turn());
                let ends = matches!(&*method, "session/close" | "session/delete");
                // Before the wait below: closing must not wait for a turn that runs, and the turn
                // ends only when it is stopped.
                let stopping = open.filter(|_| ends).map(Open::cancel);
                let (sessions, connection) = (sessions.clone(), self.connection.clone());
                let version = self.version;
                requests.spawn(async move {
                    if let Some(stopping) = stopping {
                        stopped(stopping.await);
                    }
                    if let Some(turn) = &turn {
                        turn.wait().await;
                    }
                    let (result, opened) = answer(&sessions, &method, params, version).await;
                    drop(turn);
                    connection.respond(Some(&id), result).await;
                    // Editors know the session only after the response.
                    if let Some(open) = opened {
                        open.announce().await;
                    }
                });
            }
        }
    }

    fn notified(
        &self,
        method: &str,
        params: Value,
        sessions: &Arc<Sessions>,
        requests: &mut JoinSet<()>,
    ) {
        let open = match method {
            "session/cancel" => read::<SessionReference>(params)
                .and_then(|reference| sessions.get(&reference.session_id))
                .ok(),
            "$/cancel_request" => {
                let id = params.get("requestId").cloned().unwrap_or_default();
                let id = serde_json::from_value::<RequestId>(id).ok();
                let prompts = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
                id.and_then(|id| prompts.get(&id).cloned())
            }
            // A notification of a newer editor.
            _ => None,
        };
        if let Some(open) = open {
            // The prompts before this message are cancelled now; only the rest takes time.
            let stopping = open.cancel();
            requests.spawn(async move { stopped(stopping.await) });
        }
    }
}

fn stopped(result: Result<(), HostError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "the turn cannot be cancelled");
    }
}

type Answered = (Result<Value, RpcError>, Option<Arc<Open>>);

/// Answers a request. Also returns the session that it opened.
async fn answer(
    sessions: &Sessions,
    method: &str,
    params: Value,
    version: &'static str,
) -> Answered {
    let opened = match method {
        "session/new" => match read(params) {
            Ok(folder) => sessions.create(folder).await,
            Err(error) => Err(error),
        },
        "session/load" => match read(params) {
            Ok(folder) => sessions.reopen(folder, Earlier::Replayed).await,
            Err(error) => Err(error),
        },
        "session/resume" => match read(params) {
            Ok(folder) => sessions.reopen(folder, Earlier::Silent).await,
            Err(error) => Err(error),
        },
        "session/fork" => match read(params) {
            Ok(folder) => sessions.fork(folder).await,
            Err(error) => Err(error),
        },
        _ => return (simple(sessions, method, params, version).await, None),
    };
    match opened {
        Ok((result, open)) => (Ok(result), Some(open)),
        Err(error) => (Err(error), None),
    }
}

/// Answers a request that opens no session.
async fn simple(
    sessions: &Sessions,
    method: &str,
    params: Value,
    version: &'static str,
) -> Result<Value, RpcError> {
    match method {
        "initialize" => {
            let request: InitializeRequest = read(params)?;
            let response = initialize(&request.client_capabilities, version);
            // Set once: a second `initialize` does not change the capabilities.
            let _ = sessions.client.set(request.client_capabilities);
            Ok(json_of(&response))
        }
        "authenticate" => {
            let request: AuthenticateRequest = read(params)?;
            if request.method_id != SETUP {
                let problem = format!("there is no way to sign in `{}`", request.method_id);
                return Err(RpcError::invalid(problem));
            }
            // The editor ran the setup itself. Here it only has to be checked that a model can be
            // used now.
            sessions.host.check_model().await.map_err(host_error)?;
            Ok(json!({}))
        }
        "session/list" => sessions.list(read(params)?).await,
        "session/delete" => sessions.delete(&read::<SessionReference>(params)?.session_id).await,
        "session/close" => sessions.close(&read::<SessionReference>(params)?.session_id).await,
        "session/set_mode" => sessions.set_mode(read(params)?).await,
        "session/set_config_option" => sessions.set_config(read(params)?).await,
        other => Err(RpcError::unknown_method(other)),
    }
}

/// Describes this agent. It answers with its own version, also if the editor asks for another one.
fn initialize(client: &ClientCapabilities, version: &'static str) -> InitializeResponse {
    let supported = Capability {};
    let terminal = AuthMethod::Terminal {
        id: SETUP,
        name: "Set up a model",
        description: "Choose a provider, enter its key and choose a model",
        args: vec!["setup"],
    };
    InitializeResponse {
        protocol_version: v1::VERSION,
        agent_capabilities: AgentCapabilities {
            load_session: true,
            prompt_capabilities: PromptCapabilities {
                image: true,
                audio: false,
                embedded_context: true,
            },
            mcp_capabilities: McpCapabilities { http: true, sse: true },
            session_capabilities: SessionCapabilities {
                list: supported,
                delete: supported,
                additional_directories: supported,
                resume: supported,
                close: supported,
                fork: supported,
            },
        },
        auth_methods: if client.auth.terminal { vec![terminal] } else { Vec::new() },
        agent_info: Implementation {
            name: "robota".to_owned(),
            title: Some("Robota".to_owned()),
            version: version.to_owned(),
        },
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    // Editors leave `params` out where every field is optional.
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(RpcError::invalid)
}
