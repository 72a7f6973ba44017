//! Skills that users and models invoke.

use robota_core::permission::Mode;
use robota_sdk::skills::SkillFailure;
use robota_sdk::{CommandOrigin, Entered, InteractiveSession, Prepared, SdkError, ToolEnd};
use robota_session::{Selector, StartAt};

use crate::common::Scene;

async fn enter(session: &InteractiveSession, text: &str) -> Result<Entered, SdkError> {
    session.enter(text).await
}

async fn answer(session: &InteractiveSession, text: &str) -> robota_sdk::ExecutionResult {
    match enter(session, text).await.unwrap() {
        Entered::Submitted(submission) => submission.result().await.unwrap(),
        Entered::Command(result) => panic!("{result:?}"),
    }
}

fn sent(scene: &Scene, request: usize) -> String {
    scene.provider.requests()[request].messages.last().unwrap().text()
}

#[tokio::test]
async fn sdk_13_a_skill_is_submitted_with_its_arguments_commands_and_files() {
    let scene = Scene::new("- done\n");
    scene.write(
        "home/.claude/skills/review/SKILL.md",
        "---\ndescription: Reviews\nargument-hint: [file]\n---\n\
         Review $0 for $ARGUMENTS.\nOutput: !`echo from-the-shell`\nSee @notes.md\n",
    );
    scene.write("project/notes.md", "the notes\n");
    let session = scene.open().await;
    let listed = session.commands().list("rev");
    assert_eq!(listed[0].origin, CommandOrigin::Skill);
    assert_eq!(answer(&session, "/review a.rs speed").await.response, "done");
    let text = sent(&scene, 0);
    assert!(text.contains("Review a.rs for a.rs speed."), "{text}");
    assert!(text.contains("Output: from-the-shell"), "{text}");
    assert!(text.contains("the notes"), "{text}");
    let history =
        serde_json::to_string(&session.conversation().full_history().await.unwrap()).unwrap();
    assert!(history.contains("skill-invocation") && history.contains("/review a.rs speed"));
}

#[tokio::test]
async fn sdk_13_a_command_that_is_not_allowed_ends_the_invocation() {
    let scene = Scene::new("- done\n");
    scene.write("home/.claude/skills/bad/SKILL.md", "Before !`touch made-by-a-skill` after\n");
    let session = scene.builder().mode(Mode::Default).open().await.unwrap();
    let error = enter(&session, "/bad").await.err().unwrap();
    assert!(matches!(error, SdkError::Skill(SkillFailure::NotAllowed { .. })), "{error}");
    assert!(!scene.path().join("project/made-by-a-skill").exists());
    assert!(scene.provider.requests().is_empty());
}

#[tokio::test]
async fn sdk_13_allowed_tools_cover_the_commands_of_the_skill_itself() {
    const ALLOWED: &str = "---\nallowed-tools: Bash(touch made)\n---\n";
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let scene = Scene::new(&format!("- made\n- {touch}\n- no\n"));
    let made = || scene.path().join("project/made").exists();
    scene.write("home/.claude/skills/make/SKILL.md", &format!("{ALLOWED}Now !`touch made`.\n"));
    scene.write("home/.claude/skills/more/SKILL.md", &format!("{ALLOWED}Now !`touch more`.\n"));
    let session = scene.builder().mode(Mode::Default).open().await.unwrap();
    let error = enter(&session, "/more").await.err().unwrap();
    assert!(matches!(error, SdkError::Skill(SkillFailure::NotAllowed { .. })), "{error}");
    // Prepared, but not submitted: its rules must not stay.
    session.prepare("/make").await.unwrap();
    assert!(made());
    std::fs::remove_file(scene.path().join("project/made")).unwrap();
    assert_eq!(answer(&session, "/make").await.response, "made");
    assert!(made());
    std::fs::remove_file(scene.path().join("project/made")).unwrap();
    let later = session.submit("Again.").await.unwrap().result().await.unwrap();
    assert_eq!((later.tools[0].end, made()), (Some(ToolEnd::Denied), false), "{later:?}");
}

