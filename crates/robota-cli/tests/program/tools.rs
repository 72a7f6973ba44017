//! Tools through the real program, with a mock model service and a mock web server.

use std::collections::BTreeSet;

use robota_testkit::mock::{MockServer, Reply, Scenario};
use robota_testkit::{Part, requires};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::home::{Home, stderr, stdout};

const KEY: &str = "sk-test-0123456789abcdef";

/// Returns a home whose project has files to search.
fn home_with_files() -> Home {
    let home = Home::new();
    home.write("project/notes.txt", "hello world\n").write("project/secret.txt", "hello, spy\n");
    std::fs::create_dir(home.path("project/src")).unwrap();
    home
}

impl Home {
    /// Runs a session in which the model makes these calls, one per answer. Returns its id and its
    /// events.
    async fn play(
        &self,
        calls: &[(&str, Value, &str)],
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> (String, Vec<Value>) {
        let mut scenario = Scenario::default();
        for (tool, input, _) in calls {
            scenario = scenario.then(Reply::new().tool(*tool, input.clone()));
        }
        let mock = MockServer::start(scenario.then("All done.")).await.unwrap();
        let origin = mock.origin();
        let own = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
        let args = [&["-p", "Try everything.", "--output-format", "json"], args].concat();
        let output = self.robota(&args, &[&own, variables].concat()).await;
        assert_eq!(output.status.code(), Some(0), "{} {}", stdout(&output), stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["result"], "All done.", "{result}");
        let id = result["session_id"].as_str().unwrap().to_owned();
        let events = self.robota(&["sessions", "show", &id, "--events"], &[]).await;
        let events: Vec<Value> =
            stdout(&events).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (id, events)
    }
}

/// Returns the data of all events of a type.
fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).map(|event| &event["data"]).collect()
}

