//! The results of tools and the permissions of calls, as hosts see them.

use serde_json::{Value, json};

use crate::headless::{BYPASS, TOUCH, lines};
use crate::home::Home;
use crate::host::{Host, kinds};

/// Returns `tool_use_result` of each call of a script, in one run.
fn outputs(home: &Home, calls: &[&str]) -> Vec<Value> {
    let script: String = calls.iter().map(|call| format!("- tools: [{call}]\n")).collect();
    let (printed, code) = lines(home, &format!("{script}- Done."), &BYPASS);
    assert_eq!(code, Some(0));
    let results = printed.iter().filter(|line| line["type"] == "user");
    results.map(|line| line["tool_use_result"].clone()).collect()
}

#[test]
fn cli_03_tools_return_the_objects_of_the_sdk() {
    let home = Home::new();
    let path = |name: &str| home.path("project").join(name).display().to_string();
    let outputs = outputs(
        &home,
        &[
            "{tool: Read, input: {file_path: notes.txt}}",
            "{tool: Write, input: {file_path: new.txt, content: fresh}}",
            "{tool: Edit, input: {file_path: notes.txt, old_string: hello, new_string: bye}}",
            "{tool: Read, input: {file_path: new.txt}}",
            "{tool: Write, input: {file_path: new.txt, content: other}}",
            "{tool: Bash, input: {command: echo out, description: Says out}}",
            "{tool: Bash, input: {command: 'true'}}",
            "{tool: Glob, input: {pattern: '*.txt'}}",
            "{tool: Grep, input: {pattern: bye, path: notes.txt, output_mode: content}}",
            "{tool: TodoWrite, input: {todos: [{content: One, status: pending, activeForm: Doing one}]}}",
            "{tool: TodoWrite, input: {todos: []}}",
            "{tool: Read, input: {file_path: missing.txt}}",
        ],
    );
    assert_eq!(
        outputs[0],
        json!({"type": "text", "file": {"filePath": path("notes.txt"), "content": "hello",
            "numLines": 1, "startLine": 1, "totalLines": 1}})
    );
    assert_eq!(
        outputs[1],
        json!({"type": "create", "filePath": path("new.txt"), "content": "fresh",
            "structuredPatch": [], "originalFile": null})
    );
    let edit = &outputs[2];
    assert_eq!(edit["originalFile"], "hello\n");
    assert_eq!((&edit["oldString"], &edit["newString"]), (&json!("hello"), &json!("bye")));
    assert_eq!(
        edit["structuredPatch"],
        json!([{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1,
            "lines": ["-hello", "+bye"]}])
    );
    assert_eq!((&edit["userModified"], &edit["replaceAll"]), (&json!(false), &json!(false)));
    assert_eq!(
        (&outputs[4]["type"], &outputs[4]["originalFile"]),
        (&json!("update"), &json!("fresh"))
    );
    assert_eq!(outputs[5]["stdout"], "out");
    assert_eq!(outputs[6]["stdout"], "");
    let mut names = outputs[7]["filenames"].clone();
    names.as_array_mut().unwrap().sort_by_key(Value::to_string);
    assert_eq!(names, json!(["new.txt", "notes.txt"]));
    assert_eq!((&outputs[7]["numFiles"], &outputs[7]["truncated"]), (&json!(2), &json!(false)));
    assert_eq!((&outputs[8]["mode"], &outputs[8]["numLines"]), (&json!("content"), &json!(1)));
    let item = json!({"content": "One", "status": "pending", "activeForm": "Doing one"});
    assert_eq!(outputs[9], json!({"oldTodos": [], "newTodos": [item]}));
    assert_eq!(outputs[10], json!({"oldTodos": [item], "newTodos": []}));
    assert!(outputs[11].as_str().unwrap().starts_with("Error: "), "{}", outputs[11]);
}

const ASKS: [&str; 2] = ["--permission-prompt-tool", "stdio"];

