//! The folders of the administrator: MCP servers, instructions, agents, skills and output styles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};

use common::World;
use robota_config::agents::{Agents, agents_from_json};
use robota_config::instructions::{InstructionOptions, Instructions};
use robota_config::output_styles::OutputStyles;
use robota_config::skills::Skills;
use robota_config::{
    ContextReader, Layer, McpAccess, Places, Settings, TrustStore, load, mcp_servers,
};

/// Returns places with two folders of the administrator; the second has precedence.
fn managed(world: &World) -> (Places, PathBuf, PathBuf) {
    let etc = world.places.cwd.parent().unwrap().join("etc");
    let (low, high) = (etc.join("claude-code"), etc.join("robota"));
    std::fs::create_dir_all(&low).unwrap();
    std::fs::create_dir_all(&high).unwrap();
    let managed = vec![low.clone(), high.clone()];
    (Places { managed, ..world.places.clone() }, low, high)
}

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn settings(places: &Places) -> Settings {
    load(places, &TrustStore::load(places), &|_, _| Ok(()))
}

#[test]
fn servers_of_the_administrator_exclude_all_others() {
    let world = World::new();
    let (places, low, high) = managed(&world);
    let server = |command: &str| format!(r#"{{"command": "{command}"}}"#);
    let home = places.home.clone().unwrap();
    let users = format!(r#"{{"mcpServers": {{"mine": {0}, "docs": {0}}}}}"#, server("mine"));
    write(&home, ".robota/mcp.json", &users);
    write(
        &home,
        ".claude/settings.json",
        &format!(r#"{{"mcpServers": {{"s": {}}}}}"#, server("s")),
    );
    let argument = format!(r#"{{"mcpServers": {{"flag": {}}}}}"#, server("flag"));
    let names = |listing: &robota_config::McpListing| -> Vec<(String, &'static str)> {
        listing.entries.iter().map(|it| (it.name.clone(), it.scope.name())).collect()
    };
    let listing = mcp_servers(&places, &settings(&places), &[], false);
    assert_eq!(listing.entries.len(), 3, "without the file nothing is excluded");

    write(
        &low,
        "managed-mcp.json",
        &format!(r#"{{"mcpServers": {{"docs": {}, "low": {}}}}}"#, server("l"), server("l")),
    );
    write(&high, "managed-mcp.json", &format!(r#"{{"mcpServers": {{"docs": {}}}}}"#, server("h")));
    let listing = mcp_servers(&places, &settings(&places), std::slice::from_ref(&argument), false);
    let both = [("docs".to_owned(), "managed"), ("low".to_owned(), "managed")];
    assert_eq!(names(&listing), both);
    assert_eq!(listing.find("docs").unwrap().fields["command"], "h");
    assert_eq!(listing.excluded, ["s", "mine", "docs"]);
    let reported = listing.problems.join("\n");
    assert!(reported.contains("`flag`") && reported.contains("managed-mcp.json"), "{reported}");
    // `--strict-mcp-config` leaves out the files of the user, not those of the administrator.
    let strict = mcp_servers(&places, &settings(&places), &[argument], true);
    assert_eq!(names(&strict), both);
}

#[test]
fn a_broken_file_with_servers_of_the_administrator_allows_none() {
    for text in ["{", "[]", r#"{"mcpServers": 7}"#] {
        let world = World::new();
        let (places, low, _) = managed(&world);
        write(
            &places.home.clone().unwrap(),
            ".robota/mcp.json",
            r#"{"mcpServers": {"mine": {"command": "x"}}}"#,
        );
        write(&low, "managed-mcp.json", text);
        let listing = mcp_servers(&places, &settings(&places), &[], false);
        assert!(listing.entries.is_empty(), "{text}");
        let reported = listing.problems.join("\n");
        assert!(reported.contains("managed-mcp.json"), "{text}: {reported}");
    }
    // A folder in its place is no absence, and neither is a link that leads nowhere.
    let world = World::new();
    let (places, low, high) = managed(&world);
    std::fs::create_dir(low.join("managed-mcp.json")).unwrap();
    std::os::unix::fs::symlink("nowhere", high.join("managed-mcp.json")).unwrap();
    let listing = mcp_servers(&places, &settings(&places), &[], false);
    assert!(listing.managed.is_some() && listing.problems.len() == 2, "{:?}", listing.problems);
}

#[test]
fn instructions_of_the_administrator_are_first_and_cannot_be_excluded() {
    let world = World::new();
    let (places, low, high) = managed(&world);
    write(&low, "CLAUDE.md", "Low. @more.md\n");
    write(&low, "more.md", "More.\n");
    write(&high, "CLAUDE.md", "High.\n");
    write(&places.home.clone().unwrap(), ".claude/CLAUDE.md", "User.\n");
    write(&places.cwd, "CLAUDE.md", "Project.\n");
    let everything = InstructionOptions { excludes: vec!["/**".to_owned()], ..Default::default() };
    let texts = |options| -> Vec<String> {
        let loaded = Instructions::load(&ContextReader::new(&places), options);
        loaded.files.iter().map(|file| file.text.trim().to_owned()).collect()
    };
    let all = ["Low. @more.md", "More.", "High.", "User.", "Project."];
    assert_eq!(texts(InstructionOptions::default()), all);
    assert_eq!(texts(everything), all[..3]);
    // `--setting-sources` does not leave them out either.
    let none = Places { sources: Some(Vec::new()), ..places.clone() };
    let loaded = Instructions::load(&ContextReader::new(&none), InstructionOptions::default());
    assert_eq!(loaded.files.len(), 3);
    assert!(loaded.files.iter().all(|file| file.origin.layer == Layer::Managed));
}

#[test]
fn agents_skills_and_styles_of_the_administrator_have_the_highest_precedence() {
    let world = World::new();
    let (places, low, high) = managed(&world);
    let home = places.home.clone().unwrap();
    let agent = |text: &str| {
        format!("---\nname: helper\ndescription: {text}\npermissionMode: acceptEdits\n---\nHelp.\n")
    };
    let skill =
        |text: &str| format!("---\ndescription: {text}\nallowed-tools: Bash(ls)\n---\nGo.\n");
    let style = |text: &str| format!("---\nname: Brief\ndescription: {text}\n---\nBrief.\n");
    let folders = [
        (low.as_path(), "low"),
        (high.as_path(), "high"),
        (home.as_path(), "home"),
        (places.cwd.as_path(), "project"),
    ];
    for (folder, text) in folders {
        write(folder, ".claude/agents/helper.md", &agent(text));
        write(folder, ".claude/skills/deploy/SKILL.md", &skill(text));
        write(folder, ".claude/output-styles/brief.md", &style(text));
    }
    write(&low, ".claude/skills/only/SKILL.md", &skill("low"));
    let (reader, trust) = (ContextReader::new(&places), TrustStore::load(&places));
    let (argument, _) =
        agents_from_json(r#"{"helper": {"description": "argument", "prompt": "x"}}"#);
    let agents = Agents::load(&reader, &trust, argument);
    let helper = agents.get("helper").unwrap();
    assert_eq!((helper.description.as_str(), helper.origin.layer), ("high", Layer::Managed));
    assert!(helper.trusted && helper.permission_mode.is_some(), "no question of trust");
    let skills = Skills::find(&reader);
    assert_eq!(skills.get("deploy").unwrap().description.as_deref(), Some("high"));
    assert_eq!(skills.get("only").unwrap().description.as_deref(), Some("low"));
    let body = skills.open("deploy", &trust).unwrap();
    assert!(!body.skill.needs_trust() && !body.grants().allowed_tools.is_empty());
    let styles = OutputStyles::load(&reader);
    assert_eq!(styles.get("Brief").unwrap().description.as_deref(), Some("high"));
}

#[test]
fn a_broken_file_of_the_administrator_is_not_replaced_by_one_of_others() {
    let world = World::new();
    let (places, low, _) = managed(&world);
    let agent = "---\nname: helper\ndescription: theirs\n---\nHelp.\n";
    write(&places.cwd, ".claude/agents/helper.md", agent);
    write(&places.cwd, ".claude/skills/deploy/SKILL.md", "Mine.\n");
    write(&places.cwd, ".claude/output-styles/brief.md", "Mine.\n");
    // Folders where files are expected.
    for name in [".claude/skills/deploy/SKILL.md", ".claude/output-styles/.keep"] {
        std::fs::create_dir_all(low.join(name)).unwrap();
    }
    write(&low, ".claude/agents/helper.md", "No header.\n");
    std::os::unix::fs::symlink("nowhere", low.join(".claude/output-styles/brief.md")).unwrap();
    let (reader, trust) = (ContextReader::new(&places), TrustStore::load(&places));
    let agents = Agents::load(&reader, &trust, Vec::new());
    assert!(agents.get("helper").is_none(), "{:?}", agents.get("helper"));
    assert!(!agents.report.problems.is_empty());
    let skills = Skills::find(&reader);
    assert!(skills.get("deploy").is_none());
    assert!(OutputStyles::load(&reader).get("brief").is_none());
}

#[test]
fn parts_that_cannot_be_read_allow_nothing() {
    type Break = fn(&Path);
    let breaks: [Break; 4] = [
        |low| std::fs::write(low.join("managed-settings.d"), "").unwrap(),
        |low| std::fs::create_dir(low.join("CLAUDE.md")).unwrap(),
        |low| std::fs::write(low.join("CLAUDE.md"), [0xff, 0xfe]).unwrap(),
        |low| {
            std::fs::create_dir(low.join(".claude")).unwrap();
            std::fs::write(low.join(".claude/agents"), "").unwrap();
        },
    ];
    for (at, break_it) in breaks.into_iter().enumerate() {
        let world = World::with(&[(Layer::UserRobota, r#"{"permissions": {"allow": ["Bash"]}}"#)]);
        let (places, low, _) = managed(&world);
        assert!(settings(&places).permissions.unreadable.is_empty());
        break_it(&low);
        let settings = settings(&places);
        assert!(settings.permissions.allow.is_empty(), "{at}");
        assert_eq!(settings.permissions.unreadable.len(), 1, "{at}");
        let access = McpAccess::load(&places, &settings);
        let reached = robota_config::Reached::Host;
        assert_eq!(access.refusal("x", reached).is_some(), at == 0, "{at}");
    }
}

#[test]
fn a_list_of_models_that_cannot_be_read_allows_none() {
    let refusal = |layers: &dyn Fn(&Path, &Path, &Path)| {
        let world = World::new();
        let (places, low, high) = managed(&world);
        layers(&places.home.clone().unwrap(), &low, &high);
        let models = settings(&places).available_models;
        models.check(Some("anthropic"), "claude-sonnet-4-5").err().map(|error| error.to_string())
    };
    let list = r#"{"availableModels": ["sonnet"]}"#;
    for broken in ["{", "[]", r#"{"availableModels": "sonnet"}"#] {
        let of_managed = refusal(&|home, low, _| {
            write(low, "managed-settings.json", broken);
            // The list of the user could be wider than the one that cannot be read.
            write(home, ".robota/settings.json", list);
        });
        let text = of_managed.expect(broken);
        assert!(text.contains("managed-settings.json"), "{text}");
        assert!(text.contains("cannot be read"), "{text}");
    }
    let of_user = refusal(&|home, _, _| {
        write(home, ".robota/settings.json", r#"{"availableModels": {"sonnet": true}}"#);
    });
    assert!(of_user.is_some_and(|text| text.contains("settings.json:1 cannot be read")));
    // Another file of the administrator has the list.
    let listed = refusal(&|home, low, high| {
        write(low, "managed-settings.json", "{");
        write(high, "managed-settings.json", list);
        write(home, ".robota/settings.json", r#"{"availableModels": 7}"#);
    });
    assert_eq!(listed, None);
    // A broken file of the user says nothing about models.
    assert_eq!(refusal(&|home, _, _| write(home, ".robota/settings.json", "{")), None);
}