fn text(outcome: &Value) -> String {
    let blocks = outcome["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

/// Starts a web server with one page and one search result. Returns its origin.
async fn web() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let (kind, body) = if request.starts_with(b"GET /search?q=robota") {
                    let hit =
                        json!({"title": "Found", "url": "https://example.org/", "content": "It."});
                    ("application/json", json!({"results": [hit]}).to_string())
                } else {
                    ("text/html", "<h1>Manual</h1><p>Turn it <b>on</b>.</p>".to_owned())
                };
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    origin
}

#[tokio::test]
async fn tool_01_one_session_uses_every_tool_and_its_journal_is_valid() {
    let home = home_with_files();
    let web = web().await;
    let project = home.path("project").display().to_string();
    let edit = |file: &str, old: &str, new: &str| json!({"file_path": file, "old_string": old, "new_string": new});
    let bash = |command: &str| json!({"command": command});
    let inside = format!("{project}/src");
    let calls = [
        ("TodoWrite", json!({"todos": [{"content": "Look", "status": "in_progress"}]}), "Look"),
        ("Glob", json!({"pattern": "*.txt"}), "notes.txt"),
        ("Grep", json!({"pattern": "hello"}), "notes.txt"),
        ("Read", json!({"file_path": "notes.txt"}), "     1\thello world"),
        ("Edit", edit("notes.txt", "world", "there"), "+hello there"),
        ("Write", json!({"file_path": "src/new.txt", "content": "one\ntwo\n"}), "src/new.txt"),
        (
            "MultiEdit",
            json!({"edits": [edit("notes.txt", "there", "you"), edit("src/new.txt", "two", "three")]}),
            "+three",
        ),
        ("Bash", bash("cd src && cat new.txt"), "three"),
        ("Bash", bash("pwd; mkfifo ready"), &inside),
        (
            "Bash",
            json!({"command": "echo listening; echo go > ready; cat", "run_in_background": true}),
            "bash_1",
        ),
        ("Bash", bash("cat ready"), "go"),
        ("BashOutput", json!({"bash_id": "bash_1"}), "[still running]"),
        ("BashInput", json!({"bash_id": "bash_1", "input": "typed\n"}), ""),
        ("KillShell", json!({"bash_id": "bash_1"}), "ended"),
        ("AskUserQuestion", json!({"questions": [{"question": "Which?"}]}), "no tool named"),
        ("WebFetch", json!({"url": format!("{web}/manual")}), "# Manual"),
        ("WebFetch", json!({"url": web.replace("127.0.0.1", "localhost")}), ""),
        ("WebSearch", json!({"query": "robota"}), "1. Found"),
    ];
    let rules = "Bash,BashInput,WebSearch,WebFetch(domain:127.0.0.1)";
    let args = ["--permission-mode", "acceptEdits", "--allowedTools", rules];
    let args = [&args[..], &["--disallowedTools", "Read(secret.txt)"]].concat();
    let (id, events) = home.play(&calls, &args, &[("SEARXNG_URL", &web)]).await;

    let finished = of(&events, "tool_finished");
    assert_eq!(finished.len(), calls.len());
    for ((tool, input, expected), data) in calls.iter().zip(&finished) {
        let result = text(&data["outcome"]);
        assert!(result.contains(expected), "{tool} {input}: {result}");
    }
    // Searches do not name files that a rule denies.
    assert!(!finished.iter().any(|data| data.to_string().contains("secret.txt")), "{finished:?}");
    // The output of the background command is in one of these results, depending on timing.
    let background: String = finished[11..14].iter().map(|data| text(&data["outcome"])).collect();
    assert!(background.contains("listening"), "{background}");
    assert_eq!(finished[16]["outcome"]["ok"], false, "no rule names that host");
    // Every offered tool except ReadOutput was used.
    let requested = of(&events, "tool_called");
    let used: BTreeSet<_> =
        requested.iter().filter_map(|d| d["tool_use"]["name"].as_str()).collect();
    assert_eq!(used.len(), 14, "{used:?}");
    // Processes are recorded, and the pre-image of each changed file is stored.
    assert_eq!(of(&events, "process_started").len(), 4);
    assert!(of(&events, "process_started").iter().all(|data| data["pid"].as_u64() > Some(1)));
    assert_eq!(std::fs::read_to_string(home.path("project/notes.txt")).unwrap(), "hello you\n");
    for before in ["hello world\n", "hello there\n", "one\ntwo\n"] {
        let blob = robota_core::message::BlobRef::of(before.as_bytes()).sha256;
        assert!(exists_below(&home.path("project/.robota/sessions"), &blob), "{before:?}");
    }

    let valid = home.robota(&["sessions", "validate", &id], &[]).await;
    assert_eq!(valid.status.code(), Some(0), "{} {}", stdout(&valid), stderr(&valid));
    let shown = home.robota(&["sessions", "show", &id], &[]).await;
    let shown = stdout(&shown).replace(&web, "http://WEB").replace(&project, "/PROJECT");
    let shown = shown.replace(&web.replace("127.0.0.1", "localhost"), "http://LOCAL");
    let mut filters = insta::Settings::clone_current();
    filters.add_filter(&id, "ID");
    filters.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME");
    filters.add_filter(r"\d+ ms|\d+\.\d s", "TOOK");
    filters.add_filter(r"\d+ events, last \d+-\d+", "N events, last CURSOR");
    filters.bind(|| insta::assert_snapshot!("every_tool", shown));
}

/// Pre-images of files belong to the session: they are exported and imported with it, and deleted with
/// the last session that refers to them. A pre-image that holds a secret is not exported.
#[tokio::test]
async fn sdk_17_pre_images_are_exported_imported_and_deleted_with_the_session() {
    let home = home_with_files();
    std::fs::write(home.path("project/.env"), format!("KEY={KEY}\n")).unwrap();
    let edit =
        |file: &str, old: &str| json!({"file_path": file, "old_string": old, "new_string": "it"});
    let calls = [
        ("Read", json!({"file_path": "notes.txt"}), ""),
        ("Edit", edit("notes.txt", "world"), ""),
        ("Read", json!({"file_path": ".env"}), ""),
        ("Edit", edit(".env", "KEY="), ""),
        ("Write", json!({"file_path": "made.txt", "content": "made\n"}), ""),
    ];
    let mode = ["--permission-mode", "bypassPermissions"];
    let (id, events) = home.play(&calls, &mode, &[]).await;
    let changing = of(&events, "files_changing");
    let called = of(&events, "tool_called");
    assert_eq!(changing.len(), 3);
    assert_eq!(changing[0]["call"], called[1]["tool_use"]["call"]);
    assert_eq!(changing[0]["files"][0]["mode"].as_u64().unwrap() & 0o600, 0o600);
    let made = &changing[2]["files"][0];
    assert_eq!(made["path"], home.path("project/made.txt").display().to_string());
    assert!(made.get("before").is_none(), "there was none: {made}");

    let key = [("ANTHROPIC_API_KEY", KEY)];
    let exported = home.robota(&["sessions", "export", &id, "-o", "kept.jsonl"], &key).await;
    assert_eq!(exported.status.code(), Some(0), "{}", stderr(&exported));
    assert!(stderr(&exported).contains("holds a secret"), "{}", stderr(&exported));
    let was = robota_core::message::BlobRef::of(b"hello world\n").sha256;
    let kept = home.path(&format!("project/kept.jsonl.blobs/{was}"));
    assert_eq!(std::fs::read(kept).unwrap(), b"hello world\n");
    assert_eq!(home.path("project/kept.jsonl.blobs").read_dir().unwrap().count(), 1);
    let imported = home.robota(&["sessions", "import", "kept.jsonl", "--id", "copy"], &[]).await;
    assert_eq!(imported.status.code(), Some(0), "{}", stderr(&imported));
    let blobs = home.path("project/.robota/sessions/blobs");
    let secret = robota_core::message::BlobRef::of(format!("KEY={KEY}\n").as_bytes()).sha256;
    assert!(exists_below(&blobs, &was) && exists_below(&blobs, &secret));
    for (session, left) in [(id.as_str(), true), ("copy", false)] {
        let deleted = home.robota(&["sessions", "delete", session, "--yes"], &[]).await;
        assert_eq!(deleted.status.code(), Some(0), "{}", stderr(&deleted));
        assert_eq!(exists_below(&blobs, &was), left, "{session}");
        assert!(!exists_below(&blobs, &secret));
    }
}

#[tokio::test]
async fn sdk_17_the_program_lists_compares_and_restores_checkpoints() {
    let home = home_with_files();
    let calls = [
        ("Write", json!({"file_path": "made/new.txt", "content": "made\n"}), ""),
        ("Bash", json!({"command": "echo changed > notes.txt; chmod 600 notes.txt"}), ""),
    ];
    let mode = ["--permission-mode", "bypassPermissions"];
    let (id, _) = home.play(&calls, &mode, &[]).await;
    let notes = home.path("project/notes.txt");
    let rewind = async |args: &[&str]| {
        home.robota(&[&["sessions", "rewind", &id], args].concat(), &[]).await
    };
    let listed = rewind(&["--json"]).await;
    let list: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list[0]["files"].as_array().unwrap().len(), 2, "{list}");
    let text = String::from_utf8(rewind(&[]).await.stdout).unwrap();
    assert!(text.contains("files: 1 created, 1 modified"), "{text}");

    let preview = rewind(&["--to", "1", "--diff"]).await;
    let text = String::from_utf8(preview.stdout).unwrap();
    assert!(text.contains("-changed\n+hello world\n"), "{text}");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "changed\n");

    std::fs::write(home.path("project/made/new.txt"), "by the user\n").unwrap();
    let restored = rewind(&["--to", "1", "--code"]).await;
    assert_eq!(restored.status.code(), Some(1), "a conflict: {}", stderr(&restored));
    let text = String::from_utf8(restored.stdout).unwrap();
    assert!(text.contains("! made/new.txt: not restored, something else"), "{text}");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "hello world\n");
    let restored = rewind(&["--to", "1", "--overwrite", "--json"]).await;
    assert_eq!(restored.status.code(), Some(0), "{}", stderr(&restored));
    assert!(!home.path("project/made").exists());
    let report: Value = serde_json::from_slice(&restored.stdout).unwrap();
    assert_eq!(report["conversation"], true);
    let undone = rewind(&["--to", report["undo"].as_str().unwrap()]).await;
    assert_eq!(undone.status.code(), Some(0), "{}", stderr(&undone));
    let user = std::fs::read_to_string(home.path("project/made/new.txt")).unwrap();
    assert_eq!(user, "by the user\n");
    let unknown = rewind(&["--to", "99"]).await;
    assert_eq!(unknown.status.code(), Some(1), "{}", stderr(&unknown));
    let valid = home.robota(&["sessions", "validate", &id], &[]).await;
    assert_eq!(valid.status.code(), Some(0), "{}", stderr(&valid));
}

