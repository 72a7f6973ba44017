//! The real program against a mock model service: four wires, and every way to select a provider.

use std::path::PathBuf;
use std::process::Output;

use robota_testkit::mock::{Failure, MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::home::{Home, files_with, stderr, stdout};

const KEY: &str = "sk-test-0123456789abcdef";

/// Returns a home whose project has a file `notes.txt`.
fn home_with_notes() -> Home {
    let home = Home::new();
    home.write("project/notes.txt", "hello\n");
    home
}

fn scenario() -> Scenario {
    Scenario::reply(Reply::new().tool("Read", json!({"file_path": "notes.txt"})))
        .then(Reply::new().pieces(["They say ", "hello."]))
}

fn result(output: &Output) -> Value {
    serde_json::from_str(stdout(output).lines().last().unwrap_or_default())
        .unwrap_or_else(|_| panic!("no JSON: {} {}", stdout(output), stderr(output)))
}

/// (variable of the address, variable of the key, path after the origin, path of requests)
const WIRES: [(&str, &str, &str, &str); 4] = [
    ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "", "/v1/messages"),
    ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", "/v1/"),
    ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "", "streamGenerateContent"),
    ("GROQ_BASE_URL", "GROQ_API_KEY", "/v1", "/v1/chat/completions"),
];

#[tokio::test]
async fn cli_02_variables_select_the_provider_and_every_wire_runs_a_turn() {
    for (address, key, below, expected) in WIRES {
        let home = home_with_notes();
        let mock = MockServer::start(scenario()).await.unwrap();
        let base = format!("{}{below}", mock.origin());
        let mut args = vec!["-p", "What do my notes say?", "--output-format", "json"];
        if key == "GROQ_API_KEY" {
            args.extend(["--model", "groq/some-model"]);
        }
        let output = home.robota(&args, &[(address, &base), (key, KEY)]).await;
        let result = result(&output);
        assert_eq!(result["result"], "They say hello.", "{key}: {}", stderr(&output));
        assert_eq!((&result["num_turns"], output.status.code()), (&json!(2), Some(0)));
        let received = mock.received();
        assert_eq!(received.len(), 2, "{key}");
        assert!(received.iter().all(|request| request.path.contains(expected)), "{received:?}");
        assert_eq!(received[0].connection, received[1].connection, "{key}: one connection is kept");
        assert_eq!(files_with(KEY, &home.path("project")), Vec::<PathBuf>::new(), "{key}");
    }
}

#[tokio::test]
async fn sdk_11_a_profile_of_the_settings_selects_vendor_model_address_and_key() {
    let home = home_with_notes();
    let mock = MockServer::start(scenario()).await.unwrap();
    let settings = json!({
        "currentProvider": "mine",
        "vendors": {"house": {"name": "House model", "wire": "chat-completions", "default_model": "h1"}},
        "providers": {
            "mine": {"type": "house", "apiKey": "$ENV:HOUSE", "baseURL": format!("{}/v1", mock.origin())},
        },
    });
    std::fs::write(home.path("home/.robota/settings.json"), settings.to_string()).unwrap();
    let args = ["-p", "go", "--output-format", "json"];
    let output = home.robota(&args, &[("HOUSE", KEY)]).await;
    assert_eq!(result(&output)["result"], "They say hello.", "{}", stderr(&output));
    let received = mock.received();
    assert_eq!(received[0].json["model"], "h1", "the vendor's default");
    let sent = received[0].header("authorization").unwrap().to_owned();
    assert_eq!(sent, format!("Bearer {KEY}"));
    let unset = home.robota(&args, &[]).await;
    assert_eq!(unset.status.code(), Some(3));
    assert!(stderr(&unset).contains("HOUSE"), "{}", stderr(&unset));
}

