use super::*;
use crate::{ContextReader, Places};

struct World {
    dir: tempfile::TempDir,
    places: Places,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home", "project", "source"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        let places = Places::new(root.join("home"), root.join("project"));
        Self { dir, places }
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        let file = self.dir.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    fn source(&self) -> PathBuf {
        self.put(
            "source/.claude-plugin/plugin.json",
            r#"{"name": "tools", "version": "1.2", "author": {"name": "Ada"}, "unknown": 1,
                "description": "Builds.", "keywords": ["make"],
                "permissions": {"allow": ["Bash(make *)"], "deny": ["Bash(rm *)"]},
                "prompt": "Use make."}"#,
        );
        self.put("source/skills/lint/SKILL.md", "---\ndescription: Lints\n---\nLint it.\n");
        self.put("source/commands/build.md", "Build it.\n");
        self.put(
            "source/hooks/hooks.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/end.sh"}]}]}}"#,
        );
        self.dir.path().join("source")
    }

    fn load(&self) -> Plugins {
        Plugins::load(&self.places)
    }
}

#[test]
fn sdk_22_a_plugin_is_installed_enabled_disabled_and_removed() {
    let world = World::new();
    let mut plugins = world.load();
    plugins.install(&world.source(), PluginScope::User).unwrap();
    let plugin = world.load().get("tools").unwrap().clone();
    assert_eq!(
        (plugin.state, plugin.manifest.author.as_deref()),
        (PluginState::Disabled, Some("Ada"))
    );
    let manifest = &plugin.manifest;
    assert_eq!((manifest.name.as_str(), manifest.version.as_deref()), ("tools", Some("1.2")));
    assert_eq!(manifest.description.as_deref(), Some("Builds."));
    assert_eq!(
        (manifest.keywords[..].concat().as_str(), manifest.prompt.as_deref()),
        ("make", Some("Use make."))
    );
    assert!(world.load().active().next().is_none());
    plugins.enable("tools").unwrap();
    let loaded = world.load();
    let plugin = loaded.active().next().unwrap();
    let (hooks, problems) = plugin.hooks();
    assert_eq!((hooks.len(), problems.len()), (1, 0));
    let expected = format!("{}/end.sh", plugin.root.display());
    assert!(hooks[0].1[0].hooks[0].label().contains(&expected));
    assert!(plugin.requests().iter().any(|request| request.contains("allows `Bash(make *)`")));
    let skills = crate::skills::Skills::find(&ContextReader::new(&world.places))
        .with_plugins(loaded.active());
    assert_eq!(skills.get("tools:lint").unwrap().description.as_deref(), Some("Lints"));
    assert!(skills.get("tools:build").is_some() && skills.get("build").is_none());
    plugins.disable("tools").unwrap();
    assert!(world.load().active().next().is_none());
    plugins.remove("tools").unwrap();
    assert!(world.load().iter().next().is_none() && !plugin.root.exists());
}

#[test]
fn sdk_22_a_plugin_that_changed_is_not_used_until_it_is_enabled_again() {
    let world = World::new();
    let mut plugins = world.load();
    plugins.install(&world.source(), PluginScope::Project).unwrap();
    plugins.enable("tools").unwrap();
    assert_eq!(world.load().active().count(), 1);
    world.put("project/.robota/plugins/tools/hooks/more.sh", "touch owned");
    let changed = world.load();
    assert_eq!(changed.get("tools").unwrap().state, PluginState::Changed);
    assert!(changed.problems[0].contains("robota plugin enable tools"), "{:?}", changed.problems);
    plugins.enable("tools").unwrap();
    assert_eq!(world.load().active().count(), 1);
}

