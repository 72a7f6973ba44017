//! Secrets planted everywhere a program can find them never reach the disk or the model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::json;

const KEY: &str = "sk-planted-key-0123456789";
const TOKEN: &str = "token-planted-in-settings-42";
const VARIABLE: &str = "planted-in-the-environment-7";

fn files_with(text: &str, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(text, &path));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn sess_13_planted_secrets_never_reach_the_store_or_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let (home, project) = (dir.path().join("home"), dir.path().join("project"));
    std::fs::create_dir_all(home.join(".robota")).unwrap();
    std::fs::create_dir_all(&project).unwrap();
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
    std::fs::write(home.join(".robota/settings.json"), settings.to_string()).unwrap();
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_robota"))
        .current_dir(&project)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &home)
        .env("DB_PASSWORD", VARIABLE)
        .args(["-p", "go", "--output-format", "events", "--debug"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let printed = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let received = mock.received();
    assert_eq!(received.len(), 2, "{printed}");
    let told = String::from_utf8_lossy(&received[1].body).into_owned();
    assert!(told.contains("[REDACTED]"), "the command ran and its output was told: {told}");
    for secret in [KEY, TOKEN, VARIABLE] {
        assert_eq!(files_with(secret, &project), Vec::<PathBuf>::new(), "{secret}");
        assert!(!printed.contains(secret), "{secret}: {printed}");
        for request in &received {
            let body = String::from_utf8_lossy(&request.body);
            assert!(!body.contains(secret), "{secret}: {body}");
        }
    }
}
