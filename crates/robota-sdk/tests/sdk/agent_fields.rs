//! The fields of agent definitions, and agents that have ended.

use std::sync::{Arc, Mutex};

use robota_core::approve::{Answer, Question};
use robota_core::permission::{Class, Mode};
use robota_core::task::{TaskErrorCategory, TaskStatus};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_sdk::{
    AgentOptions, AgentRun, AgentWork, Budget, Earlier, Entered, InteractiveSession, Notice,
    SessionChoice,
};
use robota_session::{Approvals, Selector, approver_fn};

use crate::common::Scene;

fn offered() -> AgentOptions {
    AgentOptions { tool: true, ..AgentOptions::default() }
}

async fn command(session: &InteractiveSession, text: &str) -> String {
    match session.enter(text).await.unwrap() {
        Entered::Command(result) => result.message,
        Entered::Submitted(_) => panic!("{text} is no command"),
    }
}

async fn run(session: &InteractiveSession, agent: &str) -> robota_sdk::AgentResult {
    let work =
        AgentWork { agent: agent.to_owned(), prompt: "Go.".to_owned(), ..Default::default() };
    let run = AgentRun { label: "go".to_owned(), work, ..AgentRun::default() };
    session.agent_runs().unwrap().run(run, None).await
}

fn definition(scene: &Scene, fields: &str) {
    let text = format!("---\nname: worker\ndescription: Works\n{fields}---\nYou work.\n");
    scene.write("home/.robota/agents/worker.md", &text);
}

#[tokio::test]
async fn sdk_14_skills_of_a_definition_are_part_of_the_prompt_and_missing_ones_are_reported() {
    let scene = Scene::new("- Done.\n");
    definition(&scene, "skills: [style, nothing]\n");
    scene.write(
        "home/.robota/skills/style/SKILL.md",
        "---\nname: style\ndescription: Style\n---\nUse tabs. !`echo never`\n",
    );
    let notices: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = notices.clone();
    let session = scene
        .builder()
        .on_notice(move |notice| {
            if let Notice::Note(text) = notice {
                seen.lock().unwrap().push(text);
            }
        })
        .open()
        .await
        .unwrap();
    assert!(run(&session, "worker").await.success);
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("# Skill style") && system.contains("Use tabs."), "{system}");
    assert!(!system.contains("never\n"), "its commands do not run: {system}");
    let notices = notices.lock().unwrap().join("\n");
    assert!(notices.contains("the skill `nothing` is not loaded"), "{notices}");
}

#[tokio::test]
async fn sdk_14_an_agent_has_its_memory_and_writes_it_with_approval() {
    let write = "{tools: [{tool: Write, input: {file_path: MEMORY, content: new}}]}";
    let scene = Scene::new("- placeholder\n");
    let memory = scene.path().canonicalize().unwrap();
    let memory = memory.join("home/.robota/agent-memory/worker/MEMORY.md");
    let script = format!("- {}\n- Done.\n", write.replace("MEMORY", &memory.display().to_string()));
    let scene = Scene { provider: Scene::new(&script).provider, ..scene };
    definition(&scene, "memory: user\n");
    let allow = approver_fn(|_| async { Answer::Allow { note: None } });
    let builder = scene.builder().approver(allow);
    let session = builder.open().await.unwrap();
    let result = run(&session, "worker").await;
    assert!(result.success, "{result:?}");
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("agent-memory/worker"), "{system}");
    assert_eq!(std::fs::read_to_string(&memory).unwrap(), "new");
    // The next one begins with it.
    let scene = Scene { provider: Scene::new("- Done.\n").provider, ..scene };
    let session = scene.builder().open().await.unwrap();
    run(&session, "worker").await;
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(system.contains("MEMORY.md:\nnew"), "{system}");
}

#[cfg(unix)]
#[tokio::test]
async fn sdk_14_a_memory_that_is_a_link_out_of_the_project_is_not_read() {
    let scene = Scene::new("- Done.\n");
    definition(&scene, "memory: project\n");
    scene.write("outside/worker/MEMORY.md", "secret");
    scene.write("project/.robota/x", "");
    let link = scene.path().join("project/.robota/agent-memory");
    std::os::unix::fs::symlink(scene.path().join("outside"), link).unwrap();
    let session = scene.builder().open().await.unwrap();
    run(&session, "worker").await;
    let system = scene.provider.requests()[0].system.clone().unwrap();
    assert!(!system.contains("secret"), "{system}");
}

