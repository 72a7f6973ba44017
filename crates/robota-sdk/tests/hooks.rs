//! HTTP, prompt and agent hooks, run by the hook runner of a session.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use robota_core::call::CallContext;
use robota_core::error::ErrorKind;
use robota_core::hook::{
    HookAnswer, HookContext, HookData, HookEvent, HookExecutor, HookGroup, HookInput, HookKind,
    HookRunner, PreToolDecision, SessionSource, StopDecision,
};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Verdict;
use robota_core::provider::{AskLimits, ProviderError, RetryPolicy};
use robota_core::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use robota_core::tool::Tool;
use robota_exec::{Environment, Supervisor};
use robota_sdk::hooks::{
    AgentHooks, HookEffect, HookListing, HttpHooks, MAX_AGENT_ROUNDS, PromptHooks,
    ReadOnlyHookAgent, UrlPattern,
};
use robota_tools::web::Proxies;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

fn runner(kind: HookKind, executor: impl HookExecutor + 'static, hook: &Value) -> HookRunner {
    let group: HookGroup = serde_json::from_value(json!({"hooks": [hook]})).unwrap();
    [HookEvent::PreToolUse, HookEvent::Stop, HookEvent::SessionStart].into_iter().fold(
        HookRunner::new(HookContext::new("s1", "/work")).executor(kind, Arc::new(executor)),
        |runner, event| runner.groups(event, [group.clone()]),
    )
}

fn call() -> HookInput {
    let input = ToolInput::Json(json!({"command": "rm -r build"}));
    HookInput::PreToolUse {
        tool_use: ToolUse::new("c".into(), "id", "Bash", input),
        verdict: Verdict::Ask,
    }
}

async fn decide(runner: &HookRunner) -> PreToolDecision {
    match runner.run_point(call()).await.reply.answer {
        HookAnswer::PreToolUse(decision) => decision,
        other => panic!("{other:?}"),
    }
}

/// Returns why the call was denied. The same failure must not hold up a turn that ends.
async fn denied(runner: &HookRunner) -> String {
    let stop = runner.run_point(HookInput::Stop { text: String::new(), active: false }).await;
    assert_eq!(stop.reply.answer, HookAnswer::Stop(StopDecision::Finish), "only gates fail closed");
    assert_eq!(stop.notices.len(), 1, "the failure is reported");
    match decide(runner).await {
        PreToolDecision::Deny { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// Serves one answer per connection; the receiver gets the complete requests.
async fn serve<F, R>(answer: F) -> (u16, mpsc::UnboundedReceiver<String>)
where
    F: Fn(TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = mpsc::unbounded_channel();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (answer, sender) = (answer.clone(), sender.clone());
            tokio::spawn(async move {
                let Some(request) = read_request(&mut stream).await else { return };
                let _ = sender.send(request);
                answer(stream).await;
            });
        }
    });
    (port, requests)
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&part[..read]);
        let text = String::from_utf8(request.clone()).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_none_or(|length| length.parse::<usize>().unwrap() <= body.len()) {
            return Some(text);
        }
    }
}

async fn serve_text(text: String) -> (u16, mpsc::UnboundedReceiver<String>) {
    serve(move |mut stream| {
        let text = text.clone();
        async move {
            let _ = stream.write_all(text.as_bytes()).await;
        }
    })
    .await
}

fn response(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn loopback(port: u16) -> HttpHooks {
    let pattern = UrlPattern::parse(&format!("http://127.0.0.1:{port}/*")).unwrap();
    HttpHooks::new(Proxies::default()).allowed_urls(Some(vec![pattern]))
}

fn http(port: u16) -> Value {
    json!({"type": "http", "url": format!("http://127.0.0.1:{port}/hook"), "timeout": 20})
}

#[tokio::test]
async fn core_22_an_http_hook_sends_the_event_and_its_answer_decides() {
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "not the build"}});
    let (port, mut requests) = serve_text(response("200 OK", &answer.to_string())).await;
    let mut hook = http(port);
    hook["headers"] = json!({"Authorization": "Bearer $TOKEN", "X-Team": "${TEAM}"});
    hook["allowedEnvVars"] = json!(["TOKEN", "TEAM"]);
    let executor = loopback(port).variables(|name| Some(format!("value-of-{name}")));
    let runner = runner(HookKind::Http, executor, &hook);
    let PreToolDecision::Deny { reason } = decide(&runner).await else { panic!() };
    assert_eq!(reason, "not the build");
    let request = requests.recv().await.unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.starts_with("post /hook http/1.1"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("authorization: bearer value-of-token"), "{head}");
    assert!(head.contains("x-team: value-of-team"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["hook_event_name"], "PreToolUse");
    assert_eq!(body["tool_input"]["command"], "rm -r build");
    assert_eq!(body["session_id"], "s1");
}

