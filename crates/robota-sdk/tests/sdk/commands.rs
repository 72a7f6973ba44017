//! Commands: the built-in ones, modules, and commands as tools.

use async_trait::async_trait;
use robota_core::permission::Mode;
use robota_sdk::{
    CommandInfo, CommandModule, CommandResult, CommandSafety, CommandSource, InteractiveSession,
    SessionPart, SystemCommand,
};
use serde_json::json;

use crate::common::Scene;

#[tokio::test]
async fn sdk_09_commands_answer_with_a_message_and_data() {
    let scene = Scene::new("- {text: one, usage: {input: 100, output: 10}}\n- A summary.\n");
    let session = scene.open().await;
    session.submit("1").await.unwrap().result().await.unwrap();
    let run = |name: &'static str, arguments: &'static str| {
        let session = session.clone();
        async move { session.execute_command(name, arguments).await.unwrap() }
    };
    assert!(run("help", "").await.message.contains("/compact"));
    assert_eq!(run("model", "other/model").await.data["modelId"], "other/model");
    assert!(run("model", "").await.message.contains("scripted"));
    assert_eq!(run("language", "Ukrainian").await.data["language"], "Ukrainian");
    assert_eq!(run("rename", "work").await.data["name"], "work");
    assert!(!run("rename", " ").await.success);
    assert_eq!(run("resume", "").await.data["triggerResumePicker"], true);
    assert_eq!(run("reset", "").await.data["resetRequested"], true);
    let cost = run("cost", "").await;
    assert_eq!(cost.data["sessionId"], session.id().as_str());
    assert_eq!(cost.data["messageCount"], 1);
    assert!(cost.message.contains("100 in, 10 out"), "{}", cost.message);
    let context = run("context", "").await;
    assert_eq!(context.data["usedTokens"], 110);
    assert!(run("mode", "nonsense").await.message.contains("acceptEdits"));
    assert!(run("mode", "plan").await.success);
    assert_eq!(session.session().permissions().mode(), Mode::Plan);
    assert_eq!(run("permissions", "").await.data["mode"], json!(Mode::Plan));
    assert!(run("compact", "the plan").await.success);
    let request = scene.provider.requests().pop().unwrap();
    assert!(request.messages[0].text().contains("the plan"), "{request:?}");
    assert!(run("clear", "").await.success);
    assert!(session.conversation().messages().await.unwrap().is_empty());
    assert!(session.execute_command("nothing", "").await.is_none());
}

struct Audit;

#[async_trait]
impl SystemCommand for Audit {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("audit", "Audits the project")
            .arguments("[folder]")
            .for_model()
            .reads_only()
            .subcommand("deep", "All of it")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        CommandResult::ok(format!("audited {arguments} in {}", session.id()))
    }
}

struct Listed;

impl CommandSource for Listed {
    fn commands(&self) -> Vec<CommandInfo> {
        vec![CommandInfo::new("team:audit-all", "Another"), CommandInfo::new("help", "Hidden")]
    }
}

#[tokio::test]
async fn sdk_10_modules_add_commands_that_the_model_can_call() {
    let scene = Scene::new(
        "- {expect: {tools: [robota_command_audit]}, tools: [{tool: robota_command_audit, input: {args: src}}]}\n\
         - done\n",
    );
    let module = CommandModule::new("audits").command(Audit).source(Listed);
    let session = scene.builder().command_module(&module).open().await.unwrap();
    let names: Vec<_> = session.commands().list("aud").into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["audit"]);
    let registry = session.commands();
    let info = registry.list("audit").remove(0);
    assert_eq!(info.description, "Audits the project");
    assert_eq!(info.argument_hint.as_deref(), Some("[folder]"));
    assert!(info.model_invocable && info.user_invocable);
    assert_eq!(info.safety, CommandSafety::ReadOnly);
    assert_eq!(registry.subcommands("audit")[0].name, "deep");
    assert_eq!(registry.qualified_name("audit-all").as_deref(), Some("team:audit-all"));
    assert_eq!(registry.qualified_name("help"), None);
    assert_eq!(session.commands().list("help")[0].description, "Lists the commands");
    let result = session.submit("Audit src.").await.unwrap().result().await.unwrap();
    let output = result.tools[0].output.as_deref().unwrap();
    assert_eq!(output, format!("audited src in {}", session.id()));
}

