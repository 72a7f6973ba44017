//! What the editor does for the agent: text that is not saved yet, and changes that the editor makes itself.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use robota_core::ids::CallId;
use robota_sdk::host::{EditorFiles, TerminalCommand, TerminalResult};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::client_terminals::{self, ShownTerminals};
use super::connection::Connection;
use super::v1::{FileCapabilities, ReadFileRequest, ReadFileResponse, WriteFileRequest};

/// How long the editor may take. Then the file itself is used.
const LIMIT: Duration = Duration::from_secs(10);

/// Reaches the files of the editor.
pub(super) struct ClientFiles {
    pub(super) connection: Arc<Connection>,
    /// The session, known once it is open.
    pub(super) session: OnceLock<String>,
    pub(super) can: FileCapabilities,
    pub(super) terminal: bool,
    pub(super) shown: ShownTerminals,
}

impl ClientFiles {
    async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Option<T> {
        let asked = self.connection.request(method, params);
        // A timeout and an error mean the same for the caller: the file on the disk is used.
        tokio::time::timeout(LIMIT, asked).await.ok()?.ok()
    }
}

#[async_trait::async_trait]
impl EditorFiles for ClientFiles {
    async fn read(&self, path: &Path) -> Option<String> {
        let (true, Some(session_id)) = (self.can.read_text_file, self.session.get()) else {
            return None;
        };
        let params = ReadFileRequest { session_id, path: path.to_str()? };
        let answer: ReadFileResponse = self.ask("fs/read_text_file", &params).await?;
        Some(answer.content)
    }

    async fn write(&self, path: &Path, text: &str) -> bool {
        let (true, Some(session_id), Some(path)) =
            (self.can.write_text_file, self.session.get(), path.to_str())
        else {
            return false;
        };
        let params = WriteFileRequest { session_id, path, content: text };
        self.ask::<serde_json::Value>("fs/write_text_file", &params).await.is_some()
    }

    fn has_terminals(&self) -> bool {
        self.terminal
    }

    async fn run(
        &self,
        call: &CallId,
        command: TerminalCommand,
        cancel: &CancellationToken,
    ) -> Option<TerminalResult> {
        let session = self.session.get()?;
        client_terminals::run(&self.connection, session, &self.shown, call, command, cancel).await
    }
}
