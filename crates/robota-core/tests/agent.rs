//! The ephemeral agent, its templates, its cache and its projections.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use robota_core::agent::{
    Agent, AgentFactory, AgentTemplate, Module, ModuleError, ModuleRegistry, RunOptions,
    TemplateError,
};
use robota_core::event::{Event, TurnEnd};
use robota_core::gate::AllowAll;
use robota_core::history::HistoryEntry;
use robota_core::ids::CountingIds;
use robota_core::message::{Message, Role};
use robota_core::permission::Class;
use robota_core::project::{ReplayProjection, TextUpdate};
use robota_core::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use robota_core::tool::{Tool, ToolOutcome};
use robota_testkit::{FakeClock, fn_tool};
use serde_json::{Value, json};

fn look() -> Arc<dyn Tool> {
    Arc::new(fn_tool("look", Class::Inspect, |_| async { ToolOutcome::ok("seen") }))
}

fn two_rounds() -> Script {
    Script::new()
        .answer(ScriptedAnswer::new().text("I look.").tool("look", json!({})))
        .text("All is well.")
}

fn agent(script: Script) -> Agent {
    Agent::builder(ScriptedProvider::new(script), "test-model")
        .tools([look()])
        .ids(CountingIds::default())
        .clock(FakeClock::fixed())
        .build()
        .unwrap()
}

#[tokio::test]
async fn core_29_an_agent_answers_and_remembers() {
    let mut agent = agent(two_rounds().text("You said hi."));
    let report = agent.run("hi").await;
    assert_eq!((report.end, report.text.as_str()), (TurnEnd::Complete, "All is well."));
    assert_eq!((report.rounds, report.tools_executed), (2, 1));
    assert_eq!(agent.run("what did I say?").await.text, "You said hi.");
    assert_eq!(agent.messages().len(), 6);
    assert_eq!(agent.state().turns_completed, 2);
    agent.clear();
    assert!(agent.messages().is_empty() && agent.events().is_empty());
}

#[tokio::test]
async fn core_08_a_run_can_have_its_own_round_limit() {
    let mut agent = agent(Script::new().tool("look", json!({})).text("So far: seen.").looped());
    let options = RunOptions { max_rounds: Some(1), ..RunOptions::default() };
    let report = agent.run_with("go", options).await;
    assert_eq!((report.end, report.text.as_str()), (TurnEnd::RoundLimit, "So far: seen."));
    assert!(
        agent.messages().iter().filter(|message| message.role() == Role::User).count() == 1,
        "the instruction of the forced summary is not in the conversation"
    );
}