#[tokio::test]
async fn sdk_14_hooks_of_a_definition_run_for_this_agent_only() {
    let read = "{tools: [{tool: Read, input: {file_path: notes.md}}]}";
    let scene = Scene::new(&format!("- {read}\n- First.\n- Second.\n- {read}\n- Other.\n"));
    scene.write("project/notes.md", "hello\n");
    let hooks = "hooks:\n  PreToolUse:\n    - matcher: Read\n      hooks:\n        - type: command\n          \
        command: \"echo no >&2; exit 2\"\n  Stop:\n    - hooks:\n        - type: command\n          \
        command: \"test -e stopped || { touch stopped; echo again >&2; exit 2; }\"\n";
    definition(&scene, hooks);
    let session = scene.builder().open().await.unwrap();
    let result = run(&session, "worker").await;
    assert_eq!(result.output, "Second.", "the Stop hook let it continue: {result:?}");
    let requests = scene.provider.requests();
    let denied = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(denied.contains("no") && !denied.contains("hello"), "{denied}");
    assert_eq!(requests[2].messages.last().unwrap().text(), "again");
    // Another agent has no such hooks.
    let result = run(&session, "Explore").await;
    assert_eq!(result.output, "Other.");
    let read = serde_json::to_string(&scene.provider.requests()[4].messages).unwrap();
    assert!(read.contains("hello"), "{read}");
}

#[tokio::test]
async fn sdk_14_an_agent_in_the_background_answers_later() {
    let agent = "{tools: [{tool: Agent, input: {prompt: Go., subagent_type: worker}}]}";
    let scene = Scene::new(&format!("- {agent}\n- Same.\n- Same.\n- I see.\n"));
    definition(&scene, "background: true\n");
    let session = scene.builder().agents(offered()).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let tasks = session.tasks().unwrap();
    let task = tasks.list().remove(0);
    tasks.wait(&task.task).await.unwrap();
    session.submit("And?").await.unwrap().result().await.unwrap();
    let requests = serde_json::to_string(&scene.provider.requests()).unwrap_or_default();
    assert!(requests.contains("works in the background"), "{requests}");
}

#[tokio::test]
async fn run_04_a_follow_up_to_an_agent_that_has_ended_continues_its_session() {
    let scene = Scene::new("- First.\n- Second.\n");
    let session = scene.builder().open().await.unwrap();
    let first = run(&session, "Explore").await;
    let id = first.agent_id.unwrap();
    let sent = command(&session, &format!("/agent send {id} Look again.")).await;
    assert!(sent.contains("continues in the background as agent-"), "{sent}");
    let tasks = session.tasks().unwrap();
    let next = tasks.list().pop().unwrap();
    let ended = tasks.wait(&next.task).await.unwrap();
    assert_eq!((ended.status, ended.output.as_str()), (TaskStatus::Completed, "Second."));
    assert_eq!(ended.session, tasks.get(&id).unwrap().session, "the same session");
    // It sees its earlier conversation.
    let messages = &scene.provider.requests()[1].messages;
    let texts: Vec<_> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["Go.", "First.", "Look again."]);
    let transcript = command(&session, &format!("/agent transcript {id}")).await;
    assert!(transcript.contains("First.") && transcript.contains("Look again."), "{transcript}");
}

#[tokio::test]
async fn run_08_the_end_of_a_task_of_a_fork_is_reported_to_the_fork() {
    let scene = Scene::new("- One.\n- Found it.\n- In the fork.\n- In the session.\n");
    let session = scene.builder().open().await.unwrap();
    session.submit("One?").await.unwrap().result().await.unwrap();
    let fork = session.fork(&Selector::Latest).await.unwrap();
    command(&fork, "/agent run Explore Find it.").await;
    fork.submit("And?").await.unwrap().result().await.unwrap();
    session.submit("And here?").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    let text = |at: usize| serde_json::to_string(&requests[at].messages).unwrap();
    assert!(text(2).contains("task-notification") && text(2).contains("Found it."), "{}", text(2));
    assert!(!text(3).contains("task-notification"), "{}", text(3));
}

