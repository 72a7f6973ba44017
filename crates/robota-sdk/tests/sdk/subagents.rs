//! What agents are given: tools, prompt, model; and how they are started and shown.

use robota_core::event::Event;
use robota_core::permission::{Mode, Verdict};
use robota_core::task::{GroupChange, TaskChange, TaskMode, TaskStatus};
use robota_core::tool::{ToolContext, ToolOutcome};
use robota_sdk::{
    AgentOptions, AgentProgram, AgentRun, AgentWork, BackgroundOptions, CommandResult,
    InteractiveEvent, InteractiveSession, Isolation, TaskEvent, TaskManagerError,
};
use robota_session::StartAt;
use robota_tools::{AgentKind, AgentRunner, AgentTask};

use crate::common::Scene;

async fn command(session: &InteractiveSession, name: &str, arguments: &str) -> CommandResult {
    session.execute_command(name, arguments).await.unwrap()
}

async fn go(session: &InteractiveSession) -> robota_sdk::ExecutionResult {
    session.submit("Go.").await.unwrap().result().await.unwrap()
}

fn offered() -> AgentOptions {
    AgentOptions { tool: true, ..AgentOptions::default() }
}

const TESTER: &str = "---\nname: tester\ndescription: Runs tests\ntools: Bash, Read, Agent\n\
    disallowedTools: Read\nmodel: small-model\n---\nYou test.\n";

