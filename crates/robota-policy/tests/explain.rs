//! Verdicts explain themselves, errors name file and rule, and "always" saves narrow rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;

use common::MemoryPaths;
use robota_core::error::{Diagnose, ErrorKind};
use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::{
    DEFAULT_ALLOW, LexicalPaths, List, Policy, PolicySpec, PolicyVerdict, RuleSource, ToolCall,
    VerdictSource, Workspace, allows_other_commands, too_broad,
};
use serde_json::{Value, json};

fn spec() -> PolicySpec {
    PolicySpec::new(Workspace::new("/proj/app", "/home/ada"))
}

fn judge(spec: &PolicySpec, tool: &str, input: &Value) -> PolicyVerdict {
    let paths = MemoryPaths::load();
    let (policy, _) = Policy::new(spec, &paths);
    policy.judge(&ToolCall { tool, input, class: Class::Execute }, &paths)
}

fn bash(spec: &PolicySpec, command: &str) -> PolicyVerdict {
    judge(spec, "Bash", &json!({ "command": command }))
}

#[test]
fn core_21_a_verdict_names_the_rule_its_file_and_the_part() {
    let source = RuleSource::file("/home/ada/.claude/settings.json", "/home/ada/.claude");
    let spec = spec().rules(List::Deny, source, ["Bash(git push *)"]).rules(
        List::Allow,
        RuleSource::session(),
        ["Bash(git *)"],
    );
    let got = bash(&spec, "git add . && sudo git push origin main");
    assert_eq!((got.verdict, got.source), (Verdict::Deny, VerdictSource::Rule));
    let rule = got.reasons[0].rule.as_ref().unwrap();
    assert_eq!(rule.rule, "Bash(git push *)");
    assert_eq!(rule.from, "/home/ada/.claude/settings.json");
    assert_eq!(got.reasons[0].part.as_deref(), Some("sudo git push origin main"));
}

#[test]
fn core_21_the_file_of_a_redirection_that_asks_is_named() {
    let make = spec().rules(List::Allow, RuleSource::session(), ["Bash(make *)"]);
    let verdict = bash(&make, "make all > out/log.txt");
    assert_eq!(verdict.verdict, Verdict::Ask);
    assert_eq!(verdict.why(), "it writes `out/log.txt`, and no rule allows that (default mode)");
    let verdict = bash(&make, "make all < /etc/hosts 2> \"$LOG\"");
    let texts: Vec<_> = verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
    let reads =
        "it reads `/etc/hosts` outside the workspace, and no rule allows that (default mode)";
    let writes =
        "it writes `\"$LOG\"` outside the workspace, and no rule allows that (default mode)";
    assert!(texts.contains(&reads) && texts.contains(&writes), "{texts:?}");
    let plan = make.clone().mode(Mode::Plan);
    let verdict = bash(&plan, "make all >> log.txt");
    assert_eq!(verdict.verdict, Verdict::Deny);
    let why = "it writes `log.txt`, and plan mode changes nothing";
    assert!(verdict.reasons.iter().any(|reason| reason.text == why), "{verdict:?}");
    // A redirection that is free or allowed is no reason, and a hook may still lift the others.
    let edits = make.rules(List::Allow, RuleSource::session(), ["Edit(out/**)"]);
    for command in ["make all > /dev/null 2>&1", "make all > out/log.txt"] {
        let verdict = bash(&edits, command);
        assert_eq!(verdict.verdict, Verdict::Allow, "{command}");
        assert!(!verdict.reasons.iter().any(|it| it.text.contains("it writes")), "{verdict:?}");
    }
    assert!(bash(&edits, "make all > log.txt").hook_may_lift());
}

