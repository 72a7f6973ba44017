//! Prompts that are commands or skills: `/context`, `/review src`.

use std::time::Duration;

use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::event::TurnEnd;
use robota_core::message::{Block, Content};
use robota_sdk::mentions::Attached;
use robota_sdk::{CommandResult, Notice, Prepared, PreparedPrompt, SdkError};
use robota_session::SendOptions;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::drive::{Drive, Progress};
use super::mode::parse_mode;
use super::sent::HostMessage;
use super::turn_record::TurnRecord;
use crate::setup::print_notice;
use robota_stream_json::SessionStateText;

/// The meaning of a prompt.
pub(super) enum Expanded {
    /// A command, which was executed.
    Command(DoneCommand),
    /// A prompt, and the options with which it is sent.
    Prompt(Box<SendOptions>, Vec<Block>),
}

impl Expanded {
    /// Returns a prepared prompt, and adds its metadata to those of the input.
    fn of(prompt: PreparedPrompt, metadata: &mut Map<String, Value>) -> Self {
        let (content, mut options) = prompt.into_parts();
        metadata.append(&mut options.metadata);
        Self::Prompt(Box::new(options), content)
    }
}

/// A command that was executed.
pub(super) struct DoneCommand {
    text: String,
    /// Why it failed.
    error: Option<ErrorData>,
}

impl From<ErrorData> for DoneCommand {
    fn from(error: ErrorData) -> Self {
        Self { text: error.message.clone(), error: Some(error) }
    }
}

/// How long the result of a message without content waits for a request of the host.
const EMPTY_WAIT: Duration = Duration::from_millis(500);

/// Changes that a command asks for and that a headless run cannot make.
const TERMINAL_CHANGES: [&str; 3] = ["language", "resetRequested", "triggerResumePicker"];

impl Drive {
    /// Executes the command that a prompt names, or reads the skill.
    pub(super) async fn expand(
        &mut self,
        content: Vec<Block>,
        metadata: &mut Map<String, Value>,
    ) -> Expanded {
        let text = match content.as_slice() {
            [Block::Text(text)]
                if self.options.commands && text.text.trim_start().starts_with('/') =>
            {
                text.text.clone()
            }
            _ => return self.attach_mentions(content, metadata).await,
        };
        // Those before have been printed.
        drop(self.compactions.take());
        let Some(prepared) = self.prepare(&text).await else {
            let error = ErrorData::new(ErrorKind::Validation, "the command was interrupted");
            return Expanded::Command(error.into());
        };
        match prepared {
            // Hosts expect that such a text goes to the model.
            Err(SdkError::UnknownCommand(_)) => self.attach_mentions(content, metadata).await,
            Err(error) => Expanded::Command(error.to_data().into()),
            Ok(Prepared::Command(result)) => {
                let error = self.apply(&result).await.err();
                Expanded::Command(match error {
                    Some(error) => error.into(),
                    None => DoneCommand { text: result.message, error: None },
                })
            }
            Ok(Prepared::Prompt(prompt)) => Expanded::of(prompt, metadata),
        }
    }

    /// Executes a command, or reads the skill. An agent that it starts may take long and ask the host
    /// about calls, so what ends the run or the turn ends it; then there is no result.
    async fn prepare(&mut self, text: &str) -> Option<Result<Prepared, SdkError>> {
        let interactive = self.interactive.clone();
        let mut preparing = std::pin::pin!(interactive.prepare(text));
        loop {
            let from_host = async {
                match &mut self.from_host {
                    Some(from_host) => from_host.recv().await,
                    None => None,
                }
            };
            tokio::select! {
                prepared = &mut preparing => return Some(prepared),
                () = self.cancel.token().cancelled() => return None,
                () = self.writer.closed().cancelled() => return None,
                // The host denied a call so. The denial waits until the command has ended.
                Some(_) = self.commands.recv() => return None,
                Some(message) = from_host => {
                    let interrupts = message.interrupts();
                    self.delayed.push_back(message);
                    if interrupts {
                        return None;
                    }
                }
            }
        }
    }

    /// Attaches the files that a prompt mentions, and reports which of them may not be read.
    async fn attach_mentions(
        &mut self,
        content: Vec<Block>,
        metadata: &mut Map<String, Value>,
    ) -> Expanded {
        let prepared = self.interactive.prepare_prompt(Content(content)).await;
        for attachment in &prepared.attachments {
            if let Attached::Nothing { reason } = &attachment.attached {
                let text = format!("@{} is not attached: {reason}", attachment.path);
                print_notice(&Notice::Note(text));
            }
        }
        Expanded::of(prepared, metadata)
    }

    /// Makes the change that a command leaves to its client.
    async fn apply(&mut self, result: &CommandResult) -> Result<(), ErrorData> {
        let invalid = |text: String| ErrorData::new(ErrorKind::Validation, text);
        if !result.success {
            return Err(invalid(result.message.clone()));
        }
        let text = |key: &str| result.data.get(key).and_then(Value::as_str);
        if let Some(name) = text("name") {
            self.session.rename(name).await.map_err(|error| error.to_data())?;
        }
        if let Some(model) = text("modelId") {
            let changed = self.requests.set_model(Some(model.to_owned())).await;
            changed.map_err(|(_, why)| invalid(why))?;
        }
        if let Some(mode) = text("mode")
            && parse_mode(mode).is_ok_and(|mode| mode != self.requests.mode)
        {
            let changed = self.requests.set_mode(mode).await;
            changed.map_err(|(_, why)| invalid(why))?;
        }
        match TERMINAL_CHANGES.iter().find(|key| result.data.contains_key(**key)) {
            None => Ok(()),
            Some(_) => Err(invalid("this command has no effect in a headless run".to_owned())),
        }
    }

    /// Takes a message without content. Hosts send one to a session that they resume, and a request
    /// while they read the answer to it: the result, after which they may close standard input, comes
    /// after the request.
    pub(super) fn take_empty(&mut self, progress: &mut Progress) {
        if progress.inputs.0.is_empty() && progress.empty.is_none() {
            self.print_begin();
            progress.empty = Some(Instant::now() + EMPTY_WAIT);
        }
    }

    /// Prints the result of a message without content, if there is one.
    pub(super) async fn finish_empty(&mut self, progress: &mut Progress) {
        if progress.empty.take().is_some() {
            let record = TurnRecord { end: Some(TurnEnd::Complete), ..TurnRecord::default() };
            self.report(&record, progress).await;
            self.background.owes_idle = true;
        }
    }

    /// Prints what comes before the result of a message that starts no turn.
    fn print_begin(&self) {
        self.writer.state(SessionStateText::Running);
        self.print_init(&self.requests.model);
    }

    /// Prints the result of a command like that of a turn.
    pub(super) async fn print_command(
        &mut self,
        done: DoneCommand,
        from_host: Option<HostMessage>,
        progress: &mut Progress,
    ) {
        let idle = progress.inputs.0.is_empty();
        if idle {
            self.print_begin();
        }
        for envelope in self.compactions.take() {
            self.projection.on_event(&envelope);
        }
        let record = TurnRecord {
            answer: done.text.into(),
            error: done.error,
            end: Some(TurnEnd::Complete),
            user_messages: from_host.and_then(|message| message.uuid).into_iter().collect(),
            ..TurnRecord::default()
        };
        self.report(&record, progress).await;
        self.background.owes_idle |= idle;
    }
}
