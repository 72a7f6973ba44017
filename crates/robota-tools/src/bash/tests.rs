#![cfg(unix)]

use std::sync::{Arc, Mutex};

use robota_core::call::CallContext;
use robota_core::env_ref::Secret;
use robota_core::hook::{EventReport, HookInput, HookPoint, HookReply, Hooks, NoHooks};
use robota_core::redact::Redactor;
use robota_core::tool::{OutputStore, OutputWriter};
use robota_exec::{Environment, Supervisor};
use serde_json::json;

use super::*;

fn tool() -> Bash {
    let env = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    Bash::new(&ToolWorkspace::new("/", Supervisor::new(), env))
}

fn workspace(dir: &std::path::Path) -> ToolWorkspace {
    let env = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
    ToolWorkspace::new(dir.canonicalize().unwrap(), Supervisor::new(), env)
}

async fn run(input: Value) -> ToolOutcome {
    let bash = tool();
    bash.check(&input).unwrap();
    bash.run(input, ToolContext::detached()).await
}

async fn bash(command: &str) -> ToolOutcome {
    run(json!({"command": command, "description": "test"})).await
}

#[tokio::test]
async fn tool_05_bash_works_without_a_session() {
    let outcome = bash("pwd; echo oops >&2; echo end").await;
    assert!(outcome.ok);
    assert_eq!(outcome.text(), "/\noops\nend\n");
    assert_eq!(outcome.metadata["exit_code"], 0);
    assert_eq!(outcome.metadata["truncated"], false);
    assert_eq!(outcome.metadata["description"], "test");
}

#[tokio::test]
async fn exit_codes_are_reported_and_are_not_failures() {
    let outcome = bash("printf partial; exit 3").await;
    assert_eq!((outcome.ok, outcome.text()), (true, "partial\n[exit code 3]\n".to_owned()));
    assert_eq!(outcome.metadata["exit_code"], 3);
    assert_eq!(bash("true").await.text(), "[no output]\n");
    let outcome = bash("kill -9 $$").await;
    assert_eq!(outcome.error_code.as_deref(), Some("signal"));
    assert_eq!(outcome.text(), "[no output]\n[ended by signal 9]\n");
}

#[tokio::test]
async fn a_timeout_ends_the_command_and_is_reported() {
    let outcome = run(json!({"command": "sleep 3600", "timeout": 1})).await;
    assert_eq!(outcome.error_code.as_deref(), Some("timeout"));
    assert_eq!(outcome.text(), "[no output]\n[ended after the timeout of 1 ms]\n");
    assert_eq!(outcome.ran, DidRun::Yes);
}

#[tokio::test]
async fn long_output_keeps_its_start_and_end() {
    let outcome = bash("echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    let text = outcome.text();
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n"));
    assert!(text.contains(" of 1000012 bytes cut"));
    assert!(text.len() < 31_000);
    assert_eq!(outcome.metadata["truncated"], true);
    assert_eq!(outcome.metadata["output_bytes"], 1_000_012);
}

#[tokio::test]
async fn a_command_can_be_interrupted_before_and_while_it_runs() {
    let context = ToolContext::detached();
    context.scope.cancel.cancel();
    let outcome = tool().run(json!({"command": "echo ran"}), context).await;
    assert_eq!((outcome.ran, outcome.error_code.as_deref()), (DidRun::No, Some("interrupted")));

    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(bash(&format!("mkfifo '{}'", pipe.display())).await.ok);
    let context = ToolContext::detached();
    let cancel = context.scope.cancel.clone();
    let command = format!("echo up > '{}'; sleep 3600", pipe.display());
    let (tool, input) = (tool(), json!({"command": command}));
    let (outcome, ()) = tokio::join!(tool.run(input, context), async {
        tokio::task::spawn_blocking(move || std::fs::read(pipe).unwrap()).await.unwrap();
        cancel.cancel();
    });
    assert_eq!((outcome.ran, outcome.error_code.as_deref()), (DidRun::Yes, Some("interrupted")));
}

#[tokio::test]
async fn a_failed_start_is_reported() {
    let outcome = bash("  \n").await;
    assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"));
    let missing =
        Bash::new(&ToolWorkspace::new("/no/such/dir", Supervisor::new(), Environment::new()));
    let outcome = missing.run(json!({"command": "true"}), ToolContext::detached()).await;
    assert_eq!((outcome.ran, outcome.error_code.as_deref()), (DidRun::No, Some("cannot_run")));
    assert!(outcome.text().contains("/no/such/dir"), "{}", outcome.text());
}

#[tokio::test]
async fn with_follow_cd_the_working_directory_persists() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
    let workspace = workspace(dir.path()).follow_cd();
    let root = workspace.shell_cwd();
    let bash = Bash::new(&workspace);
    let run = async |command: &str| {
        let outcome = bash.run(json!({"command": command}), ToolContext::detached()).await;
        (outcome.text(), outcome.metadata["cwd"].as_str().unwrap().to_owned())
    };
    let (text, cwd) = run("cd a && printf one").await;
    assert_eq!(text, format!("one\n[working directory: {}/a]\n", root.display()));
    assert_eq!(cwd, format!("{}/a", root.display()));
    assert_eq!(run("pwd").await.0, format!("{}/a\n", root.display()));
    // It also persists after a failed command, but not from a subshell.
    let (text, _) = run("(cd b); cd b; exit 7").await;
    assert!(text.contains("[exit code 7]") && text.contains("/a/b]"), "{text}");
    assert_eq!(workspace.shell_cwd(), root.join("a/b"));
    // A directory outside the workspace is not kept.
    let (text, cwd) = run("cd /; pwd").await;
    assert!(text.starts_with("/\n[outside the workspace"), "{text}");
    assert_eq!(cwd, format!("{}/a/b", root.display()));
    // The wrapper script passes no arguments to the command line.
    assert_eq!(run("cd ..; echo \"$#\" \"$@\"").await.0.lines().next(), Some("0"));
}

