//! BashInput: types into a background command.

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::{Early, parse, schema_of};
use crate::workplace::Workplace;

const DESCRIPTION: &str =
    "Writes to the standard input of a background command: end lines with \\n.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    bash_id: String,
    input: String,
}

/// Types into background commands.
pub struct BashInput {
    spec: ToolSpec,
    place: Workplace,
}

impl BashInput {
    /// A tool for the background commands of a workplace.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "BashInput".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            // What is typed may be a command.
            class: Class::Execute,
        };
        Self { spec, place: place.clone() }
    }

    fn write(&self, input: Value) -> Result<ToolOutcome, Early> {
        let Input { bash_id, input } = parse(input)?;
        let shell = self.place.shells.get(&bash_id);
        let shell = shell.map_err(|error| ToolOutcome::not_run("not_found", error))?;
        if shell.running.outcome().is_some() {
            return Err(ToolOutcome::not_run("ended", format!("{bash_id} has ended")).into());
        }
        let bytes = input.len();
        shell.running.write(input);
        Ok(ToolOutcome::ok(format!("Wrote {bytes} bytes to {bash_id}\n")))
    }
}

#[async_trait::async_trait]
impl Tool for BashInput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.write(input).unwrap_or_else(|Early(outcome)| *outcome)
    }
}
