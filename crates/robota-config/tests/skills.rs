//! Skills and commands: where they are found, what their headers say, and how they are used.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeSet;

use common::{Stopped, World, lines};
use robota_config::skills::{
    ListingCaps, SkillContext, SkillError, SkillInvocation, SkillKind, SkillPart, Skills,
};
use robota_config::{ContextReader, Layer, file_requests};
use serde_json::json;

fn find(world: &World) -> Skills {
    Skills::find(&world.reader())
}

fn names(skills: &Skills) -> Vec<String> {
    skills.all().map(|skill| skill.name.clone()).collect()
}

fn description(skills: &Skills, name: &str) -> Option<String> {
    skills.get(name)?.description.clone()
}

#[test]
fn sdk_13_skills_are_found_in_all_places_by_priority() {
    let mut world = World::new();
    std::fs::create_dir_all(world.path(".git")).unwrap();
    std::fs::create_dir_all(world.path("sub")).unwrap();
    let places = [
        ("~/.claude/skills", "user claude"),
        ("sub/.robota/skills", "robota"),
        ("sub/.claude/skills", "claude"),
        (".claude/skills", "root claude"),
        ("~/.claude/commands", "user command"),
        ("sub/.claude/commands", "command"),
        ("~/.robota/skills", "user robota"),
        ("sub/.agents/skills", "agents"),
    ];
    // The n-th skill exists in the n-th place and in all that follow.
    for (at, (place, text)) in places.iter().enumerate() {
        for n in 0..=at {
            let file = if place.ends_with("commands") {
                format!("{place}/s{n}.md")
            } else {
                format!("{place}/s{n}/SKILL.md")
            };
            world.put(&file, format!("---\ndescription: {text}\n---\nbody"));
        }
    }
    let cwd = world.places.cwd.clone();
    world.places.cwd = cwd.join("sub");
    let skills = find(&world);
    for (n, (_, text)) in places.iter().enumerate() {
        assert_eq!(description(&skills, &format!("s{n}")).as_deref(), Some(*text), "s{n}");
    }
    assert_eq!(skills.len(), places.len());
    assert_eq!(skills.get("s0").unwrap().origin.layer, Layer::UserClaude);
    assert!(!skills.get("s0").unwrap().needs_trust());
    assert!(skills.get("s1").unwrap().needs_trust());
}

#[test]
fn a_folder_without_a_file_hides_nothing() {
    let world = World::new();
    std::fs::create_dir_all(world.path(".claude/skills/a")).unwrap();
    world.put(".claude/skills/README.md", "x");
    world.put(".agents/skills/a/SKILL.md", "from agents");
    let skills = find(&world);
    assert_eq!(names(&skills), ["a"]);
    assert_eq!(description(&skills, "a").as_deref(), Some("from agents"));
    assert!(skills.report().is_empty());
}

#[test]
fn commands_have_namespaces_and_a_skill_of_the_same_name_wins() {
    let world = World::new();
    world.put(".claude/commands/frontend/component.md", "---\ndescription: c\npaths: '*.x'\n---\n");
    world.put(".claude/commands/a/b/c.md", "deep");
    world.put(".claude/commands/same.md", "command");
    world.put(".claude/skills/same/SKILL.md", "skill");
    let skills = find(&world);
    assert_eq!(names(&skills), ["same", "a:b:c", "frontend:component"]);
    assert_eq!(description(&skills, "same").as_deref(), Some("skill"));
    let command = skills.get("frontend:component").unwrap();
    assert_eq!(command.kind, SkillKind::Command);
    assert!(command.paths.is_empty());
}

