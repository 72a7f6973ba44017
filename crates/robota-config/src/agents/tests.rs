use robota_core::catalogue::Catalogue;
use robota_core::permission::Mode;
use serde_json::json;

use super::*;
use crate::places::Places;

struct World {
    _dir: tempfile::TempDir,
    places: Places,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let places = Places::new(root.join("home"), root.join("repo/sub"));
        std::fs::create_dir_all(root.join("repo/.git")).unwrap();
        std::fs::create_dir_all(root.join("repo/sub")).unwrap();
        for (path, text) in files {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        Self { _dir: dir, places }
    }

    fn load(&self) -> Agents {
        self.load_with(Vec::new())
    }

    fn load_with(&self, arguments: Vec<AgentDefinition>) -> Agents {
        let reader = ContextReader::new(&self.places);
        Agents::load(&reader, &TrustStore::load(&self.places), arguments)
    }
}

fn problems(agents: &Agents) -> Vec<String> {
    agents.report.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn sdk_14_explore_and_plan_have_no_tools_that_write() {
    let agents = World::new(&[]).load();
    let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["general-purpose", "Explore", "Plan"]);
    let general = agents.get("general-purpose").unwrap();
    assert_eq!((&general.tools, &general.disallowed_tools), (&None, &Vec::new()));
    assert!(general.instructions);
    for name in ["Explore", "Plan"] {
        let agent = agents.get(name).unwrap();
        for tool in ["Write", "Edit"] {
            assert!(agent.disallowed_tools.iter().any(|it| it == tool), "{name} {tool}");
        }
        assert!(!agent.instructions && !agent.prompt.is_empty() && !agent.description.is_empty());
        assert_eq!(agent.model, AgentModel::Inherit);
    }
    assert!(agents.report.is_empty());
}

