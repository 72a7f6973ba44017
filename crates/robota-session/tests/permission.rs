//! The gate, approvals and their scopes, hooks in code and in settings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use common::*;
use robota_core::approve::{Answer, RuleSink, Scope};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{DecidedBy, Event, TurnEnd};
use robota_core::gate::Gate;
use robota_core::hook::{
    AfterChange, HookAnswer, HookInput, HookPoint, HookQuestion, HookReply, Hooks,
    PostToolDecision, PreToolDecision,
};
use robota_core::message::{Message, ToolUse};
use robota_core::permission::{Class, Mode, PermissionUpdate, Verdict};
use robota_core::provider::ModelRequest;
use robota_core::tool::ToolOutcome;
use robota_session::{
    Approvals, ChatEnd, CodeHook, Decision, HookFiles, HookOrigin, HookScope, SessionState,
    ToolExecution, approver_fn, prompt_approver,
};
use robota_testkit::{Script, fn_tool};
use serde_json::json;

fn make_twice() -> Script {
    let make = json!({"command": "make all"});
    Script::new().tool("Bash", make.clone()).tool("Bash", make).text("Built.")
}

#[derive(Default)]
struct Sink(Mutex<Vec<String>>, bool);

#[async_trait::async_trait]
impl RuleSink for Sink {
    async fn save(&self, update: &PermissionUpdate) -> Result<(), ErrorData> {
        if self.1 {
            return Err(ErrorData::new(ErrorKind::Storage, "read-only"));
        }
        self.0.lock().unwrap().extend_from_slice(update.allowed_rules());
        Ok(())
    }
}

#[test]
fn sess_04_without_an_approver_calls_are_denied() {
    both_runtimes(async || {
        let (builder, _) = builder(make_twice());
        let (bash, store) = (bash(), memory());
        let session = builder
            .tools(tool(bash.clone()))
            .gate(policy())
            .create(store.clone(), None)
            .await
            .unwrap();
        session.run("Build").await.unwrap();
        assert!(bash.inputs().is_empty());
        let messages = session.context().messages().await.unwrap();
        let text = messages[2].tool_results().next().unwrap().as_text();
        assert!(text.starts_with("Permission denied"), "{text}");
    });
}

#[test]
fn sess_04_a_prompt_function_asks_the_user() {
    both_runtimes(async || {
        // The line that the user enters, how often the user is asked, how often the command runs.
        let cases = [("y", 2, 2), ("Yes\n", 2, 2), ("s", 1, 2), ("n", 2, 0), ("", 2, 0)];
        for (line, asked, ran) in cases {
            let (builder, _) = builder(make_twice());
            let (bash, prompts) = (bash(), Arc::new(Mutex::new(Vec::new())));
            let shown = prompts.clone();
            let approver = prompt_approver(move |text| {
                shown.lock().unwrap().push(text);
                std::future::ready(Some(line.to_owned()))
            });
            let session = builder
                .tools(tool(bash.clone()))
                .gate(policy())
                .approvals(Approvals::Handler(approver))
                .create(memory(), None)
                .await
                .unwrap();
            session.run("Build").await.unwrap();
            let prompts = prompts.lock().unwrap();
            assert_eq!((prompts.len(), bash.inputs().len()), (asked, ran), "{line:?}");
            assert!(prompts[0].starts_with("Bash {\"command\":\"make all\"}\n"), "{prompts:?}");
            assert!(prompts[0].ends_with("[n]o: "), "{prompts:?}");
        }
        let silent = prompt_approver(|_| std::future::ready(None));
        let (builder, _) = builder(make_twice());
        let (bash, store) = (bash(), memory());
        let builder = builder.tools(tool(bash.clone())).gate(policy());
        let session = builder.approver(silent).create(store.clone(), None).await.unwrap();
        session.run("Build").await.unwrap();
        assert!(bash.inputs().is_empty());
        let id = session.id().clone();
        let events = robota_core::journal::read_all(&*store, &id, 0).await.unwrap();
        assert!(decided(&events)[0].reason.contains("there is no more input"));
    });
}

