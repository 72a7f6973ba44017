//! The official ACP clients for TypeScript and Python drive `robota acp`. The TypeScript script also
//! validates every message of the agent against the official schema.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use robota_testkit::fake_mcp;
use robota_testkit::mock::{MockServer, Reply, Scenario, When};
use robota_testkit::{Packages, Part, requires};
use serde_json::{Value, json};

use crate::home::Home;
use crate::installed::{run_script, script};

const PYTHON: Packages = Packages::PyPi("acp-python-0.12.1", &["agent-client-protocol==0.12.1"]);
const TYPESCRIPT: Packages =
    Packages::Npm("acp-typescript-2.4.0", &["@agentclientprotocol/sdk@2.4.0", "ajv@8.17.1"]);

/// A client by other people, which needs a newer Node than systems have.
const ACPX: Packages = Packages::Npm("acpx-0.19.1", &["acpx@0.19.1", "node@22.23.3"]);

/// A finished case: what the client saw, the project, and the server.
struct Ran {
    seen: Value,
    home: Home,
    mock: MockServer,
}

async fn run(mut command: Command, case: &str, scenario: Scenario, home: Home) -> Ran {
    let mock = MockServer::start(scenario).await.unwrap();
    command.env("SERVER", fake_mcp::command("mcp::fake_server", "asks").to_string());
    let seen = run_script(command, case, &home, &mock).await;
    Ran { seen, home, mock }
}

/// Runs a case with the TypeScript client.
async fn typescript(case: &str, scenario: Scenario, home: Home) -> Option<Ran> {
    let folder = requires(Part::TypeScriptAcpClient, TYPESCRIPT.folder())?;
    let mut command = Command::new("node");
    command.current_dir(&folder).arg(script("acp_client.mjs"));
    let ran = run(command, case, scenario, home).await;
    assert_eq!(ran.seen["problems"], json!([]), "{case}: messages against the schema");
    assert!(ran.seen["validated"].as_u64().unwrap() > 5, "{case}");
    assert_eq!(ran.seen["validated"], ran.seen["received"], "{case}: every message is validated");
    assert_eq!(ran.seen["exit"], 0, "{case}: {}", ran.seen);
    Some(ran)
}

/// Runs a case with the Python client.
async fn python(case: &str, scenario: Scenario) -> Option<Ran> {
    let folder = requires(Part::PythonAcpClient, PYTHON.folder())?;
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", folder).arg(script("acp_client.py"));
    Some(run(command, case, scenario, Home::new()).await)
}

fn hello() -> Scenario {
    let first = Reply::new().thinking("Let me greet.", None).pieces(["Hello ", "there."]);
    Scenario::reply(first).then("Again.").looped()
}

/// One call per answer: questions about calls of the same answer come in any order.
fn touches() -> Scenario {
    let files = ["allowed", "rejected", "remembered", "unknown"].into_iter();
    let touch = |file| Reply::new().tool("Bash", json!({"command": format!("touch {file}")}));
    files.map(touch).fold(Scenario::default(), |scenario, reply| scenario.then(reply)).then("Done.")
}

fn made(home: &Home) -> Vec<&'static str> {
    let files = ["allowed", "rejected", "remembered", "unknown"];
    files.into_iter().filter(|file| home.path("project").join(file).exists()).collect()
}

