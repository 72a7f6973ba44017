//! The requests about sessions.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use robota_core::event::{TurnEnd, TurnStatus};
use robota_core::hook::HookEffort;
use robota_core::ids::SessionId;
use robota_core::journal::SessionHead;
use robota_sdk::host::{
    ClientMcpServer, EFFORTS, EditorFiles, Elicitor, HostErrorKind, McpConnection, QuestionHandler,
    SessionHost,
};
use robota_sdk::{
    Earlier as EarlierSession, Entered, ExecutionResult, HostError, Notice, OpenRequest, SdkError,
    SessionChoice,
};
use robota_session::{Approvals, SessionError};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::client_files::ClientFiles;
use super::client_terminals::ShownTerminals;
use super::connection::Connection;
use super::folders::Folders;
use super::message_order::{PromptPlace, Turn};
use super::open::{Earlier, Open};
use super::options;
use super::project::{self, Understood};
use super::prompt::{self, PromptInput};
use super::questions::FormQuestions;
use super::rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use super::v1::{
    AUTH_REQUIRED, ClientCapabilities, ConfigValue, ContentBlock, FileCapabilities, ForkedSession,
    ListRequest, ListResponse, McpServer, NOT_FOUND, NameValue, PromptRequest, PromptResponse,
    SessionFolder, SessionInfo, SetConfigRequest, SetConfigResponse, SetModeRequest, StopReason,
};

/// How many sessions a page of the list has.
const PAGE: usize = 50;

/// The sessions of one editor.
pub(super) struct Sessions {
    pub(super) connection: Arc<Connection>,
    pub(super) host: Arc<dyn SessionHost>,
    pub(super) client: OnceLock<ClientCapabilities>,
    open: Mutex<HashMap<String, Arc<Open>>>,
    folders: Folders,
}

type Reply = Result<Value, RpcError>;

