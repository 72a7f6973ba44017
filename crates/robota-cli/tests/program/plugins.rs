//! Plugins through the program: installed from git, reviewed, enabled, used and updated.

use std::path::Path;
use std::process::Command;

use robota_testkit::fake_mcp;
use robota_testkit::mock::{MockServer, Scenario};
use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};

fn git(folder: &Path, args: &[&str]) -> String {
    let settings = [
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.com",
        "-c",
        "init.defaultBranch=main",
    ];
    let output =
        Command::new("git").current_dir(folder).args(settings).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output).trim().to_owned()
}

fn commit(folder: &Path) -> String {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "change"]);
    git(folder, &["rev-parse", "HEAD"])
}

/// Makes a repository with a plugin that has everything, and returns its address and commit.
fn repository(home: &Home) -> (String, String) {
    let server = fake_mcp::command("mcp::fake_server", "plain");
    home.write(
        "tools/.claude-plugin/plugin.json",
        r#"{"name": "tools", "version": "1.0", "prompt": "Use make."}"#,
    )
    .write("tools/skills/lint/SKILL.md", "---\ndescription: Lints\n---\nLint it.\n")
    .write("tools/commands/build.md", "Build it.\n")
    .write("tools/agents/tester.md", "---\nname: tester\ndescription: Tests\n---\nTest it.\n")
    .write(
        "tools/hooks/hooks.json",
        json!({"hooks": {"UserPromptSubmit": [
            {"hooks": [{"type": "command", "command": "touch hook-of-plugin # ${CLAUDE_PLUGIN_ROOT}"}]}]}}),
    )
    .write("tools/.mcp.json", json!({"mcpServers": {"docs": server}}));
    let folder = home.path("tools");
    git(&folder, &["init", "--quiet"]);
    let at = commit(&folder);
    (format!("file://{}", folder.display()), at)
}