#[tokio::test]
async fn run_04_an_agent_that_needs_a_process_is_refused_where_there_is_none() {
    let scene = Scene::new("- Never.\n");
    definition(&scene, "ownProcess: true\n");
    let session = scene.builder().open().await.unwrap();
    run(&session, "worker").await;
    let task = session.tasks().unwrap().list().remove(0);
    let error = task.error.unwrap();
    assert_eq!(error.category, TaskErrorCategory::Start);
    assert!(error.message.contains("process of its own"), "{error}");
}

/// Runs one prompt with a budget of 50,000 tokens, and returns the questions, which are denied. A
/// question opens the gate `asked` of the model.
async fn questions(scene: &Scene) -> (InteractiveSession, Vec<String>) {
    let (seen, asked) = std::sync::mpsc::channel();
    let provider = scene.provider.clone();
    let approver = approver_fn(move |question: Question| {
        let (seen, provider) = (seen.clone(), provider.clone());
        async move {
            let _ = seen.send(question.reason);
            provider.release("asked");
            Answer::Deny { note: None }
        }
    });
    let mut budget = Budget::default();
    budget.set("tokens=50000").unwrap();
    let session =
        scene.builder().agents(offered()).budget(budget).approver(approver).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let questions = asked.try_iter().collect();
    (session, questions)
}

#[tokio::test]
async fn sdk_15_a_batch_that_may_exceed_the_budget_needs_approval_with_an_estimate() {
    let jobs = "{tools: [{tool: Agent, input: {jobs: [\
        {prompt: one, subagent_type: Explore}, {prompt: two, subagent_type: Plan}]}}]}";
    let (session, asked) = questions(&Scene::new(&format!("- {jobs}\n- No.\n"))).await;
    assert!(asked[0].contains("2 agents, about 84K tokens"), "{asked:?}");
    assert!(session.tasks().unwrap().list().is_empty());
}

#[tokio::test]
async fn sdk_15_several_agents_of_one_answer_are_a_batch_and_those_of_two_are_not() {
    let agent = |prompt: &str| {
        format!("{{tool: Agent, input: {{prompt: {prompt}, subagent_type: Explore}}}}")
    };
    let (one, two) = (agent("one"), agent("two"));
    // The first agent must not end before the second call is judged: its tokens would be the estimate.
    let found = "{steps: [{stall: {gate: asked}}, {text: Found.}]}";
    let script = format!("- {{tools: [{one}, {two}]}}\n- {found}\n- Done.\n");
    let (session, asked) = questions(&Scene::new(&script)).await;
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("2 agents, about"), "{asked:?}");
    assert_eq!(session.tasks().unwrap().list().len(), 1, "the first runs");
    let script =
        format!("- {{tools: [{one}]}}\n- Found.\n- {{tools: [{two}]}}\n- Found.\n- Done.\n");
    let (session, asked) = questions(&Scene::new(&script)).await;
    assert_eq!(asked, [""; 0]);
    assert_eq!(session.tasks().unwrap().list().len(), 2);
}

#[tokio::test]
async fn an_agent_stops_at_its_own_budget_and_the_session_continues() {
    let agent = "{tools: [{tool: Agent, input: {prompt: Look., subagent_type: Explore}}]}";
    let look = "{tools: [{tool: Glob, input: {pattern: '*'}}], usage: {input: 70, output: 5}}";
    let scene = Scene::new(&format!("- {agent}\n- {look}\n- {look}\n- Done.\n"));
    let mut budget = Budget::default();
    budget.set("subagent.tokens=60").unwrap();
    let session = scene.builder().agents(offered()).budget(budget).open().await.unwrap();
    let done = session.submit("Go.").await.unwrap().result().await.unwrap();
    // The agent used its tokens with its first answer, so that its call did not run and no other
    // request followed: the second answer of the script is for the session.
    let agent = session.tasks().unwrap().list().remove(0);
    assert_eq!(scene.provider.requests().len(), 4, "{agent:?} {done:?}");
    assert_eq!(done.response, "Done.", "{done:?}");
}

#[tokio::test]
async fn an_agent_that_runs_out_of_time_is_interrupted() {
    let agent = "{tools: [{tool: Agent, input: {prompt: Wait., subagent_type: general-purpose}}]}";
    let wait = "{tools: [{tool: Bash, input: {command: sleep 60}}]}";
    let scene = Scene::new(&format!("- {agent}\n- {wait}\n- Done.\n"));
    let mut budget = Budget::default();
    budget.set("subagent.seconds=1").unwrap();
    let builder = scene.builder().agents(offered()).mode(Mode::BypassPermissions);
    let session = builder.budget(budget).open().await.unwrap();
    let done = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(done.response, "Done.", "{done:?}");
}