/// Returns whether the path of a file below a folder contains the name.
fn exists_below(folder: &std::path::Path, name: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        path.to_string_lossy().contains(name) || (path.is_dir() && exists_below(&path, name))
    })
}

/// The gate judges a command in the folder that an earlier `cd` changed to.
#[tokio::test]
async fn core_21_a_rule_about_a_folder_applies_after_cd() {
    let home = home_with_files();
    std::fs::write(home.path("project/src/precious.txt"), "keep\n").unwrap();
    let calls = [
        ("Bash", json!({"command": "cd src"}), ""),
        ("Bash", json!({"command": "rm precious.txt"}), ""),
    ];
    let args = ["--allowedTools", "Bash", "--disallowedTools", "Edit(src/**)"];
    let (_, events) = home.play(&calls, &args, &[]).await;
    let decided = of(&events, "permission_decided");
    assert_eq!((&decided[0]["verdict"], &decided[1]["verdict"]), (&json!("allow"), &json!("deny")));
    assert!(home.path("project/src/precious.txt").exists());
}

#[tokio::test]
async fn a_requested_sandbox_is_enforced_or_the_run_fails() {
    let home = home_with_files();
    let doctor = home.robota(&["doctor", "--json"], &[]).await;
    let report: Value = serde_json::from_str(&stdout(&doctor)).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "sandbox").unwrap();
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("off ("), "{message}");
    let present = (!message.contains("not available")).then_some(());
    if requires(Part::Sandbox, present).is_none() {
        let args = ["-p", "x", "--provider", "scripted:none", "--sandbox", "read-only"];
        let refused = home.robota(&args, &[]).await;
        assert_ne!(refused.status.code(), Some(0));
        return;
    }
    // Commands may write to temporary folders, so the outside file must be elsewhere.
    let elsewhere = tempfile::tempdir_in(folder_outside_tmp()).unwrap();
    let outside = elsewhere.path().join("outside.txt");
    let escape = format!("echo x > {}; echo x > inside.txt; true", outside.display());
    let calls = [("Bash", json!({"command": escape}), "")];
    // The gate allows everything, so only the sandbox can refuse.
    let allow = ["--permission-mode", "bypassPermissions", "--sandbox"];
    let (_, events) = home.play(&calls, &[&allow[..], &["read-only"]].concat(), &[]).await;
    let ran = text(&of(&events, "tool_finished")[0]["outcome"]);
    assert!(ran.contains("outside.txt"), "the command ran, and its write was refused: {ran}");
    assert!(!outside.exists() && !home.path("project/inside.txt").exists());
    home.play(&calls, &[&allow[..], &["workspace-write"]].concat(), &[]).await;
    assert!(!outside.exists() && home.path("project/inside.txt").exists());
    let settings = r#"{"sandbox": {"enabled": true}}"#;
    std::fs::write(home.path("home/.robota/settings.json"), settings).unwrap();
    let doctor = home.robota(&["doctor"], &[]).await;
    assert!(stdout(&doctor).contains("workspace-write, network off, via "), "{}", stdout(&doctor));
    assert!(stdout(&doctor).contains("not enforced: "), "{}", stdout(&doctor));
    home.play(&calls, &[&allow[..], &["off"]].concat(), &[]).await;
    assert!(outside.exists());
}

