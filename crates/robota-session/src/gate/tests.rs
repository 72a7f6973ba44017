use std::path::{Path, PathBuf};

use robota_core::gate::AllowAll;
use robota_core::paths::PathKind;
use robota_core::tool::ToolOutcome;
use robota_policy::{LexicalPaths, PolicySpec, Workspace};
use robota_testkit::{Run, fn_tool};
use serde_json::json;

use super::*;

fn gate(mode: Mode, allow: &[&str], deny: &[&str]) -> PolicyGate {
    let spec = PolicySpec::new(Workspace::new("/home/ada/app", "/home/ada"))
        .mode(mode)
        .rules(List::Allow, RuleSource::session(), allow.iter().copied())
        .rules(List::Deny, RuleSource::session(), deny.iter().copied());
    let (policy, errors) = Policy::new(&spec, &LexicalPaths);
    assert!(errors.is_empty());
    PolicyGate::new(policy, Arc::new(LexicalPaths))
}

async fn runs(gate: impl Gate + 'static, command: &str) -> bool {
    let bash = fn_tool("Bash", Class::Execute, |_| async { ToolOutcome::ok("") });
    let script = robota_core::scripted::Script::new()
        .tool("Bash", json!({"command": command}))
        .text("Done.");
    Run::new(script).tool(bash.clone()).gate(gate).prompt("go").await;
    !bash.inputs().is_empty()
}

/// The rules take effect in the driver, not only in an explanation.
#[tokio::test]
async fn core_21_the_driver_runs_what_the_policy_allows_and_nothing_else() {
    assert!(runs(AllowAll, "git push").await, "the tool is there");
    let git = || gate(Mode::Default, &["Bash(git *)"], &["Bash(git push *)"]);
    assert!(runs(git(), "git commit -m 'a && b'").await);
    assert!(!runs(git(), "git push").await);
    assert!(!runs(git(), "git status; touch pwned").await);
    assert!(!runs(git(), "sudo git push").await);
    assert!(runs(gate(Mode::Plan, &[], &[]), "git status").await, "proven read-only");
    assert!(!runs(gate(Mode::Plan, &["Bash(touch *)"], &[]), "touch x").await);
}

#[tokio::test]
async fn core_21_mode_and_rules_can_change_while_a_session_is_open() {
    let gate = gate(Mode::Default, &[], &[]);
    let bash = ToolSpec {
        name: "Bash".to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        class: Class::Execute,
    };
    let call = |command: &str| {
        let input = robota_core::message::ToolInput::Json(json!({"command": command}));
        ToolUse::new("c".into(), "call_0", "Bash", input)
    };
    let judged = gate.judge(&call("make"), &bash).await;
    assert_eq!((judged.verdict, judged.source), (Verdict::Ask, Source::Mode));
    gate.add_session_rule(List::Allow, "Bash(make)").unwrap();
    assert_eq!(gate.judge(&call("make"), &bash).await.verdict, Verdict::Allow);
    gate.set_mode(Mode::Plan);
    assert_eq!(gate.judge(&call("make"), &bash).await.verdict, Verdict::Deny);
    gate.set_mode(Mode::BypassPermissions);
    gate.add_session_rule(List::Deny, "Bash(make *)").unwrap();
    let judged = gate.judge(&call("make install"), &bash).await;
    assert_eq!((judged.verdict, judged.source), (Verdict::Deny, Source::Rule));
}

/// `rm` in a folder that a rule names is found there: the tool reports where a command starts.
#[tokio::test]
async fn core_21_commands_are_judged_where_they_will_start() {
    let judged = async |cwd: &'static str, command: &str| {
        let gate = gate(Mode::BypassPermissions, &[], &["Edit(precious/**)"]);
        let fork = gate.for_fork().unwrap();
        let bash = fn_tool("Bash", Class::Execute, |_| async { ToolOutcome::ok("") });
        let input = json!({"command": command, "cwd": cwd});
        let input = robota_core::message::ToolInput::Json(input);
        let call = ToolUse::new("c".into(), "call_0", "Bash", input);
        let spec = robota_core::tool::Tool::spec(&bash);
        let verdict = gate.judge(&call, spec).await.verdict;
        assert_eq!(fork.judge(&call, spec).await.verdict, verdict, "a fork's gate knows it too");
        verdict
    };
    assert_eq!(judged("/home/ada/app", "rm x").await, Verdict::Allow);
    assert_eq!(judged("/home/ada/app/precious", "rm x").await, Verdict::Deny);
    assert_eq!(judged("/home/ada/app/precious", "rm ../x").await, Verdict::Allow);
}

/// A tool that records what its calls may do.
struct GrantRecorder(ToolSpec, Arc<std::sync::Mutex<Vec<Grant>>>);

#[async_trait::async_trait]
impl robota_core::tool::Tool for GrantRecorder {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(
        &self,
        _input: serde_json::Value,
        context: robota_core::tool::ToolContext,
    ) -> ToolOutcome {
        self.1.lock().unwrap().push(context.grant);
        ToolOutcome::ok("")
    }
}