#[tokio::test]
async fn cli_02_without_a_provider_the_error_lists_the_variables_to_set() {
    let home = home_with_notes();
    let output = home.robota(&["-p", "hi"], &[]).await;
    assert_eq!(output.status.code(), Some(3));
    let errors = stderr(&output);
    for part in ["export ANTHROPIC_API_KEY=", "export OPENAI_API_KEY=", "Ollama", "robota demo"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    let args = ["-p", "hi", "--provider", "nobody", "--output-format", "json"];
    let unknown = home.robota(&args, &[]).await;
    assert_eq!(unknown.status.code(), Some(2));
    assert_eq!(result(&unknown)["is_error"], true, "a usage error is JSON as well");
    assert!(stderr(&unknown).contains("anthropic (claude)"), "{}", stderr(&unknown));
    let keyless = home.robota(&["-p", "hi", "--provider", "openai"], &[]).await;
    assert_eq!(keyless.status.code(), Some(3));
    assert!(stderr(&keyless).contains("OPENAI_API_KEY"), "{}", stderr(&keyless));
}

#[tokio::test]
async fn cli_03_a_retry_is_reported_on_standard_error() {
    let home = home_with_notes();
    let busy = Failure::status(529, "Overloaded, come back.").retry_after("0");
    let mock = MockServer::start(Scenario::reply(busy).then("Here.")).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let output = home.robota(&["-p", "hi"], &variables).await;
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Here.\n"));
    let errors = stderr(&output);
    assert!(
        errors.contains("Overloaded, come back.") && errors.contains(". Retrying in "),
        "{errors}"
    );
}

#[tokio::test]
async fn cli_02_doctor_probes_and_models_lists() {
    let home = home_with_notes();
    let scenario =
        Scenario::reply(Reply::new().tool("ping", json!({}))).then(Failure::status(401, "bad key"));
    let mock = MockServer::start(scenario).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let report = |output: &Output| -> Value { serde_json::from_str(&stdout(output)).unwrap() };
    let well = home.robota(&["doctor", "--json"], &variables).await;
    assert_eq!(well.status.code(), Some(0), "{} {}", stdout(&well), stderr(&well));
    let found = report(&well);
    let model = found["checks"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&found["ok"], &model["probe"]["calls_tools"]), (&json!(true), &json!(true)));
    let ill = home.robota(&["doctor", "--json"], &variables).await;
    assert_eq!((ill.status.code(), &report(&ill)["ok"]), (Some(1), &json!(false)));
    assert!(!stdout(&ill).contains(KEY) && !stderr(&ill).contains(KEY));

    let models = home.robota(&["models", "--json"], &variables).await;
    assert_eq!(report(&models)[0]["models"]["status"], "live", "{}", stdout(&models));
    let all = home.robota(&["models", "--all"], &[]).await;
    assert!(stdout(&all).contains("Mistral AI (mistral)"), "{}", stdout(&all));
}

#[tokio::test]
async fn models_of_a_local_server_are_listed_without_any_configuration() {
    let home = home_with_notes();
    let mock = MockServer::start(Scenario::reply("unused")).await.unwrap();
    let settings = json!({
        "vendors": {"here": {"extends": "ollama", "base_url": format!("{}/v1", mock.origin())}},
        // A model that the server does not have must not hide its list.
        "model": "another-model",
    });
    home.write("home/.robota/settings.json", settings);
    let models = home.robota(&["models", "--json"], &[]).await;
    assert_eq!(models.status.code(), Some(0), "{}", stderr(&models));
    let lists: Value = serde_json::from_str(&stdout(&models)).unwrap();
    assert_eq!(
        (&lists[0]["provider"], &lists[0]["models"]["status"]),
        (&json!("here"), &json!("live")),
        "{lists}"
    );
}

/// Two services with keys and addresses of their own.
async fn two_services() -> (MockServer, MockServer) {
    let claude = MockServer::start(Scenario::reply("I am Claude.")).await.unwrap();
    let gpt = MockServer::start(Scenario::reply("I am GPT.")).await.unwrap();
    (claude, gpt)
}

