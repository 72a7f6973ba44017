//! The README's first program as two processes: the environment selects the provider, and the second
//! process continues the session of the first.
#![cfg(all(feature = "providers", feature = "session", feature = "store"))]
#![allow(clippy::unwrap_used, clippy::print_stdout)]
#![allow(clippy::disallowed_methods, reason = "the test is a program of its own")]

use std::process::{Output, Stdio};

use robota::Session;
use robota::store::FileStore;
use robota_testkit::mock::{MockServer, Scenario};

const STORE: &str = "ROBOTA_TEST_STORE";
const PROMPT: &str = "ROBOTA_TEST_PROMPT";

#[tokio::test]
async fn a_second_process_continues_the_session_that_the_first_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mock =
        MockServer::start(Scenario::reply("Hello, Ada.").then("You are Ada.")).await.unwrap();
    let origin = mock.origin();
    for (prompt, reply) in [("I am Ada.", "Hello, Ada."), ("Who am I?", "You are Ada.")] {
        let output = child(&[
            (STORE, folder.path().to_str().unwrap()),
            (PROMPT, prompt),
            ("ANTHROPIC_API_KEY", "sk-test"),
            ("ANTHROPIC_BASE_URL", &origin),
        ])
        .await;
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains(&format!("reply: {reply}")), "{text}");
    }
    let received = mock.received();
    assert_eq!(received.len(), 2);
    let second = received[1].json.to_string();
    for part in ["I am Ada.", "Hello, Ada.", "Who am I?"] {
        assert!(second.contains(part), "{second}");
    }
}

#[tokio::test]
async fn without_a_key_in_the_environment_connecting_is_an_error() {
    let output = child(&[(STORE, "unused"), (PROMPT, "hi")]).await;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("error: no API key of a known provider is set"), "{text}");
}

#[tokio::test]
async fn a_certificate_file_that_cannot_be_read_is_named() {
    let output = child(&[
        (STORE, "unused"),
        (PROMPT, "hi"),
        ("ANTHROPIC_API_KEY", "sk-test"),
        ("SSL_CERT_FILE", "/does/not/exist.pem"),
    ])
    .await;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("cannot read SSL_CERT_FILE=/does/not/exist.pem"), "{text}");
}

/// Runs [`program`] in a process whose environment has only these variables.
async fn child(variables: &[(&str, &str)]) -> Output {
    tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "program", "--ignored", "--nocapture"])
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap()
}

#[tokio::test]
#[ignore = "started by the tests of this file"]
async fn program() {
    match reply().await {
        Ok(text) => println!("reply: {text}"),
        Err(error) => println!("error: {error}"),
    }
}

async fn reply() -> Result<String, Box<dyn std::error::Error>> {
    let (provider, model) = robota::connect_from_env()?;
    let store = FileStore::new(std::env::var(STORE)?);
    let session = Session::builder(provider, model).open(store, "ada").await?;
    let text = session.run(std::env::var(PROMPT)?).await?;
    session.shutdown("done").await?;
    Ok(text)
}