#[test]
fn sess_04_an_approval_for_the_session_covers_similar_calls_and_can_be_revoked() {
    both_runtimes(async || {
        let (builder, _) = builder(make_twice());
        let (bash, store) = (bash(), memory());
        let asked = Arc::new(Mutex::new(0));
        let counter = asked.clone();
        let handler = approver_fn(move |_| {
            *counter.lock().unwrap() += 1;
            async { Answer::Remember { scope: Scope::Session, rules: vec![], note: None } }
        });
        let session = builder
            .tools(tool(bash.clone()))
            .gate(policy())
            .approvals(Approvals::Handler(handler))
            .create(store.clone(), None)
            .await
            .unwrap();
        assert_eq!(session.run("Build").await.unwrap(), "Built.");
        assert_eq!((*asked.lock().unwrap(), bash.inputs().len()), (1, 2), "asked once, ran twice");
        let decided = decided(&journal(&*store, session.id()).await);
        assert_eq!((decided[0].by, decided[0].scope), (DecidedBy::User, Some(Scope::Session)));
        assert_eq!(decided[0].rules, session.permissions().session_allowed());
        assert_eq!((decided[1].by, decided[1].scope), (DecidedBy::Gate, None));
        assert!(decided[1].reason.contains(&decided[0].rules[0]), "{}", decided[1].reason);
        session.permissions().clear_session_allowed();
        assert!(session.permissions().session_allowed().is_empty());
    });
}

#[test]
fn sess_04_after_the_rules_of_the_session_are_cleared_the_same_call_asks_again() {
    both_runtimes(async || {
        let make = json!({"command": "make all"});
        let script = Script::new().tool("Bash", make.clone()).text("One.");
        let (builder, _) = builder(script.tool("Bash", make).text("Two."));
        let asked = Arc::new(Mutex::new(0));
        let counter = asked.clone();
        let handler = approver_fn(move |_| {
            *counter.lock().unwrap() += 1;
            async { Answer::Remember { scope: Scope::Session, rules: vec![], note: None } }
        });
        let session = builder
            .tool(bash())
            .gate(policy())
            .approvals(Approvals::Handler(handler))
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Build").await.unwrap();
        session.permissions().clear_session_allowed();
        session.run("Again").await.unwrap();
        assert_eq!(*asked.lock().unwrap(), 2);
    });
}

#[test]
fn kode_02_always_saves_the_narrow_rule_that_was_shown() {
    both_runtimes(async || {
        for (read_only, scope) in [(false, Scope::Always), (true, Scope::Session)] {
            let (builder, _) = builder(make_twice());
            let (bash, store, sink) =
                (bash(), memory(), Arc::new(Sink(Mutex::default(), read_only)));
            let session = builder
                .tools(tool(bash.clone()))
                .gate(policy())
                .approvals(Approvals::Decide)
                .rule_sink(sink.clone())
                .create(store.clone(), None)
                .await
                .unwrap();
            let reply = session.reply("Build").await.unwrap();
            let ChatEnd::Paused { permissions } = reply.end else { panic!("{reply:?}") };
            let pending = session.permissions().pending();
            assert_eq!(pending[0].call.call, permissions[0]);
            let shown = pending[0].rules.clone();
            assert!(shown[0].starts_with("Bash(make") && shown[0] != "Bash", "{shown:?}");
            let always = Decision::Allow(Scope::Always);
            session.permissions().decide(&permissions[0], always, Some("ok".into())).await.unwrap();
            let mut events = session
                .subscribe(reply.last.unwrap(), [robota_session::EventKind::State])
                .await
                .unwrap();
            while !matches!(
                events.next_event().await.unwrap().unwrap().event(),
                Event::TurnFinished(_)
            ) {}
            assert_eq!(bash.inputs().len(), 2);
            let decided = decided(&journal(&*store, session.id()).await);
            assert_eq!((decided[0].scope, &decided[0].rules), (Some(scope), &shown));
            assert_eq!(*sink.0.lock().unwrap(), if read_only { vec![] } else { shown });
            assert_eq!(decided[0].reason.contains("read-only"), read_only);
        }
    });
}