#[tokio::test]
async fn sdk_16_an_agent_has_the_tools_the_prompt_and_the_model_of_its_definition() {
    let call = "{tools: [{tool: Agent, input: {prompt: Test it., subagent_type: tester, \
        unheard_of: 1}}]}";
    let chosen = "{tools: [{tool: Agent, input: {prompt: Again., subagent_type: tester, \
        model: other-model}}]}";
    let scene = Scene::new(&format!("- {call}\n- Tested.\n- {chosen}\n- Tested.\n- Done.\n"));
    scene.write("project/.claude/agents/tester.md", TESTER);
    scene.write("project/AGENTS.md", "Be kind.\n");
    scene.write("project/CLAUDE.md", "Use tabs.\n");
    let session = scene.builder().agents(offered()).mode(Mode::BypassPermissions).open().await;
    let done = go(&session.unwrap()).await;
    assert_eq!(done.response, "Done.", "{:?}", done.tools);
    let requests = scene.provider.requests();
    let tools: Vec<_> = requests[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    // Denied tools are removed, then only the allowed ones stay, and never Agent. ReadOutput reads the
    // output of commands.
    assert_eq!(tools, ["Bash", "ReadOutput"]);
    let system = requests[1].system.as_deref().unwrap();
    let at = |text: &str| system.find(text).unwrap_or_else(|| panic!("{text}: {system}"));
    assert!(system.starts_with("You test."), "{system}");
    assert!(at("your last message") > at("Be kind.").max(at("Use tabs.")), "{system}");
    assert_eq!(
        (requests[1].model.as_str(), requests[3].model.as_str()),
        ("small-model", "other-model")
    );
}

#[tokio::test]
async fn sdk_14_the_model_of_the_environment_wins_over_calls_and_definitions() {
    let call = "{tools: [{tool: Agent, input: {prompt: Test it., subagent_type: tester, \
        model: other-model}}]}";
    let scene = Scene::new(&format!("- {call}\n- Tested.\n- Done.\n"));
    scene.write("home/.claude/agents/tester.md", TESTER);
    let settings = r#"{"env": {"CLAUDE_CODE_SUBAGENT_MODEL": "cheap-model"}}"#;
    scene.write("home/.claude/settings.json", settings);
    let session = scene.builder().agents(offered()).open().await.unwrap();
    assert_eq!(go(&session).await.response, "Done.");
    let models: Vec<_> = scene.provider.requests().into_iter().map(|it| it.model).collect();
    assert_eq!(models, ["scripted", "cheap-model", "scripted"]);
}

#[tokio::test]
async fn sdk_12_agents_get_the_instructions_of_the_subfolders_that_they_use() {
    let read = "{tools: [{tool: Read, input: {file_path: web/a.txt}}]}";
    let scene = Scene::new(&format!("- {read}\n- Here.\n- {read}\n- There.\n- {read}\n- Me.\n"));
    scene.write("project/AGENTS.md", "Root rule.\n");
    scene.write("project/web/AGENTS.md", "Web rule.\n");
    scene.write("project/.claude/rules/text.md", "---\npaths: '*.txt'\n---\nText rule.\n");
    scene.write("project/web/a.txt", "hello\n");
    let session = scene.open().await;
    command(&session, "agent", "run general-purpose Read it.").await;
    command(&session, "agent", "run Explore Read it.").await;
    go(&session).await;
    let requests = scene.provider.requests();
    let count = |at: usize, text: &str| {
        let messages = serde_json::to_string(&requests[at].messages).unwrap();
        messages.matches(text).count()
    };
    for rule in ["Web rule.", "Text rule."] {
        assert_eq!(count(1, rule), 1, "{rule}");
        assert_eq!(count(3, rule), 0, "Explore has no instructions: {rule}");
        assert_eq!(count(5, rule), 1, "the session gets its own: {rule}");
    }
    assert_eq!(count(1, "Root rule."), 0, "it is in the prompt of the agent");
}

#[tokio::test]
async fn sdk_14_an_agent_that_may_not_write_has_no_tool_that_changes_files() {
    const CHANGES: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
    for denied in CHANGES {
        let scene = Scene::new("- Read.\n- Explored.\n- Planned.\n- Worked.\n");
        let text = format!(
            "---\nname: reader\ndescription: Reads\ndisallowedTools: {denied}\n---\nRead.\n"
        );
        scene.write("home/.claude/agents/reader.md", &text);
        let session = scene.builder().mode(Mode::AcceptEdits).open().await.unwrap();
        for agent in ["reader", "Explore", "Plan", "general-purpose"] {
            assert!(command(&session, "agent", &format!("run {agent} Go.")).await.success);
        }
        let requests = scene.provider.requests();
        let offered: Vec<Vec<_>> = requests
            .iter()
            .map(|request| request.tools.iter().map(|tool| tool.name.as_str()).collect())
            .collect();
        let changes = |names: &[&str]| {
            let found = CHANGES.iter().filter(|name| names.contains(name));
            found.copied().collect::<Vec<_>>()
        };
        for (names, agent) in offered.iter().zip(["reader", "Explore", "Plan"]) {
            assert_eq!(changes(names), [""; 0], "{agent} without {denied}");
            assert!(names.contains(&"Read"));
        }
        assert_eq!(changes(&offered[3]), ["Write", "Edit", "MultiEdit"], "another agent has them");
    }
}

/// Rules that a host or a user adds to the session are stronger than the rules that allow a call, in
/// the session and in its agents.
#[tokio::test]
async fn sdk_14_rules_that_are_added_to_the_session_apply_to_its_agents() {
    let make = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    for restricted in [false, true] {
        let scene = Scene::new(&format!("- {make}\n- Tried.\n"));
        let settings = r#"{"permissions": {"allow": ["Bash(touch *)"]}}"#;
        scene.write("home/.claude/settings.json", settings);
        let session = scene.open().await;
        if restricted {
            let permissions = session.session().permissions();
            permissions.restrict(Verdict::Deny, &["Bash(touch *)".to_owned()]).unwrap();
        }
        assert!(command(&session, "agent", "run general-purpose Make it.").await.success);
        assert_eq!(scene.path().join("project/made").exists(), !restricted);
    }
}

#[tokio::test]
async fn sdk_14_agents_are_part_of_requests_only_if_they_are_offered() {
    for (options, is_there) in [(AgentOptions::default(), false), (offered(), true)] {
        let scene = Scene::new("- Done.\n");
        scene.write("home/.claude/agents/tester.md", TESTER);
        let session = scene.builder().agents(options).open().await.unwrap();
        go(&session).await;
        let request = scene.provider.requests().remove(0);
        let text =
            format!("{:?}{}", request.system, serde_json::to_string(&request.tools).unwrap());
        assert_eq!(text.contains("Runs tests"), is_there, "{text}");
        let has_tool = session.tools().names().iter().any(|name| name == "Agent");
        assert_eq!(has_tool, is_there);
    }
}

#[tokio::test]
async fn sdk_14_of_many_agents_the_first_are_listed_and_every_one_can_be_used() {
    let call = "{tools: [{tool: Agent, input: {prompt: Go., subagent_type: a39}}]}";
    let scene = Scene::new(&format!("- {call}\n- Found.\n- Done.\n"));
    for n in 0..40 {
        let text = format!("---\nname: a{n:02}\ndescription: Does {n}\n---\nYou are a{n:02}.\n");
        scene.write(&format!("project/.claude/agents/a{n:02}.md"), &text);
    }
    // It restricts the agent of the project with the same name, which is not trusted.
    let strict = "---\nname: a39\ndescription: Mine\ndisallowedTools: Bash\n---\nMine.\n";
    scene.write("home/.claude/agents/a39.md", strict);
    let session = scene.builder().agents(offered()).open().await.unwrap();
    let done = go(&session).await;
    assert_eq!(done.response, "Done.", "{:?}", done.tools);
    let requests = scene.provider.requests();
    let tool = requests[0].tools.iter().find(|tool| tool.name == "Agent").unwrap();
    let listed = tool.description.lines().filter(|line| line.starts_with("- a")).count();
    assert_eq!(listed, 32, "{}", tool.description);
    assert!(tool.description.ends_with("- 9 more agents"), "{}", tool.description);
    assert!(tool.description.contains("- Explore:"), "{}", tool.description);
    assert!(requests[1].system.as_deref().unwrap().starts_with("You are a39."));
    assert!(requests[1].tools.iter().all(|tool| tool.name != "Bash"));
}

#[tokio::test]
async fn run_08_agents_are_detached_read_and_cancelled_by_command() {
    let scene = Scene::new("- Found it.\n- {steps: [{stall: forever}]}\n");
    let session = scene.open().await;
    let started = command(&session, "agent", "run --detach Explore Where is it?").await;
    assert!(started.success, "{started:?}");
    let id = started.data["agentId"].as_str().unwrap().to_owned();
    let tasks = session.tasks().unwrap();
    let task = tasks.wait(&id.as_str().into()).await.unwrap();
    assert_eq!((task.mode, task.status), (TaskMode::Background, TaskStatus::Completed));
    assert!(command(&session, "agent", "list").await.message.contains(&id));
    let read = command(&session, "agent", &format!("read {id}")).await;
    assert!(read.message.contains("Found it."), "{read:?}");
    let next = read.data["next"].as_u64().unwrap();
    let rest = command(&session, "background", &format!("read {id} {next}")).await;
    assert!(rest.message.contains("nothing more"), "{rest:?}");

    let started = command(&session, "agent", "parallel --detach Explore Wait.").await;
    let second = started.data["agentIds"][0].as_str().unwrap().to_owned();
    let cancelled = command(&session, "agent", &format!("cancel {second}")).await;
    assert!(cancelled.success && cancelled.message.contains("was cancelled"), "{cancelled:?}");
    let listed = command(&session, "background", "list").await;
    assert!(listed.message.contains("cancelled") && listed.message.contains("completed"));
    assert!(command(&session, "background", &format!("close {second}")).await.success);
    assert!(!command(&session, "background", "list").await.message.contains(&second));
}

#[tokio::test]
async fn sdk_02_clients_see_groups_and_the_journal_has_them() {
    let jobs = "{tools: [{tool: Agent, input: {jobs: [\
        {prompt: one, subagent_type: Explore}, {prompt: two, subagent_type: Plan}]}}]}";
    let scene = Scene::new(&format!("- {jobs}\n- first\n- second\n- Done.\n"));
    let session = scene.builder().agents(offered()).open().await.unwrap();
    let mut events = session.events(StartAt::Start).await.unwrap();
    go(&session).await;
    let mut changes = Vec::new();
    while let Some(event) = events.next().await {
        match event.unwrap() {
            InteractiveEvent::BackgroundJobGroupEvent { change, .. } => changes.push(change),
            InteractiveEvent::Complete(_) => break,
            _ => {}
        }
    }
    assert!(matches!(changes.first(), Some(GroupChange::Created { .. })), "{changes:?}");
    let journal = session.session().journal().read(None, usize::MAX).await.unwrap();
    let stored = journal.iter().filter_map(|event| match event.event() {
        Event::TaskGroupChanged(data) => Some(data.change.clone()),
        _ => None,
    });
    assert_eq!(stored.collect::<Vec<_>>(), changes);
    let groups = session.tasks().unwrap().groups();
    let group = groups.list().remove(0).group;
    let summary = groups.summarize(&group).unwrap();
    assert_eq!((summary.open, summary.completed, summary.tasks.len()), (0, 2, 2));
}

#[tokio::test]
async fn run_03_an_agent_reports_its_text_and_its_calls_as_it_works() {
    let scene = Scene::new(
        "- {text: Looking., tools: [{tool: Read, input: {file_path: notes.md}}]}\n- Found it.\n",
    );
    scene.write("project/notes.md", "hello\n");
    let session = scene.open().await;
    let mut events = session.tasks().unwrap().subscribe();
    command(&session, "agent", "run Explore Look.").await;
    let (mut text, mut seen) = (String::new(), Vec::new());
    while let Ok(event) = events.try_recv() {
        match event {
            TaskEvent::Text { text: part, .. } => text.push_str(&part),
            TaskEvent::Changed { change, .. } => match *change {
                TaskChange::ToolStarted { action } => seen.push(action),
                TaskChange::ToolEnded { error } => seen.push(format!("ended {error:?}")),
                _ => {}
            },
            _ => {}
        }
    }
    assert_eq!(seen, ["Read notes.md", "ended None"]);
    assert!(text.contains("Looking.") && text.contains("Found it."), "{text}");
}

/// Answers each task with its prompt.
struct Echo;

#[async_trait::async_trait]
impl AgentRunner for Echo {
    fn kinds(&self) -> Vec<AgentKind> {
        vec![AgentKind { name: "dev".to_owned(), when: "Builds.".to_owned() }]
    }

    async fn run(&self, request: AgentTask, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok(format!("{} did: {}", request.agent, request.prompt))
    }

    async fn run_all(&self, requests: Vec<AgentTask>, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok(format!("{} tasks", requests.len()))
    }
}

#[tokio::test]
async fn tool_01_the_task_bundle_gives_tasks_to_agents() {
    let tools = robota_tools::bundles::task(std::sync::Arc::new(Echo));
    let tool = &tools[0];
    assert_eq!((tools.len(), tool.spec().name.as_str()), (1, "Agent"));
    assert!(tool.spec().description.contains("dev: Builds."), "{}", tool.spec().description);
    let run = |input| tool.run(input, ToolContext::detached());
    let one = serde_json::json!({"prompt": "Build it.", "subagent_type": "dev"});
    assert_eq!(run(one.clone()).await.text(), "dev did: Build it.");
    let two = serde_json::json!({"jobs": [one.clone(), one]});
    assert_eq!(run(two).await.text(), "2 tasks");
    let unknown = serde_json::json!({"prompt": "x", "subagent_type": "ceo"});
    let refused = run(unknown).await;
    assert!(refused.text().contains("there is no agent `ceo`"), "{}", refused.text());
}

fn explore(prompt: &str) -> AgentRun {
    let work = AgentWork {
        agent: "Explore".to_owned(),
        prompt: prompt.to_owned(),
        ..AgentWork::default()
    };
    AgentRun { label: "look".to_owned(), work, ..AgentRun::default() }
}

#[tokio::test]
async fn run_04_the_handle_of_an_agent_has_its_ids_paths_and_result() {
    let scene = Scene::new(
        "- {steps: [{text: Looked.}, {stall: {gate: held}}]}\n- Also at the tests.\n- Once more.\n\
         - {steps: [{stall: {gate: never}}]}\n",
    );
    let session = scene
        .builder()
        .background(BackgroundOptions { task_logs: true, ..Default::default() })
        .open()
        .await
        .unwrap();
    let agents = session.agent_runs().unwrap();
    let agent = agents.start(explore("Where is it?"), TaskMode::Background, None).await.unwrap();
    scene.provider.reached("held").await;
    assert!(agent.id().as_str().starts_with("agent-"));
    assert_eq!(agent.pid().unwrap(), None, "it runs in this process");
    assert!(agent.session().unwrap().is_some());
    let log = agent.log_path().unwrap().unwrap();
    assert!(log.starts_with(scene.path().canonicalize().unwrap()) || log.exists(), "{log:?}");
    // A follow-up while it works.
    let same = agent.send("And the tests?").await.unwrap();
    assert_eq!(same.id(), agent.id());
    scene.provider.release("held");
    let result = agent.result().await.unwrap();
    assert!(result.success, "{result:?}");
    assert_eq!(result.output, "Also at the tests.");
    let page = agent.read_log(0, 10_000).await.unwrap();
    assert!(page.text.contains("Looked."), "{page:?}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), page.text);
    let transcript = agent.transcript_path().await.unwrap().unwrap();
    let text = std::fs::read_to_string(&transcript).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 4, "{text}");
    assert!(text.contains("And the tests?") && text.contains("Also at the tests."), "{text}");
    // It has ended: a further message continues its session as a new task.
    let again = agent.send("Again?").await.unwrap();
    assert_ne!(again.id(), agent.id());
    assert_eq!(again.result().await.unwrap().output, "Once more.");
    assert_eq!(again.session().unwrap(), agent.session().unwrap());
    let ended = agent.cancel().await.unwrap_err();
    assert!(matches!(ended, TaskManagerError::Ended { .. }), "{ended:?}");
    let stuck = agents.start(explore("Forever."), TaskMode::Background, None).await.unwrap();
    scene.provider.reached("never").await;
    assert_eq!(stuck.cancel().await.unwrap().error.as_deref(), Some("it was cancelled"));
    assert_eq!(agents.get(stuck.id()).unwrap().state().unwrap().status, TaskStatus::Cancelled);
    assert!(agents.get(&"agent-none".into()).is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn run_04_the_handle_of_an_agent_process_has_its_pid() {
    let scene = Scene::new("- Unused.\n");
    // A program that answers as the process of an agent does.
    let script = r#"
        read start; echo '{"type":"opened"}'
        read prompt; echo '{"type":"ended","finished":{"status":"completed","output":"From sh."}}'
        read close
    "#;
    let program = AgentProgram {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: None,
        setup: serde_json::Value::Null,
    };
    let options = AgentOptions { program: Some(program), ..AgentOptions::default() };
    let session = scene.builder().agents(options).open().await.unwrap();
    let agents = session.agent_runs().unwrap();
    let run = AgentRun { own_process: Some(true), ..explore("Go.") };
    let agent = agents.start(run, TaskMode::Background, None).await.unwrap();
    assert_eq!(agent.result().await.unwrap().output, "From sh.");
    assert!(agent.pid().unwrap().is_some_and(|pid| pid > 1 && pid != std::process::id()));
    assert!(agent.session().unwrap().is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn run_04_an_agent_process_that_says_nothing_is_stopped_when_its_time_is_used_up() {
    let scene = Scene::new("- Hello.\n");
    // Its turn begins as one of the session did, and then no event comes until it is cancelled.
    let other = scene.open().await;
    go(&other).await;
    let journal = other.session().journal().read(None, usize::MAX).await.unwrap();
    let event = journal.iter().find(|it| matches!(it.event(), Event::TurnStarted(_))).unwrap();
    let event = serde_json::json!({"type": "event", "line": event.envelope.to_line()}).to_string();
    let script = format!(
        r#"read start; echo '{{"type":"opened"}}'
        read prompt; printf '%s\n' '{event}'
        read cancel; echo '{{"type":"ended","finished":{{"status":"cancelled"}}}}'
        read close"#
    );
    let program = AgentProgram {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: None,
        setup: serde_json::Value::Null,
    };
    let options = AgentOptions { program: Some(program), ..AgentOptions::default() };
    let mut budget = robota_sdk::Budget::default();
    budget.set("subagent.seconds=1").unwrap();
    let session = scene.builder().agents(options).budget(budget).open().await.unwrap();
    let agents = session.agent_runs().unwrap();
    let run = AgentRun { own_process: Some(true), ..explore("Go.") };
    let agent = agents.start(run, TaskMode::Background, None).await.unwrap();
    let state = session.tasks().unwrap().wait(agent.id()).await.unwrap();
    assert_eq!(state.status, TaskStatus::Failed);
    assert!(state.error.as_ref().unwrap().message.contains("1 s"), "{state:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn run_05_the_hooks_of_the_settings_see_worktrees() {
    let scene = Scene::new("- Nothing to do.\n");
    let seen = scene.path().join("seen");
    let note = serde_json::json!([{"hooks": [{
        "type": "command", "command": format!("cat >> '{}'; echo >> '{0}'", seen.display()),
    }]}]);
    let settings = serde_json::json!({"hooks": {"WorktreeCreate": note, "WorktreeRemove": note}});
    scene.write("home/.robota/settings.json", &settings.to_string());
    let session = scene.open().await;
    let name = ["-c", "user.name=t", "-c", "user.email=t@t"];
    let commit = [&name[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat();
    for args in [&["init", "--quiet"][..], &commit] {
        let environment =
            robota_exec::Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
        let spec = robota_exec::CommandSpec::new("git", scene.path().join("project"));
        let spec = spec.args(args).env(environment);
        let ran = robota_exec::Supervisor::new().run(spec, &Default::default()).await.unwrap();
        assert!(ran.exit.is_success(), "{args:?}: {}", ran.stderr.text());
    }
    let agents = session.agent_runs().unwrap();
    let run = AgentRun { isolation: Some(Isolation::Worktree), ..explore("Go.") };
    let agent = agents.start(run, TaskMode::Background, None).await.unwrap();
    let result = agent.result().await.unwrap();
    assert!(result.success, "{result:?}");
    let text = std::fs::read_to_string(&seen).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    let seen: Vec<serde_json::Value> =
        lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = seen.iter().map(|it| it["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(events, ["WorktreeCreate", "WorktreeRemove"]);
    assert_eq!(seen[0]["name"], agent.id().as_str());
    assert!(seen[1]["worktree_path"].as_str().unwrap().contains("worktrees"), "{text}");
}

#[tokio::test]
async fn core_22_hooks_of_the_program_get_paths_in_the_folder_of_the_agent() {
    use robota_core::hook::{HookAnswer, HookInput, HookPoint, HookReply, Hooks, PreToolDecision};

    /// Records the paths of calls.
    #[derive(Default)]
    struct Paths(std::sync::Mutex<Vec<String>>);

    #[async_trait::async_trait]
    impl Hooks for Paths {
        fn has_point(&self, point: HookPoint) -> bool {
            point == HookPoint::PreToolUse
        }

        async fn run(&self, input: HookInput) -> HookReply {
            let HookInput::PreToolUse { tool_use, .. } = input else { panic!("{input:?}") };
            let path = tool_use.input.json().unwrap()["file_path"].as_str().unwrap().to_owned();
            self.0.lock().unwrap().push(path);
            HookAnswer::PreToolUse(PreToolDecision::Continue).into()
        }
    }

    let read = "{tools: [{tool: Read, input: {file_path: a.txt}}]}";
    let scene = Scene::new(&format!("- {read}\n- Read.\n"));
    scene.write("project/tree/a.txt", "a\n");
    let hooks = std::sync::Arc::new(Paths::default());
    let options = AgentOptions { hooks: vec![hooks.clone()], ..AgentOptions::default() };
    let session = scene.builder().agents(options).open().await.unwrap();
    let folder = scene.path().join("project/tree");
    let mut run = explore("Go.");
    run.work.cwd = Some(folder.clone());
    let result = session.agent_runs().unwrap().run(run, None).await;
    assert!(result.success, "{result:?}");
    assert_eq!(*hooks.0.lock().unwrap(), [folder.join("a.txt").display().to_string()]);
}
