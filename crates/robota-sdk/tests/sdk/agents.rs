//! Agents and background tasks of a session.

use std::sync::Arc;
use std::time::Duration;

use robota_core::approve::{Answer, Question};
use robota_core::event::{Durability, Event};
use robota_core::journal::{JournalStore as _, SessionFilter};
use robota_core::permission::Mode;
use robota_core::task::{TaskChange, TaskErrorCategory, TaskStatus};
use robota_sdk::{
    AgentOptions, AgentPermissions, BackgroundOptions, CommandResult, Entered, InteractiveEvent,
    InteractiveSession, SessionChoice,
};
use robota_session::{StartAt, approver_fn};

use crate::common::Scene;

async fn command(session: &InteractiveSession, text: &str) -> CommandResult {
    match session.enter(text).await.unwrap() {
        Entered::Command(result) => result,
        Entered::Submitted(_) => panic!("{text} is no command"),
    }
}

async fn result(session: &InteractiveSession, prompt: &str) -> robota_sdk::ExecutionResult {
    session.submit(prompt).await.unwrap().result().await.unwrap()
}

/// Lets the model start agents.
fn offered() -> AgentOptions {
    AgentOptions { tool: true, ..AgentOptions::default() }
}

const EXPLORE: &str = "{tools: [{tool: Agent, input: {prompt: Look at it., subagent_type: Explore, description: look, isolation: none}}]}";

