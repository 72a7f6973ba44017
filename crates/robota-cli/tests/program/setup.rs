//! `robota setup`: with arguments, and with a user at a terminal.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::home::{Home, files_with, stderr, stdout};

const KEY: &str = "sk-test-0123456789abcdef";

/// Answers the check of `setup` by a call of the tool that it asks for, then prompts.
fn scenario() -> Scenario {
    Scenario::reply(Reply::new().text("ready")).then(Reply::new().text("Hello."))
}

fn settings(home: &Home) -> Value {
    let text = std::fs::read_to_string(home.path("home/.robota/settings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn cli_02_setup_stores_the_key_for_later_runs() {
    let home = Home::new();
    let mock = MockServer::start(scenario()).await.unwrap();
    let origin = mock.origin();
    let args = ["setup", "--provider", "anthropic", "--key-stdin", "--base-url", &origin];
    let mut command = home.command(&args);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{KEY}\n").as_bytes()).unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let output = output.await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stdout(&output).contains(KEY) && !stderr(&output).contains(KEY));
    let profile = &settings(&home)["providers"]["anthropic"];
    assert_eq!(profile["apiKey"], "$ENV:ANTHROPIC_API_KEY");
    assert_eq!(settings(&home)["currentProvider"], "anthropic");
    let files = files_with(KEY, &home.path("home"));
    assert_eq!(files, [home.path("home/.robota/keys.json")]);

    // A later run needs no variable, and commands do not get the key.
    let output = home.robota(&["-p", "hi"], &[]).await;
    assert_eq!(stdout(&output), "Hello.\n", "{}", stderr(&output));
    let received = mock.received();
    let sent = ("x-api-key".to_owned(), KEY.to_owned());
    assert!(received.last().unwrap().headers.contains(&sent));

    // No tool can read it, not even where the home folder is the workspace.
    let command = "base64 .robota/keys.json";
    let mut check = home.command(&["permissions", "check", command]);
    let output = check.current_dir(home.path("home")).output().unwrap();
    assert!(stdout(&output).contains("deny"), "{}", stdout(&output));

    // Another set-up for the same provider leaves nothing of the first.
    let args = ["setup", "--provider", "anthropic", "--no-probe", "--key-env", "K"];
    let output = home.robota(&args, &[("K", KEY)]).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let profile = &settings(&home)["providers"]["anthropic"];
    assert_eq!((&profile["apiKey"], &profile["baseURL"]), (&json!("$ENV:K"), &Value::Null));
}

#[tokio::test]
async fn cli_02_a_failed_check_changes_nothing() {
    let home = Home::new();
    let refuse = Scenario::reply(Failure::status(401, "invalid x-api-key"));
    let mock = MockServer::start(refuse).await.unwrap();
    let origin = mock.origin();
    let args = ["setup", "--provider", "anthropic", "--key-env", "MY_KEY", "--base-url", &origin];
    let output = home.robota(&args, &[("MY_KEY", KEY)]).await;
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("nothing was changed"), "{}", stderr(&output));
    assert!(!home.path("home/.robota/settings.json").exists());
}

/// `setup` tries the address that a run will use.
#[tokio::test]
async fn cli_02_setup_tries_the_address_of_the_variables() {
    let home = Home::new();
    let mock = MockServer::start(scenario()).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", origin.as_str()), ("ANTHROPIC_API_KEY", KEY)];
    let output = home.robota(&["setup", "--provider", "anthropic"], &variables).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(mock.calls().len(), 1);
    assert!(settings(&home)["providers"]["anthropic"].get("baseURL").is_none());
}

#[tokio::test]
async fn cli_02_setup_without_a_terminal_names_the_missing_argument() {
    let home = Home::new();
    for (args, missing) in [
        (&["setup"][..], "--provider is missing"),
        (&["setup", "--provider", "openai"], "--key-env or --key-stdin is missing"),
        (&["setup", "--provider", "custom"], "--base-url is missing"),
        (&["setup", "--provider", "nothing"], "unknown provider `nothing`"),
    ] {
        let output = home.robota(args, &[]).await;
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(missing), "{}", stderr(&output));
    }
    let args = ["setup", "--provider", "openai", "--key-env", "K", "--no-probe"];
    let output = home.robota(&args, &[("K", KEY)]).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(settings(&home)["providers"]["openai"]["apiKey"], "$ENV:K");
    assert_eq!(files_with(KEY, &home.path("home")).len(), 0);
}

#[test]
fn cli_02_the_keyring_keeps_a_key_by_the_tool_of_the_system() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new();
    let tool = r#"#!/bin/sh
case "$1" in store) cat > "$HOME/kept-$6" ;; lookup) cat "$HOME/kept-$5" ;; esac
"#;
    home.write("bin/secret-tool", tool);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(home.path("bin/secret-tool"), mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let args =
        ["setup", "--provider", "openai", "--key-stdin", "--key-in", "keyring", "--no-probe"];
    let mut child = home.command(&args).env("PATH", &path).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let kept = std::fs::read_to_string(home.path("home/kept-OPENAI_API_KEY")).unwrap();
    assert_eq!(kept, KEY);
    let keys = std::fs::read_to_string(home.path("home/.robota/keys.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&keys).unwrap(), json!({"OPENAI_API_KEY": "keyring"}));
    // Building the provider finds the key: what fails is the connection.
    let settings = home.path("home/.robota/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["providers"]["openai"]["baseURL"] = json!("http://127.0.0.1:9/v1");
    std::fs::write(&settings, value.to_string()).unwrap();
    let output = home.command(&["models"]).env("PATH", &path).output().unwrap();
    assert!(stderr(&output).contains("cannot connect"), "{}", stderr(&output));
}

/// A user chooses a provider by number, types a key that is not shown, and accepts the model.
#[cfg(target_os = "linux")]
#[test]
fn cli_02_setup_asks_a_user_at_a_terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let home = Home::new();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let open = || {
        let slave = std::fs::OpenOptions::new().read(true).write(true).open(&name).unwrap();
        Stdio::from(slave)
    };
    let mut child = home
        .command(&["setup", "--no-probe"])
        .stdin(open())
        .stdout(open())
        .stderr(open())
        .spawn()
        .unwrap();
    let mut terminal = std::fs::File::from(master);
    let mut shown = String::new();
    let mut answer = |question: &str, answer: &str| {
        let mut buffer = [0; 4096];
        while !shown.contains(question) {
            let count = terminal.read(&mut buffer).unwrap();
            shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        terminal.write_all(answer.as_bytes()).unwrap();
    };
    answer("Provider (number or name):", "anthropic\n");
    answer("API key (not shown):", &format!("{KEY}\n"));
    answer("Model [", "\n");
    answer("Try it:", "");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{shown}");
    assert!(!shown.contains(KEY), "{shown}");
    assert_eq!(settings(&home)["currentProvider"], "anthropic");
    assert_eq!(files_with(KEY, &home.path("home")).len(), 1);
}