impl Sessions {
    pub(super) fn new(connection: Arc<Connection>, host: Arc<dyn SessionHost>) -> Self {
        Self {
            connection,
            host,
            client: OnceLock::new(),
            open: Mutex::default(),
            folders: Folders::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an open session.
    pub(super) fn get(&self, id: &str) -> Result<Arc<Open>, RpcError> {
        self.lock().get(id).cloned().ok_or_else(|| not_open(id))
    }

    /// Handles `session/new`: creates a session in a folder.
    pub(super) async fn create(
        &self,
        folder: SessionFolder,
    ) -> Result<(Value, Arc<Open>), RpcError> {
        let choice = SessionChoice::New(None);
        let open = self.open_session(folder, choice, Earlier::Silent).await?;
        Ok((forked(&open), open))
    }

    /// `session/load` and `session/resume`
    pub(super) async fn reopen(
        &self,
        folder: SessionFolder,
        earlier: Earlier,
    ) -> Result<(Value, Arc<Open>), RpcError> {
        let id = named(&folder)?;
        // If the session is open already, it is closed first: the editor starts with a new view of
        // it. A request for another folder fails and must not close it.
        let open = self.lock().get(&id).cloned();
        if open.is_some_and(|open| !open.is_in(&folder.cwd)) {
            return Err(not_found(&id));
        }
        let open = self.lock().remove(&id);
        if let Some(open) = open {
            open.close("reopened").await.map_err(host_error)?;
        }
        let choice = SessionChoice::Earlier(EarlierSession::Named(id.clone()));
        let open = self.open_session(folder, choice, earlier).await;
        let open = open.map_err(|error| about(&id, error))?;
        Ok((json_of(&options::opened(&open.hosted())), open))
    }

    /// Handles `session/fork`: forks a session at its last safe point.
    pub(super) async fn fork(&self, folder: SessionFolder) -> Result<(Value, Arc<Open>), RpcError> {
        let of = EarlierSession::Named(named(&folder)?);
        let choice = SessionChoice::Fork { of, id: None };
        let open = self.open_session(folder, choice, Earlier::Silent).await?;
        Ok((forked(&open), open))
    }

    async fn open_session(
        &self,
        folder: SessionFolder,
        choice: SessionChoice,
        earlier: Earlier,
    ) -> Result<Arc<Open>, RpcError> {
        if !folder.cwd.is_absolute() {
            let cwd = folder.cwd.display();
            return Err(RpcError::invalid(format!("cwd must be an absolute path, not `{cwd}`")));
        }
        let client = self.client.get().cloned().unwrap_or_default();
        let forms = client.elicitation.is_some_and(|it| it.form.is_some()).then(|| {
            let (connection, session) = (self.connection.clone(), OnceLock::new());
            Arc::new(FormQuestions { connection, session })
        });
        // An editor that offers neither files nor terminals costs no round trip per file.
        let helps = client.fs != FileCapabilities::default() || client.terminal;
        let (can, terminal, shown) = (client.fs, client.terminal, ShownTerminals::default());
        let terminals = shown.clone();
        let files = helps.then(|| {
            let (connection, session) = (self.connection.clone(), OnceLock::new());
            Arc::new(ClientFiles { connection, session, can, terminal, shown })
        });
        let wants = client.session.unwrap_or_default();
        let (send, notices) = mpsc::unbounded_channel();
        let shows_notices = wants.notices.is_some();
        let cwd = folder.cwd.clone();
        let request = OpenRequest {
            cwd: Some(folder.cwd),
            directories: folder.additional_directories,
            approvals: Approvals::Decide,
            editor: files.clone().map(|files| files as Arc<dyn EditorFiles>),
            questions: forms.clone().map(|forms| forms as Arc<dyn QuestionHandler>),
            elicitor: forms.clone().map(|forms| forms as Arc<dyn Elicitor>),
            mcp_servers: folder
                .mcp_servers
                .into_iter()
                .map(mcp_server)
                .collect::<Result<_, _>>()?,
            on_notice: Arc::new(move |notice| {
                log_notice(&notice);
                if shows_notices {
                    let _ = send.send(notice);
                }
            }),
            ..OpenRequest::new(choice)
        };
        let hosted = self.host.open(request).await.map_err(host_error)?;
        self.folders.add(&cwd, hosted.session.id());
        let id = hosted.session.id().to_string();
        if let Some(forms) = forms {
            // The id is known only now; nothing can ask before, because no prompt was sent yet.
            let _ = forms.session.set(id.clone());
        }
        if let Some(files) = files {
            let _ = files.session.set(id.clone());
        }
        let understood = Understood { compaction: wants.compaction.is_some(), terminals };
        let open =
            Open::start(self.connection.clone(), hosted, earlier, understood, Some(notices)).await;
        let open = Arc::new(open.map_err(host_error)?);
        self.lock().insert(id, open.clone());
        Ok(open)
    }

    /// Handles `session/list`: lists the stored sessions, a page at a time.
    pub(super) async fn list(&self, request: ListRequest) -> Reply {
        let start = match request.cursor.as_deref().map(str::parse::<usize>) {
            None => 0,
            Some(Ok(start)) => start,
            Some(Err(_)) => return Err(RpcError::invalid("this agent did not make that cursor")),
        };
        let heads = self.folders.list(&*self.host, request.cwd.as_deref()).await;
        let heads = heads.map_err(host_error)?;
        // A cursor is a position: the list is sorted, and a session that moves between two pages is
        // at worst shown twice.
        let next = start.saturating_add(PAGE);
        let next_cursor = (next < heads.len()).then(|| next.to_string());
        let sessions = heads.into_iter().skip(start).take(PAGE).map(info).collect();
        Ok(json_of(&ListResponse { sessions, next_cursor }))
    }

    /// Handles `session/delete`: deletes a stored session.
    pub(super) async fn delete(&self, id: &str) -> Reply {
        let open = self.lock().remove(id);
        if let Some(open) = open {
            open.close("deleted").await.map_err(host_error)?;
        }
        let deleted = self.folders.delete(&*self.host, &SessionId::from(id)).await;
        let deleted = deleted.map_err(host_error)?;
        if deleted { Ok(json!({})) } else { Err(not_found(id)) }
    }

    /// Handles `session/close`: closes a session; it stays stored.
    pub(super) async fn close(&self, id: &str) -> Reply {
        let open = self.lock().remove(id).ok_or_else(|| not_open(id))?;
        open.close("closed by the editor").await.map_err(host_error)?;
        Ok(json!({}))
    }

    /// Closes all sessions, because the editor closed the connection.
    pub(super) async fn close_all(&self) {
        let all: Vec<_> = self.lock().drain().map(|(_, open)| open).collect();
        // One after the other: each writes the end of its journal.
        for open in all {
            if let Err(error) = open.close("the editor closed the connection").await {
                tracing::warn!(%error, "a session did not close cleanly");
            }
        }
    }

    /// Handles `session/set_mode`: changes the permission mode of a session.
    pub(super) async fn set_mode(&self, request: SetModeRequest) -> Reply {
        let open = self.get(&request.session_id)?;
        change_mode(&open, &request.mode_id).await?;
        Ok(json!({}))
    }

    /// Handles `session/set_config_option`: changes an option of a session, such as its model.
    pub(super) async fn set_config(&self, request: SetConfigRequest) -> Reply {
        let open = self.get(&request.session_id)?;
        let ConfigValue::Chosen(value) = request.value else {
            return Err(RpcError::invalid("the options of this agent are lists, not switches"));
        };
        match request.config_id.as_str() {
            options::MODE => change_mode(&open, &value).await?,
            options::MODEL => self.change_model(&open, &value).await?,
            options::EFFORT => change_effort(&open, &value)?,
            other => return Err(RpcError::invalid(format!("there is no option `{other}`"))),
        }
        let config_options = options::config(&open.hosted());
        Ok(json_of(&SetConfigResponse { config_options }))
    }

    async fn change_model(&self, open: &Open, model: &str) -> Result<(), RpcError> {
        let used = self.host.set_model(&open.session, model).await.map_err(host_error)?;
        open.choose(|hosted| hosted.model = used);
        Ok(())
    }

    /// Handles `session/prompt`: runs a turn and returns why it ended.
    pub(super) async fn prompt(
        &self,
        open: &Arc<Open>,
        request: PromptRequest,
        (place, turn): (&PromptPlace, Turn),
    ) -> Reply {
        turn.wait().await;
        place.wait_for_earlier().await;
        let current = self.get(&request.session_id)?;
        // Compared by identity, because the new session has the same id.
        if !Arc::ptr_eq(&current, open) {
            // It was closed and opened again after the prompt was read.
            return Err(not_open(&request.session_id));
        }
        let ended = self.run_prompt(open, request, (place, turn)).await;
        // A cancelled prompt is reported as cancelled, also if its turn ended before the response
        // is sent.
        let stop_reason = if place.is_cancelled() { StopReason::Cancelled } else { ended? };
        Ok(json_of(&PromptResponse { stop_reason }))
    }

    async fn run_prompt(
        &self,
        open: &Open,
        request: PromptRequest,
        (place, turn): (&PromptPlace, Turn),
    ) -> Result<StopReason, RpcError> {
        let blobs = open.session.session().journal().blobs();
        let submitted = match prompt::read(request.prompt, &*blobs).await? {
            // A command that was cancelled before it began does nothing.
            PromptInput::Typed(text) if text.starts_with('/') && place.is_cancelled() => {
                return Ok(StopReason::Cancelled);
            }
            PromptInput::Typed(text) => open.session.enter(&text).await,
            PromptInput::Blocks(blocks) => {
                let submitted = open.session.submit(blocks).await;
                submitted.map(|submission| Entered::Submitted(Box::new(submission)))
            }
        };
        // The session has accepted the input, or the command has run: the next message may be applied.
        drop(turn);
        match submitted {
            Ok(Entered::Submitted(submission)) => {
                // It was cancelled before the session accepted it.
                if place.is_cancelled() {
                    open.session.abort().await.map_err(|error| host_error(error.into()))?;
                }
                let result = submission.result().await;
                self.answer(open, result).await
            }
            Ok(Entered::Command(result)) => {
                let text = ContentBlock::text(result.message);
                open.update(&project::message(text, None)).await;
                if let Some(Value::String(model)) = result.data.get("modelId") {
                    self.change_model(open, model).await?;
                    open.send_options().await;
                }
                Ok(StopReason::EndTurn)
            }
            Err(error @ (SdkError::UnknownCommand(_) | SdkError::Skill(_))) => {
                open.update(&project::message(ContentBlock::text(error.to_string()), None)).await;
                Ok(StopReason::EndTurn)
            }
            Err(error) => Err(host_error(error.into())),
        }
    }

    /// Returns why a turn ended, once all its updates were sent to the editor.
    async fn answer(
        &self,
        open: &Open,
        result: Result<ExecutionResult, SdkError>,
    ) -> Result<StopReason, RpcError> {
        let result = match result {
            Ok(result) => result,
            Err(SdkError::Session(SessionError::Aborted { .. })) => {
                return Ok(StopReason::Cancelled);
            }
            Err(SdkError::Session(SessionError::Blocked(_)) | SdkError::NoTurn(_)) => {
                return Ok(StopReason::Refusal);
            }
            Err(error) => return Err(host_error(error.into())),
        };
        let turn = match result.last {
            Some(last) => open.wait_sent(last.seq).await,
            None => None,
        };
        let stop = turn.as_ref().and_then(|turn| turn.stop.as_ref());
        match (result.end, result.end.status(stop)) {
            (_, TurnStatus::Done) | (TurnEnd::Stopped, _) => Ok(StopReason::EndTurn),
            (_, TurnStatus::Interrupted) => Ok(StopReason::Cancelled),
            (TurnEnd::Blocked, _) | (_, TurnStatus::Refused) => Ok(StopReason::Refusal),
            (TurnEnd::RoundLimit, _) => Ok(StopReason::MaxTurnRequests),
            // The protocol has no reason of its own for a full context window.
            (_, TurnStatus::Limit) => Ok(StopReason::MaxTokens),
            (end, TurnStatus::Failed) => {
                let message = match &result.error {
                    Some(error) => error.message.clone(),
                    None => format!("the turn failed: {end:?}"),
                };
                let data = result.error.as_ref().map(json_of);
                Err(RpcError { code: INTERNAL_ERROR, message, data })
            }
        }
    }
}

async fn change_mode(open: &Open, id: &str) -> Result<(), RpcError> {
    let mode = options::find_mode(&open.hosted(), id)
        .ok_or_else(|| RpcError::invalid(format!("there is no mode `{id}`")))?;
    open.session.set_mode(mode).await.map_err(|error| host_error(error.into()))
}

fn change_effort(open: &Open, effort: &str) -> Result<(), RpcError> {
    let effort = match effort {
        options::DEFAULT_EFFORT => None,
        effort if EFFORTS.contains(&effort) => Some(effort.to_owned()),
        other => return Err(RpcError::invalid(format!("there is no effort `{other}`"))),
    };
    open.session.session().config().set_option("effort", effort.clone().map(Value::from));
    if let Some(hooks) = open.session.settings_hooks() {
        let effort = effort.clone().map(|level| HookEffort { level });
        hooks.update_context(|context| context.effort = effort);
    }
    open.choose(|hosted| hosted.effort = effort);
    Ok(())
}

fn named(folder: &SessionFolder) -> Result<String, RpcError> {
    folder.session_id.clone().ok_or_else(|| RpcError::invalid("missing field `sessionId`"))
}

fn forked(open: &Open) -> Value {
    let (session_id, opened) = (open.session.id().to_string(), options::opened(&open.hosted()));
    json_of(&ForkedSession { session_id, opened })
}

fn info(head: SessionHead) -> SessionInfo {
    SessionInfo {
        session_id: head.session.to_string(),
        cwd: head.cwd.unwrap_or_default(),
        title: head.name.or(head.title),
        updated_at: Some(head.updated.to_string()),
    }
}

fn mcp_server(server: McpServer) -> Result<ClientMcpServer, RpcError> {
    let map = |list: Vec<NameValue>| -> BTreeMap<String, String> {
        list.into_iter().map(|NameValue { name, value }| (name, value)).collect()
    };
    Ok(match server {
        McpServer::Stdio { name, command, args, env } => {
            let connection = McpConnection::Stdio { command, args, env: map(env) };
            ClientMcpServer { name, connection }
        }
        McpServer::Remote { kind, name, url, headers } => {
            let headers = map(headers);
            let connection = match kind.as_str() {
                "http" => McpConnection::Http { url, headers },
                "sse" => McpConnection::Sse { url, headers },
                other => {
                    let problem = format!("the MCP server `{name}` has the unknown type `{other}`");
                    return Err(RpcError::invalid(problem));
                }
            };
            ClientMcpServer { name, connection }
        }
    })
}

fn log_notice(notice: &Notice) {
    match notice {
        Notice::Error(text) => tracing::error!("{text}"),
        Notice::Note(text) | Notice::Hint(text) => tracing::info!("{text}"),
    }
}

fn not_open(id: &str) -> RpcError {
    let message = format!("the session `{id}` is not open; open it with session/load");
    RpcError { data: Some(json!({"sessionId": id})), ..RpcError::new(NOT_FOUND, message) }
}

fn not_found(id: &str) -> RpcError {
    let message = format!("there is no session `{id}`");
    RpcError { data: Some(json!({"sessionId": id})), ..RpcError::new(NOT_FOUND, message) }
}

/// Adds the session to the error that it was not found.
fn about(id: &str, mut error: RpcError) -> RpcError {
    if error.code == NOT_FOUND
        && let Value::Object(fields) = error.data.get_or_insert_with(|| json!({}))
    {
        fields.insert("sessionId".to_owned(), json!(id));
    }
    error
}

/// Returns the error of a response.
pub(super) fn host_error(error: HostError) -> RpcError {
    let code = match error.kind {
        HostErrorKind::NotFound => NOT_FOUND,
        HostErrorKind::Invalid => INVALID_PARAMS,
        // Editors offer a login for this code.
        HostErrorKind::NoModel => AUTH_REQUIRED,
        HostErrorKind::Failed => INTERNAL_ERROR,
    };
    let data = error.hint.as_ref().map(|hint| json!({"hint": hint}));
    RpcError { code, message: error.message, data }
}

/// Returns a message as JSON. All messages of this module can be written.
pub(super) fn json_of(message: &impl Serialize) -> Value {
    serde_json::to_value(message).unwrap_or_default()
}
