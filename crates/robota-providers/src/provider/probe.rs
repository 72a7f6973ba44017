//! Tests settings with a small request that asks for one tool call.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use robota_core::call::CallContext;
use robota_core::ids::CountingIds;
use robota_core::message::{Block, Message};
use robota_core::permission::Class;
use robota_core::provider::{Delta, ModelRequest, Provider as _, ProviderError, StopReason};
use robota_core::tool::ToolSpec;
use robota_core::usage::Usage;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::HttpProvider;

/// What one small model call showed about the settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probe {
    /// The model that was called, as it was requested.
    pub model: String,
    /// Whether the service's list contains the model; absent if there is no list.
    pub listed: Option<bool>,
    /// The number of models in the service's list, if there is one.
    pub models: Option<usize>,
    /// The context window in tokens, if the service reports it.
    pub context_window: Option<u64>,
    /// The time until the first delta of the answer.
    pub first_delta: Duration,
    /// The time until the answer was complete.
    pub total: Duration,
    /// Whether the model called the requested tool.
    pub calls_tools: bool,
    /// Why the model ended its answer to the probe.
    pub stop: StopReason,
    /// The tokens the probe used, if the service reports them.
    pub usage: Option<Usage>,
}

/// The name of the tool that the model is asked to call.
const TOOL: &str = "ping";

impl HttpProvider {
    /// Asks the model to call a tool that does nothing. This shows that the address, the key and
    /// the model work, and whether the model calls tools. It costs a few tokens.
    ///
    /// # Errors
    /// When the address, the key or the model does not work.
    pub async fn probe(&self, model: &str) -> Result<Probe, ProviderError> {
        // A missing list is not a failure: many services have none.
        let list = self.models().await.ok().flatten();
        let entry = list.as_ref().and_then(|list| list.entries.iter().find(|one| one.id == model));
        let started = Instant::now();
        let mut stream = self.stream(question(model), CallContext::detached()).await?;
        let mut first_delta = None;
        let mut calls_tools = false;
        let mut usage = None;
        while let Some(delta) = stream.next().await {
            let delta = delta?;
            if !matches!(delta, Delta::Activity | Delta::Usage(_) | Delta::LeftOut(_)) {
                first_delta.get_or_insert_with(|| started.elapsed());
            }
            match delta {
                Delta::Block(Block::ToolUse(call)) => calls_tools |= call.name == TOOL,
                Delta::Usage(now) => usage = Some(now),
                Delta::End(stop) => {
                    let total = started.elapsed();
                    return Ok(Probe {
                        model: model.to_owned(),
                        listed: list.as_ref().map(|_| entry.is_some()),
                        models: list.as_ref().map(|list| list.entries.len()),
                        context_window: entry.and_then(|entry| entry.context_window),
                        first_delta: first_delta.unwrap_or(total),
                        total,
                        calls_tools,
                        stop,
                        usage,
                    });
                }
                _ => {}
            }
        }
        Err(ProviderError::truncated())
    }
}

fn question(model: &str) -> ModelRequest {
    let ids = CountingIds::default();
    let ask = Message::user(&ids, "Call the tool `ping` once, with no arguments. Say nothing.");
    let tool = ToolSpec {
        name: TOOL.to_owned(),
        description: "Does nothing. Shows that tools can be called.".to_owned(),
        input_schema: json!({"type": "object", "properties": {}}),
        class: Class::Inspect,
    };
    ModelRequest {
        tools: Arc::from([tool]),
        // Reasoning counts as output: with a small limit, a model that reasons would stop before
        // its call.
        max_output_tokens: Some(2_048),
        ..ModelRequest::new(model, Arc::new(vec![Arc::new(ask)]))
    }
}