#[test]
fn kode_02_a_rule_that_the_user_edited_is_remembered_and_saved() {
    both_runtimes(async || {
        let (builder, _) = builder(make_twice());
        let (bash, store, sink) = (bash(), memory(), Arc::new(Sink(Mutex::default(), false)));
        let session = builder
            .tools(tool(bash.clone()))
            .gate(policy())
            .approvals(Approvals::Decide)
            .rule_sink(sink.clone())
            .create(store.clone(), None)
            .await
            .unwrap();
        let reply = session.reply("Build").await.unwrap();
        let ChatEnd::Paused { permissions } = reply.end else { panic!("{reply:?}") };
        let rules = vec!["Bash(make *)".to_owned()];
        let allow = session.permissions();
        allow.allow_with_rules(&permissions[0], Scope::Always, rules.clone(), None).await.unwrap();
        let mut events = session
            .subscribe(reply.last.unwrap(), [robota_session::EventKind::State])
            .await
            .unwrap();
        while !matches!(events.next_event().await.unwrap().unwrap().event(), Event::TurnFinished(_))
        {
        }
        assert_eq!(bash.inputs().len(), 2, "the second call is covered");
        let decided = decided(&journal(&*store, session.id()).await);
        assert_eq!((decided[0].scope, &decided[0].rules), (Some(Scope::Always), &rules));
        assert_eq!(*sink.0.lock().unwrap(), rules);
    });
}

#[test]
fn kode_01_several_approvals_are_answered_independently() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [a, b, c]\n- text: Done."));
        let store = memory();
        let mut building = builder.gate(ask()).approvals(Approvals::Decide);
        for name in ["a", "b", "c"] {
            building = building.tools(tool(echo(name, Class::Execute)));
        }
        let session = building.create(store.clone(), None).await.unwrap();
        let reply = session.reply("Go").await.unwrap();
        assert!(matches!(reply.end, ChatEnd::Paused { .. }), "{reply:?}");
        let mut watch = session.watch();
        while watch.next().await.unwrap().pending.len() < 3 {}
        let decide = session.permissions();
        let mut asked = decide.pending();
        asked.sort_by(|a, b| a.call.name.cmp(&b.call.name));
        let permissions: Vec<_> = asked.into_iter().map(|question| question.call.call).collect();
        decide.decide(&permissions[1], Decision::Deny, Some("not b".into())).await.unwrap();
        let again = decide.decide(&permissions[1], Decision::Allow(Scope::Once), None).await;
        assert!(again.is_err(), "it was answered already");
        assert_eq!(session.status().await.unwrap().state, SessionState::Paused, "two still wait");
        decide.decide(&permissions[2], Decision::Allow(Scope::Once), None).await.unwrap();
        decide.decide(&permissions[0], Decision::Allow(Scope::Once), None).await.unwrap();
        let mut events = session
            .subscribe(reply.last.unwrap(), [robota_session::EventKind::State])
            .await
            .unwrap();
        while !matches!(events.next_event().await.unwrap().unwrap().event(), Event::TurnFinished(_))
        {
        }
        let messages = session.context().messages().await.unwrap();
        let results: Vec<_> =
            messages[2].tool_results().map(|r| (r.is_error, r.as_text())).collect();
        assert_eq!(results[0], (false, "{}".to_owned()));
        assert_eq!(results[1], (true, "Permission denied: not b".to_owned()), "KODE-07");
        assert_eq!(results[2], (false, "{}".to_owned()));
        check(&journal(&*store, session.id()).await, &messages);
    });
}

