//! The first prompt of the agent that the conversation runs as (`initialPrompt`). It comes before what
//! the user enters first, or a client enters it on its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_config::agents::AgentDefinition;
use robota_core::turn::RAW_INPUT;
use serde_json::json;

use super::event::joined_texts;
use super::history::DISPLAY;
use super::{Conversation, InteractiveSession, Prepared, PreparedPrompt};
use crate::mentions::{ATTACHMENTS, AttachedBlocks};
use crate::notice::Notice;

/// The first prompt of an agent, until it is sent.
pub(super) struct FirstPrompt {
    agent: String,
    text: Mutex<Option<String>>,
    on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
}

impl FirstPrompt {
    pub(super) fn of(
        agent: &AgentDefinition,
        on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
    ) -> Option<Self> {
        let text = agent.initial_prompt.clone().filter(|text| !text.trim().is_empty())?;
        Some(Self { agent: agent.name.clone(), text: Mutex::new(Some(text)), on_notice })
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversation<'_> {
    /// Returns the first prompt of the agent that the conversation runs as, until it is sent. The session
    /// adds it before the first prompt of the user. A client that shows a new session without a prompt may
    /// [`enter`](InteractiveSession::enter) it; then it is not added again.
    #[must_use]
    pub fn initial_prompt(&self) -> Option<String> {
        self.0.0.first_prompt.as_ref()?.lock().clone()
    }
}

impl InteractiveSession {
    /// Returns the text that comes before what was typed; none if that is the first prompt itself, which
    /// counts as sent then.
    pub(super) fn first_prompt_before(&self, typed: &str) -> Option<String> {
        let mut text = self.0.first_prompt.as_ref()?.lock();
        if text.as_ref().is_some_and(|text| text.trim() == typed.trim()) {
            // A client that enters the first prompt itself must not get it a second time.
            *text = None;
        }
        text.clone()
    }

    /// Puts the first prompt before another one. A command that it names is executed.
    pub(super) async fn after_first(
        &self,
        first: Option<String>,
        prompt: PreparedPrompt,
    ) -> PreparedPrompt {
        let (Some(text), Some(state)) = (first, &self.0.first_prompt) else { return prompt };
        // Of two prompts at the same time only one gets it.
        if state.lock().take().is_none() {
            return prompt;
        }
        let problem = |why: String| {
            let text = format!("the first prompt of the agent `{}`: {why}", state.agent);
            (state.on_notice)(Notice::Error(text));
        };
        match self.prepare_typed(&text).await {
            Ok(Prepared::Prompt(first)) => joined(first, &text, prompt),
            Ok(Prepared::Command(result)) => {
                if !result.success {
                    problem(result.message);
                }
                prompt
            }
            Err(error) => {
                problem(error.to_string());
                prompt
            }
        }
    }
}

/// Joins two prompts to one: what the model sees of both, and for people what was typed.
fn joined(first: PreparedPrompt, typed: &str, prompt: PreparedPrompt) -> PreparedPrompt {
    let before = first.content.len();
    let own = joined_texts(&prompt.content);
    let mut metadata = prompt.metadata;
    for key in [DISPLAY, RAW_INPUT] {
        let shown = metadata.get(key).and_then(|text| text.as_str()).unwrap_or(&own);
        metadata.insert(key.to_owned(), format!("{typed}\n\n{shown}").into());
    }
    if let Some(attached) = AttachedBlocks::of(&metadata) {
        let attached = AttachedBlocks { own: attached.own + before, ..attached };
        metadata.insert(ATTACHMENTS.to_owned(), json!(attached));
    }
    for (key, value) in first.metadata {
        if key != ATTACHMENTS {
            metadata.entry(key).or_insert(value);
        }
    }
    let mut rules = first.rules;
    rules.allow.extend(prompt.rules.allow);
    rules.deny.extend(prompt.rules.deny);
    PreparedPrompt {
        content: first.content.into_iter().chain(prompt.content).collect(),
        metadata,
        rules,
        // What the user chose is stronger than what the agent's prompt brings.
        model: prompt.model.or(first.model),
        effort: prompt.effort.or(first.effort),
        attachments: first.attachments.into_iter().chain(prompt.attachments).collect(),
    }
}