#[tokio::test]
async fn sdk_10_a_module_requires_parts_of_the_session() {
    let scene = Scene::new("- done\n");
    let module = CommandModule::new("teams")
        .requires(SessionPart::Agents)
        .requires(SessionPart::BackgroundProcess);
    let options = robota_sdk::AgentOptions::default();
    // The order of the calls does not matter.
    let session = scene.builder().command_module(&module).agents(options).open().await.unwrap();
    let has = |session: &InteractiveSession, tool: &str| {
        session.tools().names().iter().any(|name| name == tool)
    };
    assert!(has(&session, "Agent") && has(&session, "BackgroundProcess"));
    let session = scene.builder().open().await.unwrap();
    assert!(!has(&session, "Agent") && !has(&session, "BackgroundProcess"));
}

#[tokio::test]
async fn sdk_10_a_command_that_changes_something_passes_the_gate() {
    struct Change;
    #[async_trait]
    impl SystemCommand for Change {
        fn info(&self) -> CommandInfo {
            CommandInfo::new("change", "Changes something")
                .subcommand("all", "Everything")
                .reading_subcommand("list", "What would change")
                .for_model()
        }

        async fn execute(&self, _: &InteractiveSession, _: &str) -> CommandResult {
            CommandResult::ok("changed")
        }
    }
    let calls = [
        ("change", "", false),
        ("change", "all", false),
        ("change", " all of it", false),
        ("change", "list", true),
        ("audit", "", true),
        ("audit", "src", true),
        ("audit", "deep src", false),
    ];
    let script = calls.map(|(name, args, _)| {
        format!("- {{tools: [{{tool: robota_command_{name}, input: {{args: '{args}'}}}}]}}\n")
    });
    let scene = Scene::new(&format!("{}- done\n", script.concat()));
    let module = CommandModule::new("changes").command(Change).command(Audit);
    let session = scene.builder().mode(Mode::Plan).command_module(&module).open().await.unwrap();
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(result.tools.len(), calls.len());
    for (tool, (name, args, runs)) in result.tools.iter().zip(calls) {
        let denied = tool.end == Some(robota_sdk::ToolEnd::Denied);
        assert_eq!(denied, !runs, "{name} {args}: {tool:?}");
    }
}

#[tokio::test]
async fn sdk_09_rewind_lists_and_restores_checkpoints() {
    let scene =
        Scene::new("- {tools: [{tool: Write, input: {file_path: a.txt, content: one}}]}\n- done\n");
    let session = scene.open().await;
    session.submit("Write it.").await.unwrap().result().await.unwrap();
    let file = scene.path().join("project/a.txt");
    assert!(file.exists());
    let run = async |arguments: &str| session.execute_command("rewind", arguments).await.unwrap();
    let list = run("list").await;
    assert!(list.message.contains("Write it."), "{}", list.message);
    assert!(run("diff 1").await.message.contains("-one"));
    let restored = run("code 1").await;
    assert!(restored.success && !file.exists(), "{}", restored.message);
    let undo = restored.data["report"]["undo"].as_str().unwrap().to_owned();
    assert!(run(&format!("code {undo}")).await.success && file.exists());
    assert!(!run("restore 99").await.success);
    assert!(!run("nonsense").await.success);
    assert!(!session.tools().names().contains(&"robota_command_rewind".to_owned()));
}

#[tokio::test]
async fn sdk_09_the_mode_bypass_permissions_must_be_allowed_at_the_start() {
    let scene = Scene::new("- done\n");
    let session = scene.open().await;
    assert!(session.set_mode(Mode::BypassPermissions).await.is_err());
    assert!(!session.execute_command("mode", "bypassPermissions").await.unwrap().success);
    assert_eq!(session.session().permissions().mode(), Mode::AcceptEdits);
    let session = scene.builder().may_bypass(true).open().await.unwrap();
    session.set_mode(Mode::BypassPermissions).await.unwrap();
    scene.write(
        "home/.claude/settings.json",
        r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#,
    );
    let forbidden = scene.builder().mode(Mode::BypassPermissions).open().await;
    assert!(forbidden.is_err());
}

