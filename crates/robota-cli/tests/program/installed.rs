//! Scripts in other languages that drive the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use robota_testkit::mock::MockServer;
use robota_testkit::{Packages, Part, requires};
use serde_json::{Value, json};

use crate::home::Home;

/// The types of the MCP specification, and what makes a JSON Schema of them and validates messages.
const MCP_SCHEMA: Packages = Packages::Npm(
    "mcp-schema-1",
    &["@modelcontextprotocol/sdk@1.32.2", "ts-json-schema-generator@2.9.0", "ajv@8.17.1"],
);

/// Returns the folder that scripts need to validate messages of MCP.
pub(crate) fn mcp_schema() -> Option<PathBuf> {
    requires(Part::McpPrograms, MCP_SCHEMA.folder())
}

/// Checks that the messages of this program in a conversation with an MCP server, which `mcp_record.mjs`
/// recorded, fit the JSON Schema of the protocol. Returns their methods.
pub(crate) async fn valid_mcp_messages(schema: &Path, recorded: &Path) -> Vec<String> {
    let mut command = Command::new("node");
    command.arg(script("mcp_schema.mjs")).arg("client").arg(recorded).env("MCP_SCHEMA", schema);
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    let checked: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(checked["problems"], json!([]), "messages against the schema");
    serde_json::from_value(checked["methods"].clone()).unwrap()
}

/// Returns the path of a script of the tests.
pub(crate) fn script(name: &str) -> String {
    format!("{}/tests/sdk/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a case of a script that drives the program against a mock model, and returns what it printed last:
/// one JSON object. The script finds the program in `ROBOTA`, unless the command sets it.
pub(crate) async fn run_script(
    mut command: Command,
    case: &str,
    home: &Home,
    mock: &MockServer,
) -> Value {
    if !command.get_envs().any(|(name, _)| name == "ROBOTA") {
        command.env("ROBOTA", env!("CARGO_BIN_EXE_robota"));
    }
    command
        .arg(case)
        .env("PROJECT", home.path("project"))
        .env("HOME", home.path("home"))
        .env("ANTHROPIC_BASE_URL", mock.origin())
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef");
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let seen = serde_json::from_str(text.lines().last().unwrap_or_default());
    let errors = String::from_utf8_lossy(&output.stderr);
    seen.unwrap_or_else(|error| panic!("{case}: {error}: {text} {errors}"))
}
