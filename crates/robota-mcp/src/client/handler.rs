//! Answers the requests of a server, and receives its notifications.
#![expect(deprecated, reason = "servers of all published versions use roots, logging and sampling")]

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    CustomNotification, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorCode, ErrorData, Implementation, ListRootsResult, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    Root, RootsCapabilities, TASKS_EXTENSION_ID,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use robota_core::tool::Progress;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use super::form::Form;
use super::options::{ElicitAnswer, Elicitation, ElicitationKind, McpClientOptions};
use super::sampling::SamplingRequest;
use crate::text::{clean, clean_line};

/// At most this many log messages of one connection are passed on.
const MAX_LOGGED: usize = 1_000;

/// How often a server may use the model through one connection.
const MAX_SAMPLED: usize = 100;
/// How often a server may ask the user through one connection.
const MAX_ASKED: usize = 100;
/// The longest id of a question that is kept, in bytes.
const MAX_ID: usize = 1_000;
/// How many questions of a server may be open at the same time.
const MAX_OPEN: usize = 8;
/// At most this many messages about a server's requests are shown to the user.
const MAX_NOTICES: usize = 20;
/// The code of a request that the user, a rule or the budget refused.
const REFUSED: ErrorCode = ErrorCode(-1);

/// What the handler of a connection shares with its owner.
#[derive(Clone)]
pub(super) struct Handler(Arc<Shared>);

struct Shared {
    server: String,
    options: McpClientOptions,
    progress: Mutex<HashMap<ProgressToken, Progress>>,
    logged: AtomicUsize,
    sampled: AtomicUsize,
    asked: AtomicUsize,
    open: Semaphore,
    noticed: AtomicUsize,
    /// Notified when the server says that its tools or prompts have changed.
    changed: Notify,
    /// The questions with addresses of which the server said that the user is done there.
    done: Mutex<HashSet<String>>,
    /// Notified when there is one more.
    one_done: Notify,
}

impl Handler {
    pub(super) fn new(server: &str, options: McpClientOptions) -> Self {
        Self(Arc::new(Shared {
            server: server.to_owned(),
            options,
            progress: Mutex::default(),
            logged: AtomicUsize::new(0),
            sampled: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            open: Semaphore::new(MAX_OPEN),
            noticed: AtomicUsize::new(0),
            changed: Notify::new(),
            done: Mutex::default(),
            one_done: Notify::new(),
        }))
    }

    /// Notes that the server says that its tools or prompts have changed.
    pub(super) fn announce_change(&self) {
        self.0.changed.notify_one();
    }

    /// Waits until the server says that its tools or prompts have changed.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Waits until the server has said of all these questions that the user is done at their addresses.
    pub(super) async fn done(&self, questions: &[String]) {
        loop {
            // Created before the look, so that no message in between is missed.
            let next = self.0.one_done.notified();
            let all = {
                let done = self.0.done.lock().unwrap_or_else(PoisonError::into_inner);
                questions.iter().all(|question| done.contains(question))
            };
            if all {
                return;
            }
            next.await;
        }
    }

    /// Passes the progress of a request on until the guard is dropped.
    pub(super) fn watch(&self, token: &ProgressToken, progress: &Progress) -> ProgressGuard {
        self.progress().insert(token.clone(), progress.clone());
        ProgressGuard(self.clone(), token.clone())
    }

    fn progress(&self) -> MutexGuard<'_, HashMap<ProgressToken, Progress>> {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the folders that the server may know of.
    pub(super) fn roots(&self) -> Vec<Root> {
        let options = &self.0.options;
        let all = std::iter::once(&options.cwd).chain(&options.roots);
        all.filter_map(|folder| root(folder)).collect()
    }

