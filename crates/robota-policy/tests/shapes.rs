//! Shapes of shell scripts: what is free because its parts are, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};

use common::MemoryPaths;
use robota_core::paths::{PathKind, Paths};
use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::{LexicalPaths, Policy, PolicySpec, PolicyVerdict, ToolCall, Workspace};
use serde_json::json;

fn judge(mode: Mode, allow: &[&str], deny: &[&str], tool: &str, text: &str) -> PolicyVerdict {
    let paths = MemoryPaths::load();
    let policy = common::policy(mode, allow, deny, &paths);
    let input = match tool {
        "BashInput" => json!({ "bash_id": "1", "input": text }),
        _ => json!({ "command": text }),
    };
    policy.judge(&ToolCall { tool, input: &input, class: Class::Execute }, &paths)
}

#[track_caller]
fn expect(got: &PolicyVerdict, want: Verdict, text: &str) {
    let why: Vec<_> = got.reasons.iter().map(|reason| reason.text.as_str()).collect();
    assert_eq!(got.verdict, want, "{text}: {why:?}");
}

#[test]
fn read_only_shapes_are_free_in_every_mode() {
    for text in [
        "cd src && ls 2>&1 | head",
        "cd src && ls 2>/dev/null",
        "ls && cat README.md 2>&1 | grep x | wc -l",
        "cd src; ls; cd ..",
        "cd src; ls; cd ..; ls",
        "cd src && cd .. && ls",
        "FOO=bar ls",
        "FOO=bar BAZ=$(date) ls -la",
        "echo $((1+2))",
        "x=abc; echo ${#x} ${x:0:2} ${x%c} ${x:-y}",
        "i=0; while read -r l; do i=$((i+1)); done < README.md; echo $i",
        "while read l; do echo \"$l\"; done < README.md",
        "while IFS= read -r line; do echo \"$line\"; done < README.md",
        "git ls-files | while read -r f; do echo \"$f\"; done",
        "for f in *.rs; do wc -l \"$f\"; done",
        "for f in src/*.rs; do echo \"== $f\"; head -n 3 \"$f\"; done",
        "diff <(sort README.md) <(sort src/main.rs)",
        "echo \"$(date)\"",
        "echo \"branch: $(git branch --show-current)\"",
        "x=$(git rev-parse HEAD); echo \"$x\"",
        "bash -c 'ls'",
        "sh -c 'cd src && ls | head'",
        "cat <<EOF\n$(date)\n$HOME\nEOF\n",
        "if [ -f README.md ]; then cat README.md; else echo none; fi 2>/dev/null",
        "[ -n \"$(git status --porcelain)\" ] && echo dirty || echo clean",
        "[[ -f README.md && ! -d x ]] && echo yes",
        "time { ls; }",
        "! ls > /dev/null 2>&1",
        "{ ls; pwd; } | sort",
        "case $x in a) ls ;; *) pwd ;; esac",
    ] {
        for mode in Mode::ALL {
            expect(&judge(mode, &[], &[], "Bash", text), Verdict::Allow, text);
        }
    }
}

/// A workspace without strange names or links.
#[derive(Debug)]
struct Plain;

impl Paths for Plain {
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        LexicalPaths.canonical(path)
    }

    fn kind(&self, path: &Path) -> PathKind {
        match path.to_str() {
            Some("/w" | "/w/src") => PathKind::Dir,
            Some("/w/a.txt" | "/w/src/b.rs") => PathKind::File,
            _ => PathKind::Missing,
        }
    }

    fn entries(&self, dir: &Path) -> Vec<String> {
        match dir.to_str() {
            Some("/w") => vec!["a.txt".into(), "src".into()],
            Some("/w/src") => vec!["b.rs".into()],
            _ => Vec::new(),
        }
    }

    fn case_sensitive(&self, _: &Path) -> bool {
        true
    }
}