#[test]
fn sdk_13_the_header_has_all_fields() {
    let world = World::new();
    world.put(
        ".claude/skills/full/SKILL.md",
        "---\nname: Full Name\ndescription: Does: it\nwhen_to_use: always\nargument-hint: [file] [mode]\n\
         arguments: [file, mode]\ndisable-model-invocation: yes\nuser-invocable: off\n\
         allowed-tools: Read, Bash(git add:*)\ndisallowed-tools: [Write]\nmodel: opus\neffort: high\n\
         context: fork\nagent: Explore\nbackground: 1\nhooks:\n  Stop: []\npaths: src/**\nshell: bash\n\
         license: MIT\ncompatibility: needs git\nmetadata:\n  author: x\nunknown: kept quiet\n---\nbody",
    );
    let skills = find(&world);
    let skill = skills.get("full").unwrap();
    assert_eq!(skill.label.as_deref(), Some("Full Name"));
    assert_eq!(skill.description.as_deref(), Some("Does: it"));
    assert_eq!(skill.when_to_use.as_deref(), Some("always"));
    assert_eq!(skill.argument_hint.as_deref(), Some("[file] [mode]"));
    assert_eq!(skill.arguments, ["file", "mode"]);
    assert!(skill.disable_model_invocation && !skill.user_invocable && skill.background);
    assert_eq!(skill.requests.allowed_tools, ["Read", "Bash(git add:*)"]);
    assert_eq!(skill.requests.hooks, Some(json!({"Stop": []})));
    assert_eq!(skill.disallowed_tools, ["Write"]);
    assert_eq!((skill.model.as_deref(), skill.effort.as_deref()), (Some("opus"), Some("high")));
    assert_eq!((skill.context, skill.agent.as_deref()), (SkillContext::Fork, Some("Explore")));
    assert_eq!((skill.shell.as_deref(), skill.license.as_deref()), (Some("bash"), Some("MIT")));
    assert_eq!(skill.compatibility.as_deref(), Some("needs git"));
    assert_eq!(skill.metadata, Some(json!({"author": "x"})));
    assert_eq!(skill.paths, ["src/**"]);

    world.put(".claude/commands/plain.md", "# A title\n\ntext");
    let skills = find(&world);
    let plain = skills.get("plain").unwrap();
    assert_eq!(plain.description.as_deref(), Some("A title"));
    assert!(plain.user_invocable && !plain.disable_model_invocation);
}

#[test]
fn an_unclear_flag_keeps_a_skill_from_the_model() {
    let world = World::new();
    world.put(".claude/skills/a/SKILL.md", "---\ndisable-model-invocation: perhaps\n---\nx");
    let skills = find(&world);
    assert!(skills.get("a").unwrap().disable_model_invocation);
    assert!(
        lines(&skills.report())[0]
            .contains("SKILL.md:2: `disable-model-invocation`: `perhaps` is not a flag")
    );
}

#[test]
fn sdk_13_the_skills_of_the_model_can_be_limited() {
    let world = World::new();
    for name in ["a", "b"] {
        world.put(&format!(".claude/skills/{name}/SKILL.md"), "---\ndescription: it\n---\nx");
    }
    let limited = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        find(&world).only_for_model(Some(&names))
    };
    let skills = limited(&["b", "missing"]);
    let listing = skills.listing(&ListingCaps::default());
    assert_eq!((listing.text.as_str(), listing.more), ("- b: it\n", 0));
    assert!(!skills.is_for_model(&skills.get("a").unwrap()), "only the user may invoke it");
    assert!(skills.has_name_for_model() && !limited(&["missing"]).has_name_for_model());
    let all = find(&world).only_for_model(None);
    assert_eq!(all.listing(&ListingCaps::default()).listed, 2);
}

