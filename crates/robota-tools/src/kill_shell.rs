//! KillShell: ends a background command.

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of};
use crate::bash_output::news;
use crate::workplace::Workplace;

const DESCRIPTION: &str =
    "Ends a background command and all it started, and shows its last output.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    bash_id: String,
}

/// Ends background commands.
pub struct KillShell {
    spec: ToolSpec,
    place: Workplace,
}

impl KillShell {
    /// A tool for the background commands of a workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "KillShell".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // It ends nothing but what Bash was allowed to start here.
            class: Class::Inspect,
        };
        Self { spec, place: place.clone() }
    }

    async fn kill(&self, input: Value) -> Result<ToolOutcome, Early> {
        let Input { bash_id } = parse(input)?;
        let shell = self.place.shells.get(&bash_id);
        let shell = shell.map_err(|error| ToolOutcome::not_run("not_found", error))?;
        shell.running.kill();
        // How it ended is part of the news.
        let _ = shell.running.ended().await;
        Ok(news(&shell))
    }
}

#[async_trait::async_trait]
impl Tool for KillShell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.kill(input).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}