#[test]
fn sess_01_the_mode_can_change_while_a_session_is_open() {
    both_runtimes(async || {
        let make = json!({"command": "make all"});
        let (builder, _) = builder(
            Script::new()
                .tool("Bash", make.clone())
                .text("Not allowed.")
                .tool("Bash", make)
                .text("Built."),
        );
        let (bash, store) = (bash(), memory());
        let session = builder
            .tools(tool(bash.clone()))
            .gate(policy())
            .mode(Mode::Plan)
            .create(store.clone(), None)
            .await
            .unwrap();
        session.run("Build").await.unwrap();
        assert!(bash.inputs().is_empty());
        session.permissions().set_mode(Mode::BypassPermissions).await.unwrap();
        session.run("Build").await.unwrap();
        assert_eq!(
            (bash.inputs().len(), session.permissions().mode()),
            (1, Mode::BypassPermissions)
        );
        assert_eq!(count(&journal(&*store, session.id()).await, "mode_changed"), 2);
    });
}

/// A hook in code with fixed decisions.
struct FixedHook {
    pre: PreToolDecision,
    post: PostToolDecision,
}

#[async_trait::async_trait]
impl CodeHook for FixedHook {
    fn name(&self) -> &str {
        "says"
    }

    async fn pre_tool(&self, call: &ToolUse, _scope: &HookScope) -> PreToolDecision {
        if call.name == "ReadOutput" { PreToolDecision::Continue } else { self.pre.clone() }
    }

    async fn post_tool(
        &self,
        _call: &ToolUse,
        _outcome: &ToolOutcome,
        _scope: &HookScope,
    ) -> PostToolDecision {
        self.post.clone()
    }
}

async fn run_with_hook(hook: FixedHook, verdict: Verdict) -> (String, usize) {
    let (builder, _) = builder(yaml("- tools: [{tool: act, input: {n: 1}}]\n- text: Done."));
    let act = echo("act", Class::Execute);
    let session = builder
        .tools(tool(act.clone()))
        .gate(Arc::new(robota_testkit::ScriptedGate::new(verdict)))
        .code_hook(Arc::new(hook))
        .create(memory(), None)
        .await
        .unwrap();
    session.run("Go").await.unwrap();
    let messages = session.context().messages().await.unwrap();
    let text = messages[2].tool_results().next().unwrap().as_text();
    (text, act.inputs().len())
}

#[test]
fn kode_06_hooks_in_code_deny_ask_answer_and_change() {
    both_runtimes(async || {
        let pre = |pre| FixedHook { pre, post: PostToolDecision::Continue };
        let reason = || "no".to_owned();
        let deny = pre(PreToolDecision::Deny { reason: reason() });
        assert_eq!(
            run_with_hook(deny, Verdict::Allow).await,
            ("Blocked by hook: no".to_owned(), 0)
        );
        let ask = pre(PreToolDecision::Ask(HookQuestion::new(reason())));
        let (text, ran) = run_with_hook(ask, Verdict::Allow).await;
        assert!(text.starts_with("Permission denied") && ran == 0, "there is no approver: {text}");
        let answer = pre(PreToolDecision::Answer { outcome: ToolOutcome::ok("from the hook") });
        assert_eq!(run_with_hook(answer, Verdict::Allow).await, ("from the hook".to_owned(), 0));
        let input = json!({"n": 2});
        let change = pre(PreToolDecision::Change { input, then: AfterChange::Judge });
        assert_eq!(run_with_hook(change, Verdict::Allow).await, ("{\"n\":2}".to_owned(), 1));
        let post = |post| FixedHook { pre: PreToolDecision::Continue, post };
        let replace = post(PostToolDecision::Replace { outcome: ToolOutcome::ok("short") });
        assert_eq!(run_with_hook(replace, Verdict::Allow).await, ("short".to_owned(), 1));
        let block = post(PostToolDecision::Block { reason: reason() });
        assert_eq!(
            run_with_hook(block, Verdict::Allow).await,
            ("Blocked by hook: no".to_owned(), 1)
        );
        let allow = pre(PreToolDecision::Allow { reason: None });
        let (text, ran) = run_with_hook(allow, Verdict::Ask).await;
        assert!(
            text.starts_with("Permission denied") && ran == 0,
            "a hook cannot lift a rule: {text}"
        );
    });
}