#[test]
fn sdk_08_a_request_about_a_call_says_what_hosts_show() {
    let home = Home::new();
    let script =
        "- tools: [{tool: Write, id: toolu_w, input: {file_path: new.txt, content: x}}]\n- Done.";
    let mut host = Host::start(&home, script, &ASKS);
    host.say("go");
    let line = host.until("control_request").pop().unwrap();
    let request = &line["request"];
    assert_eq!(
        (&request["subtype"], &request["tool_name"]),
        (&json!("can_use_tool"), &json!("Write"))
    );
    assert_eq!(request["tool_use_id"], "toolu_w");
    assert_eq!(request["input"], json!({"file_path": "new.txt", "content": "x"}));
    assert!(!request["decision_reason"].as_str().unwrap().is_empty());
    let suggestions = request["permission_suggestions"].as_array().unwrap();
    assert_eq!(
        suggestions.last().unwrap(),
        &json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"})
    );
    host.answer(&line, &json!({"behavior": "deny", "message": "Not this file."}));
    let turn = host.until("result");
    let result = turn.iter().find(|line| line["type"] == "user").unwrap();
    let block = &result["message"]["content"][0];
    assert_eq!((&block["tool_use_id"], &block["is_error"]), (&json!("toolu_w"), &json!(true)));
    assert!(block["content"].as_str().unwrap().contains("Not this file."), "{block}");
    assert!(result["tool_use_result"].as_str().unwrap().starts_with("Error: "));
    let meta = &result["tool_result_meta"][0]["permission_decision"];
    assert_eq!((&meta["decision"], &meta["source"]), (&json!("deny"), &json!("user")));
    assert!(!kinds(&turn).contains(&"system/permission_denied".to_owned()), "the host knows");
    assert_eq!(turn.last().unwrap()["permission_denials"][0]["tool_use_id"], "toolu_w");
    host.finish();
}

/// Runs two turns with the same call; the host answers the first question with these updates.
/// Returns whether the second call was asked about, and its denials.
fn second_call_is_asked(home: &Home, call: &str, updates: &Value) -> (bool, usize) {
    let script = format!("- {call}\n- One.\n- {call}\n- Two.");
    let mut host = Host::start(home, &script, &ASKS);
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    host.answer(&request, &json!({"behavior": "allow", "updatedPermissions": updates}));
    host.until("result");
    // The change was made: requests are answered after it.
    host.request(&json!({"subtype": "mcp_status"}));
    host.say("again");
    let mut asked = false;
    loop {
        let line = host.line().unwrap();
        if line["type"] == "control_request" {
            asked = true;
            host.answer(&line, &json!({"behavior": "allow"}));
        }
        if line["type"] == "result" {
            let denials = line["permission_denials"].as_array().unwrap().len();
            host.finish();
            return (asked, denials);
        }
    }
}

#[test]
fn sdk_08_rules_are_saved_where_the_host_says() {
    let rule = json!([{"toolName": "Bash", "ruleContent": "touch made"}]);
    for (destination, file) in [
        ("session", None),
        ("localSettings", Some("project/.robota/settings.local.json")),
        ("projectSettings", Some("project/.robota/settings.json")),
        ("userSettings", Some("home/.robota/settings.json")),
    ] {
        let home = Home::new();
        let updates = json!([{"type": "addRules", "rules": rule, "behavior": "allow",
            "destination": destination}]);
        assert_eq!(second_call_is_asked(&home, TOUCH, &updates), (false, 0), "{destination}");
        for one in [
            "project/.robota/settings.local.json",
            "project/.robota/settings.json",
            "home/.robota/settings.json",
        ] {
            let saved = std::fs::read_to_string(home.path(one)).unwrap_or_default();
            assert_eq!(
                saved.contains("Bash(touch made)"),
                file == Some(one),
                "{destination} {one}"
            );
        }
    }
}

/// Returns an update with one rule about commands.
fn rule_update(kind: &str, behavior: &str, rule: &str, destination: &str) -> Value {
    let rules = json!([{"toolName": "Bash", "ruleContent": rule}]);
    json!({"type": kind, "rules": rules, "behavior": behavior, "destination": destination})
}