#[tokio::test]
async fn sdk_13_a_deny_rule_is_stronger_than_the_allowed_tools_of_a_skill() {
    let scene = Scene::new("- done\n");
    let text = "---\nallowed-tools: Bash\n---\nNow !`touch made`.\n";
    scene.write("home/.claude/skills/make/SKILL.md", text);
    let options = robota_sdk::ProjectOptions {
        deny: vec!["Bash(touch *)".to_owned()],
        ..robota_sdk::ProjectOptions::default()
    };
    let session = scene.builder_for(scene.project_with(options)).open().await.unwrap();
    let error = enter(&session, "/make").await.err().unwrap();
    assert!(matches!(error, SdkError::Skill(SkillFailure::NotAllowed { .. })), "{error}");
    assert!(!scene.path().join("project/made").exists());
}

#[tokio::test]
async fn sdk_13_a_command_that_fails_ends_the_invocation() {
    let scene = Scene::new("- done\n");
    for (name, command) in
        [("three", "exit 3"), ("false", "echo wrong; false"), ("gone", "cat no-file")]
    {
        let text = format!("Before !`{command}` after\n");
        scene.write(&format!("home/.claude/skills/{name}/SKILL.md"), &text);
    }
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    for (name, shown) in
        [("three", "[exit code 3]"), ("false", "wrong\n[exit code 1]"), ("gone", "no-file")]
    {
        let error = enter(&session, &format!("/{name}")).await.err().unwrap();
        assert!(matches!(error, SdkError::Skill(SkillFailure::CommandFailed { .. })), "{error}");
        assert!(error.to_string().contains(shown), "{error}");
    }
    assert!(scene.provider.requests().is_empty());
}

#[tokio::test]
async fn sdk_13_the_output_of_a_command_is_inserted_without_notes() {
    let scene = Scene::new("- done\n");
    scene.write("project/notes.md", "one\ntwo\n");
    scene.write("project/web/x", "");
    scene.write(
        "home/.claude/skills/look/SKILL.md",
        "Nothing: <!`true`>\nQuiet: !`true`.\nFound: !`grep tw notes.md`.\n\
         Not found: !`cat notes.md | grep 'three|four'`.\nMoved: !`cd web && ls`.\n",
    );
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    answer(&session, "/look").await;
    let expected = "Nothing: <!`true`>\nQuiet: .\nFound: two.\nNot found: .\nMoved: x.\n";
    assert_eq!(sent(&scene, 0), expected);
}

#[tokio::test]
async fn sdk_13_the_model_can_use_the_first_skill_that_is_found_beside_a_file() {
    let scene = Scene::new(
        "- {tools: [{tool: Read, input: {file_path: web/a.txt}}]}\n\
         - {expect: {tools: [Skill]}, tools: [{tool: Skill, input: {skill: ship}}]}\n- done\n",
    );
    scene.write("project/web/a.txt", "hello\n");
    let skill = "---\ndescription: Ships the site\n---\nShip it.\n";
    scene.write("project/web/.claude/skills/ship/SKILL.md", skill);
    let session = scene.open().await;
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    assert!(requests[0].tools.iter().all(|tool| tool.name != "Skill"));
    let messages = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(messages.contains("ship: Ships the site"), "{messages}");
    assert_eq!(result.tools[1].output.as_deref(), Some("Ship it.\n"));
}

