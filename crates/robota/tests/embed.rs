//! The API as an embedding program uses it: one crate, a few lines.
#![cfg(all(feature = "scripted", feature = "session", feature = "store"))]

use std::sync::Arc;

use robota::core::event::TurnStatus;
use robota::core::journal::{JournalStore, MemoryStore};
use robota::core::plugin::{MemoryStorage, UsagePlugin};
use robota::core::provider::{ModelRequest, StopReason};
use robota::core::tool::ToolOutcome;
use robota::core::typed::{MAX_REPAIRS, TypedError};
use robota::core::usage::Usage;
use robota::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use robota::session::Callbacks;
use robota::{Agent, Session, SessionError, Tool as _, ToolContext, TurnEnd};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Returns the weather of a city.
#[robota::tool(class = Inspect)]
async fn weather(
    /// The name of the city.
    city: String,
    days: Option<u8>,
) -> Result<String, String> {
    match days {
        Some(0) => Err("days must be at least 1".to_owned()),
        days => Ok(format!("Sunny in {city} for {} days.", days.unwrap_or(1))),
    }
}

/// Says which call this is.
#[robota::tool(name = "WhoAmI", class = robota::Class::Modify)]
async fn who(context: ToolContext) -> ToolOutcome {
    ToolOutcome::ok(context.call.to_string())
}

#[tokio::test]
async fn a_tool_is_an_async_function() {
    let tool = weather();
    let spec = tool.spec();
    assert_eq!((spec.name.as_str(), spec.class), ("weather", robota::Class::Inspect));
    assert_eq!(spec.description, "Returns the weather of a city.");
    let properties = &spec.input_schema["properties"];
    assert_eq!(properties["city"]["description"], "The name of the city.");
    assert_eq!(spec.input_schema["required"], json!(["city"]));
    let run = async |input| tool.run(input, ToolContext::detached()).await;
    assert_eq!(run(json!({"city": "Rome", "days": 2})).await.text(), "Sunny in Rome for 2 days.");
    let failed = run(json!({"city": "Rome", "days": 0})).await;
    assert!(!failed.ok);
    assert_eq!(failed.text(), "days must be at least 1");
    for wrong in [json!({}), json!({"city": 3}), json!({"city": "Rome", "day": 1})] {
        assert!(tool.check(&wrong).is_err(), "{wrong}");
    }
    let tool = who();
    assert_eq!((tool.spec().name.as_str(), tool.spec().class), ("WhoAmI", robota::Class::Modify));
    let context = ToolContext::detached();
    let call = context.call.to_string();
    assert_eq!(tool.run(json!({}), context).await.text(), call);
}

/// Names that a program may use itself, next to its tools.
mod names {
    use robota::{Json, Tool as _, ToolContext};
    use serde_json::json;

    #[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
    struct Arguments {
        words: Vec<String>,
    }

    async fn run(words: usize) -> usize {
        words + 1
    }

    /// Counts words.
    #[robota::tool(class = Inspect)]
    async fn count(arguments: Arguments, context: u8) -> usize {
        run(arguments.words.len()).await + usize::from(context)
    }