#[test]
fn sdk_14_files_override_by_priority() {
    let places = [
        "repo/sub/.robota/agents",
        "repo/sub/.agents/agents",
        "repo/sub/.claude/agents/team",
        "repo/.claude/agents",
        "home/.robota/agents",
        "home/.claude/agents",
    ];
    let mut files = Vec::new();
    for (at, place) in places.iter().enumerate() {
        for n in 0..=at {
            files.push((
                format!("{place}/file{n}.md"),
                format!("---\nname: a{n}\ndescription: {place}\n---\nprompt"),
            ));
        }
        files.push((
            format!("{place}/e.md"),
            format!("---\nname: Explore\ndescription: {place}\n---\n"),
        ));
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = World::new(&files);
    let agents = world.load();
    for (n, place) in places.iter().enumerate() {
        assert_eq!(agents.get(&format!("a{n}")).unwrap().description, *place);
    }
    assert_eq!(agents.get("Explore").unwrap().description, places[0]);
    assert!(agents.get("Plan").is_some());
    let (arguments, _) =
        agents_from_json(r#"{"Explore": {"description": "argument", "prompt": "p"}}"#);
    assert_eq!(world.load_with(arguments).get("Explore").unwrap().description, "argument");
}

const FULL: &str = "---\nname: full\ndescription: Use it: often\ntools: Read, Bash(git log:*)\ndisallowedTools: [Write]\n\
model: sonnet\npermissionMode: acceptEdits\nmaxTurns: 7\nskills: a, b\nmcpServers:\n  - name: x\nhooks:\n  Stop: []\n\
memory: user\nbackground: true\neffort: high\nisolation: worktree\ncolor: red\ninitialPrompt: Go\n---\n\nYou are it.\n";

#[test]
fn sdk_14_a_listed_call_of_a_tool_is_kept_as_it_is_written() {
    let agents = World::new(&[("home/.claude/agents/x.md", FULL)]).load();
    let tools = agents.get("full").unwrap().tools.as_deref().unwrap();
    assert_eq!(tools, ["Read", "Bash(git log:*)"]);
    // The header has a description that is not valid YAML; there is nothing to say about the list.
    let about_tools = |problem: &Problem| !problem.message.contains("not valid YAML");
    assert!(!agents.report.problems.iter().any(about_tools), "{:?}", agents.report.problems);
    let starts = "---\nname: s\ndescription: d\ntools: Read, Agent(Explore, Plan)\n---\n";
    let agents = World::new(&[("home/.claude/agents/s.md", starts)]).load();
    assert!(agents.report.problems.is_empty(), "{:?}", agents.report.problems);
}

#[test]
fn sdk_14_all_fields_of_a_definition_are_read() {
    let agents = World::new(&[("home/.claude/agents/x.md", FULL)]).load();
    let agent = agents.get("full").unwrap();
    assert_eq!(
        (agent.description.as_str(), agent.prompt.as_str()),
        ("Use it: often", "You are it.")
    );
    assert_eq!(agent.tools.as_deref().unwrap(), ["Read", "Bash(git log:*)"]);
    assert_eq!(
        (&agent.disallowed_tools[..], &agent.skills[..]),
        (&["Write".to_owned()][..], &["a".to_owned(), "b".to_owned()][..])
    );
    assert_eq!((agent.permission_mode, agent.max_turns), (Some(Mode::AcceptEdits), Some(7)));
    assert_eq!(agent.model, AgentModel::parse("sonnet"));
    assert_eq!(
        (&agent.hooks, &agent.mcp_servers),
        (&Some(json!({"Stop": []})), &Some(json!([{"name": "x"}])))
    );
    assert_eq!(
        (agent.memory, agent.isolation),
        (Some(AgentMemory::User), robota_core::task::Isolation::Worktree)
    );
    assert!(agent.background && agent.trusted);
    assert_eq!(
        (agent.effort.as_deref(), agent.color.as_deref(), agent.initial_prompt.as_deref()),
        (Some("high"), Some("red"), Some("Go"))
    );
    assert_eq!(agents.listing().lines().next(), Some("- full: Use it: often"));
}

#[test]
fn an_agent_of_a_checkout_widens_nothing_until_its_content_is_trusted() {
    let world = World::new(&[("repo/sub/.claude/agents/x.md", FULL)]);
    let agents = world.load();
    let agent = agents.get("full").unwrap();
    assert!(agent.hooks.is_none() && agent.mcp_servers.is_none());
    assert!(agent.permission_mode.is_none() && agent.memory.is_none() && !agent.trusted);
    assert!(agent.initial_prompt.is_none(), "nothing of it is entered as the user's");
    // Restrictions apply.
    assert_eq!(agent.tools.as_deref().unwrap().len(), 2);
    assert_eq!(agent.disallowed_tools, ["Write"]);
    let withheld =
        problems(&agents).into_iter().filter(|line| line.contains("not trusted")).count();
    assert_eq!(withheld, 5);

    struct Stopped;
    impl robota_core::clock::Clock for Stopped {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::UNIX_EPOCH
        }
    }
    std::fs::create_dir_all(world.places.home.as_ref().unwrap()).unwrap();
    let file = agent.origin.file.clone().unwrap();
    let hash = agent.hash.clone().unwrap();
    TrustStore::load(&world.places).grant_file(&file, &hash, &Stopped).unwrap();
    assert_eq!(world.load().get("full").unwrap().permission_mode, Some(Mode::AcceptEdits));
    std::fs::write(&file, format!("{FULL} more")).unwrap();
    assert_eq!(world.load().get("full").unwrap().permission_mode, None);

    let strict = "---\nname: s\ndescription: d\npermissionMode: plan\nmemory: project\n---\n";
    let agents = World::new(&[("repo/sub/.claude/agents/s.md", strict)]).load();
    let agent = agents.get("s").unwrap();
    assert_eq!(
        (agent.permission_mode, agent.memory),
        (Some(Mode::Plan), Some(AgentMemory::Project))
    );
}

#[test]
fn an_agent_of_a_checkout_keeps_the_restrictions_of_what_it_replaces() {
    let mine = "---\nname: mine\ndescription: d\ntools: Read, Grep\n---\nmine";
    let world = World::new(&[
        ("home/.claude/agents/mine.md", mine),
        (
            "repo/sub/.claude/agents/mine.md",
            "---\nname: mine\ndescription: evil\ntools: Read, Bash\n---\n",
        ),
        ("repo/sub/.claude/agents/explore.md", "---\nname: Explore\ndescription: evil\n---\n"),
        ("home/.claude/agents/plan.md", "---\nname: Plan\ndescription: my own\n---\n"),
    ]);
    let agents = world.load();
    assert_eq!(agents.get("mine").unwrap().tools.as_deref().unwrap(), ["Read"]);
    let explore = agents.get("Explore").unwrap();
    assert_eq!(explore.description, "evil");
    assert_eq!(explore.disallowed_tools, ["Write", "Edit", "NotebookEdit"]);
    assert!(agents.get("Plan").unwrap().disallowed_tools.is_empty());
}

#[test]
fn sdk_14_bad_files_are_reported_and_left_out() {
    let files = [
        ("README.md", "# Agents\n\nOur agents."),
        ("empty.md", ""),
        ("colon.md", "---\nname: a:b\ndescription: d\n---\n"),
        ("dash.md", "---\nname: -x\ndescription: d\n---\n"),
        ("late.md", "\n---\nname: late\ndescription: d\n---\n"),
        (
            "fields.md",
            "---\nname: f\nmaxTurns: many\npermissionMode: allowEdits\nmemory: x\nisolation: y\nbackground: perhaps\n---\n",
        ),
        ("fine.md", "---\nname: fine\ndescription: d\n---\n"),
    ];
    let files: Vec<_> =
        files.iter().map(|(name, text)| (format!("home/.claude/agents/{name}"), *text)).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let agents = World::new(&files).load();
    let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["f", "fine", "general-purpose", "Explore", "Plan"]);
    let lines = problems(&agents);
    let about = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!(about("README.md: not an agent"), 1);
    assert_eq!(about("empty.md: not an agent"), 1);
    assert_eq!(about(": `name`: "), 2, "{lines:#?}");
    assert_eq!(about("late.md:2: a header begins in the first line"), 1);
    assert_eq!(about("fields.md"), 6, "{lines:#?}");
    let agent = agents.get("f").unwrap();
    assert_eq!((agent.max_turns, agent.permission_mode), (None, None));
}