#[test]
fn sdk_22_a_checkout_cannot_bring_an_enabled_plugin() {
    let world = World::new();
    let source = world.source();
    content::copy(&source, &world.dir.path().join("project/.robota/plugins/tools")).unwrap();
    world.put(
        "project/.robota/plugins/registry.json",
        r#"{"plugins": [{"name": "tools", "scope": "project", "path": ".robota/plugins/tools", "source": "", "enabled": "x"}]}"#,
    );
    assert!(world.load().iter().next().is_none());
}

#[test]
fn sdk_22_plugins_that_are_not_valid_are_refused() {
    for manifest in [
        r#"{"name": "../evil"}"#,
        r#"{"name": "a b"}"#,
        r#"{"name": 7}"#,
        r#"{"name": "a", "commands": "../../etc"}"#,
        r#"{"name": "a", "skills": ["/etc"]}"#,
        r#"{"name": "a", "keywords": "one"}"#,
        "{",
    ] {
        let world = World::new();
        world.put("source/plugin.json", manifest);
        let source = world.dir.path().join("source");
        assert!(world.load().install(&source, PluginScope::User).is_err(), "{manifest}");
    }
    let world = World::new();
    let source = world.source();
    std::os::unix::fs::symlink("/etc/passwd", source.join("commands/link.md")).unwrap();
    let error = world.load().install(&source, PluginScope::User).unwrap_err();
    assert!(error.to_string().contains("link"), "{error}");
}

#[test]
fn sdk_22_marketplaces_list_and_find_plugins() {
    let world = World::new();
    let listed = world.put(
        "market/.claude-plugin/marketplace.json",
        r#"{"name": "mine", "owner": {"name": "Ada"}, "plugins": [
            {"name": "tools", "source": "./tools", "description": "Make things", "keywords": ["build"]},
            {"name": "far", "source": {"source": "github", "repo": "a/b"}, "description": "Elsewhere"},
            {"name": "evil", "source": "../../home"}, {"source": "./x"}]}"#,
    );
    world.put("market/tools/plugin.json", r#"{"name": "tools"}"#);
    let folder = listed.parent().unwrap().parent().unwrap();
    let mut plugins = world.load();
    assert_eq!(plugins.add_marketplace(folder).unwrap(), "mine");
    let loaded = world.load();
    let (name, market) = loaded.marketplaces().next().unwrap();
    let market = market.unwrap();
    assert_eq!((name, market.plugins.len()), ("mine", 3));
    let found: Vec<_> = market.search("BUILD").map(|entry| entry.name.as_str()).collect();
    assert_eq!(found, ["tools"]);
    assert!(matches!(market.plugins[0].source, Some(PluginSource::Folder(_))));
    let Some(PluginSource::Git(far)) = &market.plugins[1].source else { panic!("{market:?}") };
    assert_eq!(far.url, "https://github.com/a/b.git");
    assert!(market.plugins[2].source.is_none());
    assert!(plugins.remove_marketplace("mine").unwrap());
    assert!(!plugins.remove_marketplace("mine").unwrap());
}

