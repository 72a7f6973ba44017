//! Folders that an approval adds to the workspace reach the sandbox of later commands.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use robota_testkit::{Part, requires};
use serde_json::{Value, json};

use crate::home::Home;
use crate::host::Host;
use crate::tools::folder_outside_tmp;

/// A run whose commands the host approves, in a sandbox.
struct Sandboxed {
    home: Home,
    host: Host,
    /// A folder outside of the sandbox.
    outside: tempfile::TempDir,
}

impl Sandboxed {
    /// Starts a run with these calls; `{}` in a command is the folder outside. None if the system
    /// has no sandbox.
    fn start(commands: &[(&str, bool)]) -> Option<Self> {
        Self::with_files(&json!({}), commands)
    }

    /// Starts a run with these rules for files in the settings of the sandbox.
    fn with_files(files: &Value, commands: &[(&str, bool)]) -> Option<Self> {
        let home = Home::new();
        let doctor = home.command(&["doctor"]).output().unwrap();
        let text = String::from_utf8(doctor.stdout).unwrap();
        let present = ["landlock", "bubblewrap"].iter().any(|name| text.contains(name));
        requires(Part::Bubblewrap, present.then_some(()))?;
        let outside = tempfile::tempdir_in(folder_outside_tmp()).unwrap();
        let folder = outside.path().display().to_string();
        let call = |(command, background): &(&str, bool)| {
            let input = json!({"command": command.replace("{}", &folder),
                "run_in_background": background});
            format!("- {{tools: [{{tool: Bash, input: {input}}}]}}\n")
        };
        let script: String = commands.iter().map(call).collect();
        let sandbox = json!({"enabled": true, "failIfUnavailable": true, "filesystem": files});
        let settings = json!({ "sandbox": sandbox });
        home.write("home/.robota/settings.json", settings);
        let args = ["--permission-prompt-tool", "stdio"];
        let mut host = Host::start(&home, &format!("{script}- End."), &args);
        host.say("go");
        Some(Self { home, host, outside })
    }

    /// Approves the next call with changes of permissions, and returns its result.
    fn approve(&mut self, updates: &[Value]) -> Value {
        let asked = self.host.until("control_request").pop().unwrap();
        let allow = json!({"behavior": "allow", "updatedInput": asked["request"]["input"],
            "updatedPermissions": updates});
        self.host.answer(&asked, &allow);
        self.host.until("user").pop().unwrap()
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.outside.path().join(name)
    }
}

fn folders(change: &str, folder: &Path) -> Value {
    json!({"type": change, "directories": [folder], "destination": "session"})
}

#[test]
fn sdk_08_commands_that_start_later_can_use_an_added_folder() {
    let background = "until test -e go; do sleep 0.01; done; touch {}/background; touch ended";
    let Some(mut run) = Sandboxed::start(&[
        (background, true),
        ("touch {}/before", false),
        ("touch own", false),
        ("touch {}/after; touch {}/.git/hooks/evil", false),
        ("touch own2", false),
        ("touch {}/removed", false),
    ]) else {
        return;
    };
    std::fs::create_dir_all(run.outside(".git/hooks")).unwrap();
    let folder = run.outside.path().to_owned();
    run.approve(&[]);
    run.approve(&[]);
    assert!(!run.outside("before").exists());
    run.approve(&[folders("addDirectories", &folder)]);
    run.approve(&[]);
    assert!(run.outside("after").exists());
    // What decides which programs run is protected there too.
    let bubblewrap = Path::new("/usr/bin/bwrap").exists();
    assert!(!bubblewrap || !run.outside(".git/hooks/evil").exists());
    run.approve(&[folders("removeDirectories", &folder)]);
    run.approve(&[]);
    assert!(!run.outside("removed").exists());
    // A command that ran before keeps its sandbox.
    run.home.write("project/go", "");
    let end = Instant::now() + Duration::from_secs(60);
    while !run.home.path("project/ended").exists() {
        assert!(Instant::now() < end);
        std::thread::yield_now();
    }
    assert!(!run.outside("background").exists());
    run.host.until("result");
    run.host.finish();
}

#[test]
fn sdk_08_a_folder_that_became_a_link_does_not_widen_the_sandbox() {
    let Some(mut run) = Sandboxed::start(&[
        ("mkdir sub other", false),
        ("touch a", false),
        ("rmdir sub && ln -s {} sub", false),
        ("touch b", false),
        ("touch {}/through sub/through", false),
        ("touch c", false),
        ("touch {}/missing", false),
    ]) else {
        return;
    };
    let (sub, other) = (run.home.path("project/sub"), run.home.path("project/other"));
    let missing = run.outside("missing");
    run.approve(&[]);
    run.approve(&[folders("addDirectories", &sub)]);
    run.approve(&[]);
    run.approve(&[folders("addDirectories", &other)]);
    run.approve(&[]);
    assert!(!run.outside("through").exists());
    run.approve(&[folders("addDirectories", &missing)]);
    run.approve(&[]);
    assert!(!missing.exists());
    run.host.until("result");
    run.host.finish();
}

#[test]
fn sdk_08_folders_can_change_although_a_writable_path_of_the_settings_appeared_since() {
    let files = json!({"allowWrite": ["build"]});
    let Some(mut run) = Sandboxed::with_files(
        &files,
        &[
            ("mkdir build", false),
            ("touch own", false),
            ("touch {}/after build/own", false),
            ("touch own2", false),
            ("touch {}/removed", false),
        ],
    ) else {
        return;
    };
    let folder = run.outside.path().to_owned();
    run.approve(&[]);
    run.approve(&[folders("addDirectories", &folder)]);
    run.approve(&[]);
    assert!(run.outside("after").exists());
    assert!(run.home.path("project/build/own").exists());
    run.approve(&[folders("removeDirectories", &folder)]);
    run.approve(&[]);
    assert!(!run.outside("removed").exists());
    run.host.until("result");
    run.host.finish();
}

#[test]
fn sdk_09_commands_that_start_later_can_use_a_folder_that_the_user_adds() {
    let Some(mut run) = Sandboxed::start(&[("touch {}/before", false), ("touch {}/after", false)])
    else {
        return;
    };
    let folder = run.outside.path().to_owned();
    run.approve(&[]);
    // It is added while the turn waits for the host.
    let asked = run.host.until("control_request").pop().unwrap();
    run.host.say(&format!("/add-dir {}", folder.display()));
    let added = run.host.until("result").pop().unwrap();
    assert_eq!(added["is_error"], false, "{added}");
    assert!(added["result"].as_str().unwrap().starts_with("Added "), "{added}");
    run.host.answer(&asked, &json!({"behavior": "allow"}));
    run.host.until("result");
    assert!(!run.outside("before").exists());
    assert!(run.outside("after").exists());
    let rules = run.host.request(&json!({"subtype": "list_permission_rules"}));
    let folders = &rules["response"]["state"]["workspaceDirectories"];
    assert_eq!(folders, &json!([{"path": folder, "source": "session"}]), "{rules}");
    run.host.say("/add-dir");
    let lines = run.host.until("result");
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["additional_directories"], json!([folder]), "{init}");
    assert_eq!(lines.last().unwrap()["is_error"], true);
    run.host.finish();
}