/// Returns a folder that this user can write to and that is not below `/tmp`, which every sandbox
/// leaves writable. The target folder is used unless the clone itself is below `/tmp`.
pub(crate) fn folder_outside_tmp() -> std::path::PathBuf {
    let tmp = std::fs::canonicalize("/tmp").unwrap_or_else(|_| "/tmp".into());
    let candidates = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp", "/dev/shm"];
    let mut folders = candidates.iter().filter_map(|dir| std::fs::canonicalize(dir).ok());
    let folder = folders.find(|dir| !dir.starts_with(&tmp) && tempfile::tempdir_in(dir).is_ok());
    folder.expect("the target folder, /var/tmp or /dev/shm is writable and not below /tmp")
}

/// The sandbox settings apply to commands and to the file tools; unsupported ones are reported.
#[tokio::test]
async fn sandbox_settings_are_enforced_or_reported() {
    let home = Home::new();
    std::fs::create_dir(home.path("project/.secrets")).unwrap();
    std::fs::write(home.path("project/.secrets/id"), "s3cret\n").unwrap();
    std::fs::write(home.path("project/.secrets/id.pub"), "known\n").unwrap();
    let settings = json!({"sandbox": {
        "enabled": true,
        "failIfUnavailable": true,
        "filesystem": {
            "denyWrite": ["src"], "denyRead": [".secrets"], "allowRead": [".secrets/id.pub"],
        },
        "credentials": {"envVars": [{"name": "DEPLOY_NAME", "mode": "deny"}]},
        "network": {"allowLocalBinding": true},
    }});
    std::fs::write(home.path("home/.robota/settings.json"), settings.to_string()).unwrap();
    let doctor = home.robota(&["doctor", "--json"], &[]).await;
    let present = stdout(&doctor).contains("via bubblewrap").then_some(());
    if requires(Part::Bubblewrap, present).is_none() {
        return;
    }
    assert!(stdout(&doctor).contains("sandbox.network.allowLocalBinding"), "{}", stdout(&doctor));
    assert!(!stdout(&doctor).contains("denyWrite"), "{}", stdout(&doctor));
    let command =
        "echo x > src/f; echo x > made; cat .secrets/id .secrets/id.pub; echo \"[$DEPLOY_NAME]\"";
    let calls = [
        ("Bash", json!({"command": command}), ""),
        ("Write", json!({"file_path": "src/f", "content": "x"}), ""),
        ("Write", json!({"file_path": "written", "content": "x"}), ""),
    ];
    let mode = ["--permission-mode", "bypassPermissions"];
    let (_, events) = home.play(&calls, &mode, &[("DEPLOY_NAME", "somebody")]).await;
    let finished = of(&events, "tool_finished");
    let output = text(&finished[0]["outcome"]);
    assert!(output.contains("known\n[]\n") && !output.contains("s3cret"), "{output}");
    assert_eq!(finished[1]["outcome"]["error_code"], "sandbox_denied");
    assert!(!home.path("project/src/f").exists());
    assert!(home.path("project/made").exists() && home.path("project/written").exists());
}