#[tokio::test]
async fn core_22_the_status_of_an_http_hook_is_mapped_to_an_exit_code() {
    for body in ["", " \n", "{}", r#"{"ok": true}"#] {
        let (port, _) = serve_text(response("200 OK", body)).await;
        let runner = runner(HookKind::Http, loopback(port), &http(port));
        assert_eq!(decide(&runner).await, PreToolDecision::Continue, "{body:?}");
    }
    let (port, _) = serve_text(response("204 No Content", "")).await;
    let runner_of = |port| runner(HookKind::Http, loopback(port), &http(port));
    assert_eq!(decide(&runner_of(port)).await, PreToolDecision::Continue);
    for (status, body, why) in [
        ("200 OK", "<html>log in</html>", "not a JSON object"),
        ("200 OK", "[]", "not a JSON object"),
        ("200 OK", "{\"decision\": ", "cannot be read"),
        ("200 OK", "{\"decision\": \"maybe\"}", "cannot be read"),
        ("403 Forbidden", "{}", "status 403"),
        ("404 Not Found", "", "status 404"),
        ("500 Oops", "{\"decision\": \"approve\"}", "status 500"),
    ] {
        let (port, _) = serve_text(response(status, body)).await;
        let reason = denied(&runner_of(port)).await;
        assert!(reason.contains(why), "{status} {body}: {reason}");
    }
    let (port, _) = serve_text(response("200 OK", r#"{"ok": false, "reason": "no"}"#)).await;
    assert_eq!(decide(&runner_of(port)).await, PreToolDecision::Deny { reason: "no".to_owned() });
}

#[tokio::test]
async fn core_22_private_addresses_need_a_pattern_that_names_the_host() {
    let (port, mut requests) = serve_text(response("200 OK", "{}")).await;
    let pattern = |text: &str| Some(vec![UrlPattern::parse(text).unwrap()]);
    let every = HttpHooks::new(Proxies::default());
    let wide = HttpHooks::new(Proxies::default()).allowed_urls(pattern("http://*:*"));
    for (executor, why) in [
        (every, "not on the public internet"),
        (wide, "not on the public internet"),
        (loopback(port.wrapping_add(1)), "`allowedHttpHookUrls` does not allow"),
        (HttpHooks::new(Proxies::default()).allowed_urls(Some(Vec::new())), "does not allow"),
    ] {
        let reason = denied(&runner(HookKind::Http, executor, &http(port))).await;
        assert!(reason.contains(why), "{reason}");
    }
    // A name is looked up first.
    let by_name = json!({"type": "http", "url": format!("http://localhost:{port}/hook")});
    let every = HttpHooks::new(Proxies::default());
    let reason = denied(&runner(HookKind::Http, every, &by_name)).await;
    assert!(reason.contains("not on the public internet"), "{reason}");
    assert!(requests.try_recv().is_err(), "nothing was sent");
    let named = format!("http://localhost:{port}/hook");
    let named = HttpHooks::new(Proxies::default()).allowed_urls(pattern(&named));
    assert_eq!(decide(&runner(HookKind::Http, named, &by_name)).await, PreToolDecision::Continue);
}

#[tokio::test]
async fn core_22_a_hostile_server_blocks_and_nothing_else() {
    let (other, mut never) = serve_text(response("200 OK", "{}")).await;
    let to = format!("http://127.0.0.1:{other}/x");
    let redirect = format!(
        "HTTP/1.1 307 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let (port, _) = serve_text(redirect).await;
    let reason = denied(&runner(HookKind::Http, loopback(port), &http(port))).await;
    assert!(reason.contains("redirects to") && never.try_recv().is_err(), "{reason}");

    let (port, _) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{").await;
        // Until the client closes the connection.
        while stream.write_all(&[b' '; 65_536]).await.is_ok() {}
    })
    .await;
    let reason = denied(&runner(HookKind::Http, loopback(port), &http(port))).await;
    assert!(reason.contains("longer than"), "{reason}");

    let (port, _) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{").await;
        std::future::pending::<()>().await;
    })
    .await;
    let mut slow = http(port);
    slow["timeout"] = json!(0.2);
    let reason = denied(&runner(HookKind::Http, loopback(port), &slow)).await;
    assert!(reason.contains("its time was up"), "{reason}");

    let (port, _) = serve(|stream| async move { drop(stream) }).await;
    let reason = denied(&runner(HookKind::Http, loopback(port), &http(port))).await;
    assert!(reason.contains("failed"), "{reason}");
}

#[tokio::test]
async fn core_22_headers_contain_only_listed_variables() {
    let (port, mut requests) = serve_text(response("200 OK", "{}")).await;
    for (headers, listed, setting, why) in [
        (json!({"A": "$TOKEN"}), json!([]), None, "allowedEnvVars"),
        (json!({"A": "$TOKEN"}), json!(["TOKEN"]), Some(vec![]), "httpHookAllowedEnvVars"),
        (json!({"A": "$UNSET"}), json!(["UNSET"]), None, "not set"),
        (json!({"A": "$TOKEN"}), json!(["TOKEN"]), None, "not a valid header"),
        (json!({"Host": "example.com"}), json!([]), None, "only the client sets"),
    ] {
        let mut hook = http(port);
        hook["headers"] = headers;
        hook["allowedEnvVars"] = listed;
        let executor = loopback(port)
            .allowed_variables(setting)
            .variables(|name| (name == "TOKEN").then(|| "s3cret\r\nX: y".to_owned()));
        let reason = denied(&runner(HookKind::Http, executor, &hook)).await;
        assert!(reason.contains(why) && !reason.contains("s3cret"), "{reason}");
    }
    assert!(requests.try_recv().is_err(), "nothing was sent");
}

fn prompt_hook() -> Value {
    json!({"type": "prompt", "prompt": "Is this safe? $ARGUMENTS", "timeout": 5})
}

fn prompts(script: Script) -> (PromptHooks, ScriptedProvider) {
    let provider = ScriptedProvider::new(script);
    (PromptHooks::new(Arc::new(provider.clone()), "small"), provider)
}

#[tokio::test]
async fn sdk_21_a_prompt_hook_asks_the_model_once() {
    let (executor, provider) = prompts(
        Script::new().text(r#"{"ok": true}"#).text(r#"{"ok": false, "reason": "deletes"}"#),
    );
    let runner = runner(HookKind::Prompt, executor, &prompt_hook());
    assert_eq!(decide(&runner).await, PreToolDecision::Continue);
    assert_eq!(decide(&runner).await, PreToolDecision::Deny { reason: "deletes".to_owned() });
    let requests = provider.requests();
    let text = requests[0].messages[0].text();
    assert!(text.starts_with("Is this safe? {") && text.contains("rm -r build"), "{text}");
    assert_eq!((requests[0].model.as_str(), requests[0].tools.len()), ("small", 0));
    assert!(requests[0].max_output_tokens.is_some() && requests[0].output.is_some());
}

#[tokio::test]
async fn sdk_21_a_prompt_hook_at_the_end_continues_or_stops() {
    let (executor, _) = prompts(
        Script::new()
            .text(r#"{"ok": false, "reason": "run the tests"}"#)
            .text(r#"{"ok": false, "reason": "no network", "impossible": true}"#),
    );
    let mut hook = prompt_hook();
    hook["model"] = json!("other");
    let runner = runner(HookKind::Prompt, executor, &hook);
    let stop = || HookInput::Stop { text: "Done".to_owned(), active: false };
    let reason = "run the tests".to_owned();
    assert_eq!(
        runner.run_point(stop()).await.reply.answer,
        HookAnswer::Stop(StopDecision::Continue { reason })
    );
    assert_eq!(runner.run_point(stop()).await.reply.answer, HookAnswer::Stop(StopDecision::Finish));
}

#[tokio::test(start_paused = true)]
async fn sdk_21_a_prompt_hook_that_fails_blocks_at_gates() {
    let failure = || ProviderError::new(ErrorKind::Authentication, "bad key");
    for (answer, why) in [
        (ScriptedAnswer::new().text("Sure, it is ok."), "not of the form"),
        (ScriptedAnswer::new().text(r#"Yes: {"ok": true}"#), "not of the form"),
        (ScriptedAnswer::new().text(r#"{"ok": true"#).cut_off(), "failed"),
        (ScriptedAnswer::new().error(failure()), "bad key"),
        (ScriptedAnswer::new().stall(), "its time was up"),
    ] {
        let (executor, _) = prompts(Script::new().answer(answer).looped());
        let limits = AskLimits { retry: RetryPolicy::never(), ..AskLimits::default() };
        let executor = executor.limits(limits).context(CallContext::detached());
        let reason = denied(&runner(HookKind::Prompt, executor, &prompt_hook())).await;
        assert!(reason.contains(why), "{reason}");
    }
}

fn tools(dir: &Path) -> Vec<Arc<dyn Tool>> {
    robota_tools::toolset(dir, Supervisor::new(), Environment::new())
}

#[tokio::test]
async fn sdk_21_an_agent_hook_reads_files_and_cannot_change_them() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("notes.txt"), "keep the build folder").unwrap();
    let provider = ScriptedProvider::new(
        Script::new()
            .tool("Read", json!({"file_path": "notes.txt"}))
            .tool("Write", json!({"file_path": "new.txt", "content": "x"}))
            .text(r#"{"ok": false, "reason": "notes.txt says so"}"#),
    );
    let agent = ReadOnlyHookAgent::new(Arc::new(provider.clone()), "small", tools(dir.path()));
    let hook = json!({"type": "agent", "prompt": "May it run?"});
    let runner = runner(HookKind::Agent, AgentHooks::new(Arc::new(agent)), &hook);
    assert_eq!(
        decide(&runner).await,
        PreToolDecision::Deny { reason: "notes.txt says so".to_owned() }
    );
    let requests = provider.requests();
    let names: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Glob", "Grep", "Read"], "none that asks the user or ends commands");
    let seen = serde_json::to_string(&requests[2].messages).unwrap();
    assert!(seen.contains("keep the build folder"), "{seen}");
    assert!(!dir.path().join("new.txt").exists());
}

#[tokio::test]
async fn sdk_21_an_agent_hook_has_a_limited_number_of_rounds() {
    let dir = tempfile::tempdir().unwrap();
    let provider =
        ScriptedProvider::new(Script::new().tool("Glob", json!({"pattern": "*"})).looped());
    let agent = ReadOnlyHookAgent::new(Arc::new(provider.clone()), "small", tools(dir.path()));
    let hook = json!({"type": "agent", "prompt": "May it run?"});
    let runner = runner(HookKind::Agent, AgentHooks::new(Arc::new(agent)), &hook);
    let PreToolDecision::Deny { reason } = decide(&runner).await else { panic!() };
    assert!(reason.contains("failed"), "{reason}");
    let calls = provider.requests().len();
    let most = usize::try_from(MAX_AGENT_ROUNDS).unwrap() + 1;
    assert!(calls > 2 && calls <= most, "{calls} model calls");
}

#[tokio::test]
async fn sdk_21_a_failing_hook_at_session_start_is_a_warning() {
    let (executor, _) = prompts(Script::new().text("what?"));
    let runner = runner(HookKind::Prompt, executor, &prompt_hook());
    let start =
        HookData::SessionStart { source: SessionSource::Startup, model: None, session_title: None };
    let report = runner.run_event(start).await;
    assert_eq!(report.notices.len(), 1, "{report:?}");
}

#[test]
fn sdk_21_the_listing_says_what_runs_when_and_from_which_file() {
    let (home, cwd) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(home.path().join(".robota")).unwrap();
    let file = home.path().join(".robota/settings.json");
    let hook = |command: &str| json!({"type": "command", "command": command});
    let settings = json!({"hooks": {
        "PreToolUse": [
            {"matcher": "Bash|Edit", "hooks": [hook("./check"), hook("./check")]},
            {"matcher": "(", "hooks": [{"type": "webhook", "server": "x"}]},
        ],
        "Stop": [{"matcher": "x", "hooks": [
            {"type": "command", "command": "log", "timeout": 5000, "async": true, "once": true},
            {"type": "http", "url": "https://example.com/", "if": "Bash(git *)"},
        ]}],
        "TeammateIdle": [{"hooks": [hook("notify")]}],
    }});
    std::fs::write(&file, settings.to_string()).unwrap();
    let places = robota_config::Places::new(home.path(), cwd.path());
    let trust = robota_config::TrustStore::load(&places);
    let settings = robota_config::load(&places, &trust, &robota_config::rule_check(&places));
    let listing = HookListing::of(&settings, &[HookKind::Command, HookKind::Http]);
    let effects: Vec<_> = listing.hooks.iter().map(|hook| &hook.effect).collect();
    assert!(matches!(
        effects[..],
        [
            HookEffect::Runs,
            HookEffect::Duplicate,
            HookEffect::Blocks(_),
            HookEffect::RunsDetached,
            HookEffect::Never(_),
            HookEffect::Never(_),
        ]
    ));
    assert!(
        !listing.disabled
            && listing
                .hooks
                .iter()
                .all(|it| it.origin.as_ref().unwrap().file.as_ref() == Some(&file))
    );
    assert_eq!(listing.hooks[0].timeout, Duration::from_secs(600));
    let text = listing.to_string();
    assert!(text.starts_with("PreToolUse (Bash|Edit): command hook `./check`, from "), "{text}");
    for part in [
        "the matcher `(` at PreToolUse is invalid",
        "`timeout` is in seconds",
        "`once` has an effect only in a skill",
        "the matcher is ignored at this event",
        "`if` is for tool events",
        "this version does not have the event",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