/// Runs a prompt, and returns the first line and what the model got.
async fn prompt(home: &Home, text: &str) -> (Value, String) {
    let mock = MockServer::start(Scenario::reply("Done.")).await.unwrap();
    let origin = mock.origin();
    let variables =
        [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef")];
    let args = ["-p", text, "--output-format", "stream-json", "--verbose"];
    let output = home.robota(&args, &variables).await;
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let init = lines.into_iter().find(|line| line["subtype"] == "init").unwrap();
    (init, mock.calls()[0].json.to_string())
}

fn run(home: &Home, args: &[&str]) -> String {
    let output = home.command(&[&["plugin"], args].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

#[tokio::test]
async fn sdk_22_a_plugin_of_a_repository_is_used_after_the_user_enabled_it() {
    let home = Home::new();
    let (url, commit) = repository(&home);
    let shown = run(&home, &["add", &url]);
    assert!(shown.contains(&format!("pinned to commit {commit}")), "{shown}");
    for part in ["runs", "starts the MCP server `plugin_tools_docs`", "adds agents", "adds skills"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(home.path("home/.robota/plugins/tools/commands/build.md").is_file());
    let (init, request) = prompt(&home, "go").await;
    assert!(!init["agents"].to_string().contains("tools:tester"), "{init}");
    assert!(!init["slash_commands"].to_string().contains("tools:"), "{init}");
    assert!(!request.contains("Use make."), "{request}");
    assert!(!home.path("project/hook-of-plugin").exists());

    run(&home, &["enable", "tools", "--yes"]);
    let (init, request) = prompt(&home, "/tools:build").await;
    assert!(init["agents"].to_string().contains("tools:tester"), "{init}");
    for command in ["tools:build", "tools:lint"] {
        assert!(init["slash_commands"].to_string().contains(command), "{init}");
    }
    let servers = init["mcp_servers"].to_string();
    assert!(servers.contains("plugin_tools_docs"), "{servers}");
    assert!(request.contains("Build it.") && request.contains("Use make."), "{request}");
    assert!(home.path("project/hook-of-plugin").exists());

    home.write("home/.robota/settings.json", json!({"enabledPlugins": {"tools": false}}));
    let (init, request) = prompt(&home, "go").await;
    assert!(!init["agents"].to_string().contains("tools:tester"), "{init}");
    assert!(!request.contains("Use make."), "{request}");
    assert!(run(&home, &["list"]).contains("turned off by the settings"));
}

#[tokio::test]
async fn sdk_22_an_update_is_shown_and_installed_only_when_the_user_agrees() {
    let home = Home::new();
    let (url, _) = repository(&home);
    run(&home, &["install", &url]);
    run(&home, &["enable", "tools", "--yes"]);
    assert_eq!(run(&home, &["update"]), "tools is up to date.\n");
    home.write("tools/README.md", "Read it.\n");
    let first = commit(&home.path("tools"));
    let shown = run(&home, &["update", "tools", "--yes"]);
    assert!(shown.contains("adds README.md") && !shown.contains("new:"), "{shown}");
    home.write("tools/commands/build.md", "Build it twice.\n")
        .write(
            "tools/hooks/hooks.json",
            json!({"hooks": {"Stop": [
            {"hooks": [{"type": "command", "command": "touch owned"}]}]}}),
        )
        .write("tools/more.txt", "more");
    let second = commit(&home.path("tools"));
    let shown = run(&home, &["update", "tools"]);
    assert!(shown.contains(&format!("commit {} to {}", &first[..12], &second[..12])), "{shown}");
    for part in ["changes commands/build.md", "adds more.txt", "new: runs", "touch owned"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let hint = format!("robota plugin update tools --commit {second} --yes");
    assert!(shown.contains(&hint), "{shown}");
    let (_, request) = prompt(&home, "/tools:build").await;
    assert!(request.contains("Build it.") && !request.contains("twice"), "{request}");

    // A later commit is not what the user has seen.
    home.write("tools/commands/build.md", "Build it three times.\n");
    commit(&home.path("tools"));
    run(&home, &["update", "tools", "--commit", &second, "--yes"]);
    let (_, request) = prompt(&home, "/tools:build").await;
    assert!(request.contains("Build it twice."), "{request}");
    assert!(home.path("project/owned").exists());
}

#[test]
fn sdk_22_a_marketplace_of_a_repository_lists_plugins_of_others() {
    let home = Home::new();
    let (url, at) = repository(&home);
    home.write(
        "market/.claude-plugin/marketplace.json",
        json!({
        "name": "mine", "owner": {"name": "Ada"}, "plugins": [
            {"name": "tools", "source": {"source": "url", "url": url, "sha": at}},
            {"name": "local", "source": "./local"},
        ]}),
    )
    .write("market/local/commands/x.md", "X.\n");
    let market = home.path("market");
    git(&market, &["init", "--quiet"]);
    commit(&market);
    let address = format!("file://{}", market.display());
    home.write(
        "home/.robota/settings.json",
        json!({
            "enabledPlugins": {"local@mine": true},
            "extraKnownMarketplaces": {"named": {"source": {"source": "git", "url": address}}},
        }),
    );
    let listed = run(&home, &["marketplace", "list"]);
    assert!(listed.contains("robota plugin marketplace add named"), "{listed}");
    assert!(!listed.contains("No marketplace"), "{listed}");
    run(&home, &["marketplace", "add", "named"]);
    let listed = run(&home, &["marketplace", "list"]);
    assert!(listed.starts_with("mine: 2 plugins in "), "{listed}");
    let shown = run(&home, &["install", "tools@mine"]);
    assert!(shown.contains(&format!("pinned to commit {at}")), "{shown}");
    run(&home, &["install", "local@mine"]);
    let listed = run(&home, &["list"]);
    assert!(listed.contains("local@mine") && listed.contains("(user, disabled)"), "{listed}");

    home.write("market/.claude-plugin/marketplace.json", r#"{"name": "mine", "plugins": []}"#);
    commit(&market);
    assert!(run(&home, &["marketplace", "update"]).starts_with("mine: commit "));
    assert!(run(&home, &["marketplace", "list"]).starts_with("mine: 0 plugins"));
    assert_eq!(run(&home, &["marketplace", "update", "mine"]), "mine is up to date.\n");
    run(&home, &["marketplace", "remove", "mine"]);
    assert!(!home.path("home/.robota/plugins/.marketplaces/mine").exists());
}

#[test]
fn sdk_22_sources_that_cannot_be_used_are_refused() {
    let home = Home::new();
    home.write("link/plugin.json", r#"{"name": "link"}"#);
    std::os::unix::fs::symlink("/etc/passwd", home.path("link/file")).unwrap();
    let folder = home.path("link");
    git(&folder, &["init", "--quiet"]);
    commit(&folder);
    let linked = format!("file://{}", folder.display());
    let missing = format!("file://{}", home.path("nothing").display());
    for (source, problem) in [
        (&*linked, "link or no regular file"),
        (&*missing, "cannot fetch file://"),
        ("http://example.com/x.git", "is not a folder"),
        ("ext::sh -c id", "is not a folder"),
        ("x@nowhere", "there is no marketplace `nowhere`"),
    ] {
        let output = home.command(&["plugin", "add", source]).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{source}");
        assert!(stderr(&output).contains(problem), "{source}: {}", stderr(&output));
    }
    assert_eq!(run(&home, &["list"]), "No plugins are installed.\n");
    let none = "No marketplace is known. To add one: robota plugin marketplace add SOURCE\n";
    assert_eq!(run(&home, &["marketplace", "list"]), none);
    let none = "No plugin of the known marketplaces matches `x`.\n";
    assert_eq!(run(&home, &["marketplace", "search", "x"]), none);
}