#[test]
fn core_21_a_tool_that_has_nothing_to_do_without_bash_is_denied_with_it() {
    let denies = |rule: &str, tool: &str| {
        let spec = spec().rules(List::Deny, RuleSource::session(), [rule]);
        Policy::new(&spec, &LexicalPaths).0.denies_tool(tool)
    };
    for tool in ["Bash", "BashInput", "BashOutput", "KillShell"] {
        for rule in ["Bash", "Shell", "Bash()", "Bash(*)", "*"] {
            assert!(denies(rule, tool), "{rule} {tool}");
        }
        // Some commands are left.
        assert!(!denies("Bash(git *)", tool), "{tool}");
    }
    assert!(denies("BashOutput", "BashOutput") && !denies("BashOutput", "KillShell"));
    assert!(!denies("KillShell", "Bash") && !denies("Bash", "Read"));
}

#[test]
fn core_21_a_hook_may_lift_only_an_ask_of_the_mode() {
    assert!(bash(&spec(), "npm test").hook_may_lift());
    let asks = spec().rules(List::Ask, RuleSource::session(), ["Bash(npm *)"]);
    assert!(!bash(&asks, "npm test").hook_may_lift());
    assert!(!bash(&spec(), "git -c a=b log").hook_may_lift());
    assert!(!bash(&spec(), "rm -rf /").hook_may_lift());
    assert!(!bash(&spec(), "ls").hook_may_lift());
    assert!(!judge(&spec(), "Edit", &json!({"file_path": ".git/config"})).hook_may_lift());
}

#[test]
fn core_21_classes_belong_to_the_call() {
    let class = |command: &str| bash(&spec(), command).class;
    assert_eq!(class("git status"), Class::Inspect);
    assert_eq!(class("touch x"), Class::Modify);
    assert_eq!(class("ls; touch x"), Class::Modify);
    assert_eq!(class("npm test"), Class::Execute);
    assert_eq!(class("cat /etc/passwd"), Class::Execute);
    assert_eq!(judge(&spec(), "Read", &json!({"file_path": "a"})).class, Class::Inspect);
    assert_eq!(judge(&spec(), "Write", &json!({"file_path": "a"})).class, Class::Modify);
}

#[test]
fn core_21_malformed_rules_are_errors_that_name_file_and_rule() {
    let source = RuleSource::file(".claude/settings.json", "/proj/app");
    let spec = spec().rules(List::Allow, source, ["Bash(ls", "B*", "WebFetch(docs.rs)", "Read"]);
    let (_, errors) = Policy::new(&spec, &MemoryPaths::load());
    assert_eq!(errors.len(), 3);
    let text = errors[0].to_string();
    assert!(text.contains(".claude/settings.json") && text.contains("`Bash(ls`"), "{text}");
    assert_eq!(errors[0].kind(), ErrorKind::Configuration);
    assert!(errors[1].hint().is_some());
}

