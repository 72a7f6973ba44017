//! A transport without a client (SDK-08): answers one prompt and writes the answer, for programs
//! that are started by scripts.
//!
//! `robota -p` offers more: the lines and requests of the stream-json protocol.

use std::sync::Arc;

use futures::StreamExt as _;
use robota_core::event::TurnEnd;
use robota_sdk::{
    ExecutionResult, HostError, InteractiveSession, OpenRequest, SessionChoice, SessionHost,
    Transport, TransportError,
};
use robota_session::{EventFilter, SubscriptionItem};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

/// The form in which the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeadlessFormat {
    /// The text of the answer.
    #[default]
    Text,
    /// One JSON object: the fields of [`ExecutionResult`] and `sessionId`.
    Json,
    /// The events of the journal, one per line, as they are written.
    Events,
}

/// Answers one prompt and writes the answer.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_sdk::{SessionHost, Transport as _, TransportError};
/// use robota_server::headless::{HeadlessFormat, HeadlessTransport};
///
/// async fn answer(sessions: Arc<dyn SessionHost>) -> Result<bool, TransportError> {
///     let mut headless =
///         HeadlessTransport::new("What is in this folder?", tokio::io::sink())
///             .format(HeadlessFormat::Json);
///     headless.attach(sessions);
///     headless.start().await?;
///     Ok(headless.succeeded())
/// }
/// # let _ = answer;
/// ```
pub struct HeadlessTransport<W> {
    prompt: String,
    format: HeadlessFormat,
    choice: SessionChoice,
    output: W,
    sessions: Option<Arc<dyn SessionHost>>,
    result: Option<ExecutionResult>,
    stop: CancellationToken,
}

impl<W: AsyncWrite + Send + Unpin> HeadlessTransport<W> {
    /// Creates a transport that sends this prompt to a new session and writes to `output`.
    pub fn new(prompt: impl Into<String>, output: W) -> Self {
        Self {
            prompt: prompt.into(),
            format: HeadlessFormat::default(),
            choice: SessionChoice::default(),
            output,
            sessions: None,
            result: None,
            stop: CancellationToken::new(),
        }
    }

    /// Sets what is written; by default the text.
    #[must_use]
    pub fn format(mut self, format: HeadlessFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets which session answers; by default a new one.
    #[must_use]
    pub fn choose(mut self, choice: SessionChoice) -> Self {
        self.choice = choice;
        self
    }

    /// Returns a token that stops the transport from elsewhere, as [`Transport::stop`] does.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Returns what the prompt led to, after the transport ended.
    #[must_use]
    pub fn result(&self) -> Option<&ExecutionResult> {
        self.result.as_ref()
    }

    /// Returns whether there is a complete answer.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.end == TurnEnd::Complete)
    }

    async fn answer(&mut self, session: &InteractiveSession) -> Result<(), TransportError> {
        let failed = |error: robota_sdk::SdkError| refused(HostError::from(error));
        if self.stop.is_cancelled() {
            return session.shutdown("headless").await.map_err(failed);
        }
        let mut events = match self.format {
            HeadlessFormat::Text | HeadlessFormat::Json => None,
            HeadlessFormat::Events => {
                let since = session.opened_at();
                let events = session.session().subscribe(since, EventFilter::Everything).await;
                Some(events.map_err(|error| refused(error.into()))?)
            }
        };
        let submission = session.submit(self.prompt.clone()).await.map_err(failed)?;
        let result = submission.result();
        tokio::pin!(result);
        let mut stopped = false;
        let result = loop {
            let next_event = async {
                match &mut events {
                    Some(events) => events.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // Events before the result: those of the turn must be written before its end is
                // handled.
                biased;
                () = self.stop.cancelled(), if !stopped => {
                    stopped = true;
                    session.abort().await.map_err(failed)?;
                }
                Some(item) = next_event => {
                    if let Ok(SubscriptionItem::Event(event)) = item {
                        write_line(&mut self.output, &event.envelope.to_line()).await?;
                    }
                }
                result = &mut result => break result.map_err(failed)?,
            }
        };
        match self.format {
            HeadlessFormat::Text => write_line(&mut self.output, &result.response).await?,
            HeadlessFormat::Json => {
                let line = json_line(&result, session).to_string();
                write_line(&mut self.output, &line).await?;
            }
            // The events of the turn come before its result, those of the end of the session after.
            HeadlessFormat::Events => {}
        }
        self.result = Some(result);
        let ended = session.shutdown("headless").await.map_err(failed);
        while let Some(item) = match &mut events {
            Some(events) => events.next().await,
            None => None,
        } {
            if let Ok(SubscriptionItem::Event(event)) = item {
                write_line(&mut self.output, &event.envelope.to_line()).await?;
            }
        }
        ended
    }
}

fn json_line(result: &ExecutionResult, session: &InteractiveSession) -> Value {
    // Plain data always serialises.
    let mut line = serde_json::to_value(result).unwrap_or_default();
    if let Value::Object(fields) = &mut line {
        fields.insert("sessionId".to_owned(), json!(session.session().id().as_str()));
    }
    line
}

async fn write_line(
    output: &mut (impl AsyncWrite + Unpin),
    text: &str,
) -> Result<(), TransportError> {
    let failed = |source| TransportError::Io { what: "cannot write the answer".to_owned(), source };
    output.write_all(text.as_bytes()).await.map_err(failed)?;
    output.write_all(b"\n").await.map_err(failed)?;
    output.flush().await.map_err(failed)
}

fn refused(error: HostError) -> TransportError {
    let what = format!("cannot answer the prompt: {error}");
    TransportError::Io { what, source: std::io::Error::other(error) }
}

#[async_trait::async_trait]
impl<W: AsyncWrite + Send + Unpin> Transport for HeadlessTransport<W> {
    fn name(&self) -> &'static str {
        "headless"
    }

    fn attach(&mut self, sessions: Arc<dyn SessionHost>) {
        self.sessions = Some(sessions);
    }

    async fn start(&mut self) -> Result<(), TransportError> {
        let sessions = self.sessions.clone().ok_or(TransportError::NotAttached("headless"))?;
        let request = OpenRequest::new(self.choice.clone());
        let hosted = sessions.open(request).await.map_err(refused)?;
        let session = hosted.session;
        match self.answer(&session).await {
            Ok(()) => Ok(()),
            Err(error) => {
                // The first error is the one to report.
                let _ = session.shutdown("headless").await;
                Err(error)
            }
        }
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests;