#[test]
fn sdk_13_only_metadata_is_listed_and_the_body_is_read_on_invocation() {
    let world = World::new();
    world.put(
        ".claude/skills/a/SKILL.md",
        "---\ndescription: |\n  first\n  second\nwhen_to_use: then\n---\nSECRET BODY",
    );
    world.put(
        ".claude/skills/b/SKILL.md",
        "---\ndescription: b\ndisable-model-invocation: true\n---\nx",
    );
    world.put(".claude/skills/c/SKILL.md", "---\ndescription: c\nuser-invocable: false\n---\nx");
    world.put(".claude/skills/d/SKILL.md", "---\ndescription: d\n---\nx");
    world.put(".claude/skills/e/SKILL.md", "---\ndescription: e\n---\nx");
    world.put(".claude/skills/f/SKILL.md", "---\ndescription: f\n---\nx");
    let skills = find(&world).with_overrides([
        ("d", "name-only"),
        ("e", "user-invocable-only"),
        ("f", "off"),
        ("a", "what"),
    ]);
    let listing = skills.listing(&ListingCaps::default());
    assert_eq!(listing.text, "- a: first second - then\n- c: c\n- d\n");
    assert_eq!((listing.listed, listing.more), (3, 0));
    let menu: Vec<_> = skills.for_user().map(|skill| skill.name.clone()).collect();
    assert_eq!(menu, ["a", "b", "d", "e"]);
    assert!(skills.get("f").is_none());
    assert!(lines(&skills.report())[0].contains("unknown value `what`"));
    let body = skills.open("a", &world.trust_store()).unwrap();
    assert_eq!(
        body.expand(&SkillInvocation::default()).unwrap(),
        [SkillPart::Text("SECRET BODY".to_owned())]
    );
    let error = skills.open("f", &world.trust_store()).unwrap_err();
    assert_eq!(error, SkillError::Unknown { name: "f".to_owned() });
}

#[test]
fn the_listing_has_a_limit_and_counts_the_rest() {
    let world = World::new();
    for n in 0..100 {
        let text = format!("---\ndescription: {}\n---\nx", "d".repeat(n * 20 + 1));
        world.put(&format!(".claude/skills/s{n:03}/SKILL.md"), text);
    }
    let reader = world.reader();
    let skills = Skills::find(&reader);
    assert_eq!(reader.counts().files, 0);
    let listing = skills.listing(&ListingCaps::default());
    assert!(listing.text.len() <= 16 * 1024);
    assert!(listing.text.ends_with(&format!("- {} more skills\n", listing.more)));
    assert_eq!(listing.listed + listing.more, 100);
    assert!(reader.counts().files <= 48);
    assert_eq!(listing, skills.listing(&ListingCaps::default()));

    let caps = ListingCaps { skill_chars: 10, total_bytes: 1 << 20, files: 1_000 };
    let listing = skills.listing(&caps);
    assert_eq!(listing.listed, 100);
    assert!(listing.text.ends_with("- s099: ddddddddd…\n"));
}

#[test]
fn placeholders_and_variables_are_replaced() {
    let world = World::new();
    world.put(
        ".claude/skills/a/SKILL.md",
        "---\narguments: [file]\n---\n$file ${CLAUDE_SKILL_DIR} ${CLAUDE_PROJECT_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT} ${PLUGIN}",
    );
    let body = find(&world).open("a", &world.trust_store()).unwrap();
    let call =
        SkillInvocation { arguments: "x.rs", session_id: Some("s"), ..SkillInvocation::default() };
    let (folder, project) = (world.path(".claude/skills/a"), world.project());
    let expected =
        format!("x.rs {} {} s ${{CLAUDE_EFFORT}} ${{PLUGIN}}", folder.display(), project.display());
    assert_eq!(body.expand(&call).unwrap(), [SkillPart::Text(expected)]);
}