#[test]
fn sdk_22_agents_and_servers_of_a_plugin_have_its_name() {
    let world = World::new();
    let source = world.source();
    world.put(
        "source/agents/tester.md",
        "---\nname: tester\ndescription: Tests\ntools: Bash\npermissionMode: acceptEdits\nmcpServers: {x: {command: y}}\n---\nTest it.\n",
    );
    world.put("source/agents/bad.md", "no header");
    world.put(
        "source/.mcp.json",
        r#"{"mcpServers": {"docs": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["-v"]}, "bad": 7}}"#,
    );
    let mut plugins = world.load();
    plugins.install(&source, PluginScope::User).unwrap();
    let reader = ContextReader::new(&world.places);
    let trust = crate::TrustStore::load(&world.places);
    let agents = |plugins: &Plugins| {
        crate::agents::Agents::load(&reader, &trust, Vec::new())
            .with_plugins(&reader, plugins.active())
    };
    assert!(agents(&plugins).get("tools:tester").is_none(), "it is not enabled");
    plugins.enable("tools").unwrap();
    let found = agents(&plugins);
    let agent = found.get("tools:tester").unwrap();
    assert_eq!(
        (agent.prompt.as_str(), agent.tools.as_deref()),
        ("Test it.", Some(&["Bash".to_owned()][..]))
    );
    assert_eq!((&agent.permission_mode, &agent.mcp_servers), (&None, &None));
    assert!(
        found.report.problems.iter().any(|it| it.to_string().contains("bad.md")),
        "{:?}",
        found.report
    );
    let plugin = plugins.get("tools").unwrap();
    let (servers, problems) = plugin.mcp_servers();
    assert_eq!(servers.len(), 1);
    let (name, fields) = servers.get_index(0).unwrap();
    let command = format!("{}/serve", plugin.root.display());
    assert_eq!((name.as_str(), fields["command"].as_str()), ("plugin_tools_docs", Some(&*command)));
    assert!(problems[0].contains("`bad`"), "{problems:?}");
    let requests = plugin.requests();
    let starts = format!("starts the MCP server `plugin_tools_docs`: {command} -v");
    assert!(requests.contains(&starts), "{requests:?}");
    assert!(requests.iter().any(|request| request.starts_with("adds agents")), "{requests:?}");
}

#[test]
fn sdk_22_settings_turn_plugins_off_and_cannot_turn_them_on() {
    let world = World::new();
    let mut plugins = world.load();
    let origin = PluginOrigin { marketplace: Some("mine".to_owned()), ..PluginOrigin::default() };
    plugins.install_from(&world.source(), PluginScope::User, origin).unwrap();
    let on = |id: &str, on: bool| [(id.to_owned(), on)].into_iter().collect();
    plugins.apply_settings(&on("tools@mine", true), &IndexMap::new());
    assert!(plugins.active().next().is_none());
    assert!(plugins.notes[0].contains("robota plugin enable tools"), "{:?}", plugins.notes);
    plugins.enable("tools").unwrap();
    plugins.apply_settings(&on("tools@other", false), &IndexMap::new());
    assert_eq!(plugins.active().count(), 1);
    plugins.apply_settings(&on("tools@mine", false), &IndexMap::new());
    assert_eq!(plugins.get("tools").unwrap().state, PluginState::TurnedOff);
    let mut none = World::new().load();
    none.apply_settings(&on("far@mine", true), &IndexMap::new());
    assert!(none.notes[0].contains("robota plugin install far@mine"), "{:?}", none.notes);
}

#[test]
fn sdk_22_a_plugin_of_a_marketplace_has_the_name_that_is_listed() {
    let world = World::new();
    let origin = |name: &str| PluginOrigin {
        marketplace: Some("mine".to_owned()),
        name: Some(name.to_owned()),
        ..PluginOrigin::default()
    };
    let source = world.source();
    let mut plugins = world.load();
    let error = plugins.install_from(&source, PluginScope::User, origin("other"));
    assert!(error.unwrap_err().to_string().contains("lists it as `other`"));
    let bare = world.put("bare/commands/x.md", "X").parent().unwrap().parent().unwrap().to_owned();
    let plugin = plugins.install_from(&bare, PluginScope::User, origin("named")).unwrap();
    assert_eq!(plugin.id(), "named@mine");
}