#[test]
fn sdk_08_each_change_of_an_approval_has_its_own_destination() {
    let home = Home::new();
    let updates = json!([
        rule_update("addRules", "allow", "touch *", "session"),
        rule_update("addRules", "allow", "make test", "userSettings"),
        rule_update("addRules", "ask", "git push *", "projectSettings"),
    ]);
    assert_eq!(second_call_is_asked(&home, TOUCH, &updates), (false, 0), "wider than suggested");
    let read = |file: &str| std::fs::read_to_string(home.path(file)).unwrap_or_default();
    let saved: Value = serde_json::from_str(&read("home/.robota/settings.json")).unwrap();
    assert_eq!(saved, json!({"permissions": {"allow": ["Bash(make test)"]}}));
    let saved: Value = serde_json::from_str(&read("project/.robota/settings.json")).unwrap();
    assert_eq!(saved, json!({"permissions": {"ask": ["Bash(git push *)"]}}));
    assert_eq!(read("project/.robota/settings.local.json"), "", "the session's rule is not saved");
}

#[test]
fn sdk_08_an_approval_does_not_widen_what_the_start_and_the_rules_allow() {
    let forbid = json!({"permissions": {"ask": ["Bash(touch made)"]}});
    for (updates, denied) in [
        (json!([{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]), 0),
        (json!([{"type": "unknown"}]), 0),
        (json!([rule_update("addRules", "allow", "touch\nmade", "session")]), 0),
        // Rules that ask are stronger than those that allow.
        (json!([rule_update("addRules", "allow", "touch *", "session")]), 0),
        // The file of the user is not that of the project.
        (json!([rule_update("removeRules", "ask", "touch made", "projectSettings")]), 0),
        (json!([rule_update("removeRules", "ask", "touch made", "session")]), 0),
    ] {
        let home = Home::new();
        home.write("home/.robota/settings.json", &forbid);
        assert_eq!(second_call_is_asked(&home, TOUCH, &updates), (true, denied), "{updates}");
        let saved = std::fs::read_to_string(home.path("home/.robota/settings.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&saved).unwrap(), forbid, "{updates}");
        assert!(!home.path("project/.robota/settings.json").exists(), "{updates}");
    }
}

#[test]
fn sdk_08_rules_are_replaced_and_lifted_where_they_were_written() {
    // An allow rule is not used while a rule of the user asks; the approval removes that rule.
    for (update, left) in [
        (rule_update("removeRules", "ask", "touch made", "userSettings"), json!(["Bash(curl *)"])),
        (rule_update("replaceRules", "ask", "wget *", "userSettings"), json!(["Bash(wget *)"])),
    ] {
        let home = Home::new();
        let ask = json!(["Bash(touch made)", "Bash(curl *)"]);
        let settings = json!({"permissions": {"allow": ["Bash(touch *)"], "ask": ask}});
        home.write("home/.robota/settings.json", settings);
        assert_eq!(second_call_is_asked(&home, TOUCH, &json!([update])), (false, 0), "{update}");
        let saved = std::fs::read_to_string(home.path("home/.robota/settings.json")).unwrap();
        let saved: Value = serde_json::from_str(&saved).unwrap();
        assert_eq!(saved["permissions"]["ask"], left, "{update}");
        assert_eq!(saved["permissions"]["allow"], json!(["Bash(touch *)"]), "{update}");
    }
}

#[test]
fn sdk_08_folders_are_added_and_removed_with_an_approval() {
    let home = Home::new();
    home.write("shared/file.txt", "x\n");
    let folder = home.path("shared");
    let call = format!(
        "tools: [{{tool: Read, input: {{file_path: {}}}}}]",
        folder.join("file.txt").display()
    );
    let update = |kind: &str, destination: &str| json!([{"type": kind, "directories": [folder], "destination": destination}]);
    let add = update("addDirectories", "session");
    assert_eq!(second_call_is_asked(&home, &call, &add), (false, 0), "the folder is in use");
    let local = home.path("project/.robota/settings.local.json");
    assert!(!local.exists(), "until the session ends");
    let save = update("addDirectories", "localSettings");
    assert_eq!(second_call_is_asked(&home, &call, &save), (false, 0));
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(&local).unwrap()).unwrap();
    assert_eq!(saved, json!({"permissions": {"additionalDirectories": [folder]}}));
    let remove = update("removeDirectories", "localSettings");
    assert_eq!(second_call_is_asked(&home, TOUCH, &remove), (true, 0));
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(&local).unwrap()).unwrap();
    assert_eq!(saved["permissions"]["additionalDirectories"], json!([]), "{saved}");
}

#[test]
fn sdk_08_a_mode_is_saved_where_the_host_says() {
    let home = Home::new();
    let write = "tools: [{tool: Write, input: {file_path: new.txt, content: x}}, {tool: Read, input: {file_path: new.txt}}]";
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "localSettings"}]);
    assert_eq!(second_call_is_asked(&home, write, &mode), (false, 0));
    let saved = std::fs::read_to_string(home.path("project/.robota/settings.local.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(saved, json!({"permissions": {"defaultMode": "acceptEdits"}}));
}

#[test]
fn sdk_08_other_arguments_and_rules_come_with_one_approval() {
    let home = Home::new();
    let mut host = Host::start(&home, &format!("- {TOUCH}\n- {TOUCH}\n- Done."), &ASKS);
    host.say("go");
    let request = host.until("control_request").pop().unwrap();
    let updates = json!([rule_update("addRules", "allow", "touch made", "session")]);
    host.answer(
        &request,
        &json!({"behavior": "allow", "updatedInput": {"command": "touch instead"},
            "updatedPermissions": updates}),
    );
    let turn = host.until("result");
    assert!(!kinds(&turn).contains(&"control_request".to_owned()), "{turn:?}");
    assert!(home.path("project/instead").exists() && home.path("project/made").exists());
    host.finish();
}

#[test]
fn sdk_08_a_host_can_forbid_and_change_the_mode() {
    let deny = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent":
        "touch *"}], "behavior": "deny", "destination": "session"}]);
    assert_eq!(second_call_is_asked(&Home::new(), TOUCH, &deny), (false, 1));
    let home = Home::new();
    let deny = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent":
        "touch *"}], "behavior": "deny", "destination": "localSettings"}]);
    assert_eq!(second_call_is_asked(&home, TOUCH, &deny), (false, 1));
    let saved = std::fs::read_to_string(home.path("project/.robota/settings.local.json")).unwrap();
    assert!(saved.contains("Bash(touch *)") && saved.contains("deny"), "{saved}");
    let write = "tools: [{tool: Write, input: {file_path: new.txt, content: x}}, {tool: Read, input: {file_path: new.txt}}]";
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    assert_eq!(second_call_is_asked(&Home::new(), write, &mode), (false, 0));
}