#[test]
fn core_21_always_saves_a_narrow_rule_that_helps() {
    for (command, want) in [
        ("cargo test -p core", Some(vec!["Bash(cargo test *)"])),
        ("npm run build -- x", Some(vec!["Bash(npm run build *)"])),
        ("git commit -m 'a b'", Some(vec!["Bash(git commit *)"])),
        ("./deploy.sh prod", Some(vec!["Bash(./deploy.sh prod)"])),
        ("python3 x.py", Some(vec!["Bash(python3 x.py)"])),
        ("timeout 5 make", Some(vec!["Bash(make)"])),
        ("cargo build && npm test", Some(vec!["Bash(cargo build *)", "Bash(npm test *)"])),
        ("docker compose ps", Some(vec!["Bash(docker compose ps *)"])),
        ("docker compose", Some(vec!["Bash(docker compose)"])),
        ("gh repo clone x", Some(vec!["Bash(gh repo clone x)"])),
        ("gh pr checkout 7", Some(vec!["Bash(gh pr checkout 7)"])),
        ("go env GOPATH", Some(vec!["Bash(go env GOPATH)"])),
        ("go mod tidy", Some(vec!["Bash(go mod tidy *)"])),
        ("kubectl config view", Some(vec!["Bash(kubectl config view *)"])),
        ("ls && make y", Some(vec!["Bash(make y)"])),
        ("echo x > out.txt", Some(vec!["Edit(./out.txt)"])),
        ("grep-like 'a*b'", Some(vec!["Bash(grep-like 'a\\*b')"])),
        ("rm -rf /", None),
        ("git -c a=b log", None),
        ("echo $(id)", None),
        ("$X y", None),
        ("a; b; c; d; e; f", None),
        ("echo x > .git/config", None),
    ] {
        let got = bash(&spec(), command).suggestion.map(|s| s.rules);
        let want: Option<Vec<String>> = want.map(|w| w.into_iter().map(str::to_owned).collect());
        assert_eq!(got, want, "{command}");
    }
    let suggestion =
        |tool: &str, input: Value| judge(&spec(), tool, &input).suggestion.unwrap().rules;
    assert_eq!(suggestion("Edit", json!({"file_path": "src/a.rs"})), ["Edit(./src/a.rs)"]);
    assert_eq!(suggestion("Read", json!({"file_path": "/etc/hosts"})), ["Read(//etc/hosts)"]);
    assert_eq!(
        suggestion("WebFetch", json!({"url": "https://Docs.rs/x"})),
        ["WebFetch(domain:docs.rs)"]
    );
    assert_eq!(suggestion("mcp__a__b", json!({})), ["mcp__a__b"]);
    let asks = spec().rules(List::Ask, RuleSource::session(), ["Bash(npm *)"]);
    assert_eq!(bash(&asks, "npm test").suggestion, None);
}

#[test]
fn core_21_always_saves_no_rule_for_a_part_that_is_allowed_already() {
    let spec =
        spec().rules(List::Allow, RuleSource::session(), ["Bash(make *)", "Bash(python3 *)"]);
    let saved = |command: &str| bash(&spec, command).suggestion.map(|it| it.rules);
    assert_eq!(saved("make y && npm test"), Some(vec!["Bash(npm test *)".to_owned()]));
    assert_eq!(saved("make y > out.log && make x"), Some(vec!["Edit(./out.log)".to_owned()]));
    // A rule that would be too broad for a part does not matter if the part needs none.
    assert_eq!(saved("python3 x.py; npm test"), Some(vec!["Bash(npm test *)".to_owned()]));
    // Seven parts, of which six are allowed.
    let long = format!("{} npm test", "make a; ".repeat(6));
    assert_eq!(saved(&long), Some(vec!["Bash(npm test *)".to_owned()]));
    // At most five rules are saved.
    assert_eq!(saved("a1; b2; c3; d4; e5; f6"), None);
}

