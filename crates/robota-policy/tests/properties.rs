//! What must hold for every command and every rule.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::LazyLock;

use common::{MemoryPaths, fixture};
use proptest::prelude::*;
use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::{List, Policy, PolicySpec, RuleSource, ToolCall, Workspace};
use serde_json::{Value, json};

struct Rules {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

fn judge(rules: &Rules, mode: Mode, tool: &str, input: &Value) -> Verdict {
    static PATHS: LazyLock<MemoryPaths> = LazyLock::new(MemoryPaths::load);
    let paths = &*PATHS;
    let spec = PolicySpec::new(Workspace::new("/proj/app", "/home/ada"))
        .mode(mode)
        .rules(List::Allow, RuleSource::session(), &rules.allow)
        .rules(List::Ask, RuleSource::session(), &rules.ask)
        .rules(List::Deny, RuleSource::session(), &rules.deny);
    let (policy, _) = Policy::new(&spec, paths);
    policy.judge(&ToolCall { tool, input, class: Class::Execute }, paths).verdict
}

fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    let own = |list: &[&str]| list.iter().map(|rule| (*rule).to_owned()).collect();
    Rules { allow: own(allow), ask: own(ask), deny: own(deny) }
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Ways to run a command without writing it plainly.
fn wrap(kind: usize, command: &str) -> String {
    let quoted = single_quoted(command);
    match kind {
        0 => format!("ls; {command}"),
        1 => format!("ls && {command}"),
        2 => format!("false || {command}"),
        3 => format!("ls | {command}"),
        4 => format!("ls & {command}"),
        5 => format!("ls\n{command}"),
        6 => format!("( {command} )"),
        7 => format!("{{ {command}; }}"),
        8 => format!("if true; then {command}; fi"),
        9 => format!("while true; do {command}; done"),
        10 => format!("for i in a b; do {command}; done"),
        11 => format!("case a in *) {command};; esac"),
        12 => format!("f() {{ {command}; }}; f"),
        13 => format!("echo $({command})"),
        14 => format!("echo \"$({command})\""),
        15 => format!("cat <({command})"),
        16 => format!("x=$({command})"),
        17 => format!("sh -c {quoted}"),
        18 => format!("bash -lc {quoted}"),
        19 => format!("eval {quoted}"),
        20 => format!("bash <<'END'\n{command}\nEND\n"),
        21 => format!("bash <<< {quoted}"),
        22 => format!("trap {quoted} EXIT"),
        23 => format!("su -c {quoted}"),
        24 => format!("! ( {command} )"),
        25 => format!("ls > /dev/null; {command} 2>&1"),
        26 => format!("ssh host {quoted}"),
        27 => format!("watch {quoted}"),
        28 => format!("echo ok # x\n{command}"),
        29 => format!("[[ -n $({command}) ]]"),
        30 => format!("{command} # end"),
        31 => format!("   {command}   "),
        32 => format!("\n\n{command}\n"),
        _ => format!("true && {{ ls; ( {command} ); }}"),
    }
}

/// Ways to put something in front of a simple command.
fn prefix(kind: usize, command: &str) -> String {
    let prefixes = [
        "timeout 5",
        "time",
        "nice",
        "nice -n 3",
        "nohup",
        "stdbuf -oL",
        "command",
        "builtin",
        "env",
        "env -i",
        "env A=b",
        "env -u A",
        "sudo",
        "sudo -u root",
        "sudo -n",
        "doas",
        "exec",
        "setsid",
        "ionice -c 3",
        "flock /tmp/l",
        "chroot /",
        "busybox",
        "strace -f",
        "xargs",
        "xargs -n 1",
        "A=b",
        "LC_ALL=C A=b",
        "/usr/bin/env",
        "/usr/bin/timeout 9",
        "parallel",
        "unbuffer",
        "find . -exec",
        "docker run img",
        "npx",
        "taskset 1",
        "coproc",
    ];
    let prefix = prefixes[kind % prefixes.len()];
    if prefix == "find . -exec" {
        format!("{prefix} {command} \\;")
    } else {
        format!("{prefix} {command}")
    }
}

/// Ways to spell the program.
fn spell(kind: usize, program: &str) -> String {
    let (head, tail) = program.split_at(1);
    match kind % 9 {
        0 => program.to_owned(),
        1 => format!("\\{program}"),
        2 => format!("'{program}'"),
        3 => format!("\"{program}\""),
        4 => format!("{head}\"{tail}\""),
        5 => format!("{head}''{tail}"),
        6 => format!("/bin/{program}"),
        7 => format!("$'{program}'"),
        _ => format!("$'\\x{:02x}'{tail}", head.as_bytes()[0]),
    }
}

fn some_rules() -> impl Strategy<Value = Vec<String>> {
    let pool = [
        "Bash",
        "Bash(git *)",
        "Bash(git push *)",
        "Bash(rm *)",
        "Bash(npm*)",
        "Bash(ls)",
        "Bash(cat *)",
        "Bash(* --version)",
        "Read",
        "Read(.env)",
        "Read(./src/**)",
        "Read(//etc/**)",
        "Edit",
        "Edit(src/**)",
        "Edit(./docs/**)",
        "Edit(.git/**)",
        "WebFetch(domain:docs.rs)",
        "WebFetch",
        "mcp__a",
        "mcp__a__*",
        "mcp__*",
        "*",
        "Grep",
        "Glob(src/**)",
        "Agent(x)",
        "Bash(ls",
        "Bash(echo:*)",
        "Skill(x *)",
        "Custom(a*)",
        "Write(~/x)",
    ];
    proptest::collection::vec(proptest::sample::select(pool.to_vec()), 0..6)
        .prop_map(|rules| rules.into_iter().map(str::to_owned).collect())
}

/// Any call of the corpus, or a random one.
fn some_call() -> impl Strategy<Value = (String, Value)> {
    let known: Vec<(String, Value)> = ["shell.jsonl", "rules.jsonl"]
        .iter()
        .flat_map(|file| {
            fixture(file)
                .lines()
                .map(|line| {
                    let case: Value = serde_json::from_str(line).unwrap();
                    (case["tool"].as_str().unwrap().to_owned(), case["input"].clone())
                })
                .collect::<Vec<_>>()
        })
        .filter(|(_, input)| input.to_string().len() < 500)
        .collect();
    let soup = "[ -~\n\t]{0,60}".prop_map(|text| ("Bash".to_owned(), json!({ "command": text })));
    prop_oneof![4 => proptest::sample::select(known), 1 => soup]
}

fn some_mode() -> impl Strategy<Value = Mode> {
    proptest::sample::select(Mode::ALL.to_vec())
}

/// A rule over a whole tool says nothing of a word that only may be a file; one that names the file
/// does, also with other rules.
#[test]
fn core_21_a_rule_over_a_tool_hides_none_over_a_file() {
    let may_read = json!({ "command": "dotenvx get -f .env" });
    let judged = |deny: &[&str]| judge(&rules(&[], &[], deny), Mode::Default, "Bash", &may_read);
    assert_eq!(judged(&["Read"]), Verdict::Ask);
    assert_eq!(judged(&["Read(.env)"]), Verdict::Deny);
    assert_eq!(judged(&["Read", "Read(.env)"]), Verdict::Deny);

    let may_change = json!({ "command": "sometool notes.txt" });
    let judged = |ask: &[&str]| {
        let rules = rules(&["Bash(sometool *)"], ask, &[]);
        judge(&rules, Mode::Default, "Bash", &may_change)
    };
    assert_eq!(judged(&["Edit"]), Verdict::Allow);
    assert_eq!(judged(&["Edit(notes.txt)"]), Verdict::Ask);
    assert_eq!(judged(&["Edit", "Edit(notes.txt)"]), Verdict::Ask);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn core_21_no_wrapping_makes_a_denied_command_allowed(
        spelling in 0usize..9,
        fronts in proptest::collection::vec(0usize..36, 0..3),
        wraps in proptest::collection::vec(0usize..34, 0..4),
        mode in some_mode(),
    ) {
        let mut command = format!("{} x", spell(spelling, "rm"));
        for front in fronts {
            command = prefix(front, &command);
        }
        for kind in wraps {
            command = wrap(kind, &command);
        }
        let rules = rules(&["Bash", "Edit"], &[], &["Bash(rm *)"]);
        let verdict = judge(&rules, mode, "Bash", &json!({ "command": command }));
        prop_assert_ne!(verdict, Verdict::Allow, "{}", command);
    }

    #[test]
    fn core_21_no_spelling_reads_a_denied_file(
        spelling in proptest::sample::select(vec![
            ".env", "./.env", "sub/../.env", "'.env'", ".e*", ".en?", "\"$PWD/.env\"", "$PWD/.env",
            "{.env,x}", "/proj/app/.env", "innocent.txt", ".\\env", "$'.env'", "src/../.env",
            "/proj/link-to-app/.env", "~/../../proj/app/.env", "\"${PWD}\"/.env", ".[e]nv",
        ]),
        program in proptest::sample::select(vec![
            "cat", "head -n 1", "grep KEY", "sed -n 1p", "base64", "cat <", "xxd", "sort", "cat README.md",
            "/bin/cat", "\\cat", "c\"a\"t", "less", "awk 1", "cp -v", "tail -c 5", "diff README.md",
        ]),
        wraps in proptest::collection::vec(0usize..34, 0..3),
    ) {
        let target = if program.starts_with("cp") { " docs/x" } else { "" };
        let mut command = format!("{program} {spelling}{target}");
        for kind in wraps {
            command = wrap(kind, &command);
        }
        let rules = rules(&["Bash", "Edit", "Read"], &[], &["Read(.env)"]);
        let verdict = judge(&rules, Mode::BypassPermissions, "Bash", &json!({ "command": command }));
        prop_assert_ne!(verdict, Verdict::Allow, "{}", command);
    }

    #[test]
    fn core_21_a_rule_that_forbids_never_loosens(
        (tool, input) in some_call(),
        allow in some_rules(),
        ask in some_rules(),
        deny in some_rules(),
        more in some_rules(),
        mode in some_mode(),
    ) {
        let before = judge(&Rules { allow: allow.clone(), ask: ask.clone(), deny: deny.clone() }, mode, &tool, &input);
        let mut denied = deny.clone();
        denied.extend(more.clone());
        let after = judge(&Rules { allow: allow.clone(), ask: ask.clone(), deny: denied }, mode, &tool, &input);
        prop_assert!(after >= before, "deny loosened {} {}", tool, input);
        let mut asked = ask;
        asked.extend(more);
        let after = judge(&Rules { allow, ask: asked, deny }, mode, &tool, &input);
        prop_assert!(after >= before, "ask loosened {} {}", tool, input);
    }

    #[test]
    fn core_21_the_order_of_rules_does_not_matter(
        (tool, input) in some_call(),
        allow in some_rules(),
        ask in some_rules(),
        deny in some_rules(),
        mode in some_mode(),
    ) {
        let forth = judge(&Rules { allow: allow.clone(), ask: ask.clone(), deny: deny.clone() }, mode, &tool, &input);
        let turn = |mut list: Vec<String>| { list.reverse(); list };
        let back = judge(&Rules { allow: turn(allow), ask: turn(ask), deny: turn(deny) }, mode, &tool, &input);
        prop_assert_eq!(forth, back);
    }

    #[test]
    fn core_21_a_stricter_mode_is_not_looser(
        (tool, input) in some_call(),
        allow in some_rules(),
        ask in some_rules(),
        deny in some_rules(),
    ) {
        let all = |mode| judge(&Rules { allow: allow.clone(), ask: ask.clone(), deny: deny.clone() }, mode, &tool, &input);
        prop_assert!(all(Mode::Default) >= all(Mode::AcceptEdits));
        prop_assert!(all(Mode::AcceptEdits) >= all(Mode::BypassPermissions));
        prop_assert!(all(Mode::Plan) >= all(Mode::Default) || all(Mode::Plan) == Verdict::Allow);
    }

    #[test]
    fn core_21_an_allow_for_one_program_covers_no_other(
        before in "[ -~\n]{0,20}",
        after in "[ -~\n]{0,20}",
    ) {
        // In every context, `zap` must not run under a rule for `echo`, unless it is text.
        let command = format!("{before};zap;{after}");
        let rules = rules(&["Bash(echo *)"], &[], &["Bash(zap *)"]);
        let verdict = judge(&rules, Mode::Default, "Bash", &json!({ "command": command }));
        if verdict == Verdict::Allow {
            prop_assert!(
                before.contains(['\'', '"', '#']) || before.contains("<<") || before.contains('\\'),
                "{}", command
            );
        }
    }

    #[test]
    fn nothing_panics_on_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200), mode in some_mode()) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let rules = Rules { allow: vec![text.clone(), format!("Bash({text})")], ask: vec![format!("Read({text})")], deny: vec![format!("WebFetch(domain:{text})"), text.clone()] };
        for (tool, field) in [("Bash", "command"), ("Read", "file_path"), ("Edit", "filePath"), ("Glob", "pattern"), ("WebFetch", "url"), ("Skill", "skill")] {
            let _ = judge(&rules, mode, tool, &json!({ field: text }));
        }
        let _ = judge(&rules, mode, &text, &json!({ &text: text }));
    }

    #[test]
    fn nothing_panics_on_shell_soup(text in "([ -~\n\t]|\\$\\(|<<|'|\"|`|\\{|\\}|\\\\|é|=|\\(|\\)){0,80}", mode in some_mode()) {
        let rules = rules(&["Bash(git *)"], &["Bash(git push *)"], &["Bash(rm *)", "Read(.env)"]);
        let _ = judge(&rules, mode, "Bash", &json!({ "command": text }));
    }
}