#[tokio::test]
async fn core_09_the_forced_summary_is_streamed() {
    let summary = ScriptedAnswer::new().text("So far: ").gate("more").text("seen.");
    let script = Script::new().tool("look", json!({})).answer(summary);
    let model = ScriptedProvider::new(script);
    let mut agent = Agent::builder(model.clone(), "m").tools([look()]).build().unwrap();
    let (sent, mut pieces) = tokio::sync::mpsc::unbounded_channel();
    let on_text =
        Box::new(move |text: TextUpdate<'_>| sent.send(text.printed().to_owned()).unwrap());
    let options =
        RunOptions { max_rounds: Some(1), on_text: Some(on_text), ..RunOptions::default() };
    let follow = async {
        // The first piece arrives while the summary is not complete.
        let first = pieces.recv().await;
        model.reached("more").await;
        model.release("more");
        [first, pieces.recv().await]
    };
    let (report, pieces) = tokio::join!(agent.run_with("go", options), follow);
    assert_eq!((report.end, report.text.as_str()), (TurnEnd::RoundLimit, "So far: seen."));
    assert_eq!(pieces, ["So far: ", "seen."].map(|piece| Some(piece.to_owned())));
    let events = agent.events();
    let chunks: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            Event::TextChunk(data) => Some((data.round, data.text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(chunks, [(2, "So far: "), (2, "seen.")]);
}

#[tokio::test]
async fn core_19_rounds_are_separated_by_a_blank_line() {
    let mut agent = agent(two_rounds());
    let text = Arc::new(Mutex::new(String::new()));
    let sink = text.clone();
    let on_text =
        Box::new(move |text: TextUpdate<'_>| sink.lock().unwrap().push_str(text.printed()));
    agent.run_with("hi", RunOptions { on_text: Some(on_text), ..RunOptions::default() }).await;
    assert_eq!(*text.lock().unwrap(), "I look.\n\nAll is well.");
}

/// Two runs stream at the same time on one provider: each sees its own text and conversation.
#[tokio::test]
async fn core_30_two_agents_that_run_at_the_same_time_share_only_their_provider() {
    let answer = |name: &str| {
        ScriptedAnswer::new().text(format!("{name}1 ")).gate(name).text(format!("{name}2"))
    };
    let provider = ScriptedProvider::new(Script::new().answer(answer("a")).answer(answer("b")));
    let start = async |name: &'static str| {
        let mut agent = Agent::builder(provider.clone(), "m").build().unwrap();
        let streamed: Arc<Mutex<String>> = Arc::default();
        let sink = streamed.clone();
        let on_text = Box::new(move |text: TextUpdate<'_>| {
            sink.lock().unwrap().push_str(text.printed());
        });
        let options = RunOptions { on_text: Some(on_text), ..RunOptions::default() };
        let run = tokio::spawn(async move {
            agent.run_with(name, options).await;
            agent
        });
        provider.reached(name).await;
        (streamed, run)
    };
    let (first_text, first) = start("a").await;
    let (second_text, second) = start("b").await;
    provider.release("b");
    provider.release("a");
    for (name, text, run) in [("a", first_text, first), ("b", second_text, second)] {
        let agent = run.await.unwrap();
        let answer = format!("{name}1 {name}2");
        assert_eq!(*text.lock().unwrap(), answer);
        let messages: Vec<_> = agent.messages().iter().map(|message| message.text()).collect();
        assert_eq!(messages, [name.to_owned(), answer]);
    }
}

#[tokio::test]
async fn core_29_templates_choose_prompt_tools_and_limits() {
    let provider = ScriptedProvider::new(Script::new().text("hello").looped());
    let other: Arc<dyn Tool> =
        Arc::new(fn_tool("other", Class::Inspect, |_| async { ToolOutcome::ok("") }));
    let mut factory =
        AgentFactory::new(Arc::new(provider.clone()), "m").with_tools([look(), other]);
    let template = AgentTemplate {
        id: "scout".to_owned(),
        description: "Looks around.".to_owned(),
        system: "You look around.".to_owned(),
        model: Some("small".to_owned()),
        tools: Some(vec!["look".to_owned()]),
        modules: Vec::new(),
        max_rounds: Some(3),
    };
    factory.register(template.clone()).unwrap();
    assert_eq!(factory.register(template.clone()), Err(TemplateError::Taken("scout".to_owned())));
    let missing =
        AgentTemplate { id: "bad".to_owned(), tools: Some(vec!["fly".to_owned()]), ..template };
    assert!(factory.register(missing).unwrap_err().to_string().contains("`fly`"));
    let unknown = factory.create("pilot").err().unwrap().to_string();
    assert_eq!(unknown, "there is no agent template `pilot`; there are: scout");

    let mut scout = factory.create("scout").unwrap();
    scout.run("go").await;
    let request = provider.requests().remove(0);
    assert_eq!(request.model, "small");
    assert_eq!(request.system.as_deref(), Some("You look around."));
    let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["look"]);
}

#[tokio::test]
async fn core_29_modules_bring_tools_instructions_and_what_they_require() {
    let provider = ScriptedProvider::new(Script::new().text("hello").looped());
    let tool = |name| fn_tool(name, Class::Inspect, |_| async { ToolOutcome::ok("") });
    let mut modules = ModuleRegistry::new();
    modules.register(Module::new("files").tool(tool("list")).instructions("Use list.")).unwrap();
    modules.register(Module::new("web").tool(tool("fetch"))).unwrap();
    let git = Module::new("git").requires("files").tool(tool("log")).instructions("Use log.");
    modules.register(git.clone()).unwrap();
    assert_eq!(modules.register(git), Err(ModuleError::Taken("git".to_owned())));
    let lonely = modules.register(Module::new("a").requires("b")).unwrap_err().to_string();
    assert_eq!(lonely, "module `a` requires `b`, which is not registered; register it first");

    let mut factory =
        AgentFactory::new(Arc::new(provider.clone()), "m").with_modules(modules.clone());
    let template = AgentTemplate {
        id: "reviewer".to_owned(),
        description: String::new(),
        system: "You review.".to_owned(),
        model: None,
        tools: Some(Vec::new()),
        modules: vec!["git".to_owned()],
        max_rounds: None,
    };
    let unknown = AgentTemplate { modules: vec!["ftp".to_owned()], ..template.clone() };
    let unknown = factory.register(unknown).unwrap_err().to_string();
    assert_eq!(unknown, "agent template `reviewer`: there is no module `ftp`");
    factory.register(template).unwrap();
    factory.create("reviewer").unwrap().run("go").await;
    let request = provider.requests().remove(0);
    assert_eq!(request.system.as_deref(), Some("You review.\n\nUse list.\n\nUse log."));
    let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(offered, ["list", "log"]);

    let required = modules.remove("files").err().unwrap().to_string();
    assert_eq!(required, "module `files` cannot be removed: `git` requires it");
    modules.remove("git").unwrap();
    modules.remove("files").unwrap();
    assert_eq!(modules.iter().map(Module::name).collect::<Vec<_>>(), ["web"]);
    assert!(modules.resolve(["git"]).is_err());
}

#[tokio::test]
async fn core_03_the_history_keeps_messages_and_entries_in_order() {
    let mut agent = agent(two_rounds());
    agent.run("hi").await;
    let entry = HistoryEntry::event(
        &CountingIds::default(),
        jiff::Timestamp::UNIX_EPOCH,
        "tool-summary",
        json!({"tools": 1}),
    );
    agent.add_entry(entry.clone()).await.unwrap();
    let history = agent.history();
    let roles: Vec<_> = history.iter().map(|entry| entry.message().map(Message::role)).collect();
    assert_eq!(
        roles,
        [Some(Role::User), Some(Role::Assistant), Some(Role::Tool), Some(Role::Assistant), None]
    );
    assert_eq!(history[4], entry);
    assert_eq!(agent.messages().len(), 4, "no model sees the entry");
}

/// The data that the specification lists for a replay event, and ours (`instruction`).
fn fields_of(name: &str) -> &'static [&'static str] {
    match name {
        "provider_request" => &["round", "provider", "model", "messages", "instruction", "tools"],
        "provider_stream_raw_delta" => &["round", "sequence", "delta"],
        "provider_response_raw" => &["round", "response", "response_kind"],
        "provider_response_normalized" => &["round", "response", "tool_calls_count"],
        "assistant_message_committed" => &["round", "message"],
        "tool_batch_started" => {
            &["round", "batch_id", "mode", "max_concurrency", "request_count", "tools"]
        }
        "tool_execution_request" => {
            &["round", "batch_id", "index", "tool_name", "tool_call_id", "parameters", "owner_path"]
        }
        "tool_execution_result" => &[
            "round",
            "batch_id",
            "index",
            "tool_name",
            "tool_call_id",
            "success",
            "result",
            "error",
            "metadata",
        ],
        "tool_message_committed" => &["round", "batch_id", "index", "message"],
        "history_mutation" => &["mutation", "index", "message"],
        other => panic!("{other} is not listed"),
    }
}

