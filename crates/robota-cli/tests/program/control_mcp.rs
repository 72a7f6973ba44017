//! Control requests of a host that change MCP servers.

use robota_testkit::fake_mcp;
use serde_json::{Map, Value, json};

use crate::headless::BYPASS;
use crate::home::Home;
use crate::host::{Host, STREAM};
use crate::mcp::known;

fn fake(words: &str) -> Value {
    fake_mcp::command("mcp::fake_server", words)
}

fn set(host: &mut Host, servers: &Value) -> Value {
    let answer = host.request(&json!({"subtype": "mcp_set_servers", "servers": servers}));
    assert_eq!(answer["subtype"], "success", "{answer}");
    answer["response"].clone()
}

/// Returns the servers by name.
fn status(host: &mut Host) -> Map<String, Value> {
    let answer = host.request(&json!({"subtype": "mcp_status"}));
    let servers = answer["response"]["mcpServers"].as_array().unwrap().clone();
    let named = servers.into_iter().map(|it| (it["name"].as_str().unwrap().to_owned(), it));
    named.collect()
}

fn until_connected(host: &mut Host, name: &str) {
    while status(host)[name]["status"] != "connected" {}
}

fn turn(host: &mut Host, text: &str) -> Vec<Value> {
    host.say(text);
    host.until("result")
}

const ECHO: &str = "{tools: [{tool: mcp__fake__echo, input: {text: it ran}}]}";

