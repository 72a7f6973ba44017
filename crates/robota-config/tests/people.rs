//! A folder as people really have them, with the mistakes that were found in public repositories.
//! Everything loads, with the effect that its author expected, and what has no effect is reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{World, lines};
use robota_config::agents::Agents;
use robota_config::instructions::{InstructionOptions, Instructions};
use robota_config::skills::{SkillInvocation, SkillPart, Skills};
use serde_json::json;

fn skills(world: &World) -> Skills {
    Skills::find(&world.reader())
}

fn agents(world: &World) -> Agents {
    Agents::load(&world.reader(), &world.trust_store(), Vec::new())
}

fn instructions(world: &World) -> Instructions {
    Instructions::load(&world.reader(), InstructionOptions::default())
}

#[test]
fn headers_that_are_not_yaml() {
    let world = World::new();
    for (name, line) in [
        ("colon", "Use this skill: when asked"),
        ("at", "@mentions are fine"),
        ("braces", "{{cookiecutter}} template"),
        ("brackets", "[a] [b]"),
        ("example", "Use it. Examples: <example>Context: x. user: \"y\"</example>"),
    ] {
        let text = format!("---\nname: {name}\ndescription: {line}\nmodel: opus\n---\nbody\n");
        world.put(&format!("~/.claude/skills/{name}/SKILL.md"), &text);
        world.put(&format!("~/.claude/agents/{name}.md"), &text);
        let skill = skills(&world).get(name).unwrap();
        assert_eq!(skill.description.as_deref(), Some(line));
        assert_eq!(skill.model.as_deref(), Some("opus"));
        let agents = agents(&world);
        assert_eq!(agents.get(name).unwrap().description, line);
    }
}

#[test]
fn lists_and_texts_where_the_other_is_expected() {
    let world = World::new();
    for (name, tools, expected) in [
        (
            "text",
            "Bash(git add:*), Bash(git status:*)",
            &["Bash(git add:*)", "Bash(git status:*)"][..],
        ),
        ("list", "[Read, Edit]", &["Read", "Edit"]),
        ("block", "\n  - Read\n  - Bash(a, b)", &["Read", "Bash(a, b)"]),
        ("null", "null", &[]),
        ("empty", "", &[]),
        ("quoted", "\"Read\", 'Edit'", &["Read", "Edit"]),
        (
            "one",
            "\"Bash(gh pr view:*),Bash(gh pr diff:*)\"",
            &["Bash(gh pr view:*)", "Bash(gh pr diff:*)"],
        ),
        ("comma", "Bash(git commit -m \"fix: a, b\")", &["Bash(git commit -m \"fix: a, b\")"]),
    ] {
        world.put(
            &format!("~/.claude/commands/{name}.md"),
            format!("---\nargument-hint: [file] \nallowed-tools: {tools}\n---\nbody"),
        );
        let skills = skills(&world);
        let skill = skills.get(name).unwrap();
        assert_eq!(skill.requests.allowed_tools, expected, "{name}");
        assert_eq!(skill.argument_hint.as_deref(), Some("[file]"), "{name}");
        assert_eq!(
            skills.open(name, &world.trust_store()).unwrap().grants().allowed_tools,
            expected
        );
    }
}

#[test]
fn fields_of_other_kinds_of_files_give_no_permission() {
    let world = World::new();
    world.put("~/.claude/commands/a.md", "---\nallowed_tools: Bash(*)\ntools: [read]\n---\nbody");
    world.put(".claude/rules/r.md", "---\nglobs: '**/*.ts'\nalwaysApply: false\n---\nrule");
    let skills = skills(&world);
    let body = skills.open("a", &world.trust_store()).unwrap();
    assert!(body.grants().allowed_tools.is_empty());
    let report = lines(&skills.report());
    assert!(report[0].contains("`allowed_tools`: has no effect: write `allowed-tools`"));
    assert!(report[1].contains("`tools`: has no effect in a skill"));
    let instructions = instructions(&world);
    assert_eq!(instructions.files[0].text, "rule");
    assert!(lines(&instructions.report)[0].contains("`globs`: has no effect"));
}

#[test]
fn headers_in_the_wrong_place_and_no_headers() {
    let world = World::new();
    for (name, text) in [
        ("comment", "<!-- note -->\n---\ndescription: d\nallowed-tools: Bash(*)\n---\nbody"),
        ("blank", "\n---\ndescription: d\nallowed-tools: Bash(*)\n---\nbody"),
        ("none", "Do it.\n"),
    ] {
        world.put(&format!("~/.claude/commands/{name}.md"), text);
        let skills = skills(&world);
        let body = skills.open(name, &world.trust_store()).unwrap();
        assert!(body.grants().allowed_tools.is_empty());
        let parts = body.expand(&SkillInvocation::default()).unwrap();
        assert_eq!(parts, [SkillPart::Text(text.to_owned())]);
        assert_eq!(skills.report().is_empty(), name == "none", "{name}");
    }
    world.put("~/.claude/agents/README.md", "# Our agents");
    world.put("~/.claude/agents/late.md", "# c\n---\nname: late\n---\n");
    let agents = agents(&world);
    assert_eq!(agents.iter().count(), 3);
    assert!(lines(&agents.report).iter().any(|line| line.contains("README.md: not an agent")));
}