#[tokio::test]
async fn core_20_replay_events_carry_what_replay_needs() {
    let mut agent = agent(two_rounds());
    agent.run("hi").await;
    let mut projection = ReplayProjection::default();
    let replay: Vec<_> =
        agent.events().iter().flat_map(|event| projection.push(event).unwrap()).collect();
    let names: Vec<_> = replay.iter().map(|event| event.name).collect();
    assert_eq!(
        names,
        [
            "history_mutation",
            "provider_request",
            "provider_stream_raw_delta",
            "provider_response_raw",
            "provider_response_normalized",
            "assistant_message_committed",
            "history_mutation",
            "tool_batch_started",
            "tool_execution_request",
            "tool_execution_result",
            "tool_message_committed",
            "history_mutation",
            "provider_request",
            "provider_stream_raw_delta",
            "provider_response_raw",
            "provider_response_normalized",
            "assistant_message_committed",
            "history_mutation",
        ]
    );
    let session = agent.state().session.clone().unwrap();
    for event in &replay {
        assert_eq!(event.data["conversation_id"], json!(session), "{}", event.name);
        assert!(event.data["execution_id"].is_string(), "{}", event.name);
    }
    let request = &replay[12].data;
    assert_eq!(request["round"], 2);
    assert_eq!(request["messages"].as_array().unwrap().len(), 3);
    assert_eq!(request["tools"][0]["name"], "look");
    let call = &replay[8].data;
    assert_eq!(
        (&call["tool_name"], &call["tool_call_id"], &call["index"]),
        (&json!("look"), &json!("call_0"), &json!(0))
    );
    assert_eq!(replay[9].data["success"], true);
    assert_eq!(replay[9].data["result"], "seen");
    assert_eq!(replay[7].data["request_count"], 1);
    for event in &replay {
        let fields: Vec<_> = event.data.keys().map(String::as_str).collect();
        let ids = ["execution_id", "conversation_id"];
        let expected = ids.iter().chain(fields_of(event.name)).copied().collect::<Vec<_>>();
        assert_eq!(fields, expected, "{}", event.name);
        let absent = event.data.iter().filter(|(_, value)| value.is_null());
        let absent: Vec<_> = absent.map(|(field, _)| field.as_str()).collect();
        let optional: &[&str] = match event.name {
            "provider_request" => &["instruction"],
            "tool_execution_result" => &["error"],
            _ => &[],
        };
        assert_eq!(absent, optional, "{}", event.name);
    }
    // The history can be rebuilt from the mutations alone.
    let mutations = replay.iter().filter(|event| event.name == "history_mutation");
    let rebuilt: Vec<Message> = mutations
        .map(|event| serde_json::from_value(event.data["message"].clone()).unwrap())
        .collect();
    let messages: Vec<_> = agent.messages().iter().map(|message| (**message).clone()).collect();
    assert_eq!(rebuilt, messages);
}