#[tokio::test]
async fn sdk_13_skills_of_folders_are_typed_by_their_names() {
    let scene = Scene::new(
        "- {tools: [{tool: Read, input: {file_path: apps/web/a.txt}}, \
         {tool: Read, input: {file_path: my app/a.txt}}]}\n- read\n- one\n- two\n- three\n",
    );
    scene.write("project/.claude/skills/deploy/SKILL.md", "Top $ARGUMENTS.\n");
    for (folder, text) in [("apps/web", "Web"), ("my app", "Mine")] {
        scene.write(&format!("project/{folder}/a.txt"), "hello\n");
        let skill = format!("{text} $ARGUMENTS.\n");
        scene.write(&format!("project/{folder}/.claude/skills/deploy/SKILL.md"), &skill);
    }
    let session = scene.open().await;
    session.submit("Read.").await.unwrap().result().await.unwrap();
    answer(&session, "/apps/web:deploy now").await;
    assert_eq!(sent(&scene, 2).trim(), "Web now.");
    answer(&session, " /my app:deploy").await;
    assert_eq!(sent(&scene, 3).trim(), "Mine .");
    // Only a whole name is one.
    answer(&session, "/apps/web:deployment is what?").await;
    assert_eq!(sent(&scene, 4), "/apps/web:deployment is what?");
}

