use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::agent::{Agent, AgentBuilder};
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::error::ErrorKind;
use crate::gate::AllowAll;
use crate::hook::AfterChange;
use crate::message::Message;
use crate::permission::Class;
use crate::provider::{ProviderError, RetryPolicy};
use crate::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use crate::tool::{Tool, ToolContext, ToolSpec};

/// A tool that returns its argument.
struct Echo(ToolSpec);

impl Echo {
    fn new() -> Self {
        Self(ToolSpec {
            name: "Echo".to_owned(),
            description: "Echoes".to_owned(),
            input_schema: json!({"type": "object"}),
            class: Class::Inspect,
        })
    }
}

#[async_trait]
impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, input: Value, _: ToolContext) -> ToolOutcome {
        ToolOutcome::ok(input["text"].as_str().unwrap_or_default())
    }
}

fn agent(script: Script) -> AgentBuilder {
    Agent::builder(ScriptedProvider::new(script), "any-model").tool(Echo::new()).gate(AllowAll)
}

fn echo(text: &str) -> Script {
    Script::new().tool("Echo", json!({ "text": text }))
}

fn down() -> ProviderError {
    ProviderError::new(ErrorKind::Provider, "the service is down")
}

/// Records which of its methods run.
#[derive(Default)]
struct Recording {
    name: &'static str,
    priority: Option<PluginPriority>,
    category: Option<PluginCategory>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Recording {
    fn add(&self, what: &str) {
        self.seen.lock().unwrap().push(format!("{} {what}", self.name));
    }
}

#[async_trait]
impl Plugin for Recording {
    fn name(&self) -> &str {
        self.name
    }

    fn category(&self) -> PluginCategory {
        self.category.unwrap_or(PluginCategory::Custom)
    }

    fn priority(&self) -> PluginPriority {
        self.priority.unwrap_or(PluginPriority::NORMAL)
    }

    async fn before_run(&self, _: &[Block]) -> PromptDecision {
        self.add("before_run");
        PromptDecision::Continue { context: Some("It is Monday.".to_owned()) }
    }

    fn after_run(&self, run: &RunSummary) {
        self.add(&format!("after_run {:?} {} {}", run.end, run.rounds, run.model));
    }

    fn on_error(&self, error: &ErrorData) {
        self.add(&format!("on_error {}", error.kind.code()));
    }

    fn on_stream_chunk(&self, text: &str) {
        self.add(&format!("chunk {text}"));
    }

    async fn before_tool(&self, call: &ToolUse, _: Verdict) -> PreToolDecision {
        self.add(&format!("before_tool {}", call.name));
        PreToolDecision::Change { input: json!({"text": "changed"}), then: AfterChange::Judge }
    }

    async fn after_tool(&self, _: &ToolUse, outcome: &ToolOutcome) -> PostToolDecision {
        self.add(&format!("after_tool {}", outcome.text()));
        PostToolDecision::Replace { outcome: ToolOutcome::ok("replaced") }
    }
}

#[tokio::test]
async fn core_27_a_plugin_sees_every_point_of_a_run_and_decides_about_tools() {
    let plugin = Recording { name: "p", ..Recording::default() };
    let seen = plugin.seen.clone();
    let mut agent = agent(echo("given").text("Done.")).plugin(plugin).build().unwrap();
    agent.run("Go.").await;
    let expected = [
        "p before_run",
        "p before_tool Echo",
        "p after_tool changed",
        "p chunk Done.",
        "p after_run Complete 2 any-model",
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    let messages = format!("{:?}", agent.messages());
    assert!(messages.contains("replaced") && messages.contains("It is Monday."), "{messages}");
}

#[tokio::test]
async fn core_27_a_plugin_sees_failures() {
    let plugin = Recording { name: "p", ..Recording::default() };
    let seen = plugin.seen.clone();
    let script = Script::new().error(down());
    let mut agent = agent(script)
        .configure(|config| config.turn.retry = RetryPolicy::never())
        .plugin(plugin)
        .build()
        .unwrap();
    assert!(agent.run("Go.").await.error.is_some());
    let seen = seen.lock().unwrap();
    assert_eq!(seen[1], "p on_error PROVIDER_ERROR", "{seen:?}");
    assert_eq!(seen[2], "p after_run ProviderFailed 1 any-model", "{seen:?}");
}

#[tokio::test]
async fn core_27_priority_and_then_category_order_plugins() {
    let of = |name, priority, category| {
        Arc::new(Recording {
            name,
            priority: Some(priority),
            category: Some(category),
            ..Recording::default()
        }) as Arc<dyn Plugin>
    };
    let set = PluginSet::new([
        of("late", PluginPriority::LOW, PluginCategory::Limits),
        of("custom", PluginPriority::NORMAL, PluginCategory::Custom),
        of("log", PluginPriority::NORMAL, PluginCategory::Logging),
        of("log two", PluginPriority::NORMAL, PluginCategory::Logging),
        of("first", PluginPriority::CRITICAL, PluginCategory::Custom),
    ]);
    assert_eq!(set.names().collect::<Vec<_>>(), ["first", "log", "log two", "custom", "late"]);
}

/// Refuses everything.
struct Refusing;

#[async_trait]
impl Plugin for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    async fn before_tool(&self, _: &ToolUse, _: Verdict) -> PreToolDecision {
        PreToolDecision::Deny { reason: "never".to_owned() }
    }
}

#[tokio::test]
async fn core_27_the_strictest_decision_of_plugins_and_hooks_counts() {
    let hooks = PluginSet::new([Arc::new(Refusing) as Arc<dyn Plugin>]);
    let plugin = Recording { name: "p", ..Recording::default() };
    let script = echo("given").text("Done.");
    let mut agent = agent(script).hooks(hooks).plugin(plugin).build().unwrap();
    agent.run("Go.").await;
    let messages = format!("{:?}", agent.messages());
    assert!(messages.contains("never") && !messages.contains("changed\""), "{messages}");
}

/// Panics at every event.
struct Panicking;

impl Plugin for Panicking {
    fn name(&self) -> &str {
        "panicking"
    }

