//! Hooks of the settings: all kinds decide about the calls of a session.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use robota_core::permission::Mode;
use robota_session::Approvals;
use serde_json::{Value, json};

use crate::common::Scene;

/// Writes the user's settings.
fn settings(scene: &Scene, settings: &Value) {
    scene.write("home/.robota/settings.json", &settings.to_string());
}

/// Runs one prompt and returns the history as text.
async fn run(scene: &Scene) -> String {
    let session = scene.open().await;
    session.submit("Go").await.unwrap().result().await.unwrap();
    let history =
        serde_json::to_string(&session.conversation().full_history().await.unwrap()).unwrap();
    session.shutdown("done").await.unwrap();
    history
}

fn write_call() -> String {
    "- tools: [{tool: Write, input: {file_path: new.txt, content: x}}]\n".to_owned()
}

#[tokio::test]
async fn sdk_21_prompt_and_agent_hooks_of_the_settings_decide() {
    for (kind, more) in
        [("prompt", ""), ("agent", "- tools: [{tool: Glob, input: {pattern: '*'}}]\n")]
    {
        let script = format!(
            "{}{more}- '{{\"ok\": false, \"reason\": \"no new files\"}}'\n- done\n",
            write_call()
        );
        let scene = Scene::new(&script);
        let hook = json!({"type": kind, "prompt": "May it? $ARGUMENTS"});
        settings(
            &scene,
            &json!({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]}}),
        );
        let history = run(&scene).await;
        assert!(history.contains("no new files"), "{kind}: {history}");
        assert!(!scene.path().join("project/new.txt").exists(), "{kind}");
        assert_eq!(scene.provider.unplayed(), 0, "{kind}");
    }
}