#[tokio::test]
async fn a_call_that_only_the_proof_allows_may_only_read() {
    let grant = async |gate: PolicyGate, command: &str| {
        let spec = ToolSpec {
            name: "Bash".to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            class: Class::Execute,
        };
        let grants = Arc::default();
        let script = robota_core::scripted::Script::new()
            .tool("Bash", json!({"command": command}))
            .text("Done.");
        let tool = GrantRecorder(spec, Arc::clone(&grants));
        Run::new(script).tool(tool).gate(gate).prompt("go").await;
        let grants = grants.lock().unwrap();
        grants.first().copied()
    };
    for mode in [Mode::Default, Mode::Plan, Mode::AcceptEdits] {
        assert_eq!(grant(gate(mode, &[], &[]), "ls | head").await, Some(Grant::ReadOnly));
    }
    let ruled = || gate(Mode::Default, &["Bash(ls *)"], &[]);
    assert_eq!(grant(ruled(), "ls -la").await, Some(Grant::Full), "a rule allows it");
    assert_eq!(grant(ruled(), "ls && cat f").await, Some(Grant::ReadOnly));
    let bypass = gate(Mode::BypassPermissions, &[], &[]);
    assert_eq!(grant(bypass, "ls").await, Some(Grant::Full), "the mode allows it");
    assert_eq!(grant(gate(Mode::Default, &[], &[]), "touch x").await, None);
}

/// Paths by their text, with the threads that asked for them.
#[derive(Default)]
struct ThreadRecorder(std::sync::Mutex<Vec<std::thread::ThreadId>>);

impl ThreadRecorder {
    fn record(&self) -> LexicalPaths {
        self.0.lock().unwrap().push(std::thread::current().id());
        LexicalPaths
    }
}

impl Paths for ThreadRecorder {
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.record().canonical(path)
    }

    fn kind(&self, path: &Path) -> PathKind {
        self.record().kind(path)
    }

    fn entries(&self, dir: &Path) -> Vec<String> {
        self.record().entries(dir)
    }

    fn case_sensitive(&self, path: &Path) -> bool {
        self.record().case_sensitive(path)
    }
}

/// A slow disk must not delay other sessions, so paths are resolved in a blocking thread.
#[tokio::test]
async fn paths_are_not_resolved_on_a_thread_of_the_runtime() {
    let spec = PolicySpec::new(Workspace::new("/home/ada/app", "/home/ada")).rules(
        List::Deny,
        RuleSource::session(),
        ["Read(secret/**)"],
    );
    let (policy, errors) = Policy::new(&spec, &LexicalPaths);
    assert!(errors.is_empty());
    let paths = Arc::new(ThreadRecorder::default());
    let gate = PolicyGate::new(policy, paths.clone());
    let read = ToolSpec {
        name: "Read".to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        class: Class::Inspect,
    };
    let input = robota_core::message::ToolInput::Json(json!({"file_path": "secret/key"}));
    let call = ToolUse::new("c".into(), "call_0", "Read", input);
    assert_eq!(gate.judge(&call, &read).await.verdict, Verdict::Deny);
    let threads = paths.0.lock().unwrap();
    assert!(!threads.is_empty(), "the path is resolved");
    // The runtime of this test has one thread: this one.
    assert!(!threads.contains(&std::thread::current().id()));
}

fn update(kind: &str, behavior: &str, rule: &str, destination: &str) -> PermissionUpdate {
    let rules = json!([{"toolName": "Bash", "ruleContent": rule}]);
    let update =
        json!({"type": kind, "rules": rules, "behavior": behavior, "destination": destination});
    serde_json::from_value(update).unwrap()
}

/// Returns the verdict about a command.
async fn verdict(gate: &PolicyGate, command: &str) -> Verdict {
    let input = robota_core::message::ToolInput::Json(json!({"command": command}));
    let call = ToolUse::new("c".into(), "id", "Bash", input);
    let tool = fn_tool("Bash", Class::Execute, |_| async { ToolOutcome::ok("") });
    gate.judge(&call, robota_core::tool::Tool::spec(&tool)).await.verdict
}