/// The values of every field, for a call that succeeds, one that fails, and the raw payloads.
#[tokio::test]
async fn core_20_every_field_of_every_replay_event_has_its_value() {
    let fail = fn_tool("fail", Class::Inspect, |_| async { ToolOutcome::failed("exit", "no") });
    let calls = ScriptedAnswer::new()
        .text("I look.")
        .tool("look", json!({"at": 1}))
        .tool("fail", json!({}));
    let mut agent =
        Agent::builder(ScriptedProvider::new(Script::new().answer(calls).text("Done.")), "m")
            .tools([look(), Arc::new(fail)])
            .ids(CountingIds::default())
            .clock(FakeClock::fixed())
            .configure(|config| config.record_payloads = true)
            .build()
            .unwrap();
    agent.run("hi").await;
    let mut projection = ReplayProjection::default();
    let replay: Vec<_> =
        agent.events().iter().flat_map(|event| projection.push(event).unwrap()).collect();
    let named = |name: &str| -> Vec<Value> {
        let found = replay.iter().filter(|event| event.name == name);
        found.map(|event| Value::Object(event.data.clone())).collect()
    };
    // Compares the fields that are named here; the test above checks that there are no others.
    let assert_fields = |found: &Value, expected: Value| {
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&found[field], value, "{field} of {found}");
        }
    };
    let messages: Vec<_> = agent.messages().iter().map(|message| json!(message)).collect();
    let [user, answer, _, last] = messages.as_slice() else { panic!("{messages:?}") };

    let request = &named("provider_request")[0];
    assert_fields(request, json!({"round": 1, "provider": "scripted", "model": "m"}));
    assert_eq!(request["messages"], json!([user]));
    assert_eq!(request["tools"].as_array().unwrap().len(), 2);
    let delta = &named("provider_stream_raw_delta")[0];
    assert_fields(delta, json!({"round": 1, "sequence": 0, "delta": "I look."}));
    let payloads = named("provider_native_raw_payload");
    assert_fields(&payloads[0], json!({"round": 1, "provider": "scripted", "kind": "request"}));
    assert_fields(&payloads[0], json!({"api_surface": "scripted", "sequence": 0}));
    assert_eq!(payloads[0]["payload"]["model"], "m");
    let kinds: Vec<_> = payloads.iter().map(|payload| payload["kind"].clone()).collect();
    assert!(kinds.iter().any(|kind| kind != "request"), "what came back: {kinds:?}");

    for (at, message, count) in [(0, answer, 2), (1, last, 0)] {
        let round = at + 1;
        assert_fields(
            &named("provider_response_raw")[at],
            json!({"round": round, "response": message, "response_kind": "provider-normalized-message"}),
        );
        assert_fields(
            &named("provider_response_normalized")[at],
            json!({"round": round, "response": message, "tool_calls_count": count}),
        );
        assert_fields(
            &named("assistant_message_committed")[at],
            json!({"round": round, "message": message}),
        );
    }

    let batch = &named("tool_batch_started")[0];
    assert_fields(batch, json!({"round": 1, "mode": "parallel", "request_count": 2}));
    assert_fields(batch, json!({"tools": ["look", "fail"]}));
    assert!(batch["max_concurrency"].as_u64().unwrap() > 1, "{batch}");
    let id = &batch["batch_id"];
    let (requests, results) = (named("tool_execution_request"), named("tool_execution_result"));
    let committed = named("tool_message_committed");
    let input = [json!({"at": 1}), json!({})];
    for (index, name) in ["look", "fail"].into_iter().enumerate() {
        let common = json!({"round": 1, "batch_id": id, "index": index});
        for event in [&requests[index], &results[index], &committed[index]] {
            assert_fields(event, common.clone());
        }
        let call = &answer["content"][index + 1]["id"];
        assert!(call.is_string(), "{answer}");
        for event in [&requests[index], &results[index]] {
            assert_fields(event, json!({"tool_name": name, "tool_call_id": call}));
        }
        assert_eq!(requests[index]["parameters"], input[index]);
        assert_eq!(requests[index]["owner_path"][1]["owner_type"], "tool");
        assert_eq!(committed[index]["message"]["role"], "tool");
    }
    assert_fields(&results[0], json!({"success": true, "result": "seen", "error": null}));
    assert_fields(&results[1], json!({"success": false, "result": null, "error": "no"}));
    assert_eq!(results[1]["metadata"]["error_code"], "exit");

    let mutations = named("history_mutation");
    let indexes: Vec<_> = mutations.iter().map(|event| event["index"].clone()).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4].map(Value::from));
    assert!(mutations.iter().all(|event| event["mutation"] == "append"));
    assert_eq!((&mutations[0]["message"], &mutations[4]["message"]), (user, last));
}