/// Records the events of hooks.
#[derive(Default)]
struct Recorded(Mutex<Vec<HookData>>);

#[async_trait::async_trait]
impl Hooks for Recorded {
    fn has_point(&self, _: HookPoint) -> bool {
        false
    }

    async fn run(&self, input: HookInput) -> HookReply {
        NoHooks.run(input).await
    }

    fn has_event(&self, event: HookEvent) -> bool {
        event == HookEvent::CwdChanged
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        self.0.lock().unwrap().push(data);
        EventReport::default()
    }
}

#[tokio::test]
async fn core_22_hooks_run_when_the_working_directory_moved() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("a")).unwrap();
    let workspace = workspace(dir.path()).follow_cd();
    let root = workspace.shell_cwd().display().to_string();
    let (bash, hooks) = (Bash::new(&workspace), Arc::new(Recorded::default()));
    for command in ["cd .", "cd a", "(cd ..)", "cd /", "cd ..", "cd a; false"] {
        let context = ToolContext { hooks: hooks.clone(), ..ToolContext::detached() };
        bash.run(json!({"command": command}), context).await;
    }
    let moved = |old_cwd: &str, new_cwd: &str| {
        let (old_cwd, new_cwd) = (old_cwd.to_owned(), new_cwd.to_owned());
        HookData::CwdChanged { old_cwd, new_cwd }
    };
    let inside = format!("{root}/a");
    let expected = [moved(&root, &inside), moved(&inside, &root), moved(&root, &inside)];
    assert_eq!(*hooks.0.lock().unwrap(), expected);
}

/// Two calls of one answer: the gate judged the second before the first changed the directory.
#[tokio::test]
async fn a_command_starts_in_the_directory_it_was_judged_in() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("a")).unwrap();
    let workspace = workspace(dir.path()).follow_cd();
    let root = workspace.shell_cwd();
    let bash = Bash::new(&workspace);
    let context = |call: &str| ToolContext { call: call.into(), ..ToolContext::detached() };
    let (first, second) = (context("first"), context("second"));
    assert_eq!(workspace.cwd_for_gate(&first.call), root);
    assert_eq!(workspace.cwd_for_gate(&second.call), root);
    bash.run(json!({"command": "cd a"}), first).await;
    let outcome = bash.run(json!({"command": "pwd"}), second).await.text();
    assert!(outcome.starts_with(&format!("{}\n[ran in ", root.display())), "{outcome}");
    assert_eq!(workspace.cwd_for_gate(&"third".into()), root.join("a"));
    let outcome = bash.run(json!({"command": "pwd"}), context("third")).await.text();
    assert_eq!(outcome, format!("{}/a\n", root.display()));
}

#[tokio::test]
async fn without_follow_cd_each_call_starts_in_the_same_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("a")).unwrap();
    let workspace = workspace(dir.path());
    let bash = Bash::new(&workspace);
    for _ in 0..2 {
        let outcome = bash.run(json!({"command": "cd a; pwd"}), ToolContext::detached()).await;
        assert_eq!(outcome.text(), format!("{}/a\n", workspace.shell_cwd().display()));
    }
}