    /// Asks the user for the server.
    pub(super) async fn elicit(&self, params: &Value) -> Value {
        // Declined and not an error: servers are written for users who say no.
        let Some(elicitor) = &self.0.options.elicitor else { return json!({"action": "decline"}) };
        let kind = match elicitation_kind(params, elicitor.shows_addresses()) {
            Ok(kind) => kind,
            Err(why) => {
                self.notice(&format!("its question was declined: {why}"));
                return json!({"action": "decline"});
            }
        };
        let Some(_open) = self.may_ask() else { return json!({"action": "decline"}) };
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let message = clean(message, 4 * 1024);
        let question = Elicitation { server: self.0.server.clone(), message, kind: kind.clone() };
        match (elicitor.ask(question).await, kind) {
            (ElicitAnswer::Accept(content), ElicitationKind::Form { form, .. }) => {
                match form.complete(&content) {
                    Ok(content) => json!({"action": "accept", "content": content}),
                    Err(why) => {
                        self.notice(&format!("the answer to its question is not valid: {why}"));
                        json!({"action": "cancel"})
                    }
                }
            }
            (ElicitAnswer::Accept(_), ElicitationKind::Address { .. }) => {
                json!({"action": "accept"})
            }
            (ElicitAnswer::Decline, _) => json!({"action": "decline"}),
            (ElicitAnswer::Cancel, _) => json!({"action": "cancel"}),
        }
    }

    /// Counts a question; none if the server asks too much.
    fn may_ask(&self) -> Option<SemaphorePermit<'_>> {
        let open = self.0.open.try_acquire().ok();
        if open.is_none() {
            self.notice(&format!("a question was declined: {MAX_OPEN} others are open"));
        } else if self.0.asked.fetch_add(1, Ordering::Relaxed) >= MAX_ASKED {
            self.notice(&format!("a question was declined: it has asked {MAX_ASKED} times"));
            return None;
        }
        open
    }

    /// Asks the model of the user for the server.
    pub(super) async fn sample(&self, params: &Value) -> Result<Value, ErrorData> {
        let Some(sampler) = &self.0.options.sampler else {
            let text = "this client does not let servers use its model";
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None));
        };
        let request = SamplingRequest::parse(&self.0.server, params)
            .map_err(|why| ErrorData::invalid_params(why, None))?;
        // Counted before the user is asked, so that a server cannot ask without end either.
        if self.0.sampled.fetch_add(1, Ordering::Relaxed) >= MAX_SAMPLED {
            let text = format!("a server may use the model {MAX_SAMPLED} times in a session");
            return Err(ErrorData::new(REFUSED, text, None));
        }
        let answer = sampler.sample(request).await;
        let answer = answer.map_err(|why| ErrorData::new(REFUSED, why, None))?;
        Ok(answer.result())
    }

    /// Asks the user until the server withdraws the question or its connection ends.
    async fn elicit_until_cancelled(&self, params: &Value, cancelled: &CancellationToken) -> Value {
        let answer = cancelled.run_until_cancelled(self.elicit(params)).await;
        answer.unwrap_or_else(|| json!({"action": "cancel"}))
    }

    /// Asks the model until the server withdraws the request or its connection ends.
    async fn sample_until_cancelled(
        &self,
        params: &Value,
        cancelled: &CancellationToken,
    ) -> Result<Value, ErrorData> {
        let answer = cancelled.run_until_cancelled(self.sample(params)).await;
        let withdrawn = || ErrorData::new(REFUSED, "the server cancelled the request", None);
        answer.unwrap_or_else(|| Err(withdrawn()))
    }

    fn notice(&self, text: &str) {
        if self.0.noticed.fetch_add(1, Ordering::Relaxed) >= MAX_NOTICES {
            return;
        }
        self.0.options.notice(format!("MCP server `{}`: {text}", self.0.server));
    }
}

/// Reads what the server asks the user for.
fn elicitation_kind(params: &Value, shows_addresses: bool) -> Result<ElicitationKind, String> {
    let text = |key: &str| params.get(key).and_then(Value::as_str);
    if text("mode") == Some("url") || (text("mode").is_none() && text("url").is_some()) {
        if !shows_addresses {
            return Err("it asks to open an address, which this client cannot show".to_owned());
        }
        let url = text("url").unwrap_or_default();
        let parsed = url::Url::parse(url).map_err(|error| format!("its address: {error}"))?;
        // A browser would run `javascript:` and open `file:`.
        if !matches!(parsed.scheme(), "https" | "http") {
            return Err(format!("its address is `{}:`", parsed.scheme()));
        }
        let id = text("elicitationId").map(str::to_owned);
        return Ok(ElicitationKind::Address { url: parsed.to_string(), id });
    }
    let schema = params.get("requestedSchema").cloned().unwrap_or_else(|| json!({}));
    let form = Form::parse(&schema).map_err(|why| format!("its form is not valid: {why}"))?;
    Ok(ElicitationKind::Form { form, schema })
}

