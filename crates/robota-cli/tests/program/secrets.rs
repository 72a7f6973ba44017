//! Secrets in settings, variables and output never reach the disk or the model.

use std::path::PathBuf;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::json;

use crate::home::{Home, files_with, stderr, stdout};

const KEY: &str = "sk-planted-key-0123456789";
const TOKEN: &str = "token-planted-in-settings-42";
const VARIABLE: &str = "planted-in-the-environment-7";

/// A long output with secrets everywhere, also across the borders of chunks: neither the result nor the
/// stored output has them, and the model can read the part that the result leaves out.
#[tokio::test]
async fn sess_13_long_output_is_stored_without_secrets_and_can_be_read() {
    let home = Home::new();
    // Many lines, so that the secret is at different places of the chunks of a pipe, and each secret in
    // two writes.
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
    // The result has one cut with one note, and ends with the exit code.
    let result = text(0);
    assert!(result.starts_with(&whole[..15_000]), "{result}");
    assert!(
        result.ends_with(&format!("{}[exit code 3]\n", &whole[whole.len() - 14_990..])),
        "{result}"
    );
    let cut = format!("[... {} of {} bytes are left out.", whole.len() - 30_000, whole.len());
    assert_eq!((result.matches(&cut).count(), result.matches("[...").count()), (1, 1), "{result}");
    assert!(result.contains(&format!("{{\"output\": \"{name}\", \"offset\": 15000}}")), "{result}");
    assert!(text(1).starts_with(&whole[15_000..15_170]), "{}", text(1));
    let spilled = &finished[0]["data"]["outcome"]["metadata"]["spilled"];
    assert_eq!(spilled["sha256"], blob.sha256);
    let received = mock.received();
    for secret in [KEY, TOKEN, &TOKEN[..9], &TOKEN[9..]] {
        // Parts of the secret must not appear either.
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
    let result = String::from_utf8_lossy(&received[1].body).into_owned();
    assert!(
        result.contains("[REDACTED]"),
        "the command ran and the model received its output: {result}"
    );
    for secret in [KEY, TOKEN, VARIABLE] {
        assert_eq!(files_with(secret, &home.path("project")), Vec::<PathBuf>::new(), "{secret}");
        assert!(!printed.contains(secret), "{secret}: {printed}");
        for request in &received {
            let body = String::from_utf8_lossy(&request.body);
            assert!(!body.contains(secret), "{secret}: {body}");
        }
    }
}

/// Commands and hooks get no secrets, unless a setting names them.
#[tokio::test]
async fn sess_13_secrets_are_not_passed_to_commands() {
    let home = Home::new();
    let show =
        "echo \"$OPENAI_API_KEY,$GITHUB_TOKEN,$MODEL_ACCESS,$DB_PASSWORD,$PLAIN\" | tee -a shown";
    let hook = json!([{"hooks": [{"type": "command", "command": show}]}]);
    let variables = [
        ("OPENAI_API_KEY", "sk-one-1234567"),
        ("GITHUB_TOKEN", "ghp-two-1234567"),
        ("MODEL_ACCESS", "three-1234567"),
        ("DB_PASSWORD", "four-1234567"),
        ("PLAIN", "plain"),
    ];
    let run = async |more: serde_json::Value| {
        let mock = MockServer::start(
            Scenario::reply(Reply::new().tool("Bash", json!({"command": show})))
                .then(Reply::new().text("Done.")),
        )
        .await
        .unwrap();
        let mut settings = json!({
            "permissions": {"defaultMode": "bypassPermissions"},
            "hooks": {"Stop": hook},
            "currentProvider": "p",
            "providers": {
                "p": {"type": "anthropic", "apiKey": "$ENV:MODEL_ACCESS", "baseURL": mock.origin()},
            },
        });
        for (key, value) in more.as_object().unwrap() {
            settings[key] = value.clone();
        }
        home.write("home/.robota/settings.json", settings);
        let output = home.robota(&["-p", "go"], &variables).await;
        assert!(output.status.success(), "{}", stderr(&output));
        let shown = std::fs::read_to_string(home.path("project/shown")).unwrap();
        std::fs::remove_file(home.path("project/shown")).unwrap();
        shown
    };
    assert_eq!(run(json!({})).await, ",,,,plain\n,,,,plain\n");
    let pass = run(json!({"passEnv": ["GITHUB_TOKEN", "MODEL_ACCESS"]})).await;
    assert_eq!(pass, ",ghp-two-1234567,three-1234567,,plain\n".repeat(2));
    let set = json!({"env": {"DB_PASSWORD": "five-1234567", "MODEL_ACCESS": "six-1234567"}});
    assert_eq!(
        run(set).await,
        ",,,five-1234567,plain\n".repeat(2),
        "a provider's key is not passed"
    );
}

/// Four variables of 100 KB each: all are redacted.
#[tokio::test]
async fn sess_13_very_large_secrets_are_redacted() {
    let home = Home::new();
    let large = ["a", "b", "c", "d"].map(|letter| letter.repeat(100_000));
    let command = "printf %s \"$MY_A_KEY\" | cut -c 1-100; printf '<%s>' \"$SMALL_TOKEN\"";
    let mock = MockServer::start(
        Scenario::reply(Reply::new().tool("Bash", json!({"command": command})))
            .then(Reply::new().text("Done.")),
    )
    .await
    .unwrap();
    home.write(
        "home/.robota/settings.json",
        json!({
            "permissions": {"defaultMode": "bypassPermissions"},
            "passEnv": ["*"],
            "currentProvider": "p",
            "providers": {"p": {"type": "anthropic", "apiKey": KEY, "baseURL": mock.origin()}},
        }),
    );
    let variables = [
        ("MY_A_KEY", &*large[0]),
        ("MY_B_KEY", &large[1]),
        ("MY_C_KEY", &large[2]),
        ("MY_D_KEY", &large[3]),
        ("SMALL_TOKEN", TOKEN),
    ];
    let output = home.robota(&["-p", "go", "--output-format", "events"], &variables).await;
    assert!(output.status.success(), "{}", stderr(&output));
    let body = String::from_utf8_lossy(&mock.received()[1].body).into_owned();
    assert!(body.contains("<[REDACTED]>"), "{body}");
    assert!(!stdout(&output).contains(TOKEN) && !body.contains(TOKEN));
}