/// Runs git in the project.
async fn git(home: &Home, args: &[&str]) {
    let mut command = tokio::process::Command::new("git");
    command.args(args).current_dir(home.path("project")).env("HOME", home.path("home"));
    assert!(command.status().await.unwrap().success(), "{args:?}");
}

/// A command that runs without a question cannot write, even if it is not what it was judged to be:
/// here the repository names a program for git to run.
#[tokio::test]
async fn a_hostile_repository_has_no_effect_through_a_free_command() {
    let home = Home::new();
    let canary = home.path("home/canary");
    let evil = format!("touch {}", canary.display());
    git(&home, &["init", "-q", "."]).await;
    home.write("project/file", "one\n");
    git(&home, &["add", "."]).await;
    git(&home, &["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "m"]).await;
    home.write("project/file", "two\n").write("project/.gitattributes", "* filter=x diff=x\n");
    for key in ["core.fsmonitor", "filter.x.clean", "diff.x.textconv", "diff.external"] {
        git(&home, &["config", key, &evil]).await;
    }
    let commands = ["git status", "git diff", "git log -p -1"];
    let calls = commands.map(|command| ("Bash", json!({"command": command}), ""));
    for mode in ["plan", "default"] {
        let args = ["--permission-mode", mode, "--sandbox", "off"];
        home.play(&calls, &args, &[]).await;
        assert!(!canary.exists(), "{mode}");
    }
    let doctor = stdout(&home.robota(&["doctor"], &[]).await);
    assert!(doctor.contains("fence     commands that only read cannot write"), "{doctor}");
    let settings = r#"{"sandbox": {"readOnlyFence": false}}"#;
    home.write("home/.robota/settings.json", settings);
    let doctor = stdout(&home.robota(&["doctor"], &[]).await);
    assert!(doctor.contains("fence     off: a mistake in the proof"), "{doctor}");
}

/// In a sandbox commands can commit, but not change what decides what runs, nor can a project file
/// weaken the sandbox.
#[tokio::test]
async fn commands_in_the_sandbox_commit_but_change_no_hook_and_no_settings() {
    let home = Home::new();
    git(&home, &["init", "-q", "."]).await;
    home.write("project/.claude/settings.json", "{}").write("project/.robota/x", "x");
    home.write(
        "project/.claude/settings.json",
        r#"{"sandbox": {"filesystem": {"denyRead": ["./x"]}}}"#,
    );
    let settings = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true}}"#;
    home.write("home/.robota/settings.json", settings);
    let doctor = stdout(&home.robota(&["doctor"], &[]).await);
    let present = doctor.contains("via bubblewrap").then_some(());
    if requires(Part::Bubblewrap, present).is_none() {
        return;
    }
    let command = "echo a > a && git add a && git -c user.name=a -c user.email=b commit -qm m && \
        git log --format=%s; for f in .git/hooks/new .git/config .claude/settings.json .robota/x \
        .claude/new; do (echo evil > $f) 2> /dev/null && echo CHANGED $f; done; \
        mv .git .git2 2> /dev/null && echo MOVED; mv .claude c 2> /dev/null && echo MOVED; \
        unshare -Ur true 2> /dev/null && echo NAMESPACE; true";
    let calls = [("Bash", json!({"command": command}), "")];
    let (_, events) = home.play(&calls, &["--permission-mode", "bypassPermissions"], &[]).await;
    let output = text(&of(&events, "tool_finished")[0]["outcome"]);
    assert!(output.starts_with("m\n"), "{output}");
    for word in ["CHANGED", "MOVED", "NAMESPACE"] {
        assert!(!output.contains(word), "{output}");
    }
}
