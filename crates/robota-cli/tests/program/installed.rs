//! Scripts in other languages that drive the program.

use std::process::Command;

use robota_testkit::mock::MockServer;
use serde_json::Value;

use crate::home::Home;

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