#[tokio::test]
async fn sdk_13_a_text_can_begin_with_several_skills() {
    let scene = Scene::new("- one\n- two\n- three\n");
    scene.write("home/.claude/skills/style/SKILL.md", "---\neffort: low\n---\nBe brief. $0\n");
    scene.write("home/.claude/skills/review/SKILL.md", "Review $ARGUMENTS.\n");
    scene.write("home/.claude/skills/hidden/SKILL.md", "---\nuser-invocable: no\n---\nNo.\n");
    let session = scene.open().await;
    answer(&session, "/style /review a.rs and /style").await;
    let texts = |at: usize| {
        let requests = scene.provider.requests();
        let content = requests[at].messages.last().unwrap().text();
        content.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(texts(0), "Be brief. $0 Review a.rs and /style.");
    assert_eq!(scene.provider.requests()[0].options["effort"], "low");
    // A path, a command and a skill of the model are arguments.
    answer(&session, "/review /etc/hosts").await;
    assert_eq!(texts(1), "Review /etc/hosts.");
    answer(&session, "/review /hidden").await;
    assert_eq!(texts(2), "Review /hidden.");
    let many = "/style ".repeat(7);
    let prepared = session.prepare(&many).await.unwrap();
    let Prepared::Prompt(prompt) = prepared else { panic!("{prepared:?}") };
    assert_eq!(prompt.content.len(), 6);
    assert!(serde_json::to_string(&prompt.content[5]).unwrap().contains("Be brief. /style"));
}

#[tokio::test]
async fn sdk_13_model_and_effort_of_a_skill_apply_to_its_turn() {
    let look = "{tools: [{tool: Glob, input: {pattern: '*'}}]}";
    let scene = Scene::new(&format!("- {look}\n- one\n- two\n- three\n- four\n"));
    let header = |fields: &str| format!("---\n{fields}---\nGo.\n");
    let skill = "home/.claude/skills/think/SKILL.md";
    scene.write(skill, &header("model: other-model\neffort: high\n"));
    let inherits = header("model: inherit\n");
    scene.write("home/.claude/commands/inherits.md", &inherits);
    // The session's provider is not known to have it.
    scene.write("home/.claude/commands/claude.md", &header("model: sonnet\n"));
    let session = scene.open().await;
    answer(&session, "/think").await;
    session.submit("And now?").await.unwrap().result().await.unwrap();
    answer(&session, "/inherits").await;
    answer(&session, "/claude").await;
    let requests = scene.provider.requests();
    let calls: Vec<_> = requests
        .iter()
        .map(|it| (it.model.as_str(), it.options.get("effort").and_then(|effort| effort.as_str())))
        .collect();
    let (own, session) = (("other-model", Some("high")), ("scripted", None));
    assert_eq!(calls, [own, own, session, session, session]);
}

#[tokio::test]
async fn sdk_13_a_forked_skill_has_its_effort_and_may_run_in_the_background() {
    let scene = Scene::new("- Done.\n- Later.\n- Seen.\n");
    let skill = |fields: &str| format!("---\ncontext: fork\n{fields}---\nGo.\n");
    scene.write("home/.claude/skills/think/SKILL.md", &skill("model: other-model\neffort: high\n"));
    scene.write("home/.claude/skills/later/SKILL.md", &skill("background: true\n"));
    let session = scene.open().await;
    let command = async |text: &str| match enter(&session, text).await.unwrap() {
        Entered::Command(result) => result,
        Entered::Submitted(_) => panic!("{text} is no prompt"),
    };
    assert_eq!(command("/think").await.message, "Done.");
    let request = scene.provider.requests().remove(0);
    assert_eq!(
        (request.model.as_str(), &request.options["effort"]),
        ("other-model", &"high".into())
    );
    let started = command("/later").await;
    assert!(started.message.contains("works in the background"), "{started:?}");
    let task = started.data["agentId"].as_str().unwrap().into();
    let ended = session.tasks().unwrap().wait(&task).await.unwrap();
    assert_eq!(ended.output, "Later.");
    session.submit("And?").await.unwrap().result().await.unwrap();
    let seen = serde_json::to_string(&scene.provider.requests()[2].messages).unwrap();
    assert!(seen.contains("<task-notification>") && seen.contains("Later."), "{seen}");
}

#[tokio::test]
async fn sdk_13_commands_of_a_checkout_need_trust() {
    let scene = Scene::new("- done\n");
    scene.write("project/.claude/skills/theirs/SKILL.md", "Now !`echo hello`\n");
    let session = scene.open().await;
    let error = enter(&session, "/theirs").await.err().unwrap();
    assert!(error.to_string().contains("not trusted"), "{error}");
    assert!(scene.provider.requests().is_empty());
}

#[tokio::test]
async fn sdk_13_allowed_tools_last_for_the_turn_of_the_skill() {
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let scene = Scene::new(&format!("- {touch}\n- one\n- {touch}\n- two\n"));
    scene.write(
        "home/.claude/skills/make/SKILL.md",
        "---\nallowed-tools: Bash(touch made)\n---\nMake it.\n",
    );
    let session = scene.builder().mode(Mode::Default).open().await.unwrap();
    let first = answer(&session, "/make").await;
    assert_eq!(first.tools[0].end, Some(ToolEnd::Success), "{first:?}");
    assert!(scene.path().join("project/made").exists());
    let second = session.submit("Again.").await.unwrap().result().await.unwrap();
    assert_eq!(second.tools[0].end, Some(ToolEnd::Denied));
}

#[tokio::test]
async fn sdk_13_the_model_reads_a_skill_by_its_tool() {
    let scene = Scene::new(
        "- {expect: {system: Deploys it, tools: [Skill]}, tools: [{tool: Skill, input: {skill: deploy, args: now}}]}\n\
         - {tools: [{tool: Skill, input: {skill: secret}}]}\n\
         - done\n",
    );
    scene.write(
        "project/.claude/skills/deploy/SKILL.md",
        "---\ndescription: Deploys it\n---\nDeploy $ARGUMENTS carefully.\n",
    );
    scene.write(
        "project/.claude/skills/secret/SKILL.md",
        "---\ndescription: Hidden\ndisable-model-invocation: true\n---\nNo.\n",
    );
    let session = scene.open().await;
    let result = session.submit("Deploy.").await.unwrap().result().await.unwrap();
    assert_eq!(result.tools[0].output.as_deref(), Some("Deploy now carefully.\n"));
    assert_eq!(result.tools[1].end, Some(ToolEnd::Error));
    assert!(!scene.provider.requests()[0].system.as_deref().unwrap().contains("Hidden"));
}

#[tokio::test]
async fn sdk_13_an_unknown_name_is_an_error_and_a_path_is_a_prompt() {
    let scene = Scene::new("- done\n");
    let session = scene.open().await;
    let error = enter(&session, "/nothing here").await.err().unwrap();
    assert!(matches!(error, SdkError::UnknownCommand(_)));
    assert_eq!(answer(&session, "/etc/hosts has what?").await.response, "done");
}

#[tokio::test]
async fn sdk_13_the_rules_of_a_skill_in_a_fork_do_not_reach_the_session() {
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    // The fork waits inside its turn while the session makes its call.
    let scene = Scene::new(&format!(
        "- start\n- {{steps: [{{text: busy}}, {{stall: {{gate: go}}}}]}}\n- {touch}\n- done\n"
    ));
    scene.write(
        "home/.claude/skills/make/SKILL.md",
        "---\nallowed-tools: Bash(touch made)\n---\nMake it.\n",
    );
    let session = scene.builder().mode(Mode::Default).open().await.unwrap();
    session.submit("Start.").await.unwrap().result().await.unwrap();
    let fork = session.fork(&Selector::Latest).await.unwrap();
    let mut events = fork.events(StartAt::Now).await.unwrap();
    let Entered::Submitted(running) = fork.enter("/make").await.unwrap() else {
        panic!("a skill is a prompt");
    };
    while !matches!(
        events.next().await.unwrap().unwrap(),
        robota_sdk::InteractiveEvent::TextDelta { .. }
    ) {}
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(result.tools[0].end, Some(ToolEnd::Denied));
    assert!(!scene.path().join("project/made").exists());
    scene.provider.release("go");
    running.result().await.unwrap();
}

#[tokio::test]
async fn sdk_13_a_skill_runs_no_tool_that_the_session_does_not_offer() {
    let scene = Scene::new("- done\n");
    scene.write("home/.claude/skills/look/SKILL.md", "Now !`echo hello`\n");
    let session = scene.builder().only_tools(vec!["Read".to_owned()]).open().await.unwrap();
    let error = enter(&session, "/look").await.err().unwrap();
    assert!(error.to_string().contains("Bash is not available"), "{error}");
}

const GUARD: &str = "---\nhooks:\n  PreToolUse:\n    - matcher: Write\n      hooks:\n        \
    - type: command\n          command: ./guard.sh\n---\nBe careful.\n";

fn write_guard(scene: &Scene, skill: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    scene.write(skill, GUARD);
    let script = "#!/bin/sh\necho 'the skill forbids it' >&2\nexit 2\n";
    scene.write("project/guard.sh", script);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scene.path().join("project/guard.sh"), mode).unwrap();
}