#[test]
fn looks_over_what_looks_list_are_free() {
    let spec = PolicySpec::new(Workspace::new("/w", "/home/ada")).mode(Mode::Plan);
    let (policy, _) = Policy::new(&spec, &Plain);
    let judge = |text: &str| {
        let input = json!({ "command": text });
        policy.judge(&ToolCall { tool: "Bash", input: &input, class: Class::Execute }, &Plain)
    };
    for text in [
        "wc -l $(git ls-files)",
        "grep -n main $(git ls-files)",
        "cat $(find . -type f -name '*.rs')",
        "timeout 5 wc -l $(git ls-files)",
        "head -n 3 $(find src -name '*.rs' -type f | sort | head -n 5)",
    ] {
        expect(&judge(text), Verdict::Allow, text);
    }
    for text in ["cat $(cat a.txt)", "cat $(echo /etc/passwd)", "rm $(git ls-files)"] {
        expect(&judge(text), Verdict::Deny, text);
    }
}

#[test]
fn shapes_with_something_else_inside_ask() {
    for text in [
        "[ a > src/main.rs ]",
        "[ a > .git/config ]",
        "test a > src/main.rs",
        "echo $(rm x)",
        "echo \"$(npm test)\"",
        "diff <(sort README.md) <(make)",
        "FOO=$(make) ls",
        "cd /; ls",
        "cd ..; ls",
        "cd src; cd ..; cd ..; ls",
        "cd nowhere; cd ..; ls",
        "cat $(cat list)",
        "cat $(echo /etc/passwd)",
        "sort $(git ls-files) -o x",
        "bash -c 'rm x'",
        "bash -c \"$x\"",
        "bash -lc 'ls'",
        "while true; do ls; done",
        "until read x; do ls; done",
        "while read x < README.md; do ls; done",
        "while read -t 0 x; do ls; done",
        "for i in $(seq 1 1000000); do ls; done",
        "x='a[$(rm x)]'; echo $((x))",
        "echo $((x))",
        "test -v 'a[$(rm x)]'",
        "[[ x -eq 1 ]]",
        "x='$(rm x)'; echo ${x@P}",
        "x='a[$(rm x)]'; echo ${!x}",
        "declare -n r=HOME; echo $r",
        "printf -v 'a[$(rm x)]' y",
        "set",
        "set | grep KEY",
        "declare -p",
        "declare",
        "typeset -p",
        "export",
        "export -p",
        "readonly -p",
        "declare -xp",
        "PATH=. ls",
        "LD_PRELOAD=x ls",
        "GIT_DIR=x git status",
        "POSIXLY_CORRECT=1 head README.md -n /etc/passwd",
        "RIPGREP_CONFIG_PATH=x rg y",
        "MY_OPTIONS=x ls",
    ] {
        expect(&judge(Mode::Default, &[], &[], "Bash", text), Verdict::Ask, text);
    }
}

#[test]
fn a_deny_fires_inside_what_the_shell_evaluates() {
    for text in [
        "[ a > f ]; rm x",
        "ls && cat y 2>&1 | rm x",
        "echo \"$(rm x)\"",
        "cat <(rm x)",
        "x='a[$(rm x)]'; echo $((x))",
        "x='a[$(rm x)]'; ((x++))",
        "x='$(rm x)'; echo ${x@P}",
        "x='a[$(rm x)]'; echo ${!x}",
        "test -v 'a[$(rm x)]'",
        "[ -v 'a[`rm x`]' ]",
        "[[ -v 'a[$(rm x)]' ]]",
        "[[ 'a[$(rm x)]' -eq 1 ]]",
        "let 'a[$(rm x)]=1'",
        "printf -v 'a[$(rm x)]' y",
        "unset 'a[$(rm x)]'",
        "declare -i y='a[$(rm x)]'",
        "read 'a[$(rm x)]' <<< y",
        "bash -c 'echo $(rm x)'",
    ] {
        for mode in [Mode::Default, Mode::BypassPermissions] {
            let got = judge(mode, &["Bash", "Edit"], &["Bash(rm *)"], "Bash", text);
            expect(&got, Verdict::Deny, text);
        }
    }
}

#[test]
fn no_rule_covers_a_command_in_a_substitution() {
    for text in ["echo $(npm test)", "npm test $(ls)", "npm test \"$(npm test)\""] {
        expect(&judge(Mode::Default, &["Bash(npm test *)"], &[], "Bash", text), Verdict::Ask, text);
    }
    let text = "echo $(npm test)";
    expect(&judge(Mode::Default, &["Bash"], &[], "Bash", text), Verdict::Allow, text);
}