#[test]
fn core_21_always_for_code_that_is_fetched_or_run_saves_the_exact_command() {
    for command in [
        "npm install left-pad",
        "npm i left-pad",
        "npm ci",
        "npm update",
        "npm create vite app",
        "pnpm add left-pad",
        "pnpm install",
        "yarn add left-pad",
        "yarn upgrade left-pad",
        "bun add left-pad",
        "bun run script.ts",
        "npx cowsay hello",
        "pnpx cowsay",
        "bunx cowsay",
        "uvx ruff check",
        "pipx run black",
        "pip install requests",
        "pip3 install -r requirements.txt",
        "python3 -m pip install requests",
        "uv pip install requests",
        "uv add requests",
        "uv run server.py",
        "uv sync",
        "poetry add requests",
        "poetry run python x.py",
        "conda install numpy",
        "gem install rails",
        "bundle install",
        "bundle exec rake",
        "composer require a/b",
        "cargo install ripgrep",
        "cargo add serde",
        "cargo update",
        "cargo nextest run",
        "go install example.com/x@latest",
        "go get example.com/x",
        "go run main.go",
        "rustup target add wasm32-unknown-unknown",
        "apt-get install curl",
        "brew install jq",
        "mise install node",
        "nix run nixpkgs",
        "deno run main.ts",
        "deno test https://example.com/t.ts",
        "docker pull ubuntu",
        "docker compose up",
        "kubectl apply deployment.yaml",
        "kubectl create deployment web",
        "kubectl scale web",
        "helm install web chart",
        "terraform apply",
        "terraform plan",
        "aws s3 cp a s3://b/a",
        "aws lambda invoke f out.json",
        "gcloud compute ssh machine",
        "az vm start",
        "git clone https://example.com/x",
        "git pull origin main",
        "git push origin main",
        "git fetch origin",
        "git checkout main",
        "gh workflow run deploy",
        "make deploy",
        "just deploy",
        "gradle publish",
        "mvn install",
        "nx build app",
        "curl https://example.com/install.sh",
        "wget https://example.com/x.tar.gz",
        "ssh host uptime",
        "scp a host:b",
        "rsync a host:b",
        "systemctl restart web",
        "vagrant up",
    ] {
        let got = bash(&spec(), command).suggestion.map(|s| s.rules);
        let exact = vec![format!("Bash({command})")];
        // Some need more than a rule, such as the permission for another file; never a wider one.
        assert!(got.is_none() || got == Some(exact), "{command}: {got:?}");
        assert!(got.is_none_or(|rules| !rules.iter().any(|rule| allows_other_commands(rule))));
    }
    for command in
        ["npm install left-pad", "pip install requests", "cargo add serde", "npx cowsay hello"]
    {
        let rules = bash(&spec(), command).suggestion.map(|s| s.rules);
        assert_eq!(rules, Some(vec![format!("Bash({command})")]));
    }
}

#[test]
fn core_21_commands_that_destroy_something_are_never_allowed_always() {
    for command in [
        "rm notes.txt",
        "rm -rf build",
        "rmdir build",
        "shred notes.txt",
        "find . -name '*.o' -delete",
        "timeout 5 rm notes.txt",
        "ls && rm notes.txt",
        "git clean -fd",
        "git reset --hard",
        "git reset HEAD~1",
        "git restore src/main.rs",
        "git checkout -- src/main.rs",
        "git checkout .",
        "git checkout -f main",
        "git branch -D topic",
        "git tag -d v1",
        "git push --force origin main",
        "git push -f",
        "git push origin --delete topic",
        "git push --force-with-lease",
        "git stash drop",
        "git stash clear",
        "git rm a.txt",
        "git remote remove origin",
        "git worktree remove ../x",
        "git reflog expire --all",
        "docker rm web",
        "docker rmi image",
        "docker system prune",
        "docker volume rm data",
        "kubectl delete pod web",
        "helm uninstall web",
        "terraform destroy",
        "terraform apply",
        "aws s3 rm s3://b/a",
        "aws s3 rb s3://b",
        "aws ec2 terminate-instances i-1",
        "gcloud compute instances delete x",
        "az vm delete x",
        "gh repo delete x",
        "npm uninstall left-pad",
        "cargo clean",
        "make clean",
        "make all clean",
        "just clean",
        "dd if=/dev/zero of=x.img",
    ] {
        assert_eq!(bash(&spec(), command).suggestion, None, "{command}");
    }
    // What only looks like it has a rule.
    for command in ["git commit -m rm", "cargo test clean", "npm run clean-cache"] {
        assert!(bash(&spec(), command).suggestion.is_some(), "{command}");
    }
}

