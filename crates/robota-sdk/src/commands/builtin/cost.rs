//! `/cost`: shows what the session cost.

use super::failed;
use async_trait::async_trait;
use serde_json::json;

use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct Cost;

#[async_trait]
impl SystemCommand for Cost {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("cost", "Shows the tokens and the cost of the session").reads_only()
    }

    async fn execute(&self, session: &InteractiveSession, _: &str) -> CommandResult {
        let info = match session.session().info().await {
            Ok(info) => info,
            Err(error) => return failed(&error),
        };
        let costs = match session.spending().costs().await {
            Ok(costs) => costs,
            Err(error) => return failed(&error),
        };
        let usage = costs.usage();
        let cost = match costs.cost() {
            Some(cost) => format!("${cost:.4}"),
            None => "unknown (no price for the model)".to_owned(),
        };
        let text = format!(
            "Session: {}\nAnswers: {}\nTokens: {} in, {} out\nCost: {cost}",
            info.session, info.messages, usage.input_tokens, usage.output_tokens
        );
        CommandResult::ok(text)
            .with("sessionId", info.session.as_str())
            .with("messageCount", info.messages)
            .with("costUsd", json!(costs.cost()))
    }
}