#[test]
fn a_nameref_hides_no_critical_removal() {
    for text in [
        "declare -n r=HOME; rm -rf \"$r\"",
        "declare -n r=x; x=~; rm -rf \"$r\"",
        "declare -n r=x; r=~; rm -rf \"$x\"",
        "typeset -n r=HOME; rm -rf $r",
    ] {
        let got = judge(Mode::BypassPermissions, &["Bash"], &[], "Bash", text);
        expect(&got, Verdict::Ask, text);
    }
}

#[test]
fn globs_that_match_hidden_files_read_them() {
    for text in ["GLOBIGNORE=x; cat *env", "shopt -s dotglob; cat *env"] {
        let got = judge(Mode::BypassPermissions, &["Bash"], &["Read(.env)"], "Bash", text);
        expect(&got, Verdict::Deny, text);
    }
}

/// What is typed into a shell that runs is a script.
#[test]
fn typed_input_is_judged_as_a_script() {
    let typed = |mode, allow: &[&str], deny: &[&str], text: &str| {
        judge(mode, allow, deny, "BashInput", text)
    };
    let bypass = Mode::BypassPermissions;
    for text in
        ["rm x\n", "ls; rm x\n", "ls\nrm x\n", "sudo rm x\n", "bash -c 'rm x'\n", "$(rm x)\n"]
    {
        let got = typed(bypass, &["Bash", "BashInput"], &["Bash(rm *)"], text);
        expect(&got, Verdict::Deny, text);
        for deny in ["Bash", "BashInput", "Shell"] {
            expect(&typed(bypass, &["Bash", "BashInput"], &[deny], text), Verdict::Deny, text);
        }
    }
    for text in ["rm -rf ~\n", "cd / && rm -rf *\n", "dd of=/dev/sda\n", "r", "\u{3}"] {
        expect(&typed(bypass, &["Bash"], &[], text), Verdict::Ask, text);
    }
    // Neither the proof nor a rule for one command covers the shell that reads it.
    for text in ["ls\n", "npm test\n", "\n", "y\n"] {
        expect(&typed(Mode::Default, &["Bash(npm test)"], &[], text), Verdict::Ask, text);
        expect(&typed(Mode::Plan, &[], &[], text), Verdict::Deny, text);
        expect(&typed(Mode::Default, &["BashInput"], &[], text), Verdict::Allow, text);
        expect(&typed(Mode::Default, &["Bash"], &[], text), Verdict::Allow, text);
        expect(&typed(bypass, &[], &[], text), Verdict::Allow, text);
    }
    expect(&typed(bypass, &[], &["Read(.env)"], "cat .env\n"), Verdict::Deny, "cat .env");
    // A rule for the tool that types covers no other commands.
    expect(&judge(bypass, &[], &["BashInput"], "Bash", "ls"), Verdict::Allow, "ls");
}

/// Files that settings run are protected in upper and lower case: some disks ignore case.
#[test]
fn named_files_are_protected_in_any_case() {
    let spec = PolicySpec::new(Workspace::new("/w", "/home/ada"))
        .mode(Mode::AcceptEdits)
        .protect(["tools/Check.sh"]);
    let (policy, _) = Policy::new(&spec, &LexicalPaths);
    let verdict = |file: &str| {
        let input = json!({ "file_path": file, "content": "" });
        let call = ToolCall { tool: "Write", input: &input, class: Class::Modify };
        policy.judge(&call, &LexicalPaths).verdict
    };
    for file in ["tools/Check.sh", "tools/check.sh", "TOOLS/CHECK.SH", "/w/Tools/check.sh"] {
        assert_eq!(verdict(file), Verdict::Ask, "{file}");
    }
    for file in [".GIT/hooks/x", ".Claude/settings.json", "Rust-Toolchain"] {
        assert_eq!(verdict(file), Verdict::Ask, "{file}");
    }
    assert_eq!(verdict("tools/other.sh"), Verdict::Allow);
}

#[test]
fn plan_mode_allows_tools_of_programs_that_only_read() {
    let paths = MemoryPaths::load();
    let policy = common::policy(Mode::Plan, &[], &[], &paths);
    let input = json!({});
    for (class, want) in [
        (Class::Inspect, Verdict::Allow),
        (Class::Modify, Verdict::Deny),
        (Class::Execute, Verdict::Deny),
    ] {
        let call = ToolCall { tool: "Lookup", input: &input, class };
        expect(&policy.judge(&call, &paths), want, &format!("{class:?}"));
    }
}
