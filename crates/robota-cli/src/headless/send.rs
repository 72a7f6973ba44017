//! Sends inputs to the session: messages of the host, the prompt of the command line, and those of the
//! program itself.

use robota_core::event::Delivery;
use robota_core::ids::RandomIds;
use robota_core::message::{Block, Message};
use robota_session::{EventFilter, SendOptions};
use robota_stream_json::TurnOrigin;
use serde_json::Value;

use super::blocks;
use super::drive::{Drive, Progress};
use super::input::UserInput;
use super::sent::{HostMessage, OnCancel, Sent};
use super::slash::PreparedInput;
use crate::output;

impl Drive {
    /// Sends an input of the program itself, without commands, skills or files. It starts a turn.
    pub(super) async fn send_as_is(
        &mut self,
        content: Vec<Block>,
        origin: TurnOrigin,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let (sent, options) = (content.clone(), SendOptions::default());
        let mut chat = self.session.chat_with(sent, options, EventFilter::Everything).await?;
        chat.wait_for_approvals();
        progress.inputs.0.push_back(Sent::of_program(chat, content, Some(origin)));
        Ok(())
    }

    /// Takes a message of the host.
    pub(super) async fn deliver(
        &mut self,
        input: UserInput,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let content = match blocks::from_host(&input.message.content, &*self.blobs).await {
            Ok(content) => content,
            Err(why) => {
                let why = format!("Error parsing streaming input line ({why})");
                output::note(&why);
                progress.fail(why);
                self.close_input();
                self.interrupt(None);
                return Ok(());
            }
        };
        if is_empty(&content) {
            if input.should_query != Some(false) {
                self.take_empty(progress);
            }
            return Ok(());
        }
        if input.should_query == Some(false) {
            let message = Message::user(&RandomIds, content);
            let context = self.session.context();
            // It waits for the end of the turn that runs. If none runs, it comes before the turn of
            // the next message.
            let injecting = tokio::spawn(async move {
                if let Err(error) = context.inject(message).await {
                    output::error(&error.to_string());
                }
            });
            if progress.inputs.0.is_empty() {
                let _ = injecting.await;
            } else {
                self.injected.push(injecting);
            }
            return Ok(());
        }
        let message = HostMessage {
            uuid: input.uuid,
            content: input.message.content,
            as_is: input.client_composed == Some(true),
        };
        self.send(content, Some(message), progress).await
    }

    /// Sends an input, or starts the command that it names. While a turn runs, the input joins it
    /// before the next model call.
    pub(super) async fn send(
        &mut self,
        content: Vec<Block>,
        from_host: Option<HostMessage>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let as_is = from_host.as_ref().is_some_and(|message| message.as_is);
        if !as_is && let Some(text) = self.command_text(&content) {
            self.start_command(text, content, from_host);
            return Ok(());
        }
        let prompt = match as_is {
            true => PreparedInput::from(content.clone()),
            false => self.attach_mentions(content.clone()).await,
        };
        self.send_prepared(prompt, content, from_host, progress).await
    }

    /// Sends an input that was prepared from `as_sent`.
    pub(super) async fn send_prepared(
        &mut self,
        prompt: PreparedInput,
        as_sent: Vec<Block>,
        from_host: Option<HostMessage>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let PreparedInput { mut options, content } = prompt;
        if let Some(uuid) = from_host.as_ref().and_then(|message| message.uuid.as_deref()) {
            // By this id `rewind_files` finds the message in the journal.
            options.metadata.insert("uuid".to_owned(), Value::from(uuid));
        }
        // Rules and models apply to a whole turn, so a prompt that has some gets a turn of its own.
        let own_turn = progress.inputs.0.is_empty() || options.has_turn_options();
        let delivery = if own_turn { Delivery::AfterTurn } else { Delivery::NextRound };
        let options = SendOptions { delivery, ..*options };
        let mut chat = self.session.chat_with(content, options, EventFilter::Everything).await?;
        chat.wait_for_approvals();
        if let Some(message) = &from_host {
            self.projection.remember_sent(chat.input().as_str(), message.clone());
        }
        let on_cancel = OnCancel::SendAgain;
        progress.inputs.0.push_back(Sent {
            chat,
            // A prompt that is sent again after an interrupt is expanded again.
            content: as_sent,
            from_host,
            origin: None,
            delivered: false,
            on_cancel,
        });
        Ok(())
    }
}

/// Returns whether a message has nothing that a model could read.
fn is_empty(content: &[Block]) -> bool {
    content.iter().all(|block| matches!(block, Block::Text(text) if text.text.trim().is_empty()))
}
