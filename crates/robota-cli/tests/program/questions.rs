//! Questions of the model that a host answers (AskUserQuestion).

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::home::Home;
use crate::host::{Host, kinds};

const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

const TWO: &str = "tools: [{tool: AskUserQuestion, input: {questions: [\
    {question: Which?, header: H, options: [{label: red}, {label: blue}]}, \
    {question: How many?, header: N, multiSelect: true, options: [{label: one}, {label: two}]}]}}]";

fn start(home: &Home, then: &str, args: &[&str]) -> Host {
    let mut host = Host::start(home, &format!("- {{{TWO}}}\n- {then}"), args);
    host.say("go");
    host
}

#[test]
fn sdk_08_the_questions_of_one_call_are_one_request() {
    let home = Home::new();
    let script = format!(
        "- {{{TWO}}}\n- {{expect: {{last: \"Which?: blue\\nHow many?: one, two\"}}, text: Fine.}}"
    );
    home.write("project/script.yaml", script);
    let args = [&crate::host::STREAM[..], &["--provider", "scripted:script.yaml"], &ASKS].concat();
    let mut command = home.command(&args);
    let mut host = Host::spawn(command.env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"));
    host.say("go");
    let mut lines = host.until("control_request");
    let asked = lines.pop().unwrap();
    let call = lines.iter().find(|line| line["type"] == "assistant").expect("after its call");
    let call = &call["message"]["content"][0];
    assert_eq!(asked["request"]["tool_name"], "AskUserQuestion");
    assert_eq!(asked["request"]["tool_use_id"], call["id"]);
    assert_eq!(lines.last().unwrap()["state"], "requires_action", "{lines:?}");
    let mut input = asked["request"]["input"].clone();
    let questions = input["questions"].as_array().unwrap();
    assert_eq!((questions.len(), &questions[1]["multiSelect"]), (2, &json!(true)));
    input["answers"] = json!({"Which?": "blue", "How many?": ["one", "two"]});
    host.answer(&asked, &json!({"behavior": "allow", "updatedInput": input}));
    let lines = host.until("result");
    assert_eq!(lines[0]["state"], "running", "{lines:?}");
    let result = lines.iter().find(|line| line["type"] == "user").unwrap();
    let answers = json!({"Which?": "blue", "How many?": "one, two"});
    assert_eq!(result["tool_use_result"]["answers"], answers);
    assert_eq!(lines.last().unwrap()["result"], "Fine.");
    assert_eq!(host.finish().1, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn sdk_08_a_question_comes_after_the_line_of_its_call() {
    let questions = json!([{"question": "Which?", "header": "H",
        "options": [{"label": "red"}, {"label": "blue"}]}]);
    let ask = Reply::new().tool("AskUserQuestion", json!({"questions": questions}));
    // The call runs while the rest of the answer is still missing.
    let scenario = Scenario::reply(ask.gate("half").text("Well?")).then("Fine.");
    let mock = MockServer::start(scenario).await.unwrap();
    let home = Home::new();
    home.write("project/unused", "");
    let model = ["--model", "claude-sonnet-5-5"];
    let mut command = home.command(&[&crate::host::STREAM[..], &model, &ASKS].concat());
    command.env("ANTHROPIC_BASE_URL", mock.origin()).env("ANTHROPIC_API_KEY", "sk-test-0123456789");
    let mut host = Host::spawn(&mut command);
    host.say("go");
    mock.reached("half").await;
    let mut seen = Vec::new();
    // Time for a request that comes too early.
    for _ in 0..50 {
        host.send(&json!({"type": "control_request", "request_id": "r",
            "request": {"subtype": "get_binary_version"}}));
        seen.extend(host.until("control_response"));
    }
    mock.release("half");
    if !seen.iter().any(|line| line["type"] == "control_request") {
        seen.extend(host.until("control_request"));
    }
    let at = |kind: &str| seen.iter().position(|line| line["type"] == kind);
    assert!(at("assistant").is_some_and(|line| Some(line) < at("control_request")), "{seen:?}");
    let asked = seen.last().unwrap();
    let calls = seen.iter().filter_map(|line| line["message"]["content"][0]["id"].as_str());
    assert_eq!(calls.collect::<Vec<_>>(), [&asked["request"]["tool_use_id"]], "{seen:?}");
    let input = json!({"answers": {"Which?": "blue"}});
    host.answer(asked, &json!({"behavior": "allow", "updatedInput": input}));
    assert_eq!(host.until("result").last().unwrap()["result"], "Fine.");
    host.finish();
}

#[test]
fn sdk_08_a_host_can_refuse_questions() {
    for (answer, subtype) in [
        (json!({"behavior": "deny", "message": "not now"}), "success"),
        (
            json!({"behavior": "deny", "message": "not now", "interrupt": true}),
            "error_during_execution",
        ),
    ] {
        let home = Home::new();
        let mut host = start(&home, "{expect: {last: not now}, text: Fine.}", &ASKS);
        let asked = host.until("control_request").pop().unwrap();
        host.answer(&asked, &answer);
        let lines = host.until("result");
        let result = lines.last().unwrap();
        assert_eq!(result["subtype"], subtype, "{lines:?}");
        if subtype == "success" {
            let denials = result["permission_denials"].as_array().unwrap();
            assert_eq!(denials.len(), 1, "{result}");
            assert_eq!(denials[0]["tool_name"], "AskUserQuestion");
            let user = lines.iter().find(|line| line["type"] == "user").unwrap();
            assert_eq!(user["message"]["content"][0]["is_error"], true, "{user}");
        }
        host.finish();
    }
}

#[test]
fn sdk_08_dont_ask_asks_no_question() {
    let home = Home::new();
    let args = [&ASKS[..], &["--permission-mode", "dontAsk"]].concat();
    let mut host = start(&home, "{expect: {last: dontAsk}, text: Fine.}", &args);
    let lines = host.until("result");
    assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{:?}", kinds(&lines));
    assert_eq!(lines.last().unwrap()["result"], "Fine.");
    host.finish();
}

#[test]
fn sdk_08_a_hook_can_answer_questions() {
    let answers = json!({"Which?": "red", "How many?": "two"});
    for (answers, asks) in [(answers, 0), (json!({"Which?": "red"}), 1)] {
        let home = Home::new();
        let last = "{expect: {last: \"Which?: red\\nHow many?: two\"}, text: Fine.}";
        let mut host = Host::start(&home, &format!("- {{{TWO}}}\n- {last}"), &ASKS);
        let hooks = json!({"PreToolUse": [{"hookCallbackIds": ["h0"]}]});
        host.request(&json!({"subtype": "initialize", "hooks": hooks}));
        host.say("go");
        let hook = host.until("control_request").pop().unwrap();
        let mut input = hook["request"]["input"]["tool_input"].clone();
        input["answers"] = answers;
        let decision = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow",
            "updatedInput": input});
        host.answer(&hook, &json!({"hookSpecificOutput": decision}));
        for _ in 0..asks {
            let asked = host.until("control_request").pop().unwrap();
            let mut input = asked["request"]["input"].clone();
            let open: Vec<&Value> = input["questions"].as_array().unwrap().iter().collect();
            assert_eq!((open.len(), &open[0]["question"]), (1, &json!("How many?")));
            input["answers"] = json!({"How many?": "two"});
            host.answer(&asked, &json!({"behavior": "allow", "updatedInput": input}));
        }
        assert_eq!(host.until("result").last().unwrap()["result"], "Fine.");
        host.finish();
    }
}

/// A command that waits for an agent ends when the host interrupts it.
#[test]
fn sdk_08_a_command_whose_agent_asks_can_be_interrupted() {
    for by_denial in [true, false] {
        let home = Home::new();
        let skill = "---\ndescription: Makes\ncontext: fork\n---\nMake it.\n";
        home.write("home/.claude/skills/maker/SKILL.md", skill);
        let call = "{tools: [{tool: Bash, input: {command: touch made}}]}";
        let script = format!("- {call}\n- {{text: Later.}}");
        let mut host = Host::start(&home, &script, &ASKS);
        host.say("/maker");
        let asked = host.until("control_request").pop().unwrap();
        assert_eq!(asked["request"]["tool_name"], "Bash");
        if by_denial {
            let denial = json!({"behavior": "deny", "message": "stop", "interrupt": true});
            host.answer(&asked, &denial);
        } else {
            // A request that came before is answered later.
            for (id, subtype) in [("r1", "get_binary_version"), ("r2", "interrupt")] {
                host.send(&json!({"type": "control_request", "request_id": id,
                    "request": {"subtype": subtype}}));
            }
        }
        let result = host.until("result").pop().unwrap();
        assert_eq!(result["is_error"], true, "{result}");
        assert!(!home.path("project/made").exists());
        host.finish();
    }
}