#[test]
fn core_21_broad_prefixes_are_refused() {
    for rule in [
        "Bash",
        "Bash(*)",
        "Bash(git *)",
        "Bash(python3:*)",
        "Bash(sudo *)",
        "Bash(env *)",
        "Bash(npx *)",
        "Bash(bash *)",
        "Bash(sh -c *)",
        "Bash(npm run *)",
        "Bash(node*)",
        "Shell(git *)",
        "Edit",
        "Read(//**)",
        "WebFetch",
        "WebFetch(domain:*)",
        "mcp__*",
    ] {
        assert!(too_broad(rule), "{rule}");
    }
    for rule in [
        "Bash(git status *)",
        "Bash(npm run test *)",
        "Bash(python3 x.py)",
        "Edit(./a)",
        "Read(//etc/hosts)",
        "WebFetch(domain:docs.rs)",
        "mcp__a__b",
        "Bash(ls *)",
    ] {
        assert!(!too_broad(rule), "{rule}");
    }
}

#[test]
fn core_21_results_are_filtered_by_read_denies() {
    let paths = MemoryPaths::load();
    let spec = spec().rules(List::Deny, RuleSource::session(), ["Read(.env)", "Read(secrets)"]);
    let (policy, _) = Policy::new(&spec, &paths);
    let may = |path: &str| policy.may_read(Path::new(path), &paths);
    assert!(may("src/main.rs") && may("/proj/app/README.md"));
    assert!(
        !may(".env") && !may("sub/.env") && !may("innocent.txt") && !may("secrets/prod/db.txt")
    );
}

#[test]
fn core_21_searches_leave_out_files_that_need_approval() {
    let paths = MemoryPaths::load();
    let spec = spec().rules(List::Ask, RuleSource::session(), ["Read(.env)", "Read(secrets/**)"]);
    let (policy, _) = Policy::new(&spec, &paths);
    let asks = |path: &str| policy.needs_approval_to_read(Path::new(path), &paths);
    assert!(asks(".env") && asks("sub/.env") && asks("secrets/prod/db.txt"));
    assert!(asks("innocent.txt"), "a link to a file that needs approval");
    assert!(!asks("src/main.rs") && !asks("/proj/app/README.md"));
    // A rule about all reads asks about the call of Grep itself, and then nothing is left out.
    let every = self::spec().rules(List::Ask, RuleSource::session(), ["Read"]);
    let (policy, _) = Policy::new(&every, &paths);
    assert!(!policy.needs_approval_to_read(Path::new(".env"), &paths));
}

#[test]
fn core_21_additional_directories_are_workspace() {
    let spec =
        PolicySpec::new(Workspace::new("/proj/app", "/home/ada").with_additional("/proj/other"));
    assert_eq!(bash(&spec, "cat ../other/lib.rs").verdict, Verdict::Allow);
    assert_eq!(bash(&spec, "cat away/lib.rs").verdict, Verdict::Allow);
    assert_eq!(bash(&spec, "rm -rf ../other").source, VerdictSource::Critical);
    let edits = spec.mode(Mode::AcceptEdits);
    let edit = json!({"file_path": "/proj/other/lib.rs"});
    assert_eq!(judge(&edits, "Edit", &edit).verdict, Verdict::Allow);
}

#[test]
fn core_21_free_reads_can_be_switched_off() {
    let strict = spec().free_reads(false);
    assert_eq!(bash(&strict, "ls").verdict, Verdict::Ask);
    assert_eq!(judge(&strict, "Read", &json!({"file_path": "README.md"})).verdict, Verdict::Ask);
    let allowed =
        strict.rules(List::Allow, RuleSource::session(), ["Read(README.md)", "Bash(ls *)"]);
    assert_eq!(judge(&allowed, "Read", &json!({"file_path": "README.md"})).verdict, Verdict::Allow);
    assert_eq!(bash(&allowed, "ls").verdict, Verdict::Allow);
}

#[test]
fn core_21_a_leading_slash_is_the_root_of_the_source() {
    let source = RuleSource::file("/proj/app/.claude/settings.json", "/proj/app");
    let spec =
        PolicySpec::new(Workspace::new("/proj/app/sub", "/home/ada")).with_rules_from(source);
    assert_eq!(
        judge(&spec, "Edit", &json!({"file_path": "/proj/app/src/a.rs"})).verdict,
        Verdict::Allow
    );
    assert_eq!(judge(&spec, "Edit", &json!({"file_path": "src/a.rs"})).verdict, Verdict::Ask);
}

