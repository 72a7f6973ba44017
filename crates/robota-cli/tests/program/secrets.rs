//! Secrets planted everywhere a program can find them never reach the disk or the model.

use std::path::PathBuf;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::json;

use crate::home::{Home, files_with, stderr, stdout};

const KEY: &str = "sk-planted-key-0123456789";
const TOKEN: &str = "token-planted-in-settings-42";
const VARIABLE: &str = "planted-in-the-environment-7";

#[tokio::test]
async fn sess_13_planted_secrets_never_reach_the_store_or_the_model() {
    let home = Home::new();
    let command = "printf '%s %s\\n' \"$MY_TOKEN\" \"$DB_PASSWORD\"; \
                   printf '{\"apiKey\": \"%s\"}' \"$MY_TOKEN\"";
    let scenario = Scenario::reply(Reply::new().tool("Bash", json!({"command": command})))
        .then(Failure::status(400, format!("your key {KEY} is no good")));
    let mock = MockServer::start(scenario).await.unwrap();
    let hook =
        json!([{"hooks": [{"type": "command", "command": "echo \"context $DB_PASSWORD\""}]}]);
    let settings = json!({
        "permissions": {"allow": ["Bash(printf *)"], "defaultMode": "bypassPermissions"},
        "env": {"MY_TOKEN": TOKEN},
        "hooks": {"UserPromptSubmit": hook, "SessionStart": hook},
        "currentProvider": "p",
        "providers": {"p": {"type": "anthropic", "apiKey": KEY, "baseURL": mock.origin()}},
    });
    home.write("home/.robota/settings.json", settings);
    let args = ["-p", "go", "--output-format", "events", "--debug"];
    let output = home.robota(&args, &[("DB_PASSWORD", VARIABLE)]).await;
    let printed = stdout(&output) + &stderr(&output);
    let received = mock.received();
    assert_eq!(received.len(), 2, "{printed}");
    let told = String::from_utf8_lossy(&received[1].body).into_owned();
    assert!(told.contains("[REDACTED]"), "the command ran and its output was told: {told}");
    for secret in [KEY, TOKEN, VARIABLE] {
        assert_eq!(files_with(secret, &home.path("project")), Vec::<PathBuf>::new(), "{secret}");
        assert!(!printed.contains(secret), "{secret}: {printed}");
        for request in &received {
            let body = String::from_utf8_lossy(&request.body);
            assert!(!body.contains(secret), "{secret}: {body}");
        }
    }
}