#[tokio::test]
async fn sdk_13_hooks_of_a_skill_run_from_its_first_use_on() {
    let write = "{tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {write}\n- one\n- {write}\n- two\n"));
    write_guard(&scene, "home/.claude/skills/guard/SKILL.md");
    let session = scene.open().await;
    let before = session.submit("Write.").await.unwrap().result().await.unwrap();
    assert_eq!(before.tools[0].end, Some(ToolEnd::Success), "{before:?}");
    let after = answer(&session, "/guard").await;
    assert_eq!(after.tools[0].end, Some(ToolEnd::Denied), "{after:?}");
}

#[tokio::test]
async fn sdk_13_hooks_of_a_skill_that_the_model_uses_apply_in_the_same_turn() {
    let scene = Scene::new(
        "- {tools: [{tool: Skill, input: {skill: guard}}]}\n\
         - {tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}\n- done\n",
    );
    write_guard(&scene, "home/.claude/skills/guard/SKILL.md");
    let session = scene.open().await;
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(result.tools[0].end, Some(ToolEnd::Success), "{result:?}");
    assert_eq!(result.tools[1].end, Some(ToolEnd::Denied), "{result:?}");
    assert!(!scene.path().join("project/new.txt").exists());
}

#[tokio::test]
async fn sdk_13_hooks_of_a_checkouts_skill_need_trust_in_the_file_and_in_its_scripts() {
    use robota_config::{ContextReader, TrustStore, file_requests};
    let write = "{tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}";
    let again = write.replace("new.txt", "again.txt");
    let scene = Scene::new(&format!("- {write}\n- one\n- {write}\n- two\n- {again}\n- three\n"));
    write_guard(&scene, "project/.claude/skills/guard/SKILL.md");
    let untrusted = answer(&scene.open().await, "/guard").await;
    assert_eq!(untrusted.tools[0].end, Some(ToolEnd::Success), "{untrusted:?}");
    let project = scene.project();
    let mut store = TrustStore::load(&project.places);
    let asked = file_requests(&ContextReader::new(&project.places), &store);
    assert_eq!(asked[0].requests, ["runs `./guard.sh` at PreToolUse"]);
    store.grant_file(&asked[0].file, &asked[0].hash, &robota_core::clock::SystemClock).unwrap();
    let trusted = answer(&scene.open().await, "/guard").await;
    assert_eq!(trusted.tools[0].end, Some(ToolEnd::Denied), "{trusted:?}");
    scene.write("project/guard.sh", "#!/bin/sh\ntouch owned\n");
    let changed = answer(&scene.open().await, "/guard").await;
    assert_eq!(changed.tools[0].end, Some(ToolEnd::Success), "{changed:?}");
    assert!(!scene.path().join("project/owned").exists());
}

