//! Answers the requests of a server, and receives its notifications.
#![expect(deprecated, reason = "servers of all published versions use roots, logging and sampling")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode,
    ErrorData, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use robota_core::tool::Progress;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::options::{ElicitAnswer, Elicitation, McpOptions};
use crate::text::{clean, clean_line};

/// At most this many log messages of one connection are passed on.
const MAX_LOGGED: usize = 1_000;

/// What the handler of a connection shares with its owner.
#[derive(Clone)]
pub(super) struct Handler(Arc<Shared>);

struct Shared {
    server: String,
    options: McpOptions,
    progress: Mutex<HashMap<ProgressToken, Progress>>,
    logged: AtomicUsize,
    /// Notified when the server says that its tools or prompts have changed.
    changed: Notify,
}

impl Handler {
    pub(super) fn new(server: &str, options: McpOptions) -> Self {
        Self(Arc::new(Shared {
            server: server.to_owned(),
            options,
            progress: Mutex::default(),
            logged: AtomicUsize::new(0),
            changed: Notify::new(),
        }))
    }

    /// Waits until the server says that its tools or prompts have changed.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
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
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let Some(elicitor) = &self.0.options.elicitor else { return json!({"action": "decline"}) };
        let question = Elicitation {
            server: self.0.server.clone(),
            message: clean(text("message").unwrap_or_default(), 4 * 1024),
            schema: params.get("requestedSchema").cloned(),
            url: text("url").map(str::to_owned),
        };
        match elicitor.ask(question).await {
            ElicitAnswer::Accept(content) => json!({"action": "accept", "content": content}),
            ElicitAnswer::Decline => json!({"action": "decline"}),
            ElicitAnswer::Cancel => json!({"action": "cancel"}),
        }
    }
}

fn root(folder: &Path) -> Option<Root> {
    let url = url::Url::from_file_path(folder).ok()?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
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
        if self.0.options.elicitor.is_some() {
            let elicitation: Option<ElicitationCapability> =
                serde_json::from_value(json!({"form": {}, "url": {}})).ok();
            capabilities.elicitation = elicitation;
        }
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
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let text = "this client does not let servers use its model";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let answer = self.elicit(&params).await;
        Ok(serde_json::from_value(answer)
            .unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel)))
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
            let data = clean_line(&params.data.to_string(), 1_000);
            tracing::debug!(server = %self.0.server, level = ?params.level, "{data}");
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.changed.notify_one();
    }
}