#[tokio::test]
async fn sdk_24_query_returns_the_text() {
    let write = "{tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {write}\n- {{text: [One, ' two']}}\n"));
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let shown = seen.clone();
    let options = robota_sdk::QueryOptions {
        cwd: Some(scene.path().to_owned()),
        mode: Some(Mode::Plan),
        on_text_delta: Some(std::sync::Arc::new(move |text| shown.lock().unwrap().push_str(&text))),
        ..robota_sdk::QueryOptions::default()
    };
    let model = robota_sdk::ModelSetup::new(scene.provider.clone(), "scripted");
    assert_eq!(robota_sdk::query("Count.", model, options).await.unwrap(), "One two");
    assert_eq!(*seen.lock().unwrap(), "One two");
    assert!(!scene.path().join("new.txt").exists(), "plan mode changes nothing");
    let read = "{tools: [{tool: Read, input: {file_path: a}}]}";
    let scene = Scene::new(&format!("- {read}\n- {read}\n- Summary.\n- Not reached.\n"));
    let model = robota_sdk::ModelSetup::new(scene.provider.clone(), "scripted");
    scene.write("a", "in the folder\n");
    let cwd = Some(scene.path().to_owned());
    let options = robota_sdk::QueryOptions { cwd, max_turns: 2, ..Default::default() };
    let limited = robota_sdk::query("Read.", model, options).await;
    let requests = scene.provider.requests();
    assert!(requests.len() <= 3, "{limited:?}");
    let seen = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(seen.contains("in the folder"), "{seen}");
}

#[tokio::test]
async fn sdk_09_the_conversation_the_changes_and_the_to_do_list_can_be_shown() {
    let scene = Scene::new(
        "- tools: [{tool: TodoWrite, input: {todos: [{content: write, status: completed}, \
           {content: test, status: in_progress}]}}]\n\
         - tools: [{tool: Write, input: {file_path: new.txt, content: \"one\\n\"}}]\n\
         - It is written.\n",
    );
    let session = scene.builder().mode(Mode::AcceptEdits).open().await.unwrap();
    let run = |name: &'static str, arguments: &'static str| {
        let session = session.clone();
        async move { session.execute_command(name, arguments).await.unwrap() }
    };
    assert_eq!(run("todos", "").await.message, "There is no to-do list.");
    assert_eq!(run("diff", "").await.message, "No files have changed.");
    session.submit("Write a file.").await.unwrap().result().await.unwrap();
    assert_eq!(run("todos", "").await.message, "☑ write\n▸ test");
    let diff = run("diff", "").await;
    assert!(diff.message.contains("+one"), "{}", diff.message);
    assert_eq!(diff.data["files"].as_array().unwrap().len(), 1);
    assert!(!run("diff", "nothing").await.success);
    let export = run("export", "").await;
    assert!(export.message.contains("Write a file."), "{}", export.message);
    assert!(export.message.contains("It is written."), "{}", export.message);
    let export = run("export", "talk.md").await;
    assert_eq!(export.data["file"], "talk.md");
    assert!(export.data["text"].as_str().unwrap().contains("It is written."));
}

#[tokio::test]
async fn sdk_09_add_dir_adds_a_folder_until_the_session_ends() {
    let scene = Scene::new(
        "- {tools: [{tool: Write, input: {file_path: ../shared/new.txt, content: x}}]}\n- done\n",
    );
    scene.write("shared/deep/old.txt", "old\n");
    scene.write("project/file.txt", "x\n");
    let session = scene.open().await;
    let run = async |arguments: &str| session.execute_command("add-dir", arguments).await.unwrap();
    for (arguments, why) in [
        ("", "Usage"),
        ("../missing", "missing"),
        ("file.txt", "it is a file"),
        (".", "already in the workspace"),
    ] {
        let refused = run(arguments).await;
        assert!(!refused.success && refused.message.contains(why), "{arguments}: {refused:?}");
    }
    let folders = |session: &InteractiveSession| session.session().permissions().folders().unwrap();
    assert!(folders(&session).is_empty());
    let shared = scene.path().join("shared").canonicalize().unwrap();
    let added = run("../shared").await;
    assert!(added.success, "{added:?}");
    assert_eq!(added.data["folder"], shared.to_str().unwrap());
    assert_eq!(folders(&session), std::slice::from_ref(&shared));
    let within = run("../shared/deep").await;
    assert!(!within.success && within.message.contains("already"), "{within:?}");
    session.submit("Write it.").await.unwrap().result().await.unwrap();
    assert!(shared.join("new.txt").exists(), "acceptEdits allows it in the workspace");
    // The model must not widen its own permissions.
    let info = session.commands().list("add-dir").remove(0);
    assert!(!info.model_invocable && info.safety == CommandSafety::Modifies);
    assert!(!session.tools().names().contains(&"robota_command_add-dir".to_owned()));
    let later = scene.open().await;
    assert!(folders(&later).is_empty());
}