/// Returns whether a message of this level concerns the user.
fn is_error(level: LoggingLevel) -> bool {
    match level {
        LoggingLevel::Error
        | LoggingLevel::Critical
        | LoggingLevel::Alert
        | LoggingLevel::Emergency => true,
        LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice | LoggingLevel::Warning => {
            false
        }
    }
}

fn root(folder: &Path) -> Option<Root> {
    let url = url::Url::from_file_path(folder).ok()?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    // Servers compare roots as text, and other clients write them without the slash.
    let mut root = Root::new(url.as_str().trim_end_matches('/').to_owned());
    root.name = name;
    Some(root)
}

/// Ends the forwarding of progress.
pub(super) struct ProgressGuard(Handler, ProgressToken);

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        self.0.progress().remove(&self.1);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        if let Some(elicitor) = &self.0.options.elicitor {
            let modes = if elicitor.shows_addresses() {
                json!({"form": {}, "url": {}})
            } else {
                json!({"form": {}})
            };
            capabilities.elicitation = serde_json::from_value(modes).ok();
        }
        if self.0.options.sampler.is_some() {
            capabilities.sampling = serde_json::from_value(json!({})).ok();
        }
        // Results of calls may be tasks (see `call`).
        let tasks = serde_json::from_value(json!({TASKS_EXTENSION_ID: {}})).ok();
        capabilities.extensions = tasks;
        let info = Implementation::new("robota", env!("CARGO_PKG_VERSION"));
        // A version without handshake must not be named in one.
        ClientConfig::new(capabilities, info)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots()))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.sample_until_cancelled(&params, &context.ct).await?;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.elicit_until_cancelled(&params, &context.ct).await;
        Ok(serde_json::from_value(answer)
            .unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel)))
    }

    /// Answers requests that the library cannot read, such as forms with fields that it does not know.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_default();
        match request.method.as_str() {
            "elicitation/create" => {
                let answer = self.elicit_until_cancelled(&params, &context.ct).await;
                Ok(CustomResult::new(answer))
            }
            "sampling/createMessage" => {
                let answer = self.sample_until_cancelled(&params, &context.ct).await;
                answer.map(CustomResult::new)
            }
            other => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, other.to_owned(), None)),
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(progress) = self.progress().get(&params.progress_token).cloned() else { return };
        let message = params.message.map(|text| clean_line(&text, 500)).unwrap_or_default();
        let text = match (params.total, message.is_empty()) {
            (Some(total), true) => format!("{} of {total}\n", params.progress),
            (Some(total), false) => format!("{} of {total}: {message}\n", params.progress),
            (None, true) => format!("{}\n", params.progress),
            (None, false) => format!("{message}\n"),
        };
        progress.show(text);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        if self.0.logged.fetch_add(1, Ordering::Relaxed) < MAX_LOGGED {
            let text = params.data.as_str().map(str::to_owned);
            let data = clean_line(&text.unwrap_or_else(|| params.data.to_string()), 1_000);
            tracing::debug!(server = %self.0.server, level = ?params.level, "{data}");
            if is_error(params.level) && !data.is_empty() {
                self.notice(&format!("it reports: {data}"));
            }
        }
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _: NotificationContext<RoleClient>,
    ) {
        if notification.method != "notifications/elicitation/complete" {
            return;
        }
        let params = notification.params.unwrap_or_default();
        let Some(id) = params.get("elicitationId").and_then(Value::as_str) else { return };
        let mut done = self.0.done.lock().unwrap_or_else(PoisonError::into_inner);
        if done.len() < MAX_ASKED && id.len() <= MAX_ID {
            done.insert(id.to_owned());
        }
        drop(done);
        self.0.one_done.notify_waiters();
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.announce_change();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.announce_change();
    }
}
