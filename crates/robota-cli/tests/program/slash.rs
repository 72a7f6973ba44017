//! Prompts that are commands or skills.

use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};
use crate::host::{Host, kinds};

fn result(lines: &[Value]) -> &Value {
    lines.last().unwrap()
}

#[tokio::test]
async fn sdk_09_a_prompt_with_a_slash_executes_a_command_without_a_model_call() {
    let home = Home::new();
    home.write("project/script.yaml", "- {expect: {last: /nosuch x}, text: From the model.}\n");
    let run = async |prompt: &str| {
        let args = ["-p", prompt, "--provider", "scripted:script.yaml"];
        home.robota(&args, &[]).await
    };
    let context = run("/context").await;
    assert_eq!(context.status.code(), Some(0));
    assert!(stdout(&context).starts_with("Context: "), "{}", stdout(&context));
    let unknown = run("/nosuch x").await;
    assert_eq!(stdout(&unknown), "From the model.\n");
    let failed = run("/rename").await;
    assert_eq!((failed.status.code(), stdout(&failed).as_str()), (Some(1), ""));
    assert!(stderr(&failed).contains("Usage: /rename NAME"), "{}", stderr(&failed));
    for prompt in ["/language Ukrainian", "/reset", "/resume"] {
        let output = run(prompt).await;
        assert_eq!(output.status.code(), Some(1), "{prompt}");
        assert!(stderr(&output).contains("no effect in a headless run"), "{prompt}");
    }
}