#[test]
fn kode_06_a_question_of_a_hook_carries_its_data() {
    both_runtimes(async || {
        let question = HookQuestion::new("it deploys").with("environment", "production");
        let pre = PreToolDecision::Ask(question);
        let hook = FixedHook { pre, post: PostToolDecision::Continue };
        let (builder, _) = builder(yaml("- tools: [act]\n- text: Done."));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let approver = approver_fn(move |question| {
            seen.lock().unwrap().push(question);
            async { Answer::Allow { note: None } }
        });
        let store = memory();
        let session = builder
            .tools(tool(echo("act", Class::Execute)))
            .gate(allow())
            .approver(approver)
            .code_hook(Arc::new(hook))
            .create(store.clone(), None)
            .await
            .unwrap();
        session.run("Go").await.unwrap();
        let data = json!({"environment": "production"});
        let asked = asked.lock().unwrap().pop().unwrap();
        assert_eq!((json!(asked.metadata), asked.reason.as_str()), (data.clone(), "it deploys"));
        let id = session.id().clone();
        let events = robota_core::journal::read_all(&*store, &id, 0).await.unwrap();
        let recorded: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.event {
                Event::PermissionAsked(data) => Some(json!(data.metadata)),
                _ => None,
            })
            .collect();
        assert_eq!(recorded, [data]);
    });
}

/// The hook of the README: guards paths, and moves long results into a file.
struct PathGuard;

#[async_trait::async_trait]
impl CodeHook for PathGuard {
    fn name(&self) -> &str {
        "path-guard"
    }

    async fn pre_tool(&self, call: &ToolUse, scope: &HookScope) -> PreToolDecision {
        let file = call.input.json().and_then(|input| input["file"].as_str()).unwrap_or_default();
        match &scope.files {
            Some(files) if !files.is_inside(Path::new(file)) => {
                PreToolDecision::Deny { reason: "path out of sandbox".to_owned() }
            }
            _ => PreToolDecision::Continue,
        }
    }

    async fn post_tool(
        &self,
        call: &ToolUse,
        outcome: &ToolOutcome,
        scope: &HookScope,
    ) -> PostToolDecision {
        let Some(files) = &scope.files else { return PostToolDecision::Continue };
        let path = files.temp(&format!("tool-{}.log", call.call));
        match files.write(&path, outcome.text().as_bytes()) {
            Ok(()) => {
                let text = format!("[Full output at {}]", path.display());
                PostToolDecision::Replace { outcome: ToolOutcome::ok(text) }
            }
            Err(reason) => PostToolDecision::Block { reason },
        }
    }
}

#[derive(Default)]
struct Files(Mutex<Vec<(PathBuf, Vec<u8>)>>);

impl HookFiles for Files {
    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with("/srv")
    }

    fn temp(&self, name: &str) -> PathBuf {
        Path::new("/srv/.temp").join(name)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        self.0.lock().unwrap().push((path.to_owned(), bytes.to_vec()));
        Ok(())
    }
}

#[test]
fn kode_06_hooks_can_use_the_sandboxs_files() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml(
            "- tools: [{tool: read, input: {file: /etc/passwd}}, {tool: read, input: {file: /srv/a}}]\n- text: Done.",
        ));
        let (read, files) = (echo("read", Class::Inspect), Arc::new(Files::default()));
        let session = builder
            .tools(tool(read.clone()))
            .code_hook(Arc::new(PathGuard))
            .hook_files(files.clone())
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Go").await.unwrap();
        let messages = session.context().messages().await.unwrap();
        let results: Vec<_> = messages[2].tool_results().map(|result| result.as_text()).collect();
        assert_eq!(results[0], "Blocked by hook: path out of sandbox");
        assert!(results[1].starts_with("[Full output at /srv/.temp/tool-"), "{}", results[1]);
        assert_eq!(files.0.lock().unwrap()[0].1, b"{\"file\":\"/srv/a\"}");
        assert_eq!(read.inputs().len(), 1);
        let hooks = session.config().get_hooks();
        assert_eq!((hooks[0].name.as_str(), hooks[0].origin), ("path-guard", HookOrigin::Code));
    });
}

