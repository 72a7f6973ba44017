//! Two spellings that the shell turns into the same words get the same verdict, and no wrapper and
//! no other spelling of an option loosens one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::LazyLock;

use common::{Case, MemoryPaths, fixture, policy};
use robota_core::permission::{Class, Mode, Verdict};
use robota_policy::{Policy, ToolCall};
use serde_json::json;

static PATHS: LazyLock<MemoryPaths> = LazyLock::new(MemoryPaths::load);

/// A policy, and a command that is nothing but plain words.
struct Plain {
    policy: Policy,
    words: Vec<String>,
}

impl Plain {
    fn verdict(&self, command: &str) -> Verdict {
        let input = json!({ "command": command });
        let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
        self.policy.judge(&call, &*PATHS).verdict
    }
}

/// Returns every command of the corpus that has no syntax but words and blanks.
fn plain_commands() -> Vec<Plain> {
    let safe = |c: char| c.is_ascii_alphanumeric() || " _./:,+@%=-".contains(c);
    let keyword = |word: &str| matches!(word, "time" | "coproc" | "if" | "for" | "case" | "in");
    fixture("shell.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Case>(line).unwrap())
        .filter_map(|case| {
            let command = case.input.get("command")?.as_str()?;
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let plain = case.tool == "Bash"
                && case.input.as_object().is_some_and(|fields| fields.len() == 1)
                && command.chars().all(safe)
                && words.iter().all(|word| !word.is_empty() && !keyword(word))
                && !words[0].contains('=')
                && command.len() < 1_000;
            plain.then(|| Plain { policy: case.policy(&*PATHS), words })
        })
        .collect()
}

const STYLES: usize = 6;

/// The program behind one of these is not covered either when it is spelled in `$'…'`.
const WRAPPERS: &[&str] = &["timeout", "nice", "nohup", "command", "stdbuf"];

fn requoted(style: usize, word: &str) -> String {
    let (head, tail) = word.split_at(1);
    match style {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => word.chars().map(|c| format!("\\{c}")).collect(),
        3 => format!("{head}''{tail}"),
        4 => format!("{head}\"{tail}\""),
        _ => {
            let codes: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("$'{codes}'")
        }
    }
}

/// Fails with a list of the failures, shortened for a terminal.
fn report(failures: &[String], of: usize) {
    let shown = failures.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {of}:\n{shown}", failures.len());
}

/// Quotes each word alone and all together.
fn quoting(style: usize) {
    let (mut failures, mut tried) = (Vec::new(), 0);
    for plain in plain_commands() {
        let before = plain.verdict(&plain.words.join(" "));
        // The name of a program in `$'…'` is never covered by a rule.
        let first = usize::from(style == 5);
        let mut spellings: Vec<Vec<String>> = Vec::new();
        for at in first..plain.words.len() {
            let mut words = plain.words.clone();
            words[at] = requoted(style, &words[at]);
            spellings.push(words);
        }
        let all = plain.words.iter().enumerate();
        spellings.push(
            all.map(|(at, word)| if at < first { word.clone() } else { requoted(style, word) })
                .collect(),
        );
        for words in spellings {
            tried += 1;
            let text = words.join(" ");
            let after = plain.verdict(&text);
            let unwritten = style == 5 && after > before && WRAPPERS.contains(&&*plain.words[0]);
            if after != before && !unwritten {
                failures
                    .push(format!("{} is {before:?}, {text} is {after:?}", plain.words.join(" ")));
            }
        }
    }
    assert!(tried > 5_000, "only {tried} spellings");
    report(&failures, tried);
}

#[test]
fn quotes_change_no_verdict() {
    for style in 0..STYLES - 1 {
        quoting(style);
    }
}

#[test]
fn ansi_quotes_loosen_no_verdict() {
    quoting(STYLES - 1);
}

const KINDS: usize = 29;

fn wrapped(kind: usize, command: &str) -> Option<String> {
    let fronts = [
        "timeout 5",
        "timeout -s KILL 5",
        "nice",
        "nice -n 5",
        "nohup",
        "stdbuf -oL",
        "command",
        "env",
        "env A=b",
        "env -i",
        "env -",
        "env --",
        "setsid",
        "ionice -c 3",
        "sudo",
        "'timeout' '5'",
        "time",
        "A=b",
    ];
    let quoted = format!("'{}'", command.replace('\'', "'\\''"));
    Some(match kind {
        0 => format!("( {command} )"),
        1 => format!("{{ {command}; }}"),
        2 => format!("sh -c {quoted}"),
        3 => format!("bash -c {quoted}"),
        4 => format!("if true; then {command}; fi"),
        5 => format!("true && {command} 2>&1 | cat"),
        6 => format!("echo \"$({command})\""),
        7 => format!("! {command}"),
        8 => format!("eval {quoted}"),
        9 => format!("bash <<< {quoted}"),
        10 => format!("for i in 1; do {command}; done"),
        kind => format!("{} {command}", fronts.get(kind - 11)?),
    })
}

fn wrappers(only: impl Fn(usize) -> bool) {
    let (mut failures, mut tried) = (Vec::new(), 0);
    for plain in plain_commands() {
        let command = plain.words.join(" ");
        // Builtins are no programs that a wrapper could run.
        if matches!(plain.words[0].as_str(), "cd" | "export" | "exit" | "set" | "unset") {
            continue;
        }
        let before = plain.verdict(&command);
        for kind in (0..KINDS).filter(|kind| only(*kind)) {
            let Some(text) = wrapped(kind, &command) else { break };
            tried += 1;
            let after = plain.verdict(&text);
            if after < before {
                failures.push(format!("{command} is {before:?}, {text} is {after:?}"));
            }
        }
    }
    assert!(tried > 2_000, "only {tried} wrapped commands");
    report(&failures, tried);
}

#[test]
fn no_syntax_around_a_command_loosens_its_verdict() {
    wrappers(|kind| kind < 11);
}

#[test]
fn no_program_in_front_of_a_command_loosens_its_verdict() {
    wrappers(|kind| kind >= 11);
}

/// Programs and options that mean the same in more than one spelling.
const SAME: &[(&str, &[&str])] = &[
    (
        "ls -la src",
        &[
            "ls -l -a src",
            "ls -al src",
            "ls -l --all src",
            "ls -a --form=long src",
            "ls -la -- src",
        ],
    ),
    (
        "grep -rn x src",
        &[
            "grep -r -n x src",
            "grep -nr x src",
            "grep --recursive -n x src",
            "grep --recurs --line-n x src",
            "grep -rn -e x src",
            "grep -rn -- x src",
            "grep -rn --regexp=x src",
            "grep -rn --regexp x src",
        ],
    ),
    ("wc -lc README.md", &["wc -l -c README.md", "wc --lines -c README.md", "wc -lc -- README.md"]),
    (
        "head -n 5 README.md",
        &[
            "head -n5 README.md",
            "head --lines=5 README.md",
            "head --lines 5 README.md",
            "head --line 5 README.md",
            "head -n 5 -- README.md",
        ],
    ),
    (
        "sort -o out README.md",
        &[
            "sort -oout README.md",
            "sort --output=out README.md",
            "sort --output out README.md",
            "sort --outp out README.md",
            "sort README.md -o out",
        ],
    ),
    (
        "rm -rf build",
        &[
            "rm -r -f build",
            "rm -fr build",
            "rm --recursive --force build",
            "rm --recurs -f build",
            "rm -rf -- build",
        ],
    ),
    (
        "rm -rf ~",
        &["rm -r -f ~", "rm -fr ~", "rm --recursive ~", "rm --recurs ~", "rm -rf -- ~", "rm ~ -rf"],
    ),
    ("cat .env", &["cat -- .env", "cat -n .env", "cat --number .env"]),
    (
        "cp -t docs README.md",
        &[
            "cp -tdocs README.md",
            "cp --target-directory=docs README.md",
            "cp --target-directory docs README.md",
            "cp --targ docs README.md",
        ],
    ),
    (
        "sed -i s/a/b/ README.md",
        &[
            "sed --in-place s/a/b/ README.md",
            "sed --in-pl s/a/b/ README.md",
            "sed -i -e s/a/b/ README.md",
            "sed -n -i s/a/b/p README.md",
            "sed -ni s/a/b/p README.md",
        ],
    ),
    ("git log -p --output=x", &["git log -p --output x", "git log --output=x -p"]),
    ("find . -delete", &["find . -depth -delete", "find -delete"]),
    ("git -C / status", &["git '-C' / status", "git -C '/' status"]),
    (
        "tail -f README.md",
        &["tail --follow README.md", "tail --foll README.md", "tail -fn 5 README.md"],
    ),
    (
        "sort --compress-program=x README.md",
        &["sort --compress-program x README.md", "sort --compress-prog=x README.md"],
    ),
    (
        "git grep -O x",
        &[
            "git grep --open-files-in-pager x",
            "git grep --open-files x",
            "git grep -nO x",
            "git grep -Ox x",
        ],
    ),
    (
        "tar -xf a.tar",
        &[
            "tar xf a.tar",
            "tar --extract -f a.tar",
            "tar --extr --file=a.tar",
            "tar -x --file a.tar",
        ],
    ),
];

fn spellings() -> Vec<String> {
    let deny = ["Bash(rm *)", "Read(.env)", "Edit(docs/**)"];
    let rules: [(&[&str], &[&str]); 3] =
        [(&[], &[]), (&["Bash"], &deny), (&["Bash(git *)", "Bash(sort *)", "Bash(tar *)"], &[])];
    let mut failures = Vec::new();
    for mode in Mode::ALL {
        for (allow, deny) in &rules {
            let policy = policy(mode, allow, deny, &*PATHS);
            let plain = Plain { policy, words: Vec::new() };
            for (text, others) in SAME {
                let before = plain.verdict(text);
                for other in *others {
                    let after = plain.verdict(other);
                    if after != before {
                        failures.push(format!(
                            "{mode} {allow:?}: {text} is {before:?}, {other} is {after:?}"
                        ));
                    }
                }
            }
        }
    }
    failures
}

#[test]
fn spellings_of_options_change_no_verdict() {
    report(&spellings(), SAME.len());
}

/// Checks that the comparison can fail.
#[test]
#[should_panic(expected = "1 of 1")]
fn a_difference_is_reported() {
    report(&["ls is allow, 'ls' is ask".into()], 1);
}