#[test]
fn sdk_22_addresses_of_repositories() {
    for (text, url) in [
        ("https://example.com/a.git", "https://example.com/a.git"),
        ("ssh://git@example.com/a", "ssh://git@example.com/a"),
        ("git@example.com:a/b.git", "git@example.com:a/b.git"),
        ("file:///srv/a", "file:///srv/a"),
        ("ada/tools", "https://github.com/ada/tools.git"),
    ] {
        assert_eq!(GitSource::parse(text).map(|it| it.url).as_deref(), Some(url), "{text}");
    }
    for text in [
        "http://example.com/a",
        "git://example.com/a",
        "ext::sh -c id",
        "-u/x",
        "--upload-pack=x",
        "ssh://-oProxyCommand=x/a",
        "git@-oProxyCommand=x:a",
        "https://example.com/a#--x",
        "https://example.com/a b",
        "tools@market",
        "tools",
        "./a/b",
        "",
    ] {
        assert_eq!(GitSource::parse(text), None, "{text}");
    }
    let source = |value: serde_json::Value| GitSource::from_json(value.as_object().unwrap());
    let sha = "a".repeat(40);
    let found = source(
        serde_json::json!({"source": "git-subdir", "url": "https://x.y/z", "path": "p/q", "sha": sha}),
    );
    assert_eq!(found.unwrap().commit, Some(sha));
    for bad in [
        serde_json::json!({"source": "git-subdir", "url": "https://x.y/z", "path": "../q"}),
        serde_json::json!({"source": "url", "url": "https://x.y/z", "sha": "HEAD"}),
        serde_json::json!({"source": "npm", "package": "x"}),
        serde_json::json!({"source": "github", "repo": "https://x.y/z"}),
    ] {
        assert_eq!(source(bad.clone()), None, "{bad}");
    }
}

#[test]
fn sdk_22_options_of_the_user_reach_hooks_servers_and_skills() {
    let world = World::new();
    world.put(
        "source/plugin.json",
        r#"{"name": "tools", "userConfig": {
            "region": {"type": "string", "title": "Region", "required": true},
            "token": {"type": "string", "sensitive": true},
            "tries": {"type": "number", "default": 3}}}"#,
    );
    world.put(
        "source/hooks/hooks.json",
        r#"{"hooks": {"Stop": [{"hooks": [
            {"type": "command", "command": "send ${user_config.region}"},
            {"type": "command", "command": "send", "args": ["${user_config.region}"]}]}]}}"#,
    );
    world.put(
        "source/.mcp.json",
        r#"{"mcpServers": {"docs": {"command": "serve", "env": {"T": "${user_config.token}"}}}}"#,
    );
    let text = "Use ${user_config.region}, ${user_config.token}, ${CLAUDE_PLUGIN_ROOT}/run.sh\n";
    world.put("source/skills/deploy/SKILL.md", text);
    let mut plugins = world.load();
    plugins.install(&world.dir.path().join("source"), PluginScope::User).unwrap();
    plugins.enable("tools").unwrap();
    let configure = |value: Value| {
        let mut plugins = world.load();
        let config = serde_json::from_value(value).unwrap();
        plugins.apply_settings(&IndexMap::new(), &config);
        plugins
    };
    let missing = configure(serde_json::json!({}));
    assert_eq!(missing.get("tools").unwrap().state, PluginState::NotConfigured);
    assert!(missing.problems[0].contains("`region` (Region)"), "{:?}", missing.problems);
    let wrong = configure(serde_json::json!({"tools": {"options": {"region": 7}}}));
    assert!(wrong.active().next().is_none() && wrong.problems[0].contains("the type string"));

    let options = serde_json::json!({"region": "eu'; rm -rf ~ #", "token": "hunter22"});
    let plugins = configure(serde_json::json!({"tools": {"options": options}}));
    let plugin = plugins.active().next().unwrap();
    let (hooks, problems) = plugin.hooks();
    assert!(problems.is_empty(), "{problems:?}");
    let command = |at: usize| match &hooks[0].1[0].hooks[at] {
        HookDefinition::Command(command) => command.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(command(0).command, "send ${CLAUDE_PLUGIN_OPTION_REGION}");
    assert_eq!(command(0).variables["CLAUDE_PLUGIN_OPTION_REGION"], "eu'; rm -rf ~ #");
    assert_eq!(command(0).variables["CLAUDE_PLUGIN_OPTION_TRIES"], "3");
    assert_eq!(command(1).args.unwrap(), ["eu'; rm -rf ~ #"]);
    assert_eq!(plugin.mcp_servers().0[0]["env"]["T"], "hunter22");
    assert_eq!(plugin.secret_options().collect::<Vec<_>>(), ["hunter22"]);
    let reader = ContextReader::new(&world.places);
    let skills = crate::skills::Skills::find(&reader).with_plugins(plugins.active());
    let body = skills.open("tools:deploy", &crate::TrustStore::load(&world.places)).unwrap();
    let parts = body.expand(&crate::skills::SkillInvocation::default()).unwrap();
    let text = format!("{parts:?}");
    assert!(text.contains("Use eu'") && text.contains("tools/run.sh"), "{text}");
    assert!(text.contains("${user_config.token}"), "no secret in a text for the model: {text}");
}