    /// Repeats the words.
    #[robota::tool(class = Inspect)]
    async fn r#match(r#type: Option<String>, arguments: Arguments) -> Json<Arguments> {
        Json(Arguments { words: r#type.into_iter().chain(arguments.words).collect() })
    }

    /// Does nothing.
    #[robota::tool]
    async fn nothing(fail: bool) -> Result<(), String> {
        if fail { Err("as asked".to_owned()) } else { Ok(()) }
    }

    #[tokio::test]
    async fn a_tool_may_use_the_names_of_the_program() {
        let words = json!({"words": ["a"]});
        let input = json!({"arguments": words, "context": 3});
        assert_eq!(count().run(input, ToolContext::detached()).await.text(), "5");

        let tool = r#match();
        assert_eq!(tool.spec().name, "match");
        assert!(tool.spec().input_schema["properties"]["type"].is_object());
        let input = json!({"type": "b", "arguments": words});
        let outcome = tool.run(input, ToolContext::detached()).await;
        assert_eq!(outcome.text(), r#"{"words":["b","a"]}"#);

        let done = nothing().run(json!({"fail": false}), ToolContext::detached()).await;
        assert_eq!((done.ok, done.text().as_str()), (true, "Done."));
        let failed = nothing().run(json!({"fail": true}), ToolContext::detached()).await;
        assert_eq!((failed.ok, failed.text().as_str()), (false, "as asked"));
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Grade {
    #[schemars(range(min = 1, max = 6))]
    grade: u8,
}

#[tokio::test]
async fn a_typed_answer_obeys_the_bounds_of_its_type() {
    let model =
        ScriptedProvider::new(Script::new().text(r#"{"grade": 0}"#).text(r#"{"grade": 1}"#));
    let mut agent = Agent::builder(model.clone(), "m").build().unwrap();
    assert_eq!(agent.run_as::<Grade>("Which grade?").await.unwrap().grade, 1);
    let repair = model.requests()[1].messages.last().unwrap().text();
    assert!(repair.contains("`grade` must be at least 1, not 0"), "{repair}");
}

fn model() -> ScriptedProvider {
    let calls =
        ScriptedAnswer::new().tool("weather", json!({"city": "Rome"})).usage(Usage::new(20, 4));
    let says = ScriptedAnswer::new().text("It is sunny.").usage(Usage::new(30, 6));
    ScriptedProvider::new(Script::new().answer(calls).answer(says).text("Still here."))
}

#[tokio::test]
async fn open_creates_a_session_and_later_resumes_it() {
    let store: Arc<dyn JournalStore> = Arc::new(MemoryStore::new());
    let builder = Session::builder(model(), "some-model").tool(weather());

    let session = builder.clone().open(store.clone(), "desk").await.unwrap();
    let reply = session.reply("How is the weather in Rome?").await.unwrap();
    assert_eq!(reply.text, "It is sunny.");
    assert_eq!((reply.rounds, reply.tools_executed), (2, 1));
    assert_eq!(reply.usage, Usage::new(50, 10));
    assert_eq!(reply.stop, Some(StopReason::EndTurn));
    assert_eq!(reply.cost, None, "the catalogue does not know this model");

    // One process at a time; and shutting down twice is fine.
    let taken = builder.clone().open(store.clone(), "desk").await.err().unwrap();
    assert!(matches!(taken, SessionError::Journal(_)), "{taken}");
    session.shutdown("done").await.unwrap();
    session.shutdown("done").await.unwrap();

    let again = builder.open(store, "desk").await.unwrap();
    assert_eq!(again.run("Are you there?").await.unwrap(), "Still here.");
    assert_eq!(again.context().messages().await.unwrap().len(), 6);
}

#[tokio::test]
async fn a_session_has_plugins_and_callbacks() {
    let usage = Arc::new(UsagePlugin::new(MemoryStorage::default()));
    let model = ScriptedProvider::new(Script::new().text("Hello!"));
    let session = Session::builder(model, "m")
        .plugin(usage.clone())
        .callbacks(Callbacks::new())
        .open(MemoryStore::new(), "desk")
        .await
        .unwrap();
    session.run("Hi").await.unwrap();
    session.shutdown("done").await.unwrap();
    assert_eq!(usage.totals().unwrap().runs, 1);
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
    people: u64,
}

#[tokio::test]
async fn an_answer_can_have_a_type_and_is_repaired() {
    let script = || {
        Script::new()
            .text("It is Rome.")
            .text(r#"{"name": "Rome"}"#)
            .text("```json\n{\"name\": \"Rome\", \"people\": 3}\n```")
    };
    let rome = City { name: "Rome".to_owned(), people: 3 };

    let model = ScriptedProvider::new(script());
    let store = Arc::new(MemoryStore::new());
    let session = Session::builder(model.clone(), "m").open(store, "s").await.unwrap();
    // The future can be spawned.
    let run = tokio::spawn(async move { session.run_as::<City>("Which city?").await });
    assert_eq!(run.await.unwrap().unwrap(), rome);
    let asked: Vec<_> =
        model.requests().iter().map(|request| request.messages.last().unwrap().text()).collect();
    assert!(asked[0].starts_with("Which city?") && asked[0].contains("\"people\""), "{}", asked[0]);
    assert!(asked[1].contains("not JSON"), "{}", asked[1]);
    assert!(asked[2].contains("people"), "{}", asked[2]);
    let enforced = |request: &ModelRequest| {
        request
            .output
            .as_ref()
            .is_some_and(|output| output.schema["properties"]["people"].is_object())
    };
    assert!(model.requests().iter().all(enforced), "services that can enforce the form get it");

    let mut agent = Agent::builder(ScriptedProvider::new(script()), "m").build().unwrap();
    let run = tokio::spawn(async move { agent.run_as::<City>("Which city?").await });
    assert_eq!(run.await.unwrap().unwrap(), rome);
}

#[tokio::test]
async fn a_typed_answer_that_never_fits_is_an_error() {
    let model = ScriptedProvider::new(Script::new().text("No.").looped());
    let mut agent = Agent::builder(model.clone(), "m").build().unwrap();
    let error = agent.run_as::<City>("Which city?").await.unwrap_err();
    let attempts = MAX_REPAIRS + 1;
    assert!(matches!(error, TypedError::Mismatch { attempts: tried, .. } if tried == attempts));
    assert_eq!(model.requests().len(), attempts as usize);
    let session = Session::builder(model, "m").open(MemoryStore::new(), "s").await.unwrap();
    let error = session.run_as::<City>("Which city?").await.unwrap_err();
    assert!(matches!(error, SessionError::Typed(_)), "{error}");
}

#[tokio::test]
async fn a_typed_run_that_the_model_refuses_says_so() {
    let answer = || ScriptedAnswer::new().text("I will not.").stop(StopReason::Refusal);
    let model = ScriptedProvider::new(Script::new().answer(answer()).looped());
    let mut agent = Agent::builder(model.clone(), "m").build().unwrap();
    let error = agent.run_as::<City>("Which city?").await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, TypedError::Refused { .. }), "{text}");
    assert!(text.contains("I will not."), "{text}");
    assert_eq!(model.requests().len(), 1, "a refusal is not repaired");
    let session = Session::builder(model, "m").open(MemoryStore::new(), "s").await.unwrap();
    let error = session.run_as::<City>("Which city?").await.unwrap_err();
    assert!(matches!(error, SessionError::Typed(TypedError::Refused { .. })), "{error}");
}

#[tokio::test]
async fn a_report_says_what_a_run_cost_and_why_it_stopped() {
    let answer = ScriptedAnswer::new()
        .text("Hi.")
        .usage(Usage::new(1_000_000, 0))
        .stop(StopReason::MaxTokens);
    let model = ScriptedProvider::new(Script::new().answer(answer));
    let known = robota::core::catalogue::Catalogue::builtin()
        .models()
        .find(|model| model.prices.is_some())
        .unwrap()
        .id
        .clone();
    let mut agent = Agent::builder(model, known)
        .configure(|config| config.turn.max_continues = 0)
        .build()
        .unwrap();
    let report = agent.run("Hello").await;
    assert_eq!((report.end, report.status()), (TurnEnd::Complete, TurnStatus::Limit));
    assert_eq!(report.stop, Some(StopReason::MaxTokens));
    assert!(report.cost.is_some_and(|cost| cost > 0.0));
}

/// A store of files reads in blocking threads of the runtime, of which there may be only one.
#[test]
fn a_session_whose_state_is_read_early_needs_one_blocking_thread() {
    use robota::session::{EarlyLoad, Resume};
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn JournalStore> = Arc::new(robota::FileStore::new(folder.path()));
    let builder = || {
        let model = ScriptedProvider::new(Script::new().text("Done."));
        Session::builder(Arc::new(model), "any-model")
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let session = builder().create(Arc::clone(&store), None).await.unwrap();
        session.run("First").await.unwrap();
        session.shutdown("end").await.unwrap();
        let early = EarlyLoad::start(Arc::clone(&store), session.id().clone());
        let resumed = builder().resume_loaded(store, session.id(), Resume::default(), Some(early));
        let resumed = resumed.await.unwrap();
        assert_eq!(resumed.context().messages().await.unwrap().len(), 2);
    });
}
