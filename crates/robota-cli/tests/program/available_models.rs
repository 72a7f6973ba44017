//! `availableModels`: which models a run may use.

use robota_testkit::mock::{MockServer, Scenario};
use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};
use crate::host::Host;

const LIST: &str = r#"{"availableModels": ["haiku", "claude-opus-4-5"]}"#;

fn home(settings: &str) -> Home {
    let home = Home::new();
    home.write("home/.claude/settings.json", settings);
    home
}

async fn run(home: &Home, args: &[&str]) -> (std::process::Output, Vec<Value>) {
    let mock = MockServer::start(Scenario::reply("Hi.").looped()).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", "sk-test-0123456789")];
    let output = home.robota(&[&["-p", "hi"], args].concat(), &variables).await;
    let sent = mock.calls().iter().map(|call| call.json["model"].clone()).collect();
    (output, sent)
}

#[tokio::test]
async fn a_model_outside_of_the_list_is_refused_with_the_list_and_its_file() {
    let home_of_model =
        |model: &str| home(&json!({"availableModels": ["haiku"], "model": model}).to_string());
    for (home, args) in [
        (home(LIST), &["--model", "claude-sonnet-4-5"][..]),
        (home(LIST), &["--model", "sonnet"]),
        (home(LIST), &["--model", "anthropic/claude-sonnet-4-5"]),
        (home(LIST), &["--model", "haiku", "--fallback-model", "sonnet"]),
        (home_of_model("opus"), &[]),
        (home_of_model("claude-sonnet-4-5"), &["--provider", "anthropic"]),
    ] {
        let (output, sent) = run(&home, args).await;
        let said = stderr(&output);
        assert_eq!((output.status.code(), sent), (Some(3), vec![]), "{args:?}: {said}");
        assert!(said.contains("is not in `availableModels`"), "{args:?}: {said}");
        assert!(said.contains("settings.json:1") && said.contains("available: haiku"), "{said}");
    }
}

#[tokio::test]
async fn a_model_of_the_list_is_used_and_a_run_without_one_gets_the_first() {
    for (args, model) in [
        (&["--model", "claude-haiku-4-5-20251001"][..], "claude-haiku-4-5-20251001"),
        (&["--model", "claude-opus-4-5"], "claude-opus-4-5"),
        (&["--model", "haiku"], "claude-haiku-5-5"),
        (&[], "claude-haiku-5-5"),
    ] {
        let (output, sent) = run(&home(LIST), args).await;
        assert_eq!(sent, [json!(model)], "{args:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
    // The other fallbacks of the settings are used.
    let home = home(r#"{"availableModels": ["haiku"], "fallbackModel": ["opus", "haiku"]}"#);
    let (output, sent) = run(&home, &["--model", "claude-haiku-4-5"]).await;
    let said = stderr(&output);
    assert_eq!((output.status.code(), sent), (Some(0), vec![json!("claude-haiku-4-5")]), "{said}");
    assert!(said.contains("the setting fallbackModel: the model `claude-opus"), "{said}");
}

#[tokio::test]
async fn lists_of_models_show_only_those_of_the_list() {
    let output = home(LIST).robota(&["models", "--all", "--json"], &[]).await;
    let lists: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let lists = lists.as_array().unwrap().iter();
    let ids = lists.flat_map(|list| list["models"]["entries"].as_array().unwrap().clone());
    let ids: Vec<_> = ids.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    let listed = |id: &String| id.contains("haiku") || id.contains("opus-4-5");
    assert!(!ids.is_empty() && ids.iter().all(listed), "{ids:?}");
}

#[test]
fn a_host_cannot_change_to_another_model() {
    let home = home(LIST);
    let mut host = Host::start(&home, "- Hi.", &["--model", "haiku"]);
    host.say("hi");
    host.until("result");
    let answer = host.request(&json!({"subtype": "set_model", "model": "claude-sonnet-4-5"}));
    assert_eq!(answer["subtype"], "error", "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("`availableModels`"), "{answer}");
    let answer = host.request(&json!({"subtype": "set_model", "model": "claude-opus-4-5"}));
    assert_eq!(answer["subtype"], "success", "{answer}");
    let answer = host.request(&json!({"subtype": "list_models"}));
    let models = answer["response"]["models"].as_array().unwrap().clone();
    let other = |model: &&Value| model["value"].as_str().is_some_and(|id| id.contains("sonnet"));
    assert!(!models.iter().any(|model| other(&model)), "{answer}");
    host.finish();
}