#[test]
fn sdk_22_a_plugin_has_a_folder_for_its_data() {
    let world = World::new();
    let source = world.source();
    world.put(
        "source/hooks/hooks.json",
        r#"{"hooks": {"Stop": [{"hooks": [
            {"type": "command", "command": "count", "args": ["${CLAUDE_PLUGIN_DATA}/turns"]}]}]}}"#,
    );
    let mut plugins = world.load();
    plugins.install(&source, PluginScope::User).unwrap();
    plugins.enable("tools").unwrap();
    let plugin = plugins.active().next().unwrap();
    let HookDefinition::Command(command) = plugin.hooks().0[0].1[0].hooks[0].clone() else {
        panic!("it is a command");
    };
    let data = PathBuf::from(&command.variables["CLAUDE_PLUGIN_DATA"]);
    assert_eq!(command.args.unwrap(), [data.join("turns").display().to_string()]);
    assert!(data.ends_with("plugins/.data/tools") && !data.exists(), "{}", data.display());
    plugin.create_data().unwrap();
    std::fs::write(data.join("turns"), "1").unwrap();
    plugins.install(&source, PluginScope::User).unwrap();
    assert!(data.join("turns").exists(), "an update keeps it");
}

#[test]
fn sdk_22_a_plugin_adds_output_styles_and_programs() {
    let world = World::new();
    let source = world.source();
    world.put("source/output-styles/short.md", "---\nname: Short\n---\nOne line.\n");
    world.put("source/bin/tidy", "#!/bin/sh\n");
    let mut plugins = world.load();
    plugins.install(&source, PluginScope::User).unwrap();
    plugins.enable("tools").unwrap();
    let plugin = plugins.active().next().unwrap();
    assert_eq!(plugin.bin(), Some(plugin.root.join("bin")));
    let requests = plugin.requests();
    assert!(requests.iter().any(|it| it.contains("output-styles")), "{requests:?}");
    assert!(requests.iter().any(|it| it.contains("`bin`")), "{requests:?}");
    let reader = ContextReader::new(&world.places);
    let styles = |plugins: &Plugins| {
        crate::output_styles::OutputStyles::load(&reader).with_plugins(&reader, plugins.active())
    };
    let found = styles(&plugins);
    assert_eq!(found.get("tools:Short").unwrap().text, "One line.\n");
    assert!(found.get("Short").is_none() && found.forced().is_none());
    let forced = "---\nname: Loud\nforce-for-plugin: true\n---\nLoud.\n";
    world.put("source/output-styles/loud.md", forced);
    plugins.install(&source, PluginScope::User).unwrap();
    assert!(styles(&plugins).forced().is_none(), "it is not enabled");
    plugins.enable("tools").unwrap();
    assert_eq!(styles(&plugins).forced().unwrap().name, "tools:Loud");
}