#[test]
fn commands_with_arguments_and_shell_defaults() {
    let world = World::new();
    world.put("~/.claude/commands/a.md", "!`git log $ARGUMENTS`\n${2:-x} $1 costs $5\n");
    let body = skills(&world).open("a", &world.trust_store()).unwrap();
    let call = SkillInvocation { arguments: "-n '3 4'", ..SkillInvocation::default() };
    assert_eq!(
        body.expand(&call).unwrap(),
        [
            SkillPart::Command { command: "git log -n '3 4'".to_owned() },
            SkillPart::Text("\n${2:-x} 3 4 costs $5\n".to_owned()),
        ]
    );
}

#[test]
fn linked_files_and_folders() {
    let world = World::new();
    world.put("CLAUDE.md", "once");
    world.link("AGENTS.md", "CLAUDE.md");
    world.put("tools/skills/a/SKILL.md", "linked");
    world.link(".claude/skills", "../tools/skills");
    world.link(".claude/commands/b.md", "../../tools/skills/a/SKILL.md");
    world.link(".claude/rules/gone.md", "nowhere.md");
    world.link(".claude/agents/gone.md", "nowhere.md");
    let instructions = instructions(&world);
    assert_eq!(instructions.files.len(), 1);
    assert!(lines(&instructions.report)[0].contains("gone.md: not read: it is a broken link"));
    let skills = skills(&world);
    assert_eq!(skills.get("a").unwrap().description.as_deref(), Some("linked"));
    assert_eq!(skills.get("b").unwrap().description.as_deref(), Some("linked"));
    assert!(skills.report().is_empty());
    assert!(lines(&agents(&world).report)[0].contains("gone.md: not read: it is a broken link"));
}

#[test]
fn unusual_bytes_names_and_sizes() {
    let world = World::new();
    world.put("CLAUDE.md", "a\0b\r\nc".as_bytes());
    world.put("AGENTS.md", "");
    world.put(".claude/CLAUDE.md", "x".repeat(45 * 1024));
    world.put(".claude/skills/empty/SKILL.md", "");
    world.put(".claude/skills/with space/SKILL.md", "---\r\ndescription: crlf\r\n---\r\nbody\r\n");
    let deep = (0..13).map(|n| format!("d{n}")).collect::<Vec<_>>();
    world.put(&format!(".claude/commands/{}/x.md", deep.join("/")), "deep");
    world.put(&format!(".claude/rules/{}/x.md", deep.join("/")), "deep rule");
    world.put(
        "~/.claude/agents/a.md",
        "---\nname: a\ndescription: d\nmcpServers:\n  - github\n  - x: {command: y}\n---\n",
    );
    world.put(
        "~/.claude/agents/b.md",
        "---\nname: b\ndescription: d\nmcpServers:\n  x: {command: y}\n---\n",
    );

    let instructions = instructions(&world);
    assert_eq!(instructions.files[0].text, "ab\nc");
    assert_eq!(instructions.files[1].bytes, 45 * 1024);
    assert_eq!(instructions.files[2].text, "deep rule");
    assert!(instructions.report.is_empty());
    let skills = skills(&world);
    assert_eq!(skills.get("with space").unwrap().description.as_deref(), Some("crlf"));
    assert!(skills.get("empty").is_none());
    assert!(skills.get(&format!("{}:x", deep.join(":"))).is_some());
    let agents = agents(&world);
    assert_eq!(
        agents.get("a").unwrap().mcp_servers,
        Some(json!(["github", {"x": {"command": "y"}}]))
    );
    assert_eq!(agents.get("b").unwrap().mcp_servers, Some(json!({"x": {"command": "y"}})));
}

#[test]
fn a_project_with_many_skills_and_files_opens_only_what_it_needs() {
    let world = World::new();
    for n in 0..500 {
        world.put(&format!(".claude/skills/s{n:03}/SKILL.md"), "---\ndescription: d\n---\nbody");
    }
    for n in 0..1_000 {
        world.put(&format!("src/{}/{n}.rs", n % 20), "");
    }
    world.put("CLAUDE.md", "text @AGENTS.md");
    world.put("AGENTS.md", "text");
    let reader = world.reader();
    let instructions = Instructions::load(&reader, InstructionOptions::default());
    assert_eq!(instructions.files.len(), 2);
    let counts = reader.counts();
    assert_eq!((counts.files, counts.folders), (2, 0));
    let skills = Skills::find(&reader);
    // One listing for the one folder with skills; no file.
    assert_eq!((reader.counts().files, reader.counts().folders), (2, 1));
    let listing = skills.listing(&robota_config::skills::ListingCaps::default());
    assert_eq!((listing.listed, listing.more), (48, 452));
    assert!(robota_config::project::ProjectFacts::detect(&reader).types.is_empty());
    assert!(robota_config::tasks::TaskFiles::load(&reader, None).tasks.is_empty());
    assert_eq!((reader.counts().files, reader.counts().folders), (50, 2));
    assert!(reader.counts().bytes < 64 * 1024);
}