/// A run may be dropped at any await, as a timeout does. The next run first closes what it left
/// open, so that every call in the conversation has its result.
#[tokio::test(start_paused = true)]
async fn core_12_a_run_can_be_dropped_at_any_await() {
    use futures::FutureExt as _;

    let mut dropped_in_a_tool = 0;
    for polls in 0..200 {
        let script = Script::from_yaml(
            "- {steps: [{text: I look.}, {stall: {ms: 5}}, {tool: look}, {tool: act}]}\n\
             - text: Done.\n- text: Done.",
        )
        .unwrap();
        let slow = |name: &str, class| {
            fn_tool(name, class, |_| async {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                ToolOutcome::ok("done")
            })
        };
        let (look, act) = (slow("look", Class::Inspect), slow("act", Class::Execute));
        let model = ScriptedProvider::new(script);
        let tools: [Arc<dyn Tool>; 2] = [Arc::new(look), Arc::new(act)];
        let mut agent = Agent::builder(model, "m").tools(tools).gate(AllowAll).build().unwrap();
        let finished = {
            let mut run = agent.run("Go").boxed();
            let mut finished = None;
            for _ in 0..polls {
                finished = (&mut run).now_or_never();
                if finished.is_some() {
                    break;
                }
                // What the run waits for happens before it is asked again.
                tokio::time::advance(Duration::from_millis(1)).await;
                tokio::task::yield_now().await;
            }
            finished
        };
        let open = agent.state().turn.as_ref().is_some_and(|turn| !turn.calls.is_empty());
        dropped_in_a_tool += usize::from(open);
        let report = agent.run("Again").await;
        assert_eq!(report.end, TurnEnd::Complete, "{polls} polls: {:?}", report.error);
        let mut open = Vec::new();
        for message in agent.messages().iter() {
            let results: Vec<_> =
                message.tool_results().map(|result| result.call.clone()).collect();
            assert_eq!(results, open, "{polls} polls: one result for each call, right after it");
            open = message.tool_uses().map(|call| call.call.clone()).collect();
        }
        assert!(open.is_empty());
        assert_eq!(agent.state().turn, None, "{polls} polls");
        if finished.is_some() {
            assert!(dropped_in_a_tool > 3, "{dropped_in_a_tool} of {polls} runs");
            return;
        }
    }
    panic!("the run does not end");
}

/// An agent with `drop_chunks` keeps its messages, and drops the streamed chunks.
#[tokio::test]
async fn core_29_streamed_pieces_of_earlier_runs_can_be_dropped() {
    let model = ScriptedProvider::new(two_rounds().text("More."));
    let mut agent = Agent::builder(model, "m").tools([look()]).drop_chunks().build().unwrap();
    agent.run("Hi").await;
    let chunks = |agent: &Agent| agent.events().iter().filter(|e| e.event.is_chunk()).count();
    assert!(chunks(&agent) > 0, "those of the last run are there");
    let messages = agent.messages().len();
    agent.run("Again").await;
    assert_eq!(chunks(&agent), 1, "only the last run's");
    assert_eq!(agent.messages().len(), messages + 2);
    assert_eq!(agent.history().len(), messages + 2);
}