#[tokio::test]
async fn sdk_08_a_change_of_rules_concerns_its_list_and_destination_only() {
    let file = RuleSource::file("/home/ada/settings.json:3", "/home/ada/app");
    let other = RuleSource::file("/home/ada/settings.json.local", "/home/ada/app");
    let spec = PolicySpec::new(Workspace::new("/home/ada/app", "/home/ada"))
        .rules(List::Deny, file, ["Bash(git push)", "Bash(git fetch)"])
        .rules(List::Deny, other, ["Bash(git pull)"]);
    let (policy, _) = Policy::new(&spec, &LexicalPaths);
    let gate = PolicyGate::new(policy, Arc::new(LexicalPaths));
    let file = Some("/home/ada/settings.json");
    gate.update(&update("addRules", "allow", "git *", "session"), None).unwrap();
    for command in ["git push", "git fetch", "git pull"] {
        assert_eq!(verdict(&gate, command).await, Verdict::Deny, "{command}");
    }
    gate.update(&update("removeRules", "deny", "git push", "userSettings"), file).unwrap();
    assert_eq!(verdict(&gate, "git push").await, Verdict::Allow);
    assert_eq!(verdict(&gate, "git fetch").await, Verdict::Deny);
    gate.update(&update("replaceRules", "deny", "git tag *", "userSettings"), file).unwrap();
    assert_eq!(verdict(&gate, "git fetch").await, Verdict::Allow);
    assert_eq!(verdict(&gate, "git tag v1").await, Verdict::Deny);
    assert_eq!(verdict(&gate, "git pull").await, Verdict::Deny, "another file");
    // The rule of the session is not that of the file.
    gate.update(&update("removeRules", "allow", "git *", "userSettings"), file).unwrap();
    assert_eq!(verdict(&gate, "git fetch").await, Verdict::Allow);
    gate.update(&update("replaceRules", "allow", "make *", "session"), None).unwrap();
    assert_eq!(verdict(&gate, "git fetch").await, Verdict::Ask);
    assert_eq!(gate.remembered(), ["Bash(make *)"]);
    gate.update(&update("addRules", "allow", "make\nall", "session"), None).unwrap_err();
    assert_eq!(gate.remembered(), ["Bash(make *)"], "an invalid rule changes nothing");
    // Rules that forbid stay when the user revokes approvals, and in forks.
    gate.forget();
    assert_eq!(verdict(&gate, "make all").await, Verdict::Ask);
    assert_eq!(verdict(&gate, "git tag v1").await, Verdict::Deny);
}

#[tokio::test]
async fn sdk_08_folders_of_a_change_belong_to_the_workspace() {
    let gate = gate(Mode::Default, &[], &["Read(secret.txt)"]);
    let read = fn_tool("Read", Class::Inspect, |_| async { ToolOutcome::ok("") });
    let verdict = async |path: &str| {
        let input = robota_core::message::ToolInput::Json(json!({"file_path": path}));
        let call = ToolUse::new("c".into(), "id", "Read", input);
        gate.judge(&call, robota_core::tool::Tool::spec(&read)).await.verdict
    };
    let change = |kind: &str| {
        let update = json!({"type": kind, "directories": ["../lib"], "destination": "session"});
        gate.update(&serde_json::from_value(update).unwrap(), None).unwrap();
    };
    assert_eq!(verdict("/home/ada/lib/a.rs").await, Verdict::Ask);
    change("addDirectories");
    assert_eq!(verdict("/home/ada/lib/a.rs").await, Verdict::Allow);
    assert_eq!(verdict("/home/ada/lib/secret.txt").await, Verdict::Deny, "rules apply there, too");
    gate.set_mode(Mode::AcceptEdits);
    assert_eq!(verdict("/home/ada/lib/a.rs").await, Verdict::Allow);
    change("removeDirectories");
    assert_eq!(verdict("/home/ada/lib/a.rs").await, Verdict::Ask);
}

#[tokio::test]
async fn core_21_restrictions_reach_forks_and_the_gates_of_agents() {
    let parent = gate(Mode::Default, &["Bash(git *)"], &["Bash(git clone *)"]);
    parent.restrict(Verdict::Deny, &["Bash(git push *)".to_owned()]).unwrap();
    parent.restrict(Verdict::Ask, &["Bash(git fetch *)".to_owned()]).unwrap();
    parent.add_turn_rules(&["Bash(make)".to_owned()], &["Bash(git tag *)".to_owned()]);
    let rules = parent.restrictions();
    assert_eq!(rules.deny, ["Bash(git push *)", "Bash(git tag *)"], "not those of the settings");
    assert_eq!(rules.ask, ["Bash(git fetch *)"]);
    // The rules of the turn end with it.
    parent.forget_turn_rules();
    assert_eq!(parent.restrictions().deny, ["Bash(git push *)"]);
    assert_eq!(parent.for_fork().unwrap().restrictions(), parent.restrictions());

    let agent = Arc::new(gate(Mode::Default, &["Bash(git *)"], &[]));
    rules.apply(&*agent).unwrap();
    let follower: Weak<PolicyGate> = Arc::downgrade(&agent);
    parent.pass_changes_to(follower);
    let call = |command: &str| {
        let input = robota_core::message::ToolInput::Json(json!({"command": command}));
        ToolUse::new("c".into(), "call_0", "Bash", input)
    };
    let bash = fn_tool("Bash", Class::Execute, |_| async { ToolOutcome::ok("") });
    let spec = robota_core::tool::Tool::spec(&bash);
    let judged = async |command: &str| agent.judge(&call(command), spec).await.verdict;
    assert_eq!(judged("git push origin").await, Verdict::Deny);
    assert_eq!(judged("git tag v1").await, Verdict::Deny);
    assert_eq!(judged("git fetch origin").await, Verdict::Ask);
    assert_eq!(judged("git commit -m x").await, Verdict::Allow);
    // Also what is added while the agent runs.
    parent.restrict(Verdict::Deny, &["Bash(git commit *)".to_owned()]).unwrap();
    assert_eq!(judged("git commit -m x").await, Verdict::Deny);
    drop(agent);
    parent.restrict(Verdict::Deny, &["Bash(git add *)".to_owned()]).unwrap();
}