/// Returns options with which the conversation runs as an agent.
fn main_agent(fields: &serde_json::Value) -> AgentOptions {
    let agent = serde_json::json!({"worker": fields}).to_string();
    let (mut agents, report) = robota_config::agents::agents_from_json(&agent);
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    AgentOptions { main: agents.pop(), ..AgentOptions::default() }
}

#[tokio::test]
async fn sdk_14_a_conversation_runs_as_an_agent_with_what_its_definition_says() {
    let write = "{tools: [{tool: Write, input: {file_path: a.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {write}\n- Done.\n"));
    let options = main_agent(&serde_json::json!({
        "description": "Works", "prompt": "You work.", "tools": ["Read", "Write"],
        "permissionMode": "plan", "effort": "high",
        "hooks": {"UserPromptSubmit": [{"hooks": [
            {"type": "command", "command": "cat > ../input.json"}]}]},
    }));
    // The project of the tests has a mode of the arguments.
    let session = scene.builder().agents(options).open().await.unwrap();
    assert_eq!(session.session().permissions().mode(), Mode::Plan);
    session.submit("Go.").await.unwrap().result().await.unwrap();
    assert!(!scene.path().join("project/a.txt").exists());
    let request = scene.provider.requests().remove(0);
    assert!(request.system.as_deref().unwrap().starts_with("You work."));
    let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(tools.contains(&"Write") && !tools.contains(&"Bash"), "{tools:?}");
    let input = std::fs::read_to_string(scene.path().join("input.json")).unwrap();
    let input: serde_json::Value = serde_json::from_str(&input).unwrap();
    assert_eq!((&input["agent_type"], &input["prompt"]), (&"worker".into(), &"Go.".into()));
}

#[tokio::test]
async fn sdk_14_a_conversation_has_the_skills_and_the_memory_of_its_agent() {
    let scene = Scene::new("- placeholder\n");
    let memory = scene.path().canonicalize().unwrap();
    let memory = memory.join("home/.robota/agent-memory/worker/MEMORY.md");
    let read = format!("{{tools: [{{tool: Read, input: {{file_path: {}}}}}]}}", memory.display());
    let scene = Scene { provider: Scene::new(&format!("- {read}\n- Done.\n")).provider, ..scene };
    scene.write("home/.robota/agent-memory/worker/MEMORY.md", "The port is 8080.");
    scene.write(
        "home/.robota/skills/style/SKILL.md",
        "---\nname: style\ndescription: Style\n---\nUse tabs. !`echo never`\n",
    );
    scene.write("project/AGENTS.md", "Say please.");
    let fields = serde_json::json!({"description": "Works", "prompt": "You work.",
        "skills": ["style", "nothing"], "memory": "user", "instructions": false});
    let notices: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = notices.clone();
    let builder = scene.builder().agents(main_agent(&fields)).on_notice(move |notice| {
        if let Notice::Note(text) = notice {
            seen.lock().unwrap().push(text);
        }
    });
    let session = builder.open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    let system = requests[0].system.as_deref().unwrap();
    assert!(system.starts_with("You work.\n\n# Skill style\n\nUse tabs."), "{system}");
    assert!(system.contains("MEMORY.md:\nThe port is 8080."), "{system}");
    assert!(!system.contains("Say please."), "it has no instructions: {system}");
    let notices = notices.lock().unwrap().join("\n");
    assert!(notices.contains("the skill `nothing` is not loaded"), "{notices}");
    // It is outside of the workspace, and was read without a question.
    let result = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(result.contains("1\\tThe port") || result.contains("8080"), "{result}");
    assert!(!result.contains("denied"), "{result}");
}