#[tokio::test]
async fn sdk_21_an_agent_hook_reads_files_also_for_the_call_of_a_subagent() {
    let read = "- tools: [{tool: Read, input: {file_path: rules.txt}}]\n";
    let verdict = "- '{\"ok\": false, \"reason\": \"as the rules say\"}'\n";
    let scene = Scene::new(&format!("{}{read}{verdict}- tried\n", write_call()));
    scene.write("project/rules.txt", "No new files.\n");
    let hook = json!({"type": "agent", "prompt": "May it? $ARGUMENTS"});
    settings(&scene, &json!({"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]}}));
    let session = scene.open().await;
    let ran = session.execute_command("agent", "run general-purpose Write it.").await.unwrap();
    assert_eq!(ran.message, "tried");
    assert!(!scene.path().join("project/new.txt").exists());
    let requests = scene.provider.requests();
    let names: Vec<_> = requests[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Glob", "Grep", "Read"], "the hook's tools");
    let seen = serde_json::to_string(&requests[2].messages).unwrap();
    assert!(seen.contains("No new files."), "{seen}");
}

#[tokio::test]
async fn core_22_http_hooks_of_the_settings_decide() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/check");
    std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).unwrap();
        let body = r#"{"decision": "block", "reason": "the server says no"}"#;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    });
    let hooks = json!({"PreToolUse": [{"hooks": [{"type": "http", "url": url}]}]});
    let scene = Scene::new(&format!("{}- done\n", write_call()));
    settings(&scene, &json!({"hooks": hooks, "allowedHttpHookUrls": [url]}));
    assert!(run(&scene).await.contains("the server says no"));
    // Without the pattern nothing is sent, and the call does not run either.
    let scene = Scene::new(&format!("{}- done\n", write_call()));
    settings(&scene, &json!({ "hooks": hooks }));
    assert!(run(&scene).await.contains("not on the public internet"));
    assert!(!scene.path().join("project/new.txt").exists());
}

#[tokio::test]
async fn core_22_variables_of_a_session_start_hook_reach_bash() {
    let scene =
        Scene::new("- tools: [{tool: Bash, input: {command: 'echo \"is $COLOR\"'}}]\n- done\n");
    let command = r#"echo 'export COLOR="dark teal"' >> "$CLAUDE_ENV_FILE""#;
    let hooks = json!({"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]});
    settings(&scene, &json!({"hooks": hooks, "permissions": {"allow": ["Bash(echo *)"]}}));
    let history = run(&scene).await;
    assert!(history.contains("is dark teal"), "{history}");
}

#[tokio::test]
async fn sdk_21_the_command_hooks_lists_them_with_their_file() {
    let scene = Scene::new("- done\n");
    let hooks = json!({"Stop": [{"hooks": [{"type": "command", "command": "./log"}]}]});
    settings(&scene, &json!({"hooks": hooks, "allowedHttpHookUrls": ["nonsense"]}));
    let session = scene.open().await;
    let result = session.execute_command("hooks", "").await.unwrap();
    assert!(result.message.starts_with("Stop  command hook `./log`"), "{}", result.message);
    assert!(result.message.contains("settings.json"), "{}", result.message);
    assert_eq!(result.data["hooks"]["hooks"][0]["event"], "Stop");
}

#[tokio::test]
async fn core_22_hooks_read_the_transcript_of_the_session() {
    let scene = Scene::new(
        "- {text: Writing., tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}\n- done\n",
    );
    // Each hook copies the transcript as it is then.
    let copy = |name: &str| {
        let script = format!(
            r#"path=$(sed 's/.*"transcript_path":"\([^"]*\)".*/\1/') && cp "$path" {name} && echo "$path" > path"#
        );
        json!([{"hooks": [{"type": "command", "command": script}]}])
    };
    let hooks = json!({
        "UserPromptSubmit": copy("submit"), "PreToolUse": copy("pre"), "Stop": copy("stop"),
    });
    settings(&scene, &json!({ "hooks": hooks }));
    let history = run(&scene).await;
    let read = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(scene.path().join("project").join(name));
        let text = text.unwrap_or_else(|error| panic!("{name}: {error}: {history}"));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(read("submit"), Vec::<Value>::new(), "no message is in the conversation yet");
    let (pre, stop) = (read("pre"), read("stop"));
    let content = |line: &Value| line["message"]["content"].clone();
    assert_eq!((&pre[0]["type"], content(&pre[0])), (&json!("user"), json!("Go")));
    assert_eq!(content(&pre[1]), json!([{"type": "text", "text": "Writing."}]));
    assert_eq!(content(&pre[2])[0]["name"], "Write");
    assert_eq!(pre.len(), 3);
    assert_eq!(stop[..3], pre, "lines are only added");
    assert_eq!(content(&stop[3])[0]["type"], "tool_result");
    assert_eq!(content(&stop[3])[0]["tool_use_id"], content(&stop[2])[0]["id"]);
    assert_eq!(content(&stop[4]), json!([{"type": "text", "text": "done"}]));
    assert_eq!(stop[4]["message"]["model"], "scripted");
    let mut parent = &Value::Null;
    for line in &stop {
        assert_eq!(&line["parentUuid"], parent, "{line}");
        assert_eq!(line["sessionId"], stop[0]["sessionId"]);
        assert!(line["timestamp"].is_string() && line["cwd"].is_string(), "{line}");
        parent = &line["uuid"];
    }
    let path = std::fs::read_to_string(scene.path().join("project/path")).unwrap();
    assert!(path.trim().ends_with(".jsonl"), "{path}");
    assert!(!std::path::Path::new(path.trim()).exists(), "it is removed with the session");
}

#[tokio::test]
async fn core_22_hooks_get_absolute_paths_of_files() {
    let calls = "[{tool: Read, input: {file_path: sub/../a.txt}}, {tool: Glob, input: {pattern: '*', path: sub}}, \
        {tool: Read, input: {file_path: missing.txt}}]";
    let write = "{tools: [{tool: Write, input: {file_path: ./new.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {{tools: {calls}}}\n- {write}\n- done\n"));
    scene.write("project/a.txt", "a\n");
    scene.write("project/sub/b.txt", "b\n");
    let seen = scene.path().join("seen");
    std::fs::write(&seen, "").unwrap();
    // Hooks run in parallel, so each writes under a lock.
    let note = format!("flock '{0}' sh -c \"cat >> '{0}'; echo >> '{0}'\"", seen.display());
    let allow = json!({"hookSpecificOutput": {"decision": {"behavior": "allow"}}});
    let answer = format!("{note}; echo '{allow}'");
    let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let hooks = json!({
        "PreToolUse": hook(&note),
        "PostToolUse": hook(&note),
        "PostToolUseFailure": hook(&note),
        "PermissionRequest": hook(&answer),
    });
    settings(&scene, &json!({ "hooks": hooks }));
    let session = scene.builder().mode(Mode::Default).approvals(Approvals::Decide);
    let session = session.open().await.unwrap();
    let result = session.submit("Go").await.unwrap().result().await.unwrap();
    // The tool itself gets what the model wrote.
    assert_eq!(result.tools.last().unwrap().first_argument, "./new.txt");
    let text = std::fs::read_to_string(&seen).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut paths: Vec<String> = lines
        .map(|line| {
            let data: Value = serde_json::from_str(line).unwrap();
            let input = &data["tool_input"];
            let path = input["file_path"].as_str().or(input["path"].as_str()).unwrap();
            let below = path.strip_prefix(data["cwd"].as_str().unwrap()).unwrap();
            format!("{} {below}", data["hook_event_name"].as_str().unwrap())
        })
        .collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            "PermissionRequest /new.txt",
            "PostToolUse /a.txt",
            "PostToolUse /new.txt",
            "PostToolUse /sub",
            "PostToolUseFailure /missing.txt",
            "PreToolUse /a.txt",
            "PreToolUse /missing.txt",
            "PreToolUse /new.txt",
            "PreToolUse /sub",
        ]
    );
}