#[tokio::test]
async fn sdk_15_the_model_gives_a_task_to_an_agent_with_a_session_of_its_own() {
    let read = "{tools: [{tool: Read, input: {file_path: notes.md}}]}";
    let scene = Scene::new(&format!("- {EXPLORE}\n- {read}\n- It says hello.\n- All done.\n"));
    scene.write("project/notes.md", "hello\n");
    scene.write("project/AGENTS.md", "Be kind.\n");
    let session = scene.builder().agents(offered()).open().await.unwrap();
    let done = result(&session, "Go.").await;
    assert_eq!(done.response, "All done.");
    assert_eq!(done.tools[0].tool, "Agent");
    let requests = scene.provider.requests();
    // The agent sees its definition and its task, not the conversation.
    let system = requests[1].system.as_deref().unwrap();
    assert!(system.starts_with("You search code for another agent"), "{system}");
    assert!(!system.contains("Be kind."), "Explore has no instructions: {system}");
    assert_eq!(requests[1].messages[0].text(), "Look at it.");
    let tools: Vec<_> = requests[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(tools.contains(&"Read") && !tools.contains(&"Write") && !tools.contains(&"Agent"));
    let answer = requests[3].messages.last().unwrap();
    assert!(serde_json::to_string(answer).unwrap().contains("It says hello."));
    // Its session is in the same store, and linked.
    let sessions = scene.store.list(&SessionFilter::default()).await.unwrap().sessions;
    let child = sessions.iter().find(|head| head.session != *session.id()).unwrap();
    assert_eq!(child.spawned_by.as_ref().unwrap().session, *session.id());
    let task = session.tasks().unwrap().list().remove(0);
    assert_eq!((task.status, task.session.as_ref()), (TaskStatus::Completed, Some(&child.session)));
    let journal = session.session().journal().read(None, usize::MAX).await.unwrap();
    let outcome = journal.iter().find_map(|event| match event.event() {
        Event::ToolFinished(data) => Some(data.outcome.clone()),
        _ => None,
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.ok, outcome.text().as_str()), (true, "It says hello."));
    assert_eq!(outcome.metadata["success"], true);
    assert_eq!(outcome.metadata["agent_id"], task.task.as_str());
    assert_eq!(task.worktree, None);
    let log = session.tasks().unwrap().read_log(&task.task, 0, 1000).await.unwrap().text;
    assert!(log.contains("[Read notes.md]") && log.contains("It says hello."), "{log}");
    let listed = command(&session, "/background").await.message;
    assert!(listed.contains("completed") && listed.contains("look"), "{listed}");
}

#[tokio::test]
async fn sdk_15_jobs_run_at_the_same_time_and_an_unknown_agent_starts_nothing() {
    let jobs = "{tools: [{tool: Task, input: {jobs: [\
        {prompt: one, subagent_type: Explore}, {prompt: two, subagent_type: Plan}]}}]}";
    let bad = "{tools: [{tool: Agent, input: {prompt: x, subagent_type: Nobody}}]}";
    let answer = |name: &str| format!("{{steps: [{{stall: {{gate: {name}}}}}, {{text: {name}}}]}}");
    let (first, second) = (answer("first"), answer("second"));
    let scene = Scene::new(&format!("- {bad}\n- {jobs}\n- {first}\n- {second}\n- Done.\n"));
    let session = scene.builder().agents(offered()).open().await.unwrap();
    let submission = session.submit("Go.").await.unwrap();
    // Both work before either has ended.
    for name in ["first", "second"] {
        scene.provider.reached(name).await;
    }
    for name in ["first", "second"] {
        scene.provider.release(name);
    }
    let done = submission.result().await.unwrap();
    assert_eq!(done.response, "Done.", "{:?}", done.tools);
    let tasks = session.tasks().unwrap();
    assert_eq!(tasks.list().len(), 2, "the unknown agent was not started");
    let group = tasks.groups().list().remove(0);
    let summary = tasks.groups().summarize(&group.group).unwrap();
    assert_eq!((summary.completed, group.tasks.len()), (2, 2));
    let last = scene.provider.requests().pop().unwrap();
    let text = serde_json::to_string(&last.messages).unwrap();
    assert!(text.contains("there is no agent `Nobody`"), "{text}");
    assert!(text.contains("groupId") && text.contains("agentId"), "{text}");
}

#[tokio::test]
async fn run_09_the_costs_of_agents_are_those_of_their_session() {
    let scene = Scene::new(&format!("- {EXPLORE}\n- Nothing.\n- Done.\n"));
    let session = scene.builder().agents(offered()).open().await.unwrap();
    result(&session, "Go.").await;
    let calls: u64 =
        session.spending().costs().await.unwrap().models.values().map(|it| it.calls).sum();
    assert_eq!(calls, 3);
    assert_eq!(
        session.spending().used().turns,
        1,
        "the turn of an agent is not one of the session"
    );
}

#[tokio::test]
async fn sdk_16_questions_of_agents_reach_the_approver_with_their_name() {
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let general = "{tools: [{tool: Agent, input: {prompt: Make it.}}]}";
    for permissions in [AgentPermissions::Inherit, AgentPermissions::Deny] {
        let scene = Scene::new(&format!("- {general}\n- {touch}\n- tried\n- Done.\n"));
        let (seen, asked) = std::sync::mpsc::channel();
        let approver = approver_fn(move |question: Question| {
            let seen = seen.clone();
            async move {
                let _ = seen.send((question.call.name.clone(), question.agent));
                Answer::Allow { note: None }
            }
        });
        let session = scene
            .builder()
            .agents(AgentOptions { permissions: Some(permissions.clone()), ..offered() })
            .mode(Mode::Default)
            .approver(approver)
            .open()
            .await
            .unwrap();
        result(&session, "Go.").await;
        let asked: Vec<_> = asked.try_iter().collect();
        let made = scene.path().join("project/made").exists();
        if permissions == AgentPermissions::Deny {
            assert!(!made && asked.iter().all(|(tool, _)| tool == "Agent"), "{asked:?}");
        } else {
            let (tool, agent) = asked.last().unwrap();
            assert!(made && tool == "Bash", "{asked:?}");
            assert!(agent.as_ref().unwrap().starts_with("general-purpose (agent-"), "{agent:?}");
        }
    }
}

#[tokio::test]
async fn sdk_16_preapproved_agents_make_their_calls_without_a_question_and_no_others() {
    let touch =
        |file: &str| format!("{{tools: [{{tool: Bash, input: {{command: touch {file}}}}}]}}");
    let general = "{tools: [{tool: Agent, input: {prompt: Make it.}}]}";
    let (one, two) = (touch("one"), touch("two"));
    let scene = Scene::new(&format!("- {general}\n- {one}\n- {two}\n- tried\n- Done.\n"));
    let (approver, asked) = allowing_approver();
    let settings = serde_json::json!({"agentPermissions": {"allow": ["Bash(touch one)"]}});
    scene.write("home/.robota/settings.json", &settings.to_string());
    let builder = scene.builder().agents(offered());
    let builder = builder.mode(Mode::Default).approver(approver);
    let session = builder.open().await.unwrap();
    result(&session, "Go.").await;
    let made = |file: &str| scene.path().join("project").join(file).exists();
    assert_eq!((made("one"), made("two")), (true, false));
    assert!(asked.try_iter().all(|(tool, _)| tool == "Agent"), "the others are denied");
}

#[tokio::test]
async fn sdk_16_every_question_of_a_forwarding_agent_goes_to_the_parent() {
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let general = "{tools: [{tool: Agent, input: {prompt: Make it.}}]}";
    for (permissions, questions) in [(AgentPermissions::Forward, 1), (AgentPermissions::Inherit, 0)]
    {
        let script = format!("- {touch}\n- Made.\n- {general}\n- {touch}\n- tried\n- Done.\n");
        let scene = Scene::new(&script);
        let seen: Arc<std::sync::Mutex<Vec<Option<String>>>> = Arc::default();
        let asked = seen.clone();
        let approver = approver_fn(move |question: Question| {
            let asked = asked.clone();
            async move {
                if question.call.name != "Bash" {
                    return Answer::Allow { note: None };
                }
                asked.lock().unwrap().push(question.agent);
                // The user allows such calls for the session.
                Answer::Remember {
                    scope: robota_core::approve::Scope::Session,
                    rules: question.rules,
                    note: None,
                }
            }
        });
        let builder =
            scene.builder().agents(AgentOptions { permissions: Some(permissions), ..offered() });
        let builder = builder.mode(Mode::Default).approver(approver);
        let session = builder.open().await.unwrap();
        result(&session, "Make it yourself.").await;
        assert_eq!(*seen.lock().unwrap(), [None]);
        std::fs::remove_file(scene.path().join("project/made")).unwrap();
        result(&session, "Now by an agent.").await;
        assert!(scene.path().join("project/made").exists());
        let of_agents = seen.lock().unwrap().iter().flatten().count();
        assert_eq!(of_agents, questions, "what the user allowed counts for an agent that inherits");
    }
}

type Asked = std::sync::mpsc::Receiver<(String, Option<String>)>;

/// Returns an approver that allows every call, and what it was asked.
fn allowing_approver() -> (Arc<dyn robota_core::approve::Approver>, Asked) {
    let (seen, asked) = std::sync::mpsc::channel();
    let approver = approver_fn(move |question: Question| {
        let seen = seen.clone();
        async move {
            let _ = seen.send((question.call.name.clone(), question.agent));
            Answer::Allow { note: None }
        }
    });
    (approver, asked)
}

#[tokio::test]
async fn run_01_a_background_command_is_a_task_and_its_end_is_reported_once() {
    let start = "{tools: [{tool: Bash, input: {command: echo from-the-task, \
        run_in_background: true, description: echoes}}]}";
    let scene = Scene::new(&format!("- {start}\n- Started.\n- Next.\n- Last.\n"));
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    result(&session, "Go.").await;
    let tasks = session.tasks().unwrap();
    let task = tasks.wait(&"bash_1".into()).await.unwrap();
    assert_eq!((task.status, task.exit_code), (TaskStatus::Completed, Some(0)));
    assert_eq!(task.output, "from-the-task\n");
    result(&session, "What now?").await;
    result(&session, "And now?").await;
    let requests = scene.provider.requests();
    let reports = |at: usize| {
        let messages = serde_json::to_string(&requests[at].messages).unwrap();
        messages.matches("<task-notification>").count()
    };
    // It may have ended before the call that started it.
    assert_eq!((reports(2), reports(3)), (1, 1), "reported once, and it stays in the conversation");
    assert_eq!(command(&session, "/background close bash_1").await.message, "Removed bash_1.");
    assert!(tasks.list().is_empty());
}

#[tokio::test]
async fn run_08_background_tasks_are_read_cancelled_and_closed() {
    let start = "{tools: [{tool: Bash, input: {command: 'echo ready; sleep 1000', \
        run_in_background: true}}]}";
    let scene = Scene::new(&format!("- {start}\n- Started.\n"));
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    result(&session, "Go.").await;
    let mut events = session.tasks().unwrap().subscribe();
    let mut read = command(&session, "/background read bash_1").await.message;
    while !read.contains("ready") {
        tokio::time::timeout(Duration::from_secs(30), events.recv()).await.unwrap().unwrap();
        read = command(&session, "/background read bash_1").await.message;
    }
    let error = command(&session, "/background close bash_1").await;
    assert!(!error.success && error.message.contains("cancel it first"), "{error:?}");
    let cancelled = command(&session, "/background cancel bash_1").await;
    assert!(cancelled.success && cancelled.message.contains("was cancelled"), "{cancelled:?}");
    let error = command(&session, "/background cancel nothing").await;
    assert!(error.message.contains("there is no background task `nothing`"), "{error:?}");
}

#[tokio::test]
async fn run_08_agents_run_by_command() {
    let scene = Scene::new("- Found it.\n- One is here.\n- Two is here.\n- Told.\n");
    let session = scene.open().await;
    let ran = command(&session, "/agent run Explore Where is it?").await;
    assert_eq!((ran.success, ran.message.as_str()), (true, "Found it."));
    let both = command(&session, "/agent parallel Explore one | Plan two").await;
    assert!(both.message.contains("One is") && both.message.contains("Two is"), "{both:?}");
    let unknown = command(&session, "/agent run Nobody x").await;
    assert!(!unknown.success && unknown.message.contains("known: "), "{unknown:?}");
    let listed = command(&session, "/agent").await.message;
    assert!(listed.contains("Agents to run: general-purpose, Explore, Plan"), "{listed}");
    // The model learns what the user saw.
    result(&session, "Go on.").await;
    let request = scene.provider.requests().pop().unwrap();
    let text = serde_json::to_string(&request.messages).unwrap();
    for said in ["Found it.", "One is here.", "Two is here."] {
        assert_eq!(text.matches(said).count(), 1, "{said}: {text}");
    }
}

#[tokio::test]
async fn run_08_the_command_agent_takes_agents_only() {
    let start = "{tools: [{tool: Bash, input: {command: 'sleep 1000', run_in_background: true}}]}";
    let scene = Scene::new(&format!("- {start}\n- Started.\n- Found it.\n"));
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    result(&session, "Go.").await;
    let listed = command(&session, "/agent").await.message;
    assert!(listed.starts_with("No agent has run in this session.\n"), "{listed}");
    let usage = command(&session, "/agent run").await;
    assert!(!usage.success && usage.message.starts_with("Usage"), "{usage:?}");
    for arguments in ["read", "cancel", "transcript"] {
        let refused = command(&session, &format!("/agent {arguments} bash_1")).await;
        assert!(!refused.success, "{refused:?}");
        assert!(refused.message.contains("not an agent"), "{refused:?}");
    }
    let refused = command(&session, "/agent send bash_1 hello").await;
    assert!(!refused.success, "{refused:?}");
    command(&session, "/agent run Explore Where is it?").await;
    let agents = session.agent_runs().unwrap();
    let tasks = session.tasks().unwrap().list();
    let agent = tasks.iter().find(|task| task.agent.is_some()).unwrap();
    assert!(agents.get(&agent.task).is_ok());
    let offset = command(&session, &format!("/agent read {} x", agent.task)).await;
    assert!(!offset.success && offset.message.starts_with("Usage"), "{offset:?}");
    session.shutdown("test").await.unwrap();
}

#[tokio::test]
async fn sdk_13_a_forked_skill_runs_in_an_agent() {
    let scene = Scene::new("- Reviewed.\n- Listed.\n");
    scene.write(
        "home/.claude/skills/review/SKILL.md",
        "---\ndescription: Reviews\ncontext: fork\nagent: Plan\nallowed-tools: Read, Write\n---\n\
         Review $ARGUMENTS.\n",
    );
    scene.write(
        "home/.claude/skills/list/SKILL.md",
        "---\ndescription: Lists\ncontext: fork\n---\nList it.\n",
    );
    let session = scene.open().await;
    let done = command(&session, "/review a.rs").await;
    assert_eq!((done.success, done.message.as_str()), (true, "Reviewed."));
    let request = scene.provider.requests().remove(0);
    assert_eq!(request.messages[0].text().trim(), "Review a.rs.");
    assert!(request.system.unwrap().contains("at most 500 words"));
    let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(offered.contains(&"Read"), "{offered:?}");
    assert!(!offered.contains(&"Write"), "the agent has no Write, whatever the skill allows");
    assert_eq!(command(&session, "/list").await.message, "Listed.");
    let agents: Vec<_> = session.tasks().unwrap().list().into_iter().map(|it| it.agent).collect();
    assert_eq!(agents, [Some("Plan".to_owned()), Some("general-purpose".to_owned())]);
}

#[tokio::test]
async fn sdk_13_the_agent_of_a_skill_does_nothing_that_the_skill_forbids() {
    let touch = "{tools: [{tool: Bash, input: {command: touch made}}]}";
    let scene = Scene::new(&format!("- {touch}\n- Tried.\n- {touch}\n- Again.\n"));
    scene.write(
        "home/.claude/skills/make/SKILL.md",
        "---\ncontext: fork\ndisallowed-tools: Bash(touch *), Write\n---\nMake it.\n",
    );
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    assert_eq!(command(&session, "/make").await.message, "Tried.");
    assert!(!scene.path().join("project/made").exists());
    let requests = scene.provider.requests();
    let offered: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(offered.contains(&"Bash") && offered.contains(&"Read"), "{offered:?}");
    // As a denied name does for any agent.
    assert!(!offered.contains(&"Write") && !offered.contains(&"Edit"), "{offered:?}");
    let result = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(result.contains("Bash(touch *)"), "{result}");
    // Also when it continues after its end.
    let tasks = session.tasks().unwrap();
    let agent = tasks.list().remove(0).task;
    let continued = session.agent_runs().unwrap().send(&agent, "Again.").await.unwrap();
    tasks.wait(&continued).await.unwrap();
    assert!(!scene.path().join("project/made").exists());
    let requests = scene.provider.requests();
    let offered: Vec<_> = requests[2].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(offered.contains(&"Bash") && !offered.contains(&"Write"), "{offered:?}");
}

#[tokio::test]
async fn sdk_02_clients_see_what_happens_to_tasks() {
    let scene = Scene::new(&format!("- {EXPLORE}\n- Nothing.\n- Done.\n"));
    let session = scene.builder().agents(offered()).open().await.unwrap();
    let mut events = session.events(StartAt::Start).await.unwrap();
    result(&session, "Go.").await;
    let mut changes = Vec::new();
    while let Some(event) = events.next().await {
        match event.unwrap() {
            InteractiveEvent::BackgroundTaskEvent { change, .. } => changes.push(change.name()),
            InteractiveEvent::Complete(_) => break,
            _ => {}
        }
    }
    assert_eq!(changes.first(), Some(&"spawned"));
    assert!(changes.contains(&"started") && changes.last() == Some(&"finished"), "{changes:?}");
}

/// A crashed process leaves tasks in its journal; the next process records how they ended.
#[tokio::test]
async fn run_01_tasks_of_a_dead_process_are_reported_as_interrupted() {
    let start = "{tools: [{tool: Bash, input: {command: 'echo printed before the crash; sleep 1000', \
        run_in_background: true}}]}";
    let read = "{tools: [{tool: BashOutput, input: {bash_id: bash_1}}]}";
    let scene = Scene::new(&format!("- {start}\n- Started.\n- {read}\n- It says.\n- Again.\n"));
    let session = scene.builder().mode(Mode::BypassPermissions).open().await.unwrap();
    let id = session.id().clone();
    let mut changes = session.tasks().unwrap().subscribe();
    result(&session, "Go.").await;
    let tasks = session.tasks().unwrap();
    while tasks.read_log(&"bash_1".into(), 0, 1).await.unwrap().text.is_empty() {
        tokio::time::timeout(Duration::from_secs(30), changes.recv()).await.unwrap().unwrap();
    }
    // The journal ends before the task does.
    let copy = Arc::new(robota_core::journal::MemoryStore::new());
    let events = scene.store.read(&id, 0, usize::MAX).await.unwrap();
    let mut journal = copy.create(&id).await.unwrap();
    let events: Vec<_> = events.into_iter().map(Arc::new).collect();
    journal.append(&events, Durability::Synced).await.unwrap();
    drop(journal);
    drop(session);
    let choice = SessionChoice::Earlier(robota_sdk::Earlier::Named(id.to_string()));
    let session = scene.builder().store(copy).choose(choice).open().await.unwrap();
    let task = session.tasks().unwrap().get(&"bash_1".into()).unwrap();
    assert_eq!(task.error.unwrap().category, TaskErrorCategory::Interrupted);
    // Its log can be read, also by the model.
    result(&session, "What did it print?").await;
    let request = scene.provider.requests().pop().unwrap();
    let text = serde_json::to_string(&request.messages).unwrap();
    assert!(text.contains("printed before the crash"), "{text}");
    assert!(text.contains("it ended before this session was resumed"), "{text}");
    let last = session.session().journal().read(None, usize::MAX).await.unwrap();
    assert!(last.iter().any(|event| matches!(
        event.event(),
        Event::TaskChanged(data) if matches!(data.change, TaskChange::Finished(_))
    )));
    result(&session, "What happened?").await;
    let request = scene.provider.requests().pop().unwrap();
    let text = serde_json::to_string(&request.messages).unwrap();
    assert!(text.contains("the process that ran it ended"), "{text}");
}

#[tokio::test]
async fn run_09_hooks_run_when_agents_start_and_can_keep_them_from_ending() {
    let scene = Scene::new(&format!("- {EXPLORE}\n- First.\n- Second.\n- Done.\n"));
    let start = r#"echo '{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"Be brief."}}'"#;
    // The command reads no file of the project: those may not change after the start.
    let stop = "input=$(cat); echo \"$input\" >> stops.jsonl; \
                file=$(echo \"$input\" | sed 's/.*\"agent_transcript_path\":\"\\([^\"]*\\).*/\\1/'); \
                cat \"$file\" > transcript.jsonl; test -e stopped && exit 0; touch stopped; \
                echo 'Check again.' >&2; exit 2";
    let hook =
        |command: &str| serde_json::json!([{"hooks": [{"type": "command", "command": command}]}]);
    let hooks = serde_json::json!({"SubagentStart": hook(start), "SubagentStop": hook(stop)});
    scene.write("home/.robota/settings.json", &serde_json::json!({ "hooks": hooks }).to_string());
    let session = scene.builder().agents(offered()).open().await.unwrap();
    assert_eq!(result(&session, "Go.").await.response, "Done.");
    let requests = scene.provider.requests();
    assert_eq!(requests[1].messages[0].text(), "Look at it.\n\nBe brief.");
    assert!(requests[2].messages.last().unwrap().text().contains("Check again."));
    let stops = std::fs::read_to_string(scene.path().join("project/stops.jsonl")).unwrap();
    assert!(stops.contains("\"agent_type\":\"Explore\""), "{stops}");
    assert!(stops.contains("\"stop_hook_active\":true"), "{stops}");
    let transcript = std::fs::read_to_string(scene.path().join("project/transcript.jsonl"));
    let transcript = transcript.unwrap();
    assert!(transcript.contains("Look at it.") && transcript.contains("Second."), "{transcript}");
    assert!(!transcript.contains("Go."), "it is that of the agent: {transcript}");
}

#[tokio::test]
async fn run_07_background_process_returns_at_once() {
    let start = "{tools: [{tool: BackgroundProcess, input: {command: echo hi, label: greets}}]}";
    let scene = Scene::new(&format!("- {start}\n- Started.\n"));
    let session = scene
        .builder()
        .mode(Mode::BypassPermissions)
        .background(BackgroundOptions { process_tool: true, ..Default::default() })
        .open()
        .await
        .unwrap();
    result(&session, "Go.").await;
    let request = scene.provider.requests().pop().unwrap();
    let text = request.messages.last().unwrap().tool_results().next().unwrap().as_text();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!({"success": true, "background": true, "output": "",
        "taskId": "bash_1", "status": "running", "command": "echo hi"});
    assert_eq!(result, expected);
    let task = session.tasks().unwrap().wait(&"bash_1".into()).await.unwrap();
    assert_eq!((task.label.as_str(), task.status), ("greets", TaskStatus::Completed));
}

/// `run_in_background` returns at once; the model gets the result with its next prompt.
#[tokio::test]
async fn sdk_15_an_agent_in_the_background_returns_at_once() {
    let start = "{tools: [{tool: Agent, input: {prompt: Look., run_in_background: true}}]}";
    // The agent and the session use the same script, so that the answers are equal.
    let scene = Scene::new(&format!("- {start}\n- Same.\n- Same.\n- Told.\n"));
    let session = scene.builder().agents(offered()).open().await.unwrap();
    assert_eq!(result(&session, "Go.").await.response, "Same.");
    let tasks = session.tasks().unwrap();
    let task = tasks.list()[0].task.clone();
    let ended = tasks.wait(&task).await.unwrap();
    assert_eq!((ended.status, ended.output.as_str()), (TaskStatus::Completed, "Same."));
    assert_eq!(result(&session, "Well?").await.response, "Told.");
    let request = scene.provider.requests().pop().unwrap();
    let text = serde_json::to_string(&request.messages).unwrap();
    assert!(text.contains("works in the background"), "{text}");
    assert!(text.contains("<task-notification>"), "{text}");
}

/// What an agent started ends with it.
#[tokio::test]
async fn run_04_an_interrupt_cancels_the_agent_and_its_commands() {
    let general = "{tools: [{tool: Agent, input: {prompt: Wait.}}]}";
    let sleep = "{tools: [{tool: Bash, input: {command: sleep 1000}}]}";
    let scene = Scene::new(&format!("- {general}\n- {sleep}\n"));
    let session =
        scene.builder().agents(offered()).mode(Mode::BypassPermissions).open().await.unwrap();
    let mut events = session.tasks().unwrap().subscribe();
    let submission = session.submit("Go.").await.unwrap();
    loop {
        let event = tokio::time::timeout(Duration::from_secs(30), events.recv()).await;
        if let robota_sdk::TaskEvent::Changed { change, .. } = event.unwrap().unwrap()
            && matches!(&*change, TaskChange::ToolStarted { action } if action == "Bash sleep 1000")
        {
            break;
        }
    }
    session.abort().await.unwrap();
    submission.result().await.unwrap();
    let id = session.tasks().unwrap().list()[0].task.clone();
    let task = session.tasks().unwrap().wait(&id).await.unwrap();
    assert_eq!(task.status, TaskStatus::Cancelled);
    let child = scene.store.read(&task.session.unwrap(), 0, usize::MAX).await.unwrap();
    assert!(child.iter().any(|event| matches!(event.event, Event::Interrupted(_))));
}

#[tokio::test]
async fn sdk_15_a_rule_denies_an_agent_in_every_form_of_the_call() {
    let alone = "{tools: [{tool: Agent, input: {prompt: x}}]}";
    let jobs = "{tools: [{tool: Task, input: {jobs: [{prompt: x, subagent_type: Explore}, \
        {prompt: y}]}}]}";
    let scene = Scene::new(&format!("- {alone}\n- {jobs}\n- Done.\n"));
    let options = robota_sdk::ProjectOptions {
        deny: vec!["Agent(general-purpose)".to_owned()],
        ..robota_sdk::ProjectOptions::default()
    };
    let model = robota_sdk::ModelSetup::new(scene.provider.clone(), "scripted");
    let session = InteractiveSession::builder(scene.project_with(options), model)
        .store(scene.store.clone())
        .agents(offered())
        .open()
        .await
        .unwrap();
    assert_eq!(result(&session, "Go.").await.response, "Done.");
    assert!(session.tasks().unwrap().list().is_empty());
}

#[tokio::test]
async fn the_settings_limit_how_many_agents_run_and_how_long() {
    let jobs = "{tools: [{tool: Agent, input: {jobs: [\
        {prompt: one, subagent_type: general-purpose}, {prompt: two, subagent_type: general-purpose}]}}]}";
    let wait = "{tools: [{tool: Bash, input: {command: sleep 60}}]}";
    let scene = Scene::new(&format!("- {jobs}\n- {wait}\n- {wait}\n- Done.\n"));
    let settings = serde_json::json!({"backgroundTasks": {"agents": 1, "agentSeconds": 1}});
    scene.write("home/.robota/settings.json", &settings.to_string());
    let session =
        scene.builder().agents(offered()).mode(Mode::BypassPermissions).open().await.unwrap();
    let done = result(&session, "Go.").await;
    assert_eq!(done.response, "Done.", "{done:?}");
    let tasks = session.tasks().unwrap().list();
    assert_eq!(tasks.len(), 2);
    for task in &tasks {
        let error = task.error.as_ref().map(|error| error.message.as_str()).unwrap_or_default();
        assert!(error.contains("it ran for too long"), "{tasks:?}");
    }
    // The second one waited for the first.
    assert!(tasks[1].started >= tasks[0].ended, "{tasks:?}");
}