#[tokio::test]
async fn output_that_is_not_shown_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = workspace(dir.path()).follow_cd();
    let store = TestStore::default();
    let context = || ToolContext {
        scope: CallContext {
            redactor: Redactor::new([Secret::new("geheimnis-1234")]).unwrap(),
            ..CallContext::detached()
        },
        output: Some(Arc::new(store.clone())),
        ..ToolContext::detached()
    };
    let bash = Bash::new(&workspace);
    let outcome = bash.run(json!({"command": "seq 9"}), context()).await;
    assert_eq!(
        (outcome.text().lines().count(), store.take()),
        (9, None),
        "the whole output is shown"
    );

    // The secret is split by the end of the shown start.
    let start = "a".repeat(196);
    let command = format!(
        "cd .; printf '{start}geheimnis-1234'; seq 1000; printf 'geheimnis'; printf -- '-1234'"
    );
    let outcome = bash.run(json!({"command": command}), context()).await;
    let numbers: String = (1..=1000).map(|number| format!("{number}\n")).collect();
    let whole = format!("{start}[REDACTED]{numbers}[REDACTED]");
    assert_eq!(store.take().unwrap(), whole, "the whole output without the marker");
    let text = outcome.text();
    let (head, rest) = text.split_once("\n[... ").unwrap();
    let (note, tail) = rest.split_once(" ...]\n").unwrap();
    assert_eq!(head, &whole[..200]);
    assert!(whole.ends_with(tail) && tail.len() > 100, "{tail}");
    let cut = whole.len() - 200 - tail.len();
    let advice = "bytes are left out. To read them, call ReadOutput with";
    let call = r#"{"output": "shelf", "offset": 200}"#;
    assert_eq!(note, format!("{cut} of {} {advice} {call}", whole.len()));
    assert_eq!(outcome.metadata["output_bytes"], whole.len());
    assert_eq!(outcome.metadata["spilled"], "here");
}

/// Stores the output of the last call; 400 bytes are shown.
#[derive(Clone, Default)]
struct TestStore(Arc<Mutex<Option<Vec<u8>>>>);

impl TestStore {
    fn take(&self) -> Option<String> {
        self.0.lock().unwrap().take().map(|bytes| String::from_utf8(bytes).unwrap())
    }
}

impl OutputStore for TestStore {
    fn limit(&self) -> usize {
        400
    }

    fn keep(&self) -> Box<dyn OutputWriter> {
        *self.0.lock().unwrap() = Some(Vec::new());
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl OutputWriter for TestStore {
    async fn write(&mut self, text: &[u8]) -> Result<(), ErrorData> {
        self.0.lock().unwrap().as_mut().unwrap().extend_from_slice(text);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<KeptOutput, ErrorData> {
        let bytes = self.0.lock().unwrap().as_ref().unwrap().len() as u64;
        Ok(KeptOutput { name: "shelf".to_owned(), bytes, place: json!("here") })
    }
}

#[tokio::test]
async fn output_is_streamed_while_the_command_runs() {
    let shown = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let into = shown.clone();
    let context = ToolContext {
        progress: robota_core::tool::Progress::new(move |text| {
            into.lock().unwrap().push_str(&text);
        }),
        ..ToolContext::detached()
    };
    tool().run(json!({"command": "echo one; echo two >&2"}), context).await;
    assert_eq!(*shown.lock().unwrap(), "one\ntwo\n");
}

/// A call that only the proof allows cannot write, and the model gets a hint.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_call_that_may_only_read_runs_in_the_read_only_fence() {
    use robota_exec::sandbox::SandboxSupport;
    let support = SandboxSupport::of_kernel();
    let present = (support.landlock > 0 && support.seccomp).then_some(());
    if robota_testkit::requires(robota_testkit::Part::Landlock, present).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let fence = ReadOnlyFence::new(None, &support, temporary.path()).unwrap();
    let fenced = Bash::new(&workspace(dir.path()).read_only_fence(Arc::new(fence)));
    let plain = Bash::new(&workspace(dir.path()));
    let context = |grant| ToolContext { grant, ..ToolContext::detached() };
    let call = |command: &str| json!({"command": command});

    let outcome = fenced.run(call("echo x > file"), context(Grant::ReadOnly)).await;
    assert!(outcome.text().contains("[it ran without write access"), "{}", outcome.text());
    assert!(!dir.path().join("file").exists());
    let outcome = fenced.run(call("cat <<< hello; false"), context(Grant::ReadOnly)).await;
    assert_eq!(outcome.text(), "hello\n[exit code 1]\n");
    let background = json!({"command": "echo x > file; echo tried", "run_in_background": true});
    fenced.run(background, context(Grant::ReadOnly)).await;
    let running = fenced.workspace.background.get("bash_1").unwrap();
    running.running.ended().await.unwrap();
    assert!(!dir.path().join("file").exists());

    fenced.run(call("echo x > file"), context(Grant::Full)).await;
    assert!(dir.path().join("file").exists());
    plain.run(call("echo x > file2"), context(Grant::ReadOnly)).await;
    assert!(dir.path().join("file2").exists(), "the fence is switched off");
}