trait WithRules {
    fn with_rules_from(self, source: RuleSource) -> Self;
}

impl WithRules for PolicySpec {
    fn with_rules_from(self, source: RuleSource) -> Self {
        self.rules(List::Allow, source, ["Edit(/src/**)"])
    }
}

#[test]
fn sdk_23_config_folders_are_readable_but_not_their_settings() {
    let strict = spec().free_reads(false).rules(
        List::Allow,
        RuleSource::session(),
        DEFAULT_ALLOW.iter().copied(),
    );
    let (_, errors) = Policy::new(&strict, &MemoryPaths::load());
    assert!(errors.is_empty());
    let read = |path: &str| judge(&strict, "Read", &json!({ "file_path": path })).verdict;
    assert_eq!(read(".claude/skills/a/SKILL.md"), Verdict::Allow);
    assert_eq!(read(".agents/x.md"), Verdict::Allow);
    assert_eq!(read(".claude/settings.json"), Verdict::Ask);
    assert_eq!(read(".robota/settings.json"), Verdict::Ask);
    let glob = |pattern: &str| judge(&strict, "Glob", &json!({ "pattern": pattern })).verdict;
    for pattern in [".claude/**", ".claude/skills/*/SKILL.md", ".robota/*", ".agents/**/*.md"] {
        assert_eq!(glob(pattern), Verdict::Allow, "{pattern}");
    }
    for pattern in ["src/**", ".claude/../src/*", "**/.claude", "/etc/*"] {
        assert_eq!(glob(pattern), Verdict::Ask, "{pattern}");
    }
}

#[test]
fn the_trust_words_are_modes() {
    use robota_core::permission::TrustLevel;
    assert_eq!(bash(&spec().mode(TrustLevel::Safe.into()), "npm test").verdict, Verdict::Deny);
    assert_eq!(bash(&spec().mode(TrustLevel::Moderate.into()), "touch x").verdict, Verdict::Ask);
    assert_eq!(bash(&spec().mode(TrustLevel::Full.into()), "touch x").verdict, Verdict::Allow);
}

#[test]
fn a_verdict_says_whether_only_the_proof_allows_the_call() {
    let proof = |spec: &PolicySpec, command: &str| {
        let verdict = bash(spec, command);
        (verdict.verdict, verdict.read_only_proof)
    };
    let plain = spec();
    for command in ["ls -la", "git status", "cd src && ls | head", "cat a.txt; grep -n x a.txt"] {
        assert_eq!(proof(&plain, command), (Verdict::Allow, true), "{command}");
    }
    for command in ["rm x", "touch x", "ls; rm x"] {
        assert_eq!(proof(&plain, command), (Verdict::Ask, false), "{command}");
    }
    let ruled = spec().rules(List::Allow, RuleSource::session(), ["Bash(ls *)", "Bash(make *)"]);
    // A rule allows it to run as it is.
    assert_eq!(proof(&ruled, "ls -la"), (Verdict::Allow, false));
    assert_eq!(proof(&ruled, "make test"), (Verdict::Allow, false));
    // One shell runs both, and `make` must be able to write.
    assert_eq!(proof(&ruled, "cat a.txt; make test"), (Verdict::Allow, false));
    assert_eq!(proof(&ruled, "ls; cat a.txt"), (Verdict::Allow, true));
    let all = spec().rules(List::Allow, RuleSource::session(), ["Bash"]);
    assert_eq!(proof(&all, "ls"), (Verdict::Allow, false));
    assert_eq!(proof(&spec().mode(Mode::BypassPermissions), "ls"), (Verdict::Allow, false));
    assert_eq!(proof(&spec().mode(Mode::Plan), "ls"), (Verdict::Allow, true));
}
