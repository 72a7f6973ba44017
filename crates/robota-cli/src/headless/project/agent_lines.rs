//! Lines with the messages of agents that a call started.

use robota_core::event::{Envelope, Event};
use robota_core::ids::TaskId;
use robota_core::message::{Message, MessageState};
use robota_stream_json::{
    AssistantLine, AssistantMessage, Block, LineAgent, TokenUsage, UserContent, UserLine,
    UserMessage,
};

use super::Projection;
use crate::headless::blocks;
use crate::headless::loaded::LoadedBlobs;
use crate::headless::meter::token_usage;
use crate::headless::writer::block_line_id;

/// The call of an agent, and the model that answers.
struct Agent {
    task: TaskId,
    tool_use_id: String,
    name: Option<String>,
    label: String,
    model: String,
    usage: TokenUsage,
}

impl Agent {
    fn of_line(&self) -> LineAgent<'_> {
        LineAgent {
            agent_id: Some(self.task.as_str()),
            subagent_type: self.name.as_deref(),
            task_description: Some(&self.label),
        }
    }
}

impl Projection {
    /// Takes an event of an agent's own session.
    pub(super) fn agent_event(&mut self, task: &TaskId, envelope: &Envelope) {
        let Some(shown) = self.tasks.0.get_mut(task) else { return };
        match &envelope.event {
            Event::TurnStarted(data) => shown.model.clone_from(&data.model),
            Event::ModelResponded(data) => {
                shown.usage = data.usage.map(token_usage).unwrap_or_default();
                shown.tokens += data.usage.map(|usage| usage.total()).unwrap_or_default();
            }
            _ => {}
        }
        // An agent that a command of the user started belongs to no call.
        let Some(tool_use_id) = shown.tool_use_id.clone() else { return };
        let agent = Agent {
            task: task.clone(),
            tool_use_id,
            name: shown.agent.clone(),
            label: shown.label.clone(),
            model: shown.model.clone(),
            usage: shown.usage,
        };
        match &envelope.event {
            Event::UserMessage(data) if self.shown.agent_text => {
                let text = data.message.text();
                self.agent_user(Block::text(&text), &agent, envelope);
            }
            Event::AssistantMessage(data) => self.agent_answer(&data.message, &agent, envelope),
            Event::ToolResultAdded(data) => {
                // Its blobs are those of another session and are not read: images are only named.
                let block = blocks::of_result(&data.result, &LoadedBlobs::default());
                self.agent_user(block, &agent, envelope);
            }
            _ => {}
        }
    }

    fn agent_answer(&self, message: &Message, agent: &Agent, envelope: &Envelope) {
        // Made from the message, so that all lines of one answer have the same id.
        let id = format!("msg_{}", message.id.as_str().replace('-', ""));
        for (index, block) in blocks::of_answer(&message.content).enumerate() {
            if !(self.shown.agent_text || matches!(block, Block::ToolUse { .. })) {
                continue;
            }
            let line = block_line_id(message.id.as_str(), index);
            let line = line.unwrap_or_else(|| self.writer.id());
            self.writer.print(&AssistantLine {
                kind: Default::default(),
                message: AssistantMessage {
                    model: &agent.model,
                    id: &id,
                    kind: Default::default(),
                    role: Default::default(),
                    content: vec![block],
                    stop_reason: None,
                    stop_sequence: None,
                    usage: agent.usage,
                },
                parent_tool_use_id: Some(&agent.tool_use_id),
                agent: agent.of_line(),
                error: None,
                aborted: message.state() != MessageState::Complete,
                session_id: self.writer.session(),
                uuid: line.as_str(),
                request_id: None,
                user_message_uuid: None,
                user_message_uuids: &[],
                timestamp: envelope.ts.to_string(),
            });
        }
    }

    fn agent_user(&self, block: Block<'_>, agent: &Agent, envelope: &Envelope) {
        let id = self.writer.id();
        let content = UserContent::Blocks(vec![block]);
        self.writer.print(&UserLine {
            message: UserMessage { role: Default::default(), content },
            parent_tool_use_id: Some(&agent.tool_use_id),
            agent: agent.of_line(),
            ..self.user_line(UserContent::Blocks(Vec::new()), id.as_str(), envelope)
        });
    }
}
