//! Prompts that are commands or skills: `/context`, `/review src`.

use std::time::Duration;

use robota_core::error::{Diagnose as _, ErrorData, ErrorKind};
use robota_core::event::TurnEnd;
use robota_core::message::{Block, Content};
use robota_sdk::mentions::Attached;
use robota_sdk::{CommandResult, Notice, Prepared, PreparedPrompt, SdkError};
use robota_session::SendOptions;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::drive::{Drive, Progress};
use super::mode::parse_mode;
use super::model_change::Requester;
use super::running_command::{CommandEnd, RunningCommand};
use super::sent::HostMessage;
use super::turn_record::TurnRecord;
use crate::setup::print_notice;
use robota_stream_json::SessionStateText;

/// What is sent for a prompt, and the options with which it is sent.
pub(super) struct PreparedInput {
    pub(super) options: Box<SendOptions>,
    pub(super) content: Vec<Block>,
}

impl From<PreparedPrompt> for PreparedInput {
    fn from(prompt: PreparedPrompt) -> Self {
        let (content, options) = prompt.into_parts();
        Self { options: Box::new(options), content }
    }
}

impl From<Vec<Block>> for PreparedInput {
    fn from(content: Vec<Block>) -> Self {
        Self { options: Box::default(), content }
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
    /// Returns the text of a prompt that may name a command or a skill.
    pub(super) fn command_text(&self, content: &[Block]) -> Option<String> {
        // Only a message that is one text: with an image it cannot be a command.
        match content {
            [Block::Text(text)]
                if self.options.commands && text.text.trim_start().starts_with('/') =>
            {
                Some(text.text.clone())
            }
            _ => None,
        }
    }

    /// Starts the command that a prompt names, or reads the skill. An agent that it starts may take
    /// long and ask the host about calls.
    pub(super) fn start_command(
        &mut self,
        text: String,
        content: Vec<Block>,
        from_host: Option<HostMessage>,
    ) {
        // Those before have been printed.
        drop(self.compactions.take());
        self.writer.state(SessionStateText::Running);
        let before = self.known_tasks();
        let interactive = self.interactive.clone();
        let preparing = tokio::spawn(async move { interactive.prepare(&text).await });
        self.command = Some(RunningCommand::new(preparing, content, from_host, before));
    }

    /// Prints the result of the command that has ended, or sends the prompt that it became.
    pub(super) async fn finish_command(
        &mut self,
        end: CommandEnd,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let Some(RunningCommand { content, from_host, before, .. }) = self.command.take() else {
            return Ok(());
        };
        self.skip_agents_of_command(&before);
        // What happened to tasks of the command is printed before its result.
        self.print_tasks();
        let prompt = match end {
            CommandEnd::Prepared(Ok(Prepared::Prompt(prompt))) => prompt.into(),
            // Hosts expect that such a text goes to the model.
            CommandEnd::Prepared(Err(SdkError::UnknownCommand(_))) => {
                self.attach_mentions(content.clone()).await
            }
            CommandEnd::Prepared(Ok(Prepared::Command(result))) => {
                let result = match self.change_model_for(result) {
                    Ok(changing) => {
                        let command = RunningCommand::new(changing, content, from_host, before);
                        self.command = Some(command);
                        return Ok(());
                    }
                    Err(result) => result,
                };
                let error = self.apply(&result).await.err();
                let done = match error {
                    Some(error) => error.into(),
                    None => DoneCommand { text: result.message, error: None },
                };
                self.print_command(done, from_host, progress).await;
                return Ok(());
            }
            CommandEnd::Prepared(Err(error)) => {
                self.print_command(error.to_data().into(), from_host, progress).await;
                return Ok(());
            }
            CommandEnd::Stopped(why) => {
                let error = ErrorData::new(ErrorKind::Validation, why);
                self.print_command(error.into(), from_host, progress).await;
                return Ok(());
            }
        };
        self.send_prepared(prompt, content, from_host, progress).await
    }

    /// Attaches the files that a prompt mentions, and reports which of them may not be read.
    pub(super) async fn attach_mentions(&self, content: Vec<Block>) -> PreparedInput {
        let prepared = self.interactive.prepare_prompt(Content(content)).await;
        for attachment in &prepared.attachments {
            if let Attached::Nothing { reason } = &attachment.attached {
                let text = format!("@{} is not attached: {reason}", attachment.path);
                print_notice(&Notice::Note(text));
            }
        }
        prepared.into()
    }

    /// Changes the model if a command asks for that. Hooks decide about it, so the command still runs
    /// until they have: its result is then what is left of it. Returns the result otherwise.
    fn change_model_for(
        &mut self,
        mut result: CommandResult,
    ) -> Result<JoinHandle<Result<Prepared, SdkError>>, CommandResult> {
        if !result.success || !result.data.get("modelId").is_some_and(Value::is_string) {
            return Err(result);
        }
        let model = result.data.remove("modelId");
        let model = model.as_ref().and_then(Value::as_str).map(str::to_owned);
        let (send, changed) = oneshot::channel();
        self.change_model(model, Requester::Command(send));
        Ok(tokio::spawn(async move {
            Ok(Prepared::Command(match changed.await {
                Ok(Ok(())) => result,
                Ok(Err(why)) => CommandResult::failed(why),
                Err(_) => CommandResult::failed("the run is ending"),
            }))
        }))
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
        if !self.is_busy(progress) && progress.empty.is_none() {
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