    fn priority(&self) -> PluginPriority {
        PluginPriority::CRITICAL
    }

    fn on_event(&self, _: &Envelope) {
        panic!("a defect of the plugin");
    }
}

#[tokio::test]
async fn core_27_a_plugin_that_panics_hides_no_event_from_the_others() {
    let usage = Arc::new(UsagePlugin::new(MemoryStorage::default()));
    let script = Script::new().text("Done.");
    let mut agent = agent(script).plugin(Panicking).plugin(usage.clone()).build().unwrap();
    agent.run("Go.").await;
    assert_eq!(usage.totals().unwrap().runs, 1);
}

#[tokio::test]
async fn core_27_hooks_are_added_to_the_hooks_before_them() {
    let hooks = |plugin: Arc<dyn Plugin>| PluginSet::new([plugin]);
    let recording = Arc::new(Recording { name: "p", ..Recording::default() });
    let script = echo("given").text("Done.");
    let builder = agent(script).hooks(hooks(Arc::new(Refusing))).hooks(hooks(recording));
    let mut agent = builder.build().unwrap();
    agent.run("Go.").await;
    let messages = format!("{:?}", agent.messages());
    assert!(messages.contains("never"), "the first hooks still decide: {messages}");
}

#[tokio::test]
async fn core_27_the_emitter_calls_functions_by_name() {
    let emitter = Arc::new(EventEmitter::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    for name in ["turn_started", "turn_finished"] {
        let seen = seen.clone();
        emitter.on(name, move |event| seen.lock().unwrap().push(event.event.kind().to_owned()));
    }
    let messages = seen.clone();
    emitter.on_message("ping", move |value| messages.lock().unwrap().push(value.to_string()));
    assert_eq!((emitter.emit("ping", &json!(7)), emitter.emit("pong", &json!(8))), (1, 0));
    agent(Script::new().text("Hi.")).plugin(emitter).build().unwrap().run("Go.").await;
    assert_eq!(*seen.lock().unwrap(), ["7", "turn_started", "turn_finished"]);
}

#[tokio::test]
async fn core_27_history_logging_usage_performance_and_analytics_store_records() {
    let history = Arc::new(HistoryPlugin::new(MemoryStorage::default()));
    let logging = Arc::new(LoggingPlugin::new(MemoryStorage::default()));
    let usage = Arc::new(UsagePlugin::new(MemoryStorage::default()));
    let performance = Arc::new(PerformancePlugin::new(MemoryStorage::default()));
    let analytics = Arc::new(AnalyticsPlugin::new(MemoryStorage::default()));
    let mut agent = agent(echo("secret").text("Done.").text("Again."))
        .plugin(history.clone())
        .plugin(logging.clone())
        .plugin(usage.clone())
        .plugin(performance.clone())
        .plugin(analytics.clone())
        .build()
        .unwrap();
    agent.run("One.").await;
    agent.run("Two.").await;

    let texts: Vec<_> = history.messages().unwrap().iter().map(Message::text).collect();
    assert_eq!(texts, ["One.", "", "Done.", "Two.", "Again."]);
    let log = json!(logging.records().unwrap()).to_string();
    assert_eq!((log.matches("run started").count(), log.matches("run ended").count()), (2, 2));
    assert!(log.contains("tool call ended") && !log.contains("secret"), "{log}");
    let totals = usage.totals().unwrap();
    assert_eq!(totals.runs, 2);
    assert_eq!(totals.usage, totals.models["any-model"]);
    assert_eq!(totals.dollars, None, "the price is not known");
    let timings = performance.timings().unwrap();
    let counts = timings.iter().map(|(what, timing)| (what.as_str(), timing.count));
    assert_eq!(counts.collect::<Vec<_>>(), [("model", 3), ("run", 2), ("tool Echo", 1)]);
    let counts = analytics.counts().unwrap();
    assert_eq!(counts.runs["complete"], 2);
    assert_eq!(counts.tools["Echo"], (1, 0));
}

/// A clock that tests move.
#[derive(Clone)]
struct Hand(Arc<Mutex<Timestamp>>);

impl Hand {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::UNIX_EPOCH)))
    }

    fn advance(&self, seconds: i64) {
        let mut now = self.0.lock().unwrap();
        *now = now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

#[tokio::test]
async fn core_27_failed_runs_open_the_circuit_and_a_good_one_closes_it() {
    let clock = Hand::new();
    let breaker = CircuitBreaker::new(2, Duration::from_secs(60)).clock(clock.clone());
    let breaker = Arc::new(breaker);
    let script =
        Script::new().error(down()).error(down()).error(down()).text("Back.").error(down());
    let mut agent = agent(script)
        .configure(|config| config.turn.retry = RetryPolicy::never())
        .plugin(breaker.clone())
        .build()
        .unwrap();
    agent.run("1").await;
    assert!(!breaker.is_open());
    agent.run("2").await;
    assert!(breaker.is_open());
    let blocked = agent.run("3").await;
    assert_eq!((blocked.end, blocked.rounds), (TurnEnd::Blocked, 0), "the model is not called");
    clock.advance(61);
    agent.run("4").await;
    assert!(breaker.is_open(), "the trial failed");
    clock.advance(61);
    assert_eq!(agent.run("5").await.text, "Back.");
    agent.run("6").await;
    assert!(!breaker.is_open(), "one failure after a success");
}

#[tokio::test]
async fn core_27_limits_block_runs_until_the_period_is_over() {
    let minute = RunLimits::every(Duration::from_secs(60));
    let (any, priced) = ("any-model", "claude-sonnet-5-5");
    let cost = |dollars| RunLimits { dollars: Some(dollars), ..minute };
    let cases = [
        (any, RunLimits { runs: Some(1), ..minute }, "the limit of 1 runs"),
        (any, RunLimits { tokens: Some(1), ..minute }, "the limit of 1 tokens"),
        (any, cost(0.01), "the price of the model is not known"),
        (priced, cost(0.00001), "the limit of $0.00001"),
    ];
    for (model, limits, reason) in cases {
        let clock = Hand::new();
        let first = ScriptedAnswer::new().text("One.").usage(Usage::new(5, 5));
        let script = Script::new().answer(first).text("Two.");
        let plugin = LimitsPlugin::new(limits).clock(clock.clone());
        let provider = ScriptedProvider::new(script);
        let mut agent = Agent::builder(provider, model).plugin(plugin).build().unwrap();
        assert_eq!(agent.run("1").await.text, "One.");
        let blocked = agent.run("2").await;
        assert_eq!(blocked.end, TurnEnd::Blocked);
        let events = format!("{:?}", agent.events());
        assert!(events.contains(reason), "{reason}: {events}");
        clock.advance(60);
        assert_eq!(agent.run("3").await.text, "Two.", "{reason}");
    }
}

/// Each call of a run is short, and all of them together have more tokens than a long prompt.
#[tokio::test]
async fn core_25_a_run_costs_the_sum_of_its_calls() {
    let model = "gemini-2.5-pro";
    let usage = || Usage::new(150_000, 10);
    let call = ScriptedAnswer::new().tool("Echo", json!({"text": "a"})).usage(usage());
    let script =
        Script::new().answer(call).answer(ScriptedAnswer::new().text("Done.").usage(usage()));
    let expected = 2.0 * Catalogue::builtin().cost(model, usage()).unwrap();
    let totals = Arc::new(UsagePlugin::new(MemoryStorage::default()));
    let limits =
        RunLimits { dollars: Some(expected * 1.1), ..RunLimits::every(Duration::from_secs(60)) };
    let mut agent = Agent::builder(ScriptedProvider::new(script.text("Again.")), model)
        .tool(Echo::new())
        .gate(AllowAll)
        .plugin(totals.clone())
        .plugin(LimitsPlugin::new(limits))
        .build()
        .unwrap();
    let report = agent.run("Go.").await;
    let near = |cost: Option<f64>| (cost.unwrap() - expected).abs() < 1e-9;
    assert!(near(report.cost), "{:?}, not {expected}", report.cost);
    let dollars = totals.totals().unwrap().dollars;
    assert!(near(dollars), "{dollars:?}, not {expected}");
    assert_eq!(agent.run("Go.").await.end, TurnEnd::Complete, "the limit is not reached");
}
