//! Unusual environments: no home, a closed pipe, a dumb terminal, odd locales. And the files that
//! shells and `man` need.

use std::io::Read as _;
use std::process::Stdio;

use crate::home::{Home, stderr, stdout};

const SCRIPTED: [&str; 4] = ["-p", "hi", "--provider", "scripted:script.yaml"];

fn home() -> Home {
    let home = Home::new();
    home.write("project/script.yaml", "- Hello.");
    home
}

#[test]
fn cli_03_a_run_needs_no_home_and_no_locale() {
    let home = home();
    let output = home.command(&SCRIPTED).env_remove("HOME").output().unwrap();
    assert_eq!(stdout(&output), "Hello.\n", "{}", stderr(&output));
    let locale = [("LC_ALL", "xx_YY.ISO-8859-1"), ("LANG", "nonsense"), ("TERM", "dumb")];
    let output = home.command(&SCRIPTED).envs(locale).output().unwrap();
    assert_eq!(stdout(&output), "Hello.\n", "{}", stderr(&output));
}

#[test]
fn cli_03_a_home_that_is_a_file_is_no_error_for_a_run_and_a_clear_one_for_a_write() {
    let home = home();
    home.write("not-a-folder", "");
    let file = home.path("not-a-folder");
    let output = home.command(&SCRIPTED).env("HOME", &file).output().unwrap();
    assert_eq!(stdout(&output), "Hello.\n", "{}", stderr(&output));
    let note = "sessions of this run cannot be resumed later";
    assert!(stderr(&output).contains(note), "{}", stderr(&output));
    let output =
        home.command(&["config", "set", "model", "m"]).env("HOME", &file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("not-a-folder/.robota"), "{}", stderr(&output));
}

/// `/proc` is a folder in which no user can create a file.
#[cfg(target_os = "linux")]
#[test]
fn cli_03_a_home_that_is_read_only_is_no_error_for_a_run_and_a_clear_one_for_a_write() {
    let home = home();
    let output = home.command(&SCRIPTED).env("HOME", "/proc").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "Hello.\n", "{}", stderr(&output));
    let set = home.command(&["config", "set", "model", "m"]).env("HOME", "/proc").output().unwrap();
    assert_eq!(set.status.code(), Some(1), "{}", stderr(&set));
    assert!(stderr(&set).contains("/proc/.robota"), "{}", stderr(&set));
    assert!(!stderr(&set).contains("panicked"), "{}", stderr(&set));
}

#[test]
fn cli_03_a_closed_pipe_ends_the_output_quietly() {
    let home = home();
    let mut child = home.command(&["models", "--all"]).spawn().unwrap();
    let mut first = [0; 1];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}

#[test]
fn cli_03_help_and_errors_have_no_colour_in_a_pipe() {
    let home = home();
    for args in [&["--help"][..], &["--nonsense"], &["-p", "hi", "--provider", "nothing"]] {
        let output = home.command(args).env("TERM", "xterm-256color").output().unwrap();
        assert!(!stdout(&output).contains('\x1b') && !stderr(&output).contains('\x1b'), "{args:?}");
    }
}

#[test]
fn cli_03_shells_and_man_get_their_files() {
    let home = home();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = home.command(&["completions", shell]).output().unwrap();
        assert!(stdout(&output).contains("permissions"), "{shell}: {}", stderr(&output));
    }
    // The script is one that bash can read.
    let script = home.command(&["completions", "bash"]).output().unwrap().stdout;
    home.write("completions.bash", String::from_utf8(script).unwrap());
    let file = home.path("completions.bash");
    let bash = std::process::Command::new("bash").arg("-n").arg(file).stdin(Stdio::null()).status();
    assert!(bash.unwrap().success());
    let output = home.command(&["man"]).output().unwrap();
    assert!(stdout(&output).contains(".TH robota 1"), "{}", stderr(&output));
    let output = home.command(&["man", "--dir", "pages"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(home.path("project/pages/robota-sessions.1").exists());
}

#[test]
fn cli_03_config_list_shows_values_but_no_keys() {
    let home = home();
    let settings = serde_json::json!({
        "model": "m",
        "providers": {"a": {"type": "openai", "apiKey": "sk-secret-1"}, "b": {"type": "openai", "apiKey": "$ENV:B_KEY"}},
        "env": {"MY_TOKEN": "secret-2", "PLAIN": "secret-3"},
    });
    home.write("home/.robota/settings.json", settings);
    let output = home.command(&["config", "list"]).output().unwrap();
    let text = stdout(&output);
    for shown in ["model = \"m\"", "$ENV:B_KEY", "env.PLAIN", "[REDACTED]"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains("secret"), "{text}");
    let output = home.command(&["config", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&list["model"], &list["env.MY_TOKEN"]), (&"m".into(), &"[REDACTED]".into()));
}