#[test]
fn sdk_08_the_host_replaces_mcp_servers() {
    let home = Home::new();
    let script = format!("- Hi.\n- {ECHO}\n- Done.\n- {ECHO}\n- Done.");
    let mut host = Host::start(&home, &script, &BYPASS);
    let early = set(&mut host, &json!({"fake": fake("plain"), "broken": {"type": "http"}}));
    assert_eq!((&early["added"], &early["removed"]), (&json!(["fake"]), &json!([])));
    assert!(early["errors"]["broken"].as_str().unwrap().contains("no `url`"), "{early}");
    assert_eq!(status(&mut host)["fake"]["status"], "pending");
    turn(&mut host, "hi");
    until_connected(&mut host, "fake");
    let lines = turn(&mut host, "echo");
    assert!(lines[0]["tools"].as_array().unwrap().contains(&json!("mcp__fake__echo")));
    assert!(lines.iter().any(|line| line["tool_use_result"].to_string().contains("it ran")));

    let same = set(&mut host, &json!({"fake": fake("plain")}));
    assert_eq!(same, json!({"added": [], "removed": [], "errors": {}}), "nothing changed");
    let servers = json!({"other": fake("plain"), "missing": {"command": "/no/such/program"}});
    let replaced = set(&mut host, &servers);
    assert_eq!(replaced["added"], json!(["other", "missing"]));
    assert_eq!(replaced["removed"], json!(["fake"]));
    let errors = replaced["errors"].as_object().unwrap();
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["missing"], "{replaced}");
    let other = &status(&mut host)["other"];
    assert_eq!((&other["status"], &other["source"]), (&json!("connected"), &json!("dynamic")));
    let lines = turn(&mut host, "echo");
    let tools = lines[0]["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("mcp__other__echo")), "{tools:?}");
    assert!(!lines.iter().any(|line| line["tool_use_result"].to_string().contains("it ran")));
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_servers_of_the_settings_stay_unless_the_host_names_them() {
    let home = Home::new();
    let denied = json!({"deniedMcpServers": [{"serverName": "denied"}]});
    home.write("home/.robota/settings.json", denied);
    let config = json!({"mcpServers": {"fake": fake("plain")}}).to_string();
    let mut host = Host::start(&home, "- Hi.", &["--mcp-config", &config]);
    turn(&mut host, "hi");
    until_connected(&mut host, "fake");
    let replaced = set(&mut host, &json!({"denied": fake("plain")}));
    assert_eq!((&replaced["added"], &replaced["removed"]), (&json!([]), &json!([])));
    assert!(replaced["errors"]["denied"].as_str().unwrap().contains("deniedMcpServers"));
    assert_eq!(status(&mut host).keys().collect::<Vec<_>>(), ["fake"]);
    let replaced = set(&mut host, &json!({"fake": fake("plain built-in")}));
    assert_eq!(replaced["added"], json!(["fake"]), "{replaced}");
    let replaced = set(&mut host, &json!({}));
    assert_eq!(replaced["removed"], json!(["fake"]), "{replaced}");
    host.finish();
}

#[test]
fn sdk_08_the_host_turns_a_server_off_and_on() {
    let home = Home::new();
    let config = json!({"mcpServers": {"fake": fake("plain")}}).to_string();
    let script = format!("- Hi.\n- {ECHO}\n- Done.\n- {ECHO}\n- Done.");
    let args = ["--mcp-config", &config, BYPASS[0]];
    let mut host = Host::start(&home, &script, &args);
    let toggle = |host: &mut Host, name: &str, enabled: bool| {
        host.request(&json!({"subtype": "mcp_toggle", "serverName": name, "enabled": enabled}))
    };
    let early = toggle(&mut host, "fake", false);
    assert!(early["error"].as_str().unwrap().contains("with the first message"), "{early}");
    turn(&mut host, "hi");
    until_connected(&mut host, "fake");
    assert_eq!(toggle(&mut host, "fake", false)["subtype"], "success");
    let fake = &status(&mut host)["fake"];
    assert_eq!((&fake["status"], &fake["tools"]), (&json!("disabled"), &json!([])));
    let lines = turn(&mut host, "echo");
    assert!(!lines[0]["tools"].to_string().contains("mcp__fake__echo"));
    assert!(!lines.iter().any(|line| line["tool_use_result"].to_string().contains("it ran")));
    let request = json!({"subtype": "mcp_reconnect", "serverName": "fake"});
    let refused = host.request(&request);
    assert!(refused["error"].as_str().unwrap().contains("it is turned off"), "{refused}");
    assert_eq!(toggle(&mut host, "fake", true)["subtype"], "success");
    let lines = turn(&mut host, "echo");
    assert!(lines.iter().any(|line| line["tool_use_result"].to_string().contains("it ran")));
    let unknown = toggle(&mut host, "nothing", false);
    assert!(unknown["error"].as_str().unwrap().contains("no server of this name"), "{unknown}");
    assert_eq!(host.finish().1, Some(0));
}

#[test]
fn sdk_08_the_host_calls_a_tool_as_the_model_does() {
    let home = Home::new();
    let args = ["--permission-prompt-tool", "stdio", "--disallowedTools", "mcp__fake__fail"];
    let mut host = Host::start(&home, "- Hi.", &args);
    let call =
        |tool: &str| json!({"subtype": "mcp_call", "tool": tool, "arguments": {"text": "it ran"}});
    let early = host.request(&call("mcp__fake__echo"));
    assert!(early["error"].as_str().unwrap().contains("first message"), "{early}");
    set(&mut host, &json!({"fake": fake("plain")}));
    turn(&mut host, "hi");
    until_connected(&mut host, "fake");
    // It needs approval, as for the model.
    for (decision, error) in [
        (json!({"behavior": "deny", "message": "not now"}), Some("the tool did not run: not now")),
        // There is no turn to interrupt.
        (
            json!({"behavior": "deny", "message": "stop", "interrupt": true}),
            Some("the tool did not run: stop"),
        ),
        (json!({"behavior": "allow"}), None),
    ] {
        host.send(&json!({"type": "control_request", "request_id": "c", "request": call("mcp__fake__echo")}));
        let asked = host.until("control_request").pop().unwrap();
        assert_eq!(asked["request"]["tool_name"], "mcp__fake__echo", "{asked}");
        host.answer(&asked, &decision);
        let answer = host.until("control_response").pop().unwrap()["response"].clone();
        assert_eq!(answer["error"].as_str(), error, "{answer}");
        let ran = answer["response"]["content"].to_string().contains("it ran");
        assert_eq!(ran, error.is_none(), "{answer}");
    }
    let unknown = host.request(&call("mcp__fake__nothing"));
    assert!(unknown["error"].as_str().unwrap().contains("no MCP server has the tool"), "{unknown}");
    let denied = host.request(&call("mcp__fake__fail"));
    assert_eq!(denied["subtype"], "error", "{denied}");
    let resource =
        json!({"subtype": "mcp_read_resource", "serverName": "fake", "uri": "demo://one"});
    assert_eq!(host.request(&resource)["error_code"], "invalid_request");
    let resource = json!({"subtype": "mcp_read_resource", "serverName": "fake", "uri": "ui://one"});
    let read = host.request(&resource);
    assert!(read["response"]["contents"].is_array(), "{read}");
    host.finish();
}

#[test]
fn sdk_08_a_question_between_turns_leaves_the_run_idle() {
    let home = Home::new();
    home.write("project/script.yaml", "- Hi.");
    let more = ["--provider", "scripted:script.yaml", "--permission-prompt-tool", "stdio"];
    let mut command = home.command(&[&STREAM[..], &more].concat());
    let mut host = Host::spawn(command.env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"));
    set(&mut host, &json!({"fake": fake("plain")}));
    turn(&mut host, "hi");
    until_connected(&mut host, "fake");
    let call =
        json!({"subtype": "mcp_call", "tool": "mcp__fake__echo", "arguments": {"text": "x"}});
    host.send(&json!({"type": "control_request", "request_id": "c", "request": call}));
    let mut lines = host.until("control_request");
    host.answer(&lines.last().unwrap().clone(), &json!({"behavior": "allow"}));
    while lines.last().unwrap()["state"] != "idle" {
        lines.push(host.line().unwrap());
    }
    let states: Vec<_> = lines.iter().filter_map(|line| line["state"].as_str()).collect();
    assert_eq!(states, ["requires_action", "idle"]);
    host.finish();
}

#[test]
fn sdk_08_a_hook_can_require_approval_of_a_call_for_the_host() {
    let home = Home::new();
    let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "ask", "permissionDecisionReason": "the hook asks"}});
    let command = format!("echo ran >> hooks.txt; echo '{output}'");
    let hooks = json!([{"hooks": [{"type": "command", "command": command}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"PreToolUse": hooks}}));
    let rules = ["--allowedTools", "mcp__fake__echo", "--disallowedTools", "mcp__fake__fail"];
    let args = [&["--permission-prompt-tool", "stdio"][..], &rules].concat();
    let mut host = Host::start(&home, "- Hi.", &args);
    set(&mut host, &json!({"fake": fake("plain")}));
    turn(&mut host, "hi");
    until_connected(&mut host, "fake");
    let call =
        |tool: &str| json!({"subtype": "mcp_call", "tool": tool, "arguments": {"text": "x"}});
    let denied = host.request(&call("mcp__fake__fail"));
    assert_eq!(denied["subtype"], "error", "{denied}");
    assert!(!home.path("project/hooks.txt").exists(), "a denied call runs no hook");

    let request = call("mcp__fake__echo");
    host.send(&json!({"type": "control_request", "request_id": "c", "request": request}));
    let asked = host.until("control_request").pop().unwrap();
    assert_eq!(asked["request"]["tool_name"], "mcp__fake__echo", "{asked}");
    host.answer(&asked, &json!({"behavior": "deny", "message": "not now"}));
    let answer = host.until("control_response").pop().unwrap()["response"].clone();
    assert_eq!(answer["error"], "the tool did not run: not now", "{answer}");
    host.finish();
}

