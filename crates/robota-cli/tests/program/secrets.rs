//! Secrets planted everywhere a program can find them never reach the disk or the model.

use std::path::PathBuf;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::json;

use crate::home::{Home, files_with, stderr, stdout};

const KEY: &str = "sk-planted-key-0123456789";
const TOKEN: &str = "token-planted-in-settings-42";
const VARIABLE: &str = "planted-in-the-environment-7";

/// A long output with secrets everywhere, in particular where pieces of it end: what is told and
/// what is kept has none, and the model can read what it was not told.
#[tokio::test]
async fn sess_13_long_output_is_kept_without_secrets_and_can_be_read() {
    let home = Home::new();
    // Lines of 100 bytes, each with the secret at another place of a pipe's pieces; in two writes.
    let command = "for i in $(seq 60000 64999); do printf '%s ' $i; printf '%s' \"${MY_TOKEN:0:9}\"; \
                   printf '%s\\n' \"${MY_TOKEN:9}\"; done; exit 3";
    let whole: String = (60000..65000).map(|i| format!("{i} [REDACTED]\n")).collect();
    let blob = robota_core::message::BlobRef::of(whole.as_bytes());
    let name = format!("output:{}-{}", blob.sha256, blob.bytes);
    let read = |offset: usize| json!({"output": name, "offset": offset, "limit": 170});
    let scenario = Scenario::reply(Reply::new().tool("Bash", json!({"command": command})))
        .then(Reply::new().tool("ReadOutput", read(15_000)))
        .then("Done.");
    let mock = MockServer::start(scenario).await.unwrap();
    let settings = json!({
        "permissions": {"defaultMode": "bypassPermissions"},
        "env": {"MY_TOKEN": TOKEN},
        "currentProvider": "p",
        "providers": {"p": {"type": "anthropic", "apiKey": KEY, "baseURL": mock.origin()}},
    });
    home.write("home/.robota/settings.json", settings);
    let output = home.robota(&["-p", "Look.", "--output-format", "events"], &[]).await;
    assert!(output.status.success(), "{output:?}");
    let events: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let finished: Vec<_> = events.iter().filter(|event| event["type"] == "tool_finished").collect();
    let text = |at: usize| {
        finished[at]["data"]["outcome"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    // One cut, one note, and what is said about the end.
    let told = text(0);
    assert!(told.starts_with(&whole[..15_000]), "{told}");
    assert!(
        told.ends_with(&format!("{}[exit code 3]\n", &whole[whole.len() - 14_990..])),
        "{told}"
    );
    let cut = format!("[... {} of {} bytes are left out.", whole.len() - 30_000, whole.len());
    assert_eq!((told.matches(&cut).count(), told.matches("[...").count()), (1, 1), "{told}");
    assert!(told.contains(&format!("{{\"output\": \"{name}\", \"offset\": 15000}}")), "{told}");
    assert!(text(1).starts_with(&whole[15_000..15_170]), "{}", text(1));
    let spilled = &finished[0]["data"]["outcome"]["metadata"]["spilled"];
    assert_eq!(spilled["sha256"], blob.sha256);
    let received = mock.received();
    for secret in [KEY, TOKEN, &TOKEN[..9], &TOKEN[9..]] {
        // What is cut by how it is shown may not be told either.
        assert_eq!(files_with(secret, &home.path("project")), Vec::<PathBuf>::new(), "{secret}");
        assert!(
            !received
                .iter()
                .any(|request| { String::from_utf8_lossy(&request.body).contains(secret) })
        );
    }
}

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