#[tokio::test]
async fn sdk_14_a_conversation_in_a_worktree_only_if_the_folder_is_one() {
    let fields = serde_json::json!({"description": "Works", "prompt": "You work.",
        "isolation": "worktree"});
    let scene = Scene::new("- Done.\n");
    let opened = scene.builder().agents(main_agent(&fields)).open().await;
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("`worker`") && error.contains("git worktree add"), "{error}");
    let folder = scene.path().canonicalize().unwrap();
    let state = folder.join("main/.git/worktrees/project");
    scene.write("main/.git/worktrees/project/commondir", "../..\n");
    let link = folder.join("project/.git").display().to_string();
    scene.write("main/.git/worktrees/project/gitdir", &link);
    scene.write("project/.git", &format!("gitdir: {}\n", state.display()));
    let session = scene.builder().agents(main_agent(&fields)).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
}

#[tokio::test]
async fn sdk_14_the_first_prompt_of_an_agent_comes_before_that_of_the_user() {
    let scene = Scene::new("- One.\n- Two.\n");
    scene.write("project/notes.md", "hello");
    scene.write(
        "home/.robota/skills/style/SKILL.md",
        "---\ndescription: Style\ndisallowed-tools: Write\n---\nUse tabs for $ARGUMENTS.\n",
    );
    let fields = serde_json::json!({"description": "Works", "prompt": "You work.",
        "initialPrompt": "/style code"});
    let session = scene.builder().agents(main_agent(&fields)).open().await.unwrap();
    assert_eq!(session.conversation().initial_prompt().as_deref(), Some("/style code"));
    // A command is no prompt.
    command(&session, "/cost").await;
    session.submit("Look at @notes.md").await.unwrap().result().await.unwrap();
    assert_eq!(session.conversation().initial_prompt(), None);
    session.submit("And?").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    let text = requests[0].messages[0].text();
    assert!(text.contains("Use tabs for code.") && text.contains("Look at @notes.md"), "{text}");
    assert!(text.contains("hello"), "the file is attached: {text}");
    assert!(text.find("Use tabs") < text.find("Look at"), "{text}");
    assert_eq!(requests[1].messages.last().unwrap().text(), "And?");
    let history =
        serde_json::to_string(&session.conversation().full_history().await.unwrap()).unwrap();
    assert!(history.contains("/style code\\n\\nLook at @notes.md"), "{history}");
    // A session that goes on does not begin again.
    let id = session.id().clone();
    session.shutdown("other").await.unwrap();
    let choice = SessionChoice::Earlier(Earlier::Named(id.to_string()));
    let again = scene.builder().agents(main_agent(&fields)).choose(choice).open().await.unwrap();
    assert_eq!(again.conversation().initial_prompt(), None);
}

#[tokio::test]
async fn sdk_14_a_client_may_enter_the_first_prompt_on_its_own() {
    let scene = Scene::new("- One.\n- Two.\n");
    let fields = serde_json::json!({"description": "Works", "prompt": "You work.",
        "initialPrompt": "Read the plan."});
    let session = scene.builder().agents(main_agent(&fields)).open().await.unwrap();
    for text in [session.conversation().initial_prompt().unwrap().as_str(), "And?"] {
        let Entered::Submitted(submitted) = session.enter(text).await.unwrap() else {
            panic!("{text} is no command");
        };
        submitted.result().await.unwrap();
    }
    let requests = scene.provider.requests();
    let texts: Vec<_> = requests[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["Read the plan.", "One.", "And?"]);
}

/// A tool that a program adds.
struct Added(ToolSpec);

impl Added {
    fn new(name: &str) -> Self {
        Self(ToolSpec {
            name: name.to_owned(),
            description: "Added by the program.".to_owned(),
            input_schema: serde_json::json!({"type": "object"}),
            class: Class::Inspect,
        })
    }
}

#[async_trait::async_trait]
impl Tool for Added {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _input: serde_json::Value, _context: ToolContext) -> ToolOutcome {
        ToolOutcome::ok("done")
    }
}