#[test]
fn sdk_22_a_folder_among_the_users_skills_is_a_plugin() {
    let world = World::new();
    let manifest = r#"{"name": "kit", "description": "A kit."}"#;
    world.put("home/.claude/skills/kit-folder/.claude-plugin/plugin.json", manifest);
    world.put("home/.claude/skills/kit-folder/SKILL.md", "---\ndescription: Own\n---\nOwn.\n");
    world.put("home/.claude/skills/kit-folder/skills/lint/SKILL.md", "Lint it.\n");
    world.put("home/.claude/skills/kit-folder/commands/build.md", "Build it.\n");
    world.put("home/.claude/skills/kit-folder/hooks/hooks.json", HOOKS);
    world.put("home/.claude/skills/plain/SKILL.md", "Plain.\n");
    // Not the file that makes a folder with a skill a plugin.
    world.put("home/.claude/skills/plain/plugin.json", r#"{"name": "plain"}"#);
    let plugins = world.load();
    assert_eq!((&plugins.problems[..], &plugins.notes[..]), (&[][..], &[][..]));
    // An agent that works in the target of a link could change what runs.
    world.source();
    let link = world.dir.path().join("home/.claude/skills/linked");
    std::os::unix::fs::symlink(world.dir.path().join("source"), link).unwrap();
    let plugins = world.load();
    assert!(plugins.problems.concat().contains("skills/linked is not used because it is a link"));
    let ids: Vec<_> = plugins.active().map(InstalledPlugin::id).collect();
    assert_eq!(ids, ["kit@skills-dir"]);
    let kit = plugins.get("kit").unwrap();
    assert!(kit.is_in_skills_folder() && kit.hooks().0.len() == 1);
    let skills = crate::skills::Skills::find(&ContextReader::new(&world.places))
        .with_plugins(plugins.active());
    for name in ["kit:lint", "kit:build", "kit-folder", "plain"] {
        assert!(skills.get(name).is_some(), "{name}");
    }
    // Its own file is the skill of the folder, once.
    assert!(skills.get("kit:kit").is_none() && skills.get("kit:kit-folder").is_none());
    assert_eq!(skills.get("kit-folder").unwrap().description.as_deref(), Some("Own"));
    // Only the settings turn it off, and this program never deletes it.
    let mut plugins = world.load();
    plugins.enable("kit").unwrap();
    for refused in [plugins.disable("kit"), plugins.remove("kit")] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("a folder among your skills"), "{refused}");
    }
    let off = IndexMap::from_iter([("kit@skills-dir".to_owned(), false)]);
    plugins.apply_settings(&off, &IndexMap::new());
    assert_eq!(plugins.get("kit").unwrap().state, PluginState::TurnedOff);
    // Without the files of the user there is none.
    let project = Some(vec![crate::SettingSource::Project]);
    let places = Places { sources: project, ..world.places };
    assert_eq!(Plugins::load(&places).iter().count(), 0);
}

const HOOKS: &str = r#"{"description": "d", "modules": ["x.ts"],
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;