struct Watcher {
    refuse: Option<&'static str>,
    seen: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl CodeHook for Watcher {
    fn name(&self) -> &str {
        "watcher"
    }

    fn points(&self) -> &[HookPoint] {
        &[]
    }

    async fn pre_model(&self, request: &mut ModelRequest, _: &HookScope) -> Result<(), String> {
        if self.refuse == Some("call") {
            return Err("too expensive".to_owned());
        }
        request.temperature = Some(0.5);
        Ok(())
    }

    async fn post_model(&self, answer: &Message, _: &HookScope) -> Result<(), String> {
        self.seen.lock().unwrap().push(answer.text());
        if self.refuse == Some("answer") { Err("too rude".to_owned()) } else { Ok(()) }
    }
}

#[test]
fn kode_06_hooks_before_and_after_the_model() {
    both_runtimes(async || {
        for (refuse, says) in
            [(None, "Hi."), (Some("call"), "too expensive"), (Some("answer"), "too rude")]
        {
            let (builder, model) = builder(Script::new().text("Hi."));
            let watcher = Arc::new(Watcher { refuse, seen: Mutex::default() });
            let session = builder.create(memory(), None).await.unwrap();
            session.config().use_hooks(watcher.clone());
            let reply = session.reply("Hello").await.unwrap();
            assert!(reply.text.contains(says), "{}", reply.text);
            match refuse {
                Some("call") => assert!(model.requests().is_empty()),
                _ => {
                    assert_eq!(model.requests()[0].temperature, Some(0.5));
                    assert_eq!(*watcher.seen.lock().unwrap(), ["Hi."]);
                }
            }
            assert_eq!(session.status().await.unwrap().state, SessionState::Ready);
        }
    });
}

/// Model calls outside the conversation run the same hooks as those of turns.
#[test]
fn kode_06_hooks_before_and_after_questions_and_summaries() {
    both_runtimes(async || {
        let (first, model) = builder(Script::new().text("Aside.").text("Hi.").text("Sum."));
        let watcher = Arc::new(Watcher { refuse: None, seen: Mutex::default() });
        let session = first.create(memory(), None).await.unwrap();
        session.config().use_hooks(watcher.clone());
        session.ask_llm("What is it?", None).await.unwrap();
        session.run("Hello").await.unwrap();
        session.context().compact(None).await.unwrap();
        assert_eq!(*watcher.seen.lock().unwrap(), ["Aside.", "Hi.", "Sum."]);
        assert!(model.requests().iter().all(|request| request.temperature == Some(0.5)));

        let (second, model) = builder(Script::new());
        let session = second.create(memory(), None).await.unwrap();
        session
            .config()
            .use_hooks(Arc::new(Watcher { refuse: Some("call"), seen: Mutex::default() }));
        let error = session.ask_llm("What is it?", None).await.unwrap_err();
        assert!(error.to_string().contains("too expensive"), "{error}");
        assert!(model.requests().is_empty());
    });
}

/// Hooks as the settings define them.
struct Settings(Mutex<Vec<HookInput>>, HookReply);

#[async_trait::async_trait]
impl Hooks for Settings {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PreToolUse
    }

    async fn run(&self, input: HookInput) -> HookReply {
        self.0.lock().unwrap().push(input);
        self.1.clone()
    }
}

#[test]
fn kode_06_hooks_of_settings_see_what_hooks_in_code_changed() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [{tool: act, input: {n: 1}}]\n- text: Done."));
        let input = json!({"n": 2});
        let code = FixedHook {
            pre: PreToolDecision::Change { input: input.clone(), then: AfterChange::Judge },
            post: PostToolDecision::Continue,
        };
        let reply = HookReply {
            answer: HookAnswer::PreToolUse(PreToolDecision::Continue),
            context: Some("mind the gap".to_owned()),
            stop: None,
        };
        let settings = Arc::new(Settings(Mutex::default(), reply));
        let act = echo("act", Class::Execute);
        let session = builder
            .tools(tool(act.clone()))
            .gate(allow())
            .code_hook(Arc::new(code))
            .hooks(settings.clone())
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Go").await.unwrap();
        let HookInput::PreToolUse { tool_use, .. } = settings.0.lock().unwrap()[0].clone() else {
            panic!()
        };
        assert_eq!(tool_use.input.json(), Some(&input));
        assert_eq!(act.inputs(), [input]);
        let messages = session.context().messages().await.unwrap();
        let text = messages[2].tool_results().next().unwrap().as_text();
        assert_eq!(text, "{\"n\":2}mind the gap");
    });
}