#[tokio::test]
async fn sdk_14_the_tools_of_an_agent_limit_those_that_a_program_adds() {
    let skill = "---\ndescription: Style\n---\nUse tabs.\n";
    for (tools, only, expected) in [
        (serde_json::json!(["Read"]), None, vec!["Read", "Answer"]),
        (
            serde_json::json!(["Read", "Lookup", "Skill"]),
            None,
            vec!["Read", "Lookup", "Skill", "Answer"],
        ),
        // The names of the caller replace those of the agent.
        (serde_json::json!(["Read"]), Some(["Read", "Lookup"]), vec!["Read", "Lookup", "Answer"]),
    ] {
        let scene = Scene::new("- Done.\n");
        scene.write("home/.robota/skills/style/SKILL.md", skill);
        let fields = serde_json::json!({"description": "Works", "prompt": "You work.",
            "tools": tools});
        let answer = Arc::new(Added::new("Answer")) as Arc<dyn Tool>;
        let options = AgentOptions { conversation_tools: vec![answer], ..main_agent(&fields) };
        let mut builder = scene.builder().agents(options);
        builder = builder.tool(Arc::new(Added::new("Lookup")) as Arc<dyn Tool>);
        if let Some(only) = only {
            builder = builder.only_tools(only.map(str::to_owned).to_vec());
        }
        let session = builder.open().await.unwrap();
        session.submit("Go.").await.unwrap().result().await.unwrap();
        let request = scene.provider.requests().remove(0);
        let mut offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        offered.retain(|name| *name != "ReadOutput");
        offered.sort_unstable();
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(offered, expected, "{tools}");
        let lists = request.system.as_deref().unwrap().contains("# Skills");
        assert_eq!(lists, expected.contains(&"Skill"), "skills that cannot be used are not listed");
    }
}

#[tokio::test]
async fn an_agent_does_not_have_the_tools_of_the_conversation_alone() {
    let scene = Scene::new("- Done.\n");
    let answer = Arc::new(Added::new("Answer")) as Arc<dyn Tool>;
    let lookup = Arc::new(Added::new("Lookup")) as Arc<dyn Tool>;
    let agents = AgentOptions { conversation_tools: vec![answer], ..AgentOptions::default() };
    let session = scene.builder().agents(agents).tool(lookup).open().await.unwrap();
    run(&session, "general-purpose").await;
    let request = scene.provider.requests().remove(0);
    let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(offered.contains(&"Lookup") && !offered.contains(&"Answer"), "{offered:?}");
}

#[tokio::test]
async fn sdk_14_an_agent_that_names_others_starts_only_these() {
    let agent = |name: &str| {
        format!("{{tools: [{{tool: Agent, input: {{prompt: Go., subagent_type: {name}}}}}]}}")
    };
    let script =
        format!("- {}\n- {}\n- Found.\n- Done.\n", agent("general-purpose"), agent("Explore"));
    let scene = Scene::new(&script);
    let fields = serde_json::json!({"description": "Works", "prompt": "You work.",
        "tools": ["Read", "Agent(Explore, Plan)"]});
    let options = AgentOptions { tool: true, ..main_agent(&fields) };
    let session = scene.builder().agents(options).open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    let requests = scene.provider.requests();
    let tool = requests[0].tools.iter().find(|tool| tool.name == "Agent").unwrap();
    assert!(tool.description.contains("- Explore:") && tool.description.contains("- Plan:"));
    assert!(!tool.description.contains("general-purpose"), "{}", tool.description);
    let refused = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(refused.contains("there is no agent `general-purpose`"), "{refused}");
    assert_eq!(session.tasks().unwrap().list().len(), 1);
}

#[tokio::test]
async fn sess_04_the_mode_dont_ask_denies_what_needs_approval_without_a_question() {
    let write = "{tools: [{tool: Write, input: {file_path: a.txt, content: x}}]}";
    let scene = Scene::new(&format!("- {write}\n- {{expect: {{last: dontAsk}}, text: Done.}}\n"));
    let builder = scene.builder().mode(Mode::DontAsk).approvals(Approvals::Decide);
    let session = builder.open().await.unwrap();
    let result = session.submit("Go.").await.unwrap().result().await.unwrap();
    assert_eq!(result.response, "Done.");
    assert!(session.session().permissions().pending().is_empty());
    assert!(!scene.path().join("project/a.txt").exists());
    // A hook can still allow it.
    let allow = r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#;
    let hook = serde_json::json!({"type": "command", "command": format!("echo '{allow}'")});
    let scene = Scene::new(&format!("- {write}\n- Done.\n"));
    scene.write(
        "home/.robota/settings.json",
        &serde_json::json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}).to_string(),
    );
    let builder = scene.builder().mode(Mode::DontAsk).approvals(Approvals::Decide);
    let session = builder.open().await.unwrap();
    session.submit("Go.").await.unwrap().result().await.unwrap();
    assert!(scene.path().join("project/a.txt").exists());
}