#[test]
fn sdk_08_rules_of_the_session_and_of_files_can_be_removed() {
    let home = Home::new();
    home.write(
        "home/.robota/settings.json",
        json!({"permissions": {"allow": ["Bash(make *)", "Bash(ls *)"]}}),
    );
    let rules = json!([{"toolName": "Bash", "ruleContent": "make *"}]);
    let updates = json!([{"type": "removeRules", "rules": rules, "behavior": "allow",
        "destination": "userSettings"}]);
    assert_eq!(second_call_is_asked(&home, TOUCH, &updates), (true, 0));
    let saved = std::fs::read_to_string(home.path("home/.robota/settings.json")).unwrap();
    assert!(saved.contains("Bash(ls *)") && !saved.contains("make"), "{saved}");
}

#[test]
fn sdk_08_mode_dont_ask_denies_without_the_host() {
    let home = Home::new();
    let args = [&ASKS[..], &["--permission-mode", "dontAsk"]].concat();
    let mut host = Host::start(&home, &format!("- {TOUCH}\n- Done."), &args);
    host.say("go");
    let turn = host.until("result");
    assert!(!kinds(&turn).contains(&"control_request".to_owned()), "{turn:?}");
    assert_eq!(turn[0]["permissionMode"], "dontAsk");
    assert_eq!(turn.last().unwrap()["permission_denials"].as_array().unwrap().len(), 1);
    host.finish();
}