#[tokio::test]
async fn sdk_08_acp_a_prompt_is_answered_in_pieces() {
    let Some(Ran { seen, .. }) = typescript("talk", hello(), Home::new()).await else { return };
    assert_eq!(seen["init"]["protocolVersion"], 1);
    assert_eq!(seen["init"]["agentInfo"]["name"], "robota");
    assert_eq!(seen["end"], json!({"stopReason": "end_turn"}), "{seen}");
    assert_eq!(seen["said"], "Hello there.");
    assert_eq!(seen["thought"], "Let me greet.");
    let modes = &seen["session"]["modes"];
    assert_eq!(modes["currentModeId"], "default");
    assert_eq!(modes["availableModes"].as_array().unwrap().len(), 4, "no bypass unless allowed");
    let options = seen["session"]["configOptions"].as_array().unwrap();
    let categories: Vec<_> = options.iter().map(|option| &option["category"]).collect();
    assert_eq!(categories, ["mode", "model", "thought_level"]);
    assert!(seen["all"].as_str().unwrap().contains("Permission mode: default"), "{seen}");
    assert!(seen["usage"]["used"].as_u64().unwrap() > 0, "{seen}");
    assert!(seen["usage"]["cost"]["amount"].as_f64().unwrap() > 0.0, "{seen}");
    let commands = seen["commands"]["availableCommands"].as_array().unwrap();
    assert!(commands.iter().any(|command| command["name"] == "compact"));
    assert_eq!(seen["missing"]["error"]["code"], -32002);
    assert_eq!(seen["unknown"]["error"]["code"], -32601);
}

#[tokio::test]
async fn sdk_08_acp_users_decide_about_calls() {
    let Some(Ran { seen, home, mock }) = typescript("permissions", touches(), Home::new()).await
    else {
        return;
    };
    assert_eq!(seen["end"]["stopReason"], "end_turn", "{seen}");
    assert_eq!(made(&home), ["allowed", "remembered"], "{seen}");
    let asked = seen["asked"].as_array().unwrap();
    assert_eq!(asked.len(), 4);
    let names: Vec<_> =
        asked[2]["options"].as_array().unwrap().iter().map(|option| &option["name"]).collect();
    let rule = "Bash(touch remembered)";
    let session = format!("Allow in this session: {rule}");
    assert_eq!(names, ["Allow", session.as_str(), &format!("Always allow: {rule}"), "Reject"]);
    let settings = home.path("project/.robota/settings.local.json");
    assert!(std::fs::read_to_string(settings).unwrap().contains(rule), "the narrow rule is saved");
    let calls = seen["calls"].as_array().unwrap();
    // A call is announced before the user is asked about it, and ends as completed or failed.
    for (asked, status) in asked.iter().zip(["completed", "failed", "completed", "failed"]) {
        let id = &asked["toolCall"]["toolCallId"];
        let of: Vec<_> = calls.iter().filter(|call| call["toolCallId"] == *id).collect();
        assert_eq!(of[0]["sessionUpdate"], "tool_call");
        assert_eq!(of[0]["kind"], "execute");
        assert_eq!(of.last().unwrap()["status"], status, "{seen}");
    }
    assert_eq!(mock.calls().len(), 5);
}