#[test]
fn a_skill_of_a_checkout_runs_nothing_and_allows_nothing_until_its_content_is_trusted() {
    let world = World::new();
    let text = "---\nallowed-tools: Bash(*)\nhooks:\n  Stop: [{hooks: [{type: command, command: x}]}]\n---\nNow: !`curl evil`";
    let file = world.put(".claude/skills/a/SKILL.md", text);
    world.put("~/.claude/skills/mine/SKILL.md", text);
    let skills = find(&world);
    let call = SkillInvocation::default();

    let mine = skills.open("mine", &world.trust_store()).unwrap();
    assert!(mine.trusted);
    assert_eq!(mine.grants().allowed_tools, ["Bash(*)"]);
    let command = SkillPart::Command { command: "curl evil".to_owned() };
    assert_eq!(mine.expand(&call).unwrap(), [SkillPart::Text("Now: ".to_owned()), command.clone()]);

    let body = skills.open("a", &world.trust_store()).unwrap();
    assert!(body.runs_commands() && !body.trusted);
    assert!(body.grants().allowed_tools.is_empty() && body.grants().hooks.is_none());
    let error = body.expand(&call).unwrap_err();
    assert_eq!(
        error,
        SkillError::Untrusted {
            name: "a".to_owned(),
            file: file.clone(),
            commands: vec!["curl evil".to_owned()]
        }
    );
    let disabled = SkillInvocation { commands_disabled: true, ..call };
    assert!(body.expand(&disabled).unwrap().iter().all(|part| matches!(part, SkillPart::Text(_))));

    assert_eq!(body.fork_tools(), None);
    world.put(".claude/skills/f/SKILL.md", "---\ncontext: fork\nallowed-tools: Read\n---\nx");
    let fork = Skills::find(&world.reader()).open("f", &world.trust_store()).unwrap();
    assert!(!fork.trusted && fork.grants().allowed_tools.is_empty());
    assert_eq!(fork.fork_tools(), Some(&["Read".to_owned()][..]));

    // Trust in the settings of the folder is no trust in its skills.
    world.put(".claude/settings.json", r#"{"permissions": {"allow": ["Read"]}}"#);
    world.trust();
    assert!(!skills.open("a", &world.trust_store()).unwrap().trusted);

    world.trust_store().grant_file(&body.file, &body.hash, &Stopped).unwrap();
    let body = skills.open("a", &world.trust_store()).unwrap();
    assert_eq!(body.grants().allowed_tools, ["Bash(*)"]);
    assert!(body.expand(&call).unwrap().contains(&command));

    // Other content is not trusted, however it was written.
    std::fs::write(&file, text.replace("curl evil", "curl worse")).unwrap();
    let body = skills.open("a", &world.trust_store()).unwrap();
    assert!(!body.trusted && body.expand(&call).is_err());
    std::fs::write(&file, text).unwrap();
    assert!(skills.open("a", &world.trust_store()).unwrap().trusted);
    world.trust_store().revoke(world.project()).unwrap();
    assert!(!skills.open("a", &world.trust_store()).unwrap().trusted);
}

#[test]
fn nested_skills_are_found_when_a_file_near_them_is_read() {
    let world = World::new();
    world.put(".claude/skills/deploy/SKILL.md", "top");
    world.put("apps/web/.claude/skills/deploy/SKILL.md", "web");
    world.put("apps/web/.claude/skills/lint/SKILL.md", "lint");
    world.put("apps/web/src/x.ts", "");
    world.put("node_modules/p/.claude/skills/evil/SKILL.md", "evil");
    world.put("node_modules/p/i.js", "");
    let mut skills = find(&world);
    let mut shown = BTreeSet::new();
    assert_eq!(names(&skills), ["deploy"]);
    let file = world.path("apps/web/src/x.ts");
    assert_eq!(skills.on_access(&file, &mut shown), ["apps/web:deploy", "lint"]);
    assert!(skills.on_access(&file, &mut shown).is_empty());
    assert!(skills.on_access(&world.path("node_modules/p/i.js"), &mut shown).is_empty());
    // Another conversation has not seen them.
    let other = skills.on_access(&file, &mut BTreeSet::new());
    assert_eq!(other, ["apps/web:deploy", "lint"]);
    let listing = skills.listing_of(&other, &ListingCaps::default());
    assert_eq!(listing.text, "- apps/web:deploy: web\n- lint: lint\n");
    assert_eq!(description(&skills, "apps/web:deploy").as_deref(), Some("web"));
    assert_eq!(description(&skills, "deploy").as_deref(), Some("top"));
}

#[test]
fn a_skill_with_paths_is_listed_when_one_of_them_is_read() {
    let world = World::new();
    world.put(".claude/skills/css/SKILL.md", "---\ndescription: css\npaths: '*.css'\n---\nx");
    world.put("a/b.css", "");
    world.put("a/b.ts", "");
    let mut skills = find(&world);
    assert_eq!(skills.listing(&ListingCaps::default()).text, "");
    let mut shown = BTreeSet::new();
    assert!(skills.on_access(&world.path("a/b.ts"), &mut shown).is_empty());
    assert_eq!(skills.on_access(&world.path("a/b.css"), &mut shown), ["css"]);
    assert!(skills.on_access(&world.path("a/b.css"), &mut shown).is_empty());
    assert_eq!(skills.listing(&ListingCaps::default()).text, "- css: css\n");
}

#[test]
fn sdk_13_a_skill_with_paths_is_found_behind_those_that_the_list_reads() {
    let world = World::new();
    for n in 0..60 {
        world.put(&format!(".claude/skills/s{n:02}/SKILL.md"), "---\ndescription: x\n---\nx");
    }
    world.put(".claude/skills/z/SKILL.md", "---\ndescription: z\npaths: '*.css'\n---\nx");
    world.put("a.css", "");
    let mut skills = find(&world);
    assert!(skills.listing(&ListingCaps::default()).text.ends_with("- 13 more skills\n"));
    assert_eq!(skills.on_access(&world.path("a.css"), &mut BTreeSet::new()), ["z"]);
}

#[test]
fn sdk_13_a_nested_skill_that_the_model_may_not_use_is_not_shown_to_it() {
    let world = World::new();
    world.put("web/.claude/skills/mine/SKILL.md", "---\ndisable-model-invocation: true\n---\nx");
    world.put("web/.claude/skills/css/SKILL.md", "---\ndescription: css\npaths: '*.css'\n---\nx");
    world.put("web/a.txt", "");
    world.put("web/a.css", "");
    let mut skills = find(&world);
    let mut shown = BTreeSet::new();
    assert!(skills.on_access(&world.path("web/a.txt"), &mut shown).is_empty());
    assert!(skills.get("mine").is_some(), "the user may use it");
    assert_eq!(skills.on_access(&world.path("web/a.css"), &mut shown), ["css"]);
}

#[test]
fn the_home_folder_as_working_folder_has_the_users_skills() {
    let world = World::new();
    world.put("~/.claude/skills/a/SKILL.md", "a");
    world.put("~/.robota/skills/b/SKILL.md", "b");
    let home = world.path("~/");
    let skills = Skills::find(&ContextReader::new(&robota_config::Places::new(&home, &home)));
    assert_eq!(names(&skills), ["a", "b"]);
    assert!(skills.all().all(|skill| !skill.needs_trust()));
}

#[test]
fn what_skills_and_agents_of_a_checkout_ask_for_is_listed() {
    let world = World::new();
    world.put("~/.claude/skills/mine/SKILL.md", "!`mine`");
    world.put(".claude/skills/text/SKILL.md", "text");
    let skill = world.put(
        ".claude/skills/a/SKILL.md",
        "---\nallowed-tools: Bash(*)\nhooks: {Stop: []}\n---\n!`ls $0`",
    );
    world.put(".claude/agents/t.md", "---\nname: t\ndescription: d\ntools: Read\n---\n");
    let agent = world.put(
        ".claude/agents/a.md",
        "---\nname: a\ndescription: d\npermissionMode: acceptEdits\nmcpServers: {}\nmemory: user\nhooks: {}\n---\n",
    );
    let found = file_requests(&world.reader(), &world.trust_store());
    let shown: Vec<_> = found.iter().map(|it| (it.file.clone(), it.requests.join(", "))).collect();
    assert_eq!(
        shown,
        [
            (skill.clone(), "runs `ls $0`, allows `Bash(*)`, has hooks".to_owned()),
            (
                agent,
                "has hooks, has MCP servers, permission mode `acceptEdits`, the agent's memory of all projects"
                    .to_owned(),
            ),
        ]
    );
    assert!(found.iter().all(|it| !it.trusted));
    for it in &found {
        world.trust_store().grant_file(&it.file, &it.hash, &Stopped).unwrap();
    }
    assert!(file_requests(&world.reader(), &world.trust_store()).iter().all(|it| it.trusted));
    std::fs::write(skill, "!`other`").unwrap();
    let found = file_requests(&world.reader(), &world.trust_store());
    assert_eq!(found.iter().map(|it| it.trusted).collect::<Vec<_>>(), [false, true]);
}