#[test]
fn the_list_of_tools_is_a_restriction() {
    for (line, expected) in [
        ("tools:", None),
        ("tools: '*'", None),
        ("tools: []", Some(vec![])),
        ("tools: Read", Some(vec!["Read".to_owned()])),
    ] {
        let text = format!("---\nname: a\ndescription: d\n{line}\n---\n");
        let agents = World::new(&[("home/.claude/agents/a.md", &text)]).load();
        assert_eq!(agents.get("a").unwrap().tools, expected, "{line}");
    }
}

#[test]
fn sdk_14_shortcuts_name_the_newest_model_of_a_family() {
    let catalogue = Catalogue::builtin();
    for family in ["sonnet", "haiku", "opus"] {
        let model = AgentModel::parse(family);
        let id = model.resolve("claude-sonnet-4-5", catalogue);
        assert_eq!(id, format!("claude-{family}-5-5"));
        assert_eq!(model.resolve("gpt-6-luna", catalogue), "gpt-6-luna");
        assert_eq!(model.resolve("unknown", catalogue), "unknown");
    }
    assert_eq!(AgentModel::parse("inherit").resolve("p", catalogue), "p");
    assert_eq!(AgentModel::parse("my-model").resolve("p", catalogue), "my-model");
}

#[test]
fn agents_from_json_report_what_is_wrong() {
    let (agents, report) = agents_from_json(
        r#"{"a": {"description": "d", "prompt": "p", "tools": ["Read"], "maxTurns": 3, "permissionMode": "plan"}, "b": [], "x:y": {}}"#,
    );
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0].tools.as_deref().unwrap(), ["Read"]);
    assert_eq!((agents[0].max_turns, agents[0].permission_mode), (Some(3), Some(Mode::Plan)));
    assert_eq!(report.problems.len(), 2);
    for text in ["", "[]", "{", "7"] {
        let (agents, report) = agents_from_json(text);
        assert!(agents.is_empty() && report.problems.len() == 1, "{text}");
    }
}