#[tokio::test]
async fn sdk_08_the_context_names_tools_of_servers_and_agents() {
    let home = known("plain").await;
    let agent =
        "---\nname: mine\ndescription: Reviews what others wrote, line by line\n---\nReview.";
    home.write("home/.claude/agents/mine.md", agent);
    let mut host = Host::start(&home, "- Hi.", &[]);
    host.say("go");
    host.until("result");
    let usage = host.request(&json!({"subtype": "get_context_usage"}))["response"].clone();
    let tools = usage["mcpTools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "mcp__fake__echo").unwrap();
    assert_eq!((&echo["serverName"], &echo["isLoaded"]), (&json!("fake"), &json!(true)));
    let agents = usage["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 1, "without the built-in ones: {usage}");
    assert_eq!(
        (&agents[0]["agentType"], &agents[0]["source"]),
        (&json!("mine"), &json!("userSettings"))
    );
    let tokens = |id: &str| {
        let rows = usage["categories"].as_array().unwrap();
        rows.iter().find(|row| row["id"] == id).unwrap()["tokens"].as_u64().unwrap()
    };
    let sum: u64 = tools.iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    assert_eq!(
        (tokens("mcp_tools"), tokens("custom_agents")),
        (sum, agents[0]["tokens"].as_u64().unwrap())
    );
    assert!(tokens("system_tools") > 0 && sum > 0, "{usage}");
    host.finish();
}