#[tokio::test]
async fn cli_02_a_model_goes_to_the_company_that_makes_it() {
    let home = home_with_notes();
    let (claude, gpt) = two_services().await;
    let (claude_url, gpt_url) = (claude.origin(), format!("{}/v1", gpt.origin()));
    let variables = [
        ("ANTHROPIC_BASE_URL", &*claude_url),
        ("ANTHROPIC_API_KEY", KEY),
        ("OPENAI_BASE_URL", &*gpt_url),
        ("OPENAI_API_KEY", KEY),
    ];
    for (model, answer) in [("gpt-6.1-sol", "I am GPT.\n"), ("claude-opus-5-5", "I am Claude.\n")] {
        let output = home.robota(&["-p", "who?", "--model", model], &variables).await;
        assert_eq!(stdout(&output), answer, "{}", stderr(&output));
    }
    // The program does not guess which service has an unknown model.
    let unknown = home.robota(&["-p", "who?", "--model", "house-model"], &variables).await;
    assert_eq!(unknown.status.code(), Some(3));
    assert!(stderr(&unknown).contains("openai/house-model"), "{}", stderr(&unknown));
    // Only another company is configured.
    let other = home.robota(&["-p", "who?", "--model", "gpt-6.1-sol"], &variables[1..2]).await;
    assert_eq!(other.status.code(), Some(3));
    assert!(stderr(&other).contains("OPENAI_API_KEY"), "{}", stderr(&other));
    assert_eq!((claude.received().len(), gpt.received().len()), (1, 1), "nothing else was sent");
}

#[tokio::test]
async fn cli_02_an_image_that_a_tool_reads_reaches_the_model() {
    let home = Home::new();
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0"[..], &[0; 32]]
        .concat();
    std::fs::write(home.path("project/dot.png"), png).unwrap();
    let scenario =
        Scenario::reply(Reply::new().tool("Read", json!({"file_path": "dot.png"}))).then("A dot.");
    let mock = MockServer::start(scenario).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let output = home.robota(&["-p", "what is it?"], &variables).await;
    assert_eq!(stdout(&output), "A dot.\n", "{}", stderr(&output));
    let sent = mock.received()[1].json["messages"].to_string();
    assert!(sent.contains("image/png") && !sent.contains("not available"), "{sent}");
}

#[tokio::test]
async fn cli_02_the_settings_limit_retries() {
    let home = home_with_notes();
    home.write("home/.robota/settings.json", json!({"retry": {"budget": 0}}));
    let busy = Failure::status(529, "Overloaded.");
    let mock = MockServer::start(Scenario::reply(busy).then("Late.")).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let output = home.robota(&["-p", "hi"], &variables).await;
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(mock.received().len(), 1, "{}", stderr(&output));
}

#[tokio::test]
async fn cli_03_the_retry_budget_is_a_flag() {
    let home = home_with_notes();
    let busy = Scenario::reply(Failure::status(529, "Overloaded")).looped();
    let mock = MockServer::start(busy).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let output = home.robota(&["-p", "hi", "--retry-budget", "0"], &variables).await;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(mock.received().len(), 1, "no retry");
}

#[tokio::test]
async fn sdk_26_web_tools_of_the_service_are_flags() {
    let home = home_with_notes();
    let mock = MockServer::start(Scenario::reply(Reply::new().text("Hello."))).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let output = home.robota(&["-p", "hi", "--native-web", "search"], &variables).await;
    assert_eq!(stdout(&output), "Hello.\n", "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&mock.received()[0].body).contains("web_search"));
    // A service that cannot do it is refused before anything is sent.
    let variables = [("GROQ_BASE_URL", &*origin), ("GROQ_API_KEY", KEY)];
    let args = ["-p", "hi", "--model", "groq/some-model", "--native-web", "search"];
    let output = home.robota(&args, &variables).await;
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("web search"), "{}", stderr(&output));
    assert_eq!(mock.received().len(), 1);
}