#[tokio::test]
async fn sdk_08_acp_edits_are_diffs_and_todos_are_the_plan() {
    let home = Home::new();
    home.write("project/a.txt", "one\ntwo\n").write("project/b.txt", "old\n");
    let todos = json!([
        {"content": "Read", "status": "completed"},
        {"content": "Write", "status": "in_progress"},
    ]);
    let scenario = Scenario::reply(
        Reply::new()
            .tool("Read", json!({"file_path": "a.txt"}))
            .tool("Read", json!({"file_path": "b.txt"})),
    )
    .then(
        Reply::new()
            .tool("TodoWrite", json!({"todos": todos}))
            .tool("Edit", json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"}))
            .tool("Write", json!({"file_path": "b.txt", "content": "new\n"}))
            .tool("Write", json!({"file_path": "c.txt", "content": "c\n"})),
    )
    .then("Done.");
    let Some(Ran { seen, home, .. }) = typescript("edits", scenario, home).await else { return };
    let path = |name: &str| home.path("project").join(name).display().to_string();
    let diff = |name: &str, old: Option<&str>, new: &str| {
        let mut diff = json!({"type": "diff", "path": path(name), "newText": new});
        if let Some(old) = old {
            diff["oldText"] = json!(old);
        }
        diff
    };
    let calls = seen["calls"].as_array().unwrap();
    let ended: Vec<_> = calls.iter().filter(|call| call["status"] == "completed").collect();
    assert_eq!(ended.len(), 5, "the to-do list is no call: {seen}");
    let replaced = json!([diff("b.txt", Some("old\n"), "new\n")]);
    let edited = json!([diff("a.txt", Some("one\ntwo\n"), "one\n2\n")]);
    for content in [&edited, &replaced, &json!([diff("c.txt", None, "c\n")])] {
        assert!(ended.iter().any(|call| call["content"] == *content), "{content}: {seen}");
    }
    // The user who decides sees what is replaced. The order of the questions is that of the answers.
    let asked = seen["asked"].as_array().unwrap().iter();
    let locations = json!([{"path": path("b.txt")}]);
    let asked = asked.map(|asked| &asked["toolCall"]).find(|call| call["locations"] == locations);
    assert_eq!(asked.unwrap()["content"], replaced, "{seen}");
    let entries = seen["plan"][0]["entries"].as_array().unwrap();
    assert_eq!(entries[1]["status"], "in_progress");
}

#[tokio::test]
async fn sdk_08_acp_a_turn_is_cancelled_at_any_time() {
    // Only a cancellation ends the answers to the first prompts.
    let to = |prompt: &str| When { last: Some(prompt.to_owned()), ..When::default() };
    let half = |prompt| Reply::new().text("Half an answer").gate("never").when(to(prompt));
    let fine = Reply::new().text("Fine.").when(to("And now?"));
    let scenario = Scenario::reply(fine).then(half("Hello again.")).then(half("Hello."));
    let Some(Ran { seen, .. }) = typescript("cancel", scenario, Home::new()).await else {
        return;
    };
    assert_eq!(seen["end"], json!({"stopReason": "cancelled"}), "{seen}");
    for end in seen["at_once"].as_array().unwrap() {
        assert_eq!(*end, json!({"stopReason": "cancelled"}), "{seen}");
    }
    // A prompt that follows a cancellation is not cancelled by it.
    assert_eq!(seen["after"], json!({"stopReason": "end_turn"}), "{seen}");
    assert!(seen["said"].as_str().unwrap().ends_with("Fine."), "{seen}");
    let scenario = Scenario::reply(Reply::new().tool("Bash", json!({"command": "touch x"})));
    let ran = typescript("cancel_permission", scenario, Home::new()).await;
    let Some(Ran { seen, home, .. }) = ran else { return };
    assert_eq!((&seen["end"], &seen["asked"]), (&json!({"stopReason": "cancelled"}), &json!(1)));
    assert!(!home.path("project/x").exists());
}

#[tokio::test]
async fn sdk_08_acp_sessions_are_loaded_resumed_forked_and_deleted() {
    let scenario = Scenario::reply(
        Reply::new().text("I look.").tool("Bash", json!({"command": "touch made"})),
    )
    .then("Done.")
    .then("Again.")
    .then("Forked.");
    let Some(Ran { seen, mock, .. }) = typescript("load", scenario, Home::new()).await else {
        return;
    };
    // A load sends the same updates as the live session, in the same order.
    let shown = |updates: &Value| -> Vec<String> {
        let mut shown: Vec<String> = Vec::new();
        for update in updates.as_array().unwrap() {
            match update["sessionUpdate"].as_str().unwrap() {
                "agent_message_chunk" => {
                    let text = update["content"]["text"].as_str().unwrap();
                    match shown.last_mut().filter(|last| last.starts_with('"')) {
                        Some(last) => last.push_str(text),
                        None => shown.push(format!("\"{text}")),
                    }
                }
                "tool_call" => shown.push(update["title"].to_string().replace('"', "")),
                _ => {}
            }
        }
        shown
    };
    assert_eq!(shown(&seen["live"]), ["\"I look.", "`touch made`", "\"Done."]);
    assert_eq!(shown(&seen["replayed"]), shown(&seen["live"]));
    let replayed = seen["replayed"].as_array().unwrap();
    assert_eq!(replayed[0]["sessionUpdate"], "user_message_chunk", "{replayed:?}");
    assert!(replayed.iter().any(|update| update["status"] == "completed"));
    assert_eq!(seen["list"]["sessions"][0]["sessionId"], seen["sessionId"]);
    assert_eq!(seen["loaded"]["modes"]["currentModeId"], "default");
    assert_eq!(seen["again"]["stopReason"], "end_turn");
    assert_eq!(seen["closed"]["error"]["code"], -32002);
    assert_eq!(seen["silent"], json!([]), "a resume replays nothing");
    assert_ne!(seen["forked"]["sessionId"], seen["sessionId"]);
    assert_eq!(seen["inFork"]["stopReason"], "end_turn", "{seen}");
    assert_eq!(seen["missing"]["error"]["code"], -32002, "{seen}");
    assert_eq!(seen["deleted"], json!({}));
    assert_eq!(seen["list2"]["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(seen["relative"]["error"]["code"], -32602);
    let messages = |call: usize| mock.calls()[call].json["messages"].as_array().unwrap().len();
    assert_eq!(messages(3), messages(2) + 2, "the fork continues the same conversation");
}

#[tokio::test]
async fn sdk_08_acp_sessions_of_other_folders_are_listed_and_deleted() {
    let home = Home::new();
    home.write("other/a.txt", "a");
    let Some(Ran { seen, .. }) = typescript("folders", hello(), home).await else { return };
    let (one, two) = (&seen["made"][0], &seen["made"][1]);
    // The newest are first, whatever their folder is.
    assert_eq!(seen["all"], json!([two, one, seen["here"]]), "{seen}");
    assert_eq!(seen["inOther"], json!([two, one]), "{seen}");
    // The client takes the error that there is no such session for a success, so the lists count.
    assert_eq!(seen["left"], json!([two, seen["here"]]), "a session that was closed: {seen}");
    // A new connection knows the folder once the editor has named it.
    assert_eq!(seen["fresh"], json!([seen["here"]]), "{seen}");
    assert_eq!(seen["inOther2"], json!([two]), "{seen}");
    let both = seen["named"].as_array().unwrap();
    assert!(both.len() == 2 && both.contains(two), "{seen}");
    assert_eq!(seen["none"], json!([]), "a session that was listed: {seen}");
}

#[tokio::test]
async fn sdk_08_acp_modes_models_and_efforts_are_changed() {
    let scenario =
        Scenario::reply(Reply::new().tool("Write", json!({"file_path": "w", "content": "w"})))
            .then("Written.")
            .then("Hello.");
    let Some(Ran { seen, home, mock }) = typescript("modes", scenario, Home::new()).await else {
        return;
    };
    assert_eq!(seen["asked"], 0, "{seen}");
    assert!(home.path("project/w").exists());
    assert_eq!(seen["modes"][0]["currentModeId"], "acceptEdits");
    let chosen = |answer: &Value, id: &str| {
        let options = answer["configOptions"].as_array().unwrap();
        let option = options.iter().find(|option| option["id"] == id).unwrap();
        option["currentValue"].clone()
    };
    assert_eq!(chosen(&seen["model"], "model"), "claude-opus-5");
    assert_eq!(chosen(&seen["effort"], "effort"), "high");
    assert_eq!(chosen(&seen["effort"], "mode"), "acceptEdits");
    assert_eq!(seen["wrong"]["error"]["code"], -32602, "bypass was not allowed at the start");
    let last = &mock.calls()[2].json;
    assert_eq!(last["model"], "claude-opus-5");
    assert!(last.to_string().contains("\"effort\":\"high\""), "{last}");
}

#[tokio::test]
async fn sdk_08_acp_prompts_have_all_kinds_of_blocks() {
    let home = Home::new();
    home.write("project/my notes.txt", "first line\nsecond line\n");
    home.write("project/other.txt", "text of another file\n");
    let Some(Ran { seen, mock, .. }) = typescript("blocks", hello(), home).await else {
        return;
    };
    assert_eq!(seen["end"]["stopReason"], "end_turn", "{seen}");
    let sent = mock.calls()[0].json["messages"].to_string();
    for part in ["a.txt", "embedded text", "image/png", "iVBORw0KGgo=", "second line"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    assert!(!sent.contains("first line"), "the link selects lines: {sent}");
    assert!(!sent.contains("text of another file"), "an embedded file mentions nothing: {sent}");
    assert_eq!(seen["audio"]["error"]["code"], -32602);
    assert!(seen["audio"]["error"]["message"].as_str().unwrap().contains("audio"), "{seen}");
    let tools = mock.calls()[0].json["tools"].to_string();
    assert!(tools.contains("mcp__files__echo"), "the server of the editor is used: {tools}");
}

#[tokio::test]
async fn sdk_08_acp_the_model_asks_the_user_with_a_form() {
    let question = json!({"questions": [
        {"question": "Which?", "header": "Choice", "options": [{"label": "A"}, {"label": "B"}]},
    ]});
    let scenario = Scenario::reply(Reply::new().tool("AskUserQuestion", question)).then("B it is.");
    let Some(Ran { seen, mock, .. }) = typescript("form", scenario, Home::new()).await else {
        return;
    };
    assert_eq!(seen["end"]["stopReason"], "end_turn", "{seen}");
    assert_eq!(seen["asked"][0]["message"], "Which?");
    let sent = mock.calls()[1].json["messages"].to_string();
    assert!(sent.contains("Which?") && sent.contains('B'), "{sent}");
}

#[tokio::test]
async fn sdk_08_acp_servers_ask_the_user_with_a_form() {
    let call = Reply::new().tool("mcp__fake__ask", json!({}));
    let scenario = Scenario::reply(call).then("Done.");
    let Some(Ran { seen, mock, .. }) = typescript("server_form", scenario, Home::new()).await
    else {
        return;
    };
    assert_eq!(seen["end"]["stopReason"], "end_turn", "{seen}");
    let asked = &seen["asked"][1];
    assert_eq!(asked["message"], "The MCP server `fake` asks: Who are you?", "{seen}");
    assert_eq!(asked["requestedSchema"]["properties"]["name"]["type"], "string");
    let sent = mock.calls()[1].json["messages"].to_string();
    assert!(sent.contains("accept") && sent.contains("Ada"), "{sent}");
}

#[tokio::test]
async fn sdk_08_acp_files_of_the_editor_are_read_and_changed_through_the_gate() {
    let home = Home::new();
    home.write("project/a.txt", "saved\n").write("home/secret.txt", "secret\n");
    let outside = home.path("home/secret.txt").display().to_string();
    let settings = json!({"permissions": {"deny": [format!("Read(/{outside})")]}});
    home.write("home/.robota/settings.json", settings);
    let read = Reply::new()
        .tool("Read", json!({"file_path": "a.txt"}))
        .tool("Read", json!({"file_path": outside}));
    let edit = |new: &str| {
        let input = json!({"file_path": "a.txt", "old_string": "saved", "new_string": new});
        Reply::new().tool("Edit", input)
    };
    let scenario = Scenario::reply(read)
        .then(edit("x"))
        .then("Not saved.")
        .then(edit("changed"))
        .then("Done.");
    let Some(Ran { seen, home, mock }) = typescript("files", scenario, home).await else { return };
    let path = home.path("project/a.txt").display().to_string();
    let sent = |call: usize| mock.calls()[call].json["messages"].to_string();
    assert!(sent(1).contains("text that is not saved"), "{seen}");
    assert!(sent(2).contains("has changes in the editor that are not saved"), "{}", sent(2));
    assert!(!seen["files"].to_string().contains("secret.txt"), "what is denied is not asked for");
    assert!(!seen["first"].to_string().contains("write"), "{seen}");
    let files: Vec<_> = seen["files"].as_array().unwrap().iter().collect();
    assert_eq!(*files.last().unwrap(), &json!(format!("write {path}")), "{seen}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "changed\n");
}

#[tokio::test]
async fn sdk_08_acp_commands_run_in_terminals_of_the_editor_after_the_gate() {
    let bash = |command: &str| Reply::new().tool("Bash", json!({"command": command}));
    let scenario = Scenario::reply(bash("touch made; echo $HOME $SECRET_TOKEN; exit 3"))
        .then(bash("touch rejected"))
        .then(bash("touch later; cat notes.txt"))
        .then("Done.")
        .then(bash("touch begun; sleep 600"))
        .then("Not reached.");
    let home = Home::new();
    home.write("project/notes.txt", "some notes\n");
    let ran = typescript("terminals", scenario, home).await;
    let Some(Ran { seen, home, mock }) = ran else { return };
    assert_eq!(seen["end"]["stopReason"], "end_turn", "{seen}");
    assert_eq!(seen["end2"]["stopReason"], "cancelled", "{seen}");
    let made = ["made", "rejected", "later", "begun"];
    let made = made.map(|file| home.path("project").join(file).exists());
    assert_eq!(made, [true, false, true, true], "the user rejected one: {seen}");
    let terminals = seen["terminals"].as_array().unwrap();
    assert_eq!(terminals.len(), 3, "{seen}");
    // The command runs with the environment of commands, in the shell that the rules were judged for.
    let args: Vec<_> = terminals[0]["args"].as_array().unwrap().iter().collect();
    assert_eq!((&terminals[0]["command"], args[0]), (&json!("env"), &json!("-i")));
    assert!(args.contains(&&json!("--norc")) && !json!(args).to_string().contains("sk-test"));
    let result = |call: usize| {
        let messages = mock.calls()[call].json["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"].to_string()
    };
    assert!(result(1).contains("[exit code 3]"), "{}", result(1));
    assert!(result(3).contains("some notes"), "{}", result(3));
    let shown: Vec<_> = seen["calls"].as_array().unwrap().iter().collect();
    let terminal = json!([{"type": "terminal", "terminalId": "0"}]);
    let ended = shown.iter().find(|call| call["status"] == "completed").unwrap();
    assert_eq!(ended["content"], terminal, "the call still shows its terminal");
    assert_eq!(seen["released"], json!(["0", "1", "2"]), "{seen}");
}

#[tokio::test]
async fn sdk_08_acp_a_session_can_be_continued_after_its_editor_vanished() {
    let half = Reply::new().text("Half an answer").gate("never");
    let scenario = Scenario::reply(half).then("Going on.");
    let home = Home::new();
    let folder = requires(Part::TypeScriptAcpClient, TYPESCRIPT.folder());
    let Some(folder) = folder else { return };
    let mut command = Command::new("node");
    command.current_dir(&folder).arg(script("acp_client.mjs"));
    let Ran { seen, .. } = run(command, "gone", scenario, home).await;
    assert_eq!((&seen["exit"], &seen["exit2"]), (&json!(0), &json!(0)), "{seen}");
    assert_eq!(seen["problems"], json!([]));
    assert!(seen["replayed"].as_str().unwrap().starts_with("Half an answer"), "{seen}");
    assert_eq!(seen["end"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn sdk_08_acp_the_python_client_drives_it_too() {
    if let Some(Ran { seen, .. }) = python("talk", hello()).await {
        assert_eq!((&seen["end"], &seen["said"]), (&json!("end_turn"), &json!("Hello there.")));
        assert_eq!(seen["modes"], json!(["plan", "dontAsk", "default", "acceptEdits"]), "{seen}");
    }
    if let Some(Ran { seen, home, .. }) = python("permissions", touches()).await {
        assert_eq!(made(&home), ["allowed", "remembered"], "{seen}");
    }
    let half = Reply::new().text("Half an answer").gate("never");
    if let Some(Ran { seen, .. }) = python("cancel", Scenario::reply(half)).await {
        assert_eq!(seen["end"], "cancelled", "{seen}");
    }
    let work = Scenario::reply(
        Reply::new().text("I look.").tool("Bash", json!({"command": "touch made"})),
    );
    if let Some(Ran { seen, .. }) = python("load", work.then("Done.").then("Again.")).await {
        assert_eq!(seen["live"], "I look.Done.", "{seen}");
        assert_eq!((&seen["replayed"], &seen["end"]), (&seen["live"], &json!("end_turn")));
    }
    let write = Reply::new().tool("Write", json!({"file_path": "w", "content": "w"}));
    if let Some(Ran { seen, home, .. }) =
        python("modes", Scenario::reply(write).then("Written.")).await
    {
        assert_eq!((&seen["end"], &seen["asked"]), (&json!("end_turn"), &json!(0)), "{seen}");
        assert!(Path::new(&home.path("project/w")).exists());
    }
}

#[tokio::test]
async fn sdk_08_acp_an_independent_client_drives_it() {
    let Some(folder) = requires(Part::TypeScriptAcpClient, ACPX.folder()) else { return };
    let home = Home::new();
    let calls = "- tools: [{tool: Bash, input: {command: touch made}}]\n- It is made.\n";
    home.write("home/script.yaml", calls);
    let agent = format!(
        "{} acp --provider scripted:{}",
        env!("CARGO_BIN_EXE_robota"),
        home.path("home/script.yaml").display()
    );
    let bin = folder.join("node_modules/.bin");
    let run = async |approve: &str, file: &str| {
        let mut command = Command::new(bin.join("node"));
        command.arg(bin.join("acpx")).args(["--agent", &agent, approve, "--format", "text"]);
        command.args(["exec", "Make it."]).current_dir(home.path("project"));
        command.env("HOME", home.path("home"));
        let output =
            tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("It is made."), "{text} {}", crate::home::stderr(&output));
        home.path("project").join(file).exists()
    };
    assert!(!run("--deny-all", "made").await, "the client denied the call");
    assert!(run("--approve-all", "made").await, "the client approved the call");
}

/// Sends lines to the agent, waits for this many responses, and closes its input.
fn exchange(home: &Home, lines: &[String], responses: usize) -> Vec<Value> {
    home.write("project/script.yaml", "loop: true\nanswers: [Hello.]\n");
    let mut command = home.command(&["acp", "--provider", "scripted:script.yaml"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = lines.join("\n") + "\n";
    let writing = std::thread::spawn(move || {
        input.write_all(lines.as_bytes()).unwrap();
        input
    });
    let mut messages = Vec::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    while messages.len() < responses {
        let line = printed.next().expect("the agent answers").unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("method").is_none() {
            messages.push(message);
        }
    }
    drop(writing.join().unwrap());
    printed.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    messages
}

#[test]
fn sdk_08_acp_the_agent_of_the_settings_is_the_conversation() {
    let home = Home::new();
    home.write("home/.robota/settings.json", json!({"agent": "planner"}));
    let cwd = home.path("project").display().to_string();
    let request = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let lines = [
        request(1, "initialize", json!({"protocolVersion": 1})),
        request(2, "session/new", json!({"cwd": cwd, "mcpServers": []})),
    ];
    let opened = || {
        let answers = exchange(&home, &lines, 2);
        answers.into_iter().find(|answer| answer["id"] == 2).unwrap()
    };
    let missing = opened();
    assert!(missing["error"].to_string().contains("no agent `planner`"), "{missing}");
    let header = "name: planner\ndescription: Plans\npermissionMode: plan\n";
    home.write("home/.robota/agents/planner.md", format!("---\n{header}---\nYou plan.\n"));
    let session = opened();
    assert_eq!(session["result"]["modes"]["currentModeId"], "plan", "{session}");
}

#[test]
fn sdk_08_acp_odd_messages_do_no_harm() {
    let home = Home::new();
    let cwd = home.path("project").display().to_string();
    let request = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let open = |id: u64, session: &str| {
        request(id, "session/load", json!({"sessionId": session, "cwd": cwd, "mcpServers": []}))
    };
    let odd = [
        // Each line with the code of its answer; zero for none.
        ("".to_owned(), 0),
        ("not json".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        ("17".to_owned(), -32600),
        ("{}".to_owned(), -32600),
        (json!({"jsonrpc": "2.0", "id": [1], "method": "initialize"}).to_string(), -32600),
        ("{\"a\":".repeat(100_000), -32700),
        (format!("\"{}\"", "x".repeat(1_000_000)), -32600),
        (json!({"jsonrpc": "2.0", "id": 99, "result": {}}).to_string(), 0),
        (json!({"jsonrpc": "2.0", "method": "session/cancel"}).to_string(), 0),
        (
            json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "x"}})
                .to_string(),
            0,
        ),
        (
            json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": {}}})
                .to_string(),
            0,
        ),
        (json!({"jsonrpc": "2.0", "method": "_future/thing", "params": [1]}).to_string(), 0),
        (request(1, "no/such/method", json!({})), -32601),
        (request(2, "session/prompt", json!({"sessionId": "none", "prompt": []})), -32002),
        (request(3, "session/prompt", json!({"sessionId": 17, "prompt": "text"})), -32602),
        (request(4, "session/new", json!({"cwd": "relative", "mcpServers": []})), -32602),
        (request(5, "session/new", json!({"cwd": cwd, "mcpServers": [{"name": "x"}]})), -32602),
        (request(6, "session/set_mode", json!({"sessionId": "none", "modeId": "plan"})), -32002),
        (request(7, "session/list", json!({"cursor": "../../etc"})), -32602),
        (request(8, "session/delete", json!({"sessionId": "../../home"})), -32002),
        (open(9, "../../home/.robota"), -32002),
        (open(10, "none"), -32002),
        (request(11, "authenticate", json!({"methodId": "none"})), -32602),
        (request(12, "session/fork", json!({"cwd": cwd, "mcpServers": []})), -32602),
        (request(13, "session/new", Value::Null), -32602),
    ];
    let mut lines: Vec<_> = odd.iter().map(|(line, _)| line.clone()).collect();
    // Then the agent answers any requested version with its own.
    for version in [0, 1, 2, 99] {
        lines.push(request(100 + version, "initialize", json!({"protocolVersion": version})));
    }
    // Fields without a use, and null for what a client has not.
    let lenient = [
        (110, json!({"protocolVersion": 1, "clientInfo": {"name": "x"}})),
        (111, json!({"protocolVersion": 1, "clientInfo": null, "clientCapabilities": null})),
        (
            112,
            json!({"protocolVersion": 1, "clientCapabilities":
            {"fs": null, "terminal": null, "auth": null, "elicitation": null, "session": null}}),
        ),
        (
            113,
            json!({"protocolVersion": 1, "clientCapabilities":
            {"fs": {"readTextFile": null, "writeTextFile": null}}}),
        ),
    ];
    for (id, params) in &lenient {
        lines.push(request(*id, "initialize", params.clone()));
    }
    let server = json!({"name": "none", "command": "false", "args": null, "env": null});
    let folders = [
        (200, json!({"cwd": cwd})),
        (201, json!({"cwd": cwd, "mcpServers": null, "additionalDirectories": null})),
        (202, json!({"cwd": cwd, "mcpServers": [server]})),
    ];
    for (id, params) in &folders {
        lines.push(request(*id, "session/new", params.clone()));
    }
    let answered = odd.iter().filter(|(_, code)| *code != 0).count();
    let responses = answered + 4 + lenient.len() + folders.len();
    let answers = exchange(&home, &lines, responses);
    let errors = |id: &Value| {
        let of = answers.iter().filter(|answer| answer["id"] == *id);
        of.filter_map(|answer| answer["error"]["code"].as_i64()).collect::<Vec<_>>()
    };
    let mut nameless: Vec<i64> = Vec::new();
    for (line, code) in odd.iter().filter(|(_, code)| *code != 0) {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        match message.get("id").filter(|id| id.is_u64()) {
            Some(id) => assert_eq!(errors(id), [*code], "{line}"),
            None => nameless.push(*code),
        }
    }
    let mut given = errors(&Value::Null);
    given.sort_unstable();
    nameless.sort_unstable();
    assert_eq!(given, nameless, "{answers:?}");
    for version in [0, 1, 2, 99] {
        let answer = answers.iter().find(|answer| answer["id"] == 100 + version).unwrap();
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    }
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    for (id, params) in &lenient {
        assert_eq!(answer(*id)["result"]["protocolVersion"], 1, "{params}: {}", answer(*id));
    }
    for (id, params) in &folders {
        assert!(answer(*id)["result"]["sessionId"].is_string(), "{params}: {}", answer(*id));
    }
}