#[tokio::test]
async fn sdk_21_the_command_hooks_lists_those_of_plugins_used_skills_and_agents() {
    let scene = Scene::new("- done\n");
    let hooks = |event: &str, command: &str| {
        format!(
            "hooks:\n  {event}:\n    - matcher: Write\n      hooks:\n        - {{type: command, command: '{command}'}}\n"
        )
    };
    let header = hooks("PreToolUse", "./of-skill");
    scene.write(
        "home/.claude/skills/guard/SKILL.md",
        &format!("---\ndescription: Guards\n{header}---\nGuard.\n"),
    );
    let header = hooks("Stop", "./of-agent");
    scene.write(
        "home/.claude/agents/tester.md",
        &format!("---\nname: tester\ndescription: Tests\n{header}---\nYou test.\n"),
    );
    let plugin = json!({"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "./of-plugin"}]}]}});
    scene.write("plugin/.claude-plugin/plugin.json", r#"{"name": "format"}"#);
    scene.write("plugin/hooks/hooks.json", &plugin.to_string());
    let project = scene.project_with(robota_sdk::ProjectOptions {
        plugins: vec![scene.path().join("plugin")],
        ..Default::default()
    });
    let session = scene.builder_for(project).open().await.unwrap();
    let shown = async || session.execute_command("hooks", "").await.unwrap().message;
    let before = shown().await;
    assert!(
        before.contains("PostToolUse  command hook `./of-plugin`  the plugin `format`"),
        "{before}"
    );
    assert!(
        before.contains("Stop(Write)  command hook `./of-agent`  the agent `tester`"),
        "{before}"
    );
    assert!(!before.contains("of-skill"), "hooks of a skill run from its first use on: {before}");
    session.prepare("/guard").await.unwrap();
    let after = shown().await;
    assert!(
        after.contains("PreToolUse(Write)  command hook `./of-skill`  the skill `guard`"),
        "{after}"
    );
}

#[tokio::test]
async fn sess_13_the_model_of_an_agent_hook_sees_no_secrets() {
    const SECRET: &str = "sk-planted-secret-7b1f";
    let read = "{tools: [{tool: Read, input: {file_path: .env}}]}";
    let scene = Scene::new(&format!("- {read}\n- '{{\"ok\": true}}'\n- done\n"));
    scene.write("project/.env", &format!("KEY={SECRET}\n"));
    let hook = json!([{"hooks": [{"type": "agent", "prompt": "Is it fine?"}]}]);
    let hooks = json!({ "UserPromptSubmit": hook });
    settings(&scene, &json!({ "hooks": hooks, "env": {"PLANTED_TOKEN": SECRET} }));
    let session = scene.open().await;
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let read = serde_json::to_string(&scene.provider.requests()[1].messages).unwrap();
    assert!(read.contains("KEY=[REDACTED]") && !read.contains(SECRET), "{read}");
}

#[tokio::test]
async fn sess_13_names_that_hooks_give_a_session_contain_no_secrets() {
    const SECRET: &str = "sk-planted-secret-7b1f";
    let scene = Scene::new("- done\n");
    let name = |title: &str| {
        let output = json!({"hookSpecificOutput": {"sessionTitle": format!("{title} {SECRET}")}});
        json!([{"hooks": [{"type": "command", "command": format!("echo '{output}'")}]}])
    };
    let hooks = json!({"SessionStart": name("First"), "UserPromptSubmit": name("Second")});
    settings(&scene, &json!({ "hooks": hooks, "env": {"PLANTED_TOKEN": SECRET} }));
    let session = scene.open().await;
    assert_eq!(session.name().await.unwrap().as_deref(), Some("First [REDACTED]"));
    session.submit("Go.").await.unwrap().result().await.unwrap();
    loop {
        let name = session.name().await.unwrap().unwrap_or_default();
        if name.starts_with("Second") {
            assert_eq!(name, "Second [REDACTED]");
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn core_22_hooks_name_the_session_and_see_nested_instructions() {
    let read = "{tools: [{tool: Read, input: {file_path: sub/a.txt}}]}";
    let scene = Scene::new(&format!("- {read}\n- done\n- again\n"));
    scene.write("project/sub/a.txt", "a\n");
    scene.write("project/sub/CLAUDE.md", "Be brief.\n");
    let name = |title: &str| {
        let output = json!({"hookSpecificOutput": {"sessionTitle": title}});
        json!([{"hooks": [{"type": "command", "command": format!("echo '{output}'")}]}])
    };
    let loaded = json!([{"matcher": "nested_traversal",
        "hooks": [{"type": "command", "command": "cat > ../loaded.tmp && mv ../loaded.tmp ../loaded"}]}]);
    let hooks = json!({"SessionStart": name("First"), "UserPromptSubmit": name("Second"),
        "InstructionsLoaded": loaded});
    settings(&scene, &json!({ "hooks": hooks }));
    let session = scene.open().await;
    assert_eq!(session.name().await.unwrap().as_deref(), Some("First"));
    session.submit("Go.").await.unwrap().result().await.unwrap();
    while session.name().await.unwrap().as_deref() != Some("Second") {
        tokio::task::yield_now().await;
    }
    let file = scene.path().join("loaded");
    while !file.exists() {
        tokio::task::yield_now().await;
    }
    let loaded: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(loaded["file_path"].as_str().unwrap().ends_with("sub/CLAUDE.md"), "{loaded}");
    assert_eq!(
        (&loaded["memory_type"], &loaded["load_reason"]),
        (&json!("Project"), &json!("nested_traversal"))
    );
}

/// A hook that reports what it found once `go` exists, and only once.
const LATE: &str = "mkdir ../reported 2>/dev/null || exit 0; \
    until test -e ../go; do sleep 0.01; done; echo 'the tests fail' >&2; exit 2";

#[tokio::test]
async fn core_22_a_hook_in_the_background_wakes_the_model() {
    use robota_sdk::InteractiveEvent;
    use robota_session::StartAt;

    for event in ["PostToolUse", "Stop"] {
        let woken = "{expect: {last: the tests fail}, text: Repaired.}";
        let second = match event {
            // The report comes while this call runs.
            "PostToolUse" => {
                "{tools: [{tool: Bash, input: {command: 'until test -e gone; do sleep 0.01; done'}}]}"
            }
            _ => "Done.",
        };
        let first = "{tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}";
        let scene = Scene::new(&format!("- {first}\n- {second}\n- {woken}\n"));
        let hook = json!({"type": "command", "command": LATE, "asyncRewake": true});
        settings(&scene, &json!({"hooks": {event: [{"hooks": [hook]}]}}));
        let builder = scene.builder().may_bypass(true).mode(Mode::BypassPermissions);
        let session = builder.open().await.unwrap();
        let mut events = session.events(StartAt::Start).await.unwrap();
        let mut responses = Vec::new();
        session.submit("Go").await.unwrap();
        let mut prompts = 0;
        while let Some(next) = events.next().await {
            match next.unwrap() {
                InteractiveEvent::ToolEnd(_) => scene.write("go", ""),
                // The second one is the report.
                InteractiveEvent::PromptAccepted { .. } => {
                    prompts += 1;
                    if prompts == 2 {
                        scene.write("project/gone", "");
                    }
                }
                InteractiveEvent::Complete(result) => {
                    responses.push(result.response.clone());
                    if result.response == "Repaired." {
                        break;
                    }
                }
                _ => {}
            }
        }
        // It joins the turn that runs; if none runs, it starts one.
        let turns = if event == "Stop" { 2 } else { 1 };
        assert_eq!(responses.len(), turns, "{event}: {responses:?}");
        assert_eq!(prompts, 2, "{event}");
        session.shutdown("done").await.unwrap();
    }
}

#[tokio::test]
async fn core_22_after_a_turn_that_did_not_complete_a_report_comes_with_the_next_prompt() {
    use robota_sdk::InteractiveEvent;
    use robota_session::StartAt;

    let call = "{tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {call}\n- Summary.\n- Answer.\n- Repaired.\n"));
    let late = LATE.replace("exit 2", "touch ../ended; exit 2");
    let hook = json!({"type": "command", "command": late, "asyncRewake": true});
    settings(&scene, &json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}}));
    let builder = scene.builder().may_bypass(true).mode(Mode::BypassPermissions);
    let session = builder.max_rounds(1).open().await.unwrap();
    let mut events = session.events(StartAt::Start).await.unwrap();
    session.submit("First").await.unwrap().result().await.unwrap();
    scene.write("go", "");
    while !scene.path().join("ended").exists() {
        tokio::task::yield_now().await;
    }
    session.submit("Second").await.unwrap().result().await.unwrap();
    let mut prompts = Vec::new();
    while prompts.len() < 3 {
        if let InteractiveEvent::PromptAccepted { text, .. } = events.next().await.unwrap().unwrap()
        {
            prompts.push(text);
        }
    }
    assert_eq!(prompts[..2], ["First", "Second"], "{prompts:?}");
    assert!(prompts[2].contains("the tests fail"), "{prompts:?}");
    session.shutdown("done").await.unwrap();
}