#[test]
fn sdk_09_a_host_executes_commands_between_turns() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.\n- Two.", &[]);
    host.say("/cost");
    let lines = host.until("result");
    assert_eq!(kinds(&lines), ["system/init", "result/success"]);
    assert_eq!(
        (&result(&lines)["num_turns"], &result(&lines)["terminal_reason"]),
        (&json!(0), &json!("completed"))
    );
    host.say("/rename");
    let failed = host.until("result");
    assert_eq!(result(&failed)["is_error"], true);
    assert_eq!(result(&failed)["result"], "Usage: /rename NAME");
    assert_eq!(result(&failed)["terminal_reason"], "completed");
    host.say("/model later");
    host.until("result");
    host.say("go");
    let turn = host.until("result");
    assert_eq!((&turn[0]["model"], &result(&turn)["result"]), (&json!("later"), &json!("One.")));
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_09_a_command_cannot_switch_permissions_off() {
    let home = Home::new();
    let mut host = Host::start(&home, "- One.", &[]);
    host.say("/mode bypassPermissions");
    let refused = host.until("result");
    assert_eq!(result(&refused)["is_error"], true, "{refused:?}");
    host.say("/mode plan");
    host.until("result");
    host.say("go");
    assert_eq!(host.until("result")[0]["permissionMode"], "plan");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_09_a_command_during_a_turn_keeps_the_result_of_the_turn() {
    let home = Home::new();
    let script =
        "- {tools: [{tool: Bash, input: {command: 'until test -e go; do :; done'}}]}\n- End.";
    let mut host = Host::start(&home, script, &["--allowedTools", "Bash"]);
    host.say("go");
    host.until("assistant");
    host.say("/cost");
    let command = host.until("result");
    assert!(result(&command)["result"].as_str().unwrap().contains("Tokens:"), "{command:?}");
    home.write("project/go", "");
    let turn = host.until("result");
    assert_eq!(result(&turn)["result"], "End.");
    assert_eq!(host.finish().1, Some(0));
}

#[tokio::test]
async fn sdk_09_a_failing_command_says_why_and_what_to_do() {
    let home = Home::new();
    home.write("project/script.yaml", "- Never.\n");
    home.write("project/.claude/skills/log/SKILL.md", "Now: !`touch a`\n");
    let args = ["-p", "/log", "--provider", "scripted:script.yaml"];
    let output = home.robota(&args, &[]).await;
    let errors = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(errors.contains("the skill `log` runs commands"), "{errors}");
    assert!(errors.contains("hint: `robota trust` shows"), "{errors}");
    assert!(!errors.contains("API Error"), "{errors}");
    let output = home.robota(&[&args[..], &["--output-format", "json"]].concat(), &[]).await;
    let result: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let text = result["result"].as_str().unwrap();
    assert!(
        text.starts_with("the skill `log`") && text.contains("(`robota trust` shows"),
        "{text}"
    );
    assert_eq!(
        (&result["is_error"], &result["terminal_reason"]),
        (&json!(true), &json!("completed"))
    );
}

/// Runs prompts against a mock model, and returns the requests.
async fn requests(home: &Home, prompt: &str) -> Vec<Value> {
    use robota_testkit::mock::{MockServer, Scenario};
    let mock = MockServer::start(Scenario::reply("Done.")).await.unwrap();
    let origin = mock.origin();
    let variables =
        [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef")];
    let output = home.robota(&["-p", prompt], &variables).await;
    assert_eq!(stdout(&output), "Done.\n", "{}", stderr(&output));
    mock.calls().into_iter().map(|call| call.json.clone()).collect()
}

#[tokio::test]
async fn sdk_12_a_headless_prompt_attaches_the_files_that_it_mentions() {
    let home = Home::new();
    home.write("project/src/a.rs", "fn first() {}\nfn second() {}\n")
        .write("outside.txt", "not for models");
    let sent = requests(&home, "Explain @src/a.rs#L2 and @../outside.txt").await;
    let messages = sent[0]["messages"].to_string();
    assert!(messages.contains("fn second()"), "{messages}");
    assert!(!messages.contains("fn first()"), "{messages}");
    assert!(!messages.contains("not for models"), "{messages}");
}

#[tokio::test]
async fn sdk_12_a_file_outside_the_folder_is_imported_after_trust() {
    let home = Home::new();
    home.write("project/CLAUDE.md", "Rules:\n@../shared.md\n").write("shared.md", "Use tabs.\n");
    let system = async || requests(&home, "go").await[0]["system"].to_string();
    assert!(!system().await.contains("Use tabs."));
    let shown = home.command(&["trust"]).output().unwrap();
    assert!(stdout(&shown).contains("shared.md"), "{}", stdout(&shown));
    assert!(!system().await.contains("Use tabs."), "showing does not approve");
    let trusted = home.command(&["trust", "--yes"]).output().unwrap();
    assert_eq!(trusted.status.code(), Some(0), "{}", stderr(&trusted));
    assert!(system().await.contains("Use tabs."));
    home.command(&["trust", "--revoke"]).output().unwrap();
    assert!(!system().await.contains("Use tabs."));
}

#[test]
fn a_budget_of_the_command_line_stops_a_run_that_can_be_continued() {
    let home = Home::new();
    let read = "tools: [{tool: Read, input: {file_path: script.yaml}}]";
    let script = format!(
        "- {{{read}, usage: {{input: 900, output: 200}}}}\n- {{{read}, usage: {{input: 900, output: 200}}}}\n- End."
    );
    home.write("project/script.yaml", script);
    let run = |args: &[&str]| {
        let all = [&["-p", "go", "--provider", "scripted:script.yaml"], args].concat();
        home.command(&all).output().unwrap()
    };
    let stopped = run(&["--budget", "tokens=1000"]);
    assert_eq!(stopped.status.code(), Some(4), "{}{}", stdout(&stopped), stderr(&stopped));
    assert!(stderr(&stopped).contains("1000"), "{}", stderr(&stopped));
    let wide = run(&["-c", "--budget", "tokens=100000", "--budget", "turn.seconds=300"]);
    assert_eq!(wide.status.code(), Some(0), "{}{}", stdout(&wide), stderr(&wide));
    for wrong in ["tokens", "tokens=many", "sheep=3", "turn.sheep=3"] {
        let refused = run(&["--budget", wrong]);
        assert_eq!(refused.status.code(), Some(2), "{wrong}: {}", stderr(&refused));
    }
}
