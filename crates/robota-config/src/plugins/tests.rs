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
    assert!(market.plugins[0].folder.is_some());
    assert!(market.plugins[1].folder.is_none() && market.plugins[2].folder.is_none());
    assert!(plugins.remove_marketplace("mine").unwrap());
    assert!(!plugins.remove_marketplace("mine").unwrap());
}