#[test]
fn sdk_22_a_plugin_among_the_skills_of_a_checkout_waits_for_the_user() {
    let world = World::new();
    let folder = "project/.claude/skills/kit";
    world.put(&format!("{folder}/.claude-plugin/plugin.json"), r#"{"name": "kit"}"#);
    world.put(&format!("{folder}/hooks/hooks.json"), HOOKS);
    world.put("project/.git/HEAD", "");
    // A link of a checkout is not followed, and a manifest that cannot be read is reported.
    std::os::unix::fs::symlink(
        "../../../source",
        world.dir.path().join("project/.claude/skills/l"),
    )
    .unwrap();
    world.source();
    world.put("project/.claude/skills/bad/.claude-plugin/plugin.json", "{");
    let mut plugins = world.load();
    assert_eq!(plugins.active().count(), 0);
    assert!(plugins.notes[0].contains("not enabled: `kit`"), "{:?}", plugins.notes);
    assert_eq!(plugins.problems.len(), 1, "{:?}", plugins.problems);
    assert_eq!(plugins.get("bad").unwrap().state, PluginState::Broken);
    // The settings of a checkout cannot enable it either.
    let on = IndexMap::from_iter([("kit@skills-dir".to_owned(), true)]);
    plugins.apply_settings(&on, &IndexMap::new());
    assert_eq!(plugins.active().count(), 0);
    plugins.enable("kit").unwrap();
    assert!(plugins.notes.is_empty(), "{:?}", plugins.notes);
    let below = Places::new(world.dir.path().join("home"), world.dir.path().join("project/sub"));
    std::fs::create_dir(&below.cwd).unwrap();
    for places in [&world.places, &below] {
        let ids: Vec<_> = Plugins::load(places).active().map(InstalledPlugin::id).collect();
        assert_eq!(ids, ["kit@skills-dir"]);
    }
    let (_, problems) = plugins.get("kit").unwrap().hooks();
    assert_eq!(problems, ["`modules` of its hooks are not run; its other hooks are"]);
    // A later version of the checkout has to be enabled again.
    world.put(&format!("{folder}/bin/tool"), "#!/bin/sh\n");
    assert_eq!(world.load().get("kit").unwrap().state, PluginState::Changed);
    plugins.enable("kit").unwrap();
    plugins.disable("kit").unwrap();
    assert_eq!(world.load().get("kit").unwrap().state, PluginState::Disabled);
}

#[test]
fn sdk_22_one_name_is_one_plugin() {
    let world = World::new();
    let mut plugins = world.load();
    plugins.install(&world.source(), PluginScope::User).unwrap();
    plugins.enable("tools").unwrap();
    for folder in ["home/.claude/skills/a", "project/.claude/skills/b"] {
        world.put(&format!("{folder}/.claude-plugin/plugin.json"), r#"{"name": "tools"}"#);
    }
    let loaded = world.load();
    let roots: Vec<_> = loaded.active().map(|plugin| plugin.root.clone()).collect();
    assert_eq!(
        roots,
        [world.dir.path().canonicalize().unwrap().join("home/.robota/plugins/tools")]
    );
    assert_eq!(loaded.problems.len(), 2, "{:?}", loaded.problems);
    // A marketplace cannot pass its plugins off as such folders.
    world.put("market/.claude-plugin/marketplace.json", r#"{"name": "skills-dir", "plugins": []}"#);
    let refused = world.load().add_marketplace(&world.dir.path().join("market")).unwrap_err();
    assert!(refused.to_string().contains("skills-dir"), "{refused}");
}

#[test]
fn sdk_22_a_plugin_can_be_one_skill_and_name_single_skills() {
    let world = World::new();
    world.put("source/.claude-plugin/plugin.json", r#"{"name": "solo"}"#);
    world.put("source/SKILL.md", "---\ndescription: Alone\n---\nDo it.\n");
    let mut plugins = world.load();
    plugins.use_folder(&world.dir.path().join("source")).unwrap();
    world.put(
        "many/.claude-plugin/plugin.json",
        r#"{"name": "many", "skills": ["./extra/one", "./extra/all"]}"#,
    );
    // The path of a skill itself, and the path of a folder with skills.
    world.put("many/extra/one/SKILL.md", "One.\n");
    world.put("many/extra/one/scripts/SKILL.md", "Not a skill: a file of one.\n");
    world.put("many/extra/all/two/SKILL.md", "Two.\n");
    world.put("many/SKILL.md", "Not a skill: there are others.\n");
    world.put("many/skills/three/SKILL.md", "Three.\n");
    plugins.use_folder(&world.dir.path().join("many")).unwrap();
    let skills = crate::skills::Skills::find(&ContextReader::new(&world.places))
        .with_plugins(plugins.active());
    let names: Vec<_> = skills.all().map(|skill| skill.name.clone()).collect();
    assert_eq!(names, ["solo:solo", "many:three", "many:one", "many:two"]);
    let trust = crate::TrustStore::load(&world.places);
    assert!(skills.open("solo:solo", &trust).is_ok());
}