#[tokio::test]
async fn sdk_13_a_hook_of_a_skill_may_run_once() {
    let write = "{tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {write}\n- one\n- {write}\n- two\n"));
    let command = format!("echo x >> {}", scene.path().join("ran").display());
    scene.write(
        "home/.claude/skills/count/SKILL.md",
        &format!(
            "---\nhooks:\n  PostToolUse:\n    - hooks:\n        - {{type: command, once: true, \
             command: \"{command}\"}}\n---\nCount.\n"
        ),
    );
    let session = scene.open().await;
    answer(&session, "/count").await;
    answer(&session, "/count").await;
    assert_eq!(std::fs::read_to_string(scene.path().join("ran")).unwrap(), "x\n");
}

#[tokio::test]
async fn sdk_22_an_enabled_plugin_adds_skills_hooks_permissions_and_a_prompt() {
    use robota_config::plugins::{PluginScope, Plugins};
    let write = "{tools: [{tool: Write, input: {file_path: new.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {write}\n- one\n- {write}\n- two\n"));
    scene.write(
        "source/plugin.json",
        r#"{"name": "tools", "prompt": "Use the plugin.", "permissions": {"deny": ["Read(secret.txt)"]}}"#,
    );
    scene.write("source/commands/hello.md", "Say hello.\n");
    scene.write(
        "source/hooks/hooks.json",
        r#"{"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [
            {"type": "command", "command": "sh \"${CLAUDE_PLUGIN_ROOT}/no.sh\""}]}]}}"#,
    );
    scene.write("source/no.sh", "echo 'the plugin forbids it' >&2\nexit 2\n");
    let mut plugins = Plugins::load(&scene.project().places);
    plugins.install(&scene.path().join("source"), PluginScope::User).unwrap();
    let session = scene.open().await;
    assert!(enter(&session, "/tools:hello").await.is_err(), "it is not enabled");
    let before = session.submit("Write.").await.unwrap().result().await.unwrap();
    assert_eq!(before.tools[0].end, Some(ToolEnd::Success), "{before:?}");
    plugins.enable("tools").unwrap();
    let session = scene.open().await;
    let listed = session.commands().list("tools:");
    assert_eq!(listed[0].origin, CommandOrigin::Plugin);
    let result = answer(&session, "/tools:hello").await;
    assert_eq!(result.tools[0].end, Some(ToolEnd::Denied), "{result:?}");
    let request = &scene.provider.requests()[2];
    assert!(request.system.as_deref().unwrap().contains("Use the plugin."));
    let project = session.project().unwrap();
    assert!(project.settings.permissions.deny.iter().any(|rule| rule.text == "Read(secret.txt)"));
}