#[test]
fn sess_15_a_hook_that_stops_all_work_ends_the_turn() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [act]\n- text: Never."));
        let reply = HookReply {
            answer: HookAnswer::PreToolUse(PreToolDecision::Continue),
            context: None,
            stop: Some("lunch".to_owned()),
        };
        let act = echo("act", Class::Execute);
        let session = builder
            .tools(tool(act.clone()))
            .gate(allow())
            .hooks(Arc::new(Settings(Mutex::default(), reply)))
            .create(memory(), None)
            .await
            .unwrap();
        let reply = session.reply("Go").await.unwrap();
        assert_eq!(reply.end, ChatEnd::Ended { end: TurnEnd::Stopped, error: None });
        assert!(act.inputs().is_empty());
    });
}

#[test]
fn sess_17_unknown_tools_reach_the_tool_callback_once() {
    both_runtimes(async || {
        let (builder, _) = builder(yaml("- tools: [look, nowhere, act]\n- text: Done."));
        let shown: Arc<Mutex<Vec<ToolExecution>>> = Arc::default();
        let sink = shown.clone();
        let callbacks =
            robota_session::Callbacks::new().on_tool(move |event| sink.lock().unwrap().push(event));
        let session = builder
            .tools(tool(echo("look", Class::Inspect)))
            .tools(tool(echo("act", Class::Execute)))
            .callbacks(callbacks)
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Go").await.unwrap();
        let shown = shown.lock().unwrap();
        let ends: Vec<_> = shown
            .iter()
            .filter_map(|event| match event {
                ToolExecution::End { tool, success, denied, error_code, .. } => {
                    Some((tool.as_str(), *success, *denied, error_code.as_deref()))
                }
                ToolExecution::Start { .. } => None,
            })
            .collect();
        assert_eq!(shown.len(), 4, "only what runs begins: {shown:?}");
        assert!(ends.contains(&("look", true, false, None)));
        assert!(ends.contains(&("nowhere", false, false, Some("unknown_tool"))));
        assert!(ends.contains(&("act", false, true, Some("denied"))));
    });
}

#[test]
fn sess_03_long_output_reaches_the_model_cut_and_readable() {
    both_runtimes(async || {
        let (builder, model) = builder(yaml("- tools: [big]\n- text: Done."));
        let big = fn_tool("big", Class::Inspect, |_| async { "line\n".repeat(20_000) });
        let session = builder
            .tools(tool(big))
            .output_limit(Some(1_000))
            .create(memory(), None)
            .await
            .unwrap();
        session.run("Go").await.unwrap();
        let result = model.requests()[1].messages[2].tool_results().next().unwrap().as_text();
        assert!(result.len() < 1_500 && result.contains("call ReadOutput"), "{}", result.len());
        assert!(model.requests()[1].tools.iter().any(|tool| tool.name == "ReadOutput"));
    });
}

#[test]
fn kode_04_a_fork_has_its_own_gate() {
    both_runtimes(async || {
        let gate = policy();
        gate.remember(&["Bash(make all)".to_owned()]).unwrap();
        let (builder, _) = builder(Script::new().text("Hi."));
        let session = builder.gate(gate.clone()).create(memory(), None).await.unwrap();
        session.run("Hello").await.unwrap();
        let fork = session.fork(&robota_session::Selector::Latest, None).await.unwrap();
        assert!(fork.permissions().session_allowed().is_empty());
        fork.permissions().set_mode(Mode::Plan).await.unwrap();
        assert_eq!(session.permissions().session_allowed(), ["Bash(make all)"]);
        assert_eq!(session.permissions().mode(), Mode::Default);
    });
}
