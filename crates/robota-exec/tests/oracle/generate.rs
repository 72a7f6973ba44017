//! Commands to try: those of the corpus, and new ones composed from the programs and options that
//! the policy's model and the corpus know.

use std::collections::{BTreeMap, BTreeSet};

use robota_policy::{FreeCommand, FreeOption, free_commands};
use serde_json::Value;

/// The options and subcommands of a program.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// Subcommands, for programs that have them.
    pub(crate) subcommands: Vec<String>,
    pub(crate) options: Vec<String>,
}

/// Returns every program that has free commands. The words come from the corpus.
pub(crate) fn programs(corpus: &[String]) -> BTreeMap<String, Program> {
    let mut found: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for command in corpus {
        for simple in command.split(['|', ';', '&', '\n', '(', ')']) {
            let words: Vec<&str> = simple.split_whitespace().collect();
            let Some((first, rest)) = words.split_first() else { continue };
            if !first.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
                continue;
            }
            let (subcommands, options) = found.entry((*first).to_owned()).or_default();
            if *first == "git" {
                subcommands.extend(
                    rest.iter().find(|word| !word.starts_with('-')).map(|word| (*word).to_owned()),
                );
            }
            options.extend(
                rest.iter()
                    .filter(|word| word.starts_with('-') && !word.contains(['\'', '"', '`', '$']))
                    .map(|word| (*word).to_owned()),
            );
        }
    }
    found
        .into_iter()
        .map(|(name, (subcommands, options))| {
            let program = Program {
                subcommands: subcommands.into_iter().collect(),
                options: options.into_iter().collect(),
            };
            (name, program)
        })
        .collect()
}

/// Options that write, run or load something in one program or another, with and without a value.
const NASTY: &[&str] = &[
    "-o",
    "-oout",
    "--output=out",
    "--output",
    "-i",
    "-i.bak",
    "--in-place",
    "-w",
    "-w5",
    "-W",
    "-M",
    "-C",
    "-X",
    "-D",
    "-U",
    "-U3",
    "-G",
    "-O",
    "-Ols",
    "-T",
    "-T.",
    "-f",
    "-e",
    "-E",
    "-d",
    "-p",
    "-P",
    "-r",
    "-s",
    "-S",
    "-t",
    "-u",
    "-x",
    "-z",
    "-0",
    "-1",
    "-n",
    "-n1",
    "-c",
    "-ps",
    "-a",
    "-A",
    "-b",
    "-k",
    "-l",
    "-L",
    "-m",
    "-q",
    "-v",
    "--",
    "-",
    "--group",
    "--files0-from=a.txt",
    "--files0-from=-",
    "--compress-program=.git/run/pager",
    "--pager=.git/run/pager",
    "--pre=.git/run/pager",
    "--contents=a.txt",
    "--ext-diff",
    "--textconv",
    "--no-index",
    "--exec",
    "-exec",
    "-delete",
    "-fprint",
    "-fls",
    "-ok",
    "--vcs",
    "--file=a.txt",
    "-fa.txt",
    "--config=a.txt",
    "--open-files-in-pager=.git/run/pager",
    "--follow",
    "-L1,2:a.txt",
    "--hyperlink",
    "--debug",
    "--version",
    "--help",
    "--reference=a.txt",
    "--from-file=a.txt",
    "--to-command=.git/run/pager",
    "--checkpoint-action=exec=.git/run/pager",
    "-I.git/run/pager",
    "--use-compress-program=.git/run/pager",
    "--rsh=.git/run/ssh",
    "--upload-pack=.git/run/ssh",
    "--show-signature",
    "--no-ext-diff",
    "--no-textconv",
    "--check",
    "--strict",
    "--binary",
    "--reverse",
    "--recurse-submodules",
    "--dereference",
];

const OPERANDS: &[&str] = &[
    "a.txt",
    "b.txt",
    "README.md",
    "src",
    "src/main.rs",
    ".",
    "data.json",
    "list.csv",
    "'with space.txt'",
    "*.txt",
    "{a,b}.txt",
    "src/*.rs",
    "*",
    "?.txt",
    "[ab].txt",
    "\"$PWD/a.txt\"",
    "$PWD",
    "sub/../a.txt",
    "new-file",
    "x",
    "1",
    "2",
    "TODO",
    "HEAD",
    "HEAD~1",
    "main",
    "v1",
    "HEAD:a.txt",
    "main..v1",
    ".git/config",
    "link",
    "linked",
    "linked/secret.txt",
    "inner-link",
    "../outside/secret.txt",
    "~/secret.txt",
    "~",
    "..",
    "/",
    "\"$HOME/.ssh/id\"",
    "1p",
    "s/a/b/",
    "'{print}'",
    "'{print > \"x\"}'",
    "'.a'",
    "'1w x'",
    "'w out'",
    "'s/a/b/w out'",
    "'BEGIN{system(\"touch x\")}'",
    "'1e touch x'",
    "+%s",
    "-newer",
    "-name",
    "'*.rs'",
    "f",
    "out",
    "/dev/null",
    "/dev/stdin",
    "-",
    "{a,b}",
    "*.txt out",
    "script.sh",
    "Makefile",
    ".env",
    "{}",
];

/// Values of options.
const VALUES: &[&str] =
    &["1", "2", "5", "x", "never", "always", "out", "a.txt", "%s", "'%H %s'", ","];

const SHAPES: &[&str] = &[
    "C",
    "C",
    "C",
    "C",
    "C",
    "C",
    "C | C",
    "C | head -n 3",
    "C 2>&1 | C",
    "C 2>/dev/null",
    "C && C",
    "C; C",
    "C || C",
    "cd src && C",
    "cd src; C; cd ..",
    "(C)",
    "{ C; }",
    "if C; then C; fi",
    "[ -n \"$(C)\" ] && C",
    "for f in *.txt; do C \"$f\"; done",
    "for f in a.txt src; do C $f; done",
    "C $(git ls-files)",
    "C <(C)",
    "echo \"$(C)\"",
    "x=$(C); echo \"$x\"",
    "find . -name '*.txt' | xargs C",
    "find . -type f -exec C {} +",
    "git ls-files | xargs C",
    "while read -r l; do C; done < a.txt",
    "C < a.txt",
    "C > out",
    "C >> a.txt",
    "C <<< text",
    "C <<EOF\ntext\nEOF\n",
    "timeout 5 C",
    "nice C",
    "env C",
    "command C",
    "FOO=bar C",
    "time C",
    "! C",
    "bash -c 'C'",
    "sh -c \"C\"",
    "[ a > out ]",
    "test -f a.txt && C",
    "case x in x) C ;; esac",
    "xargs C < a.txt",
    "C & wait",
    "env -u X C",
    "stdbuf -oL C",
];

/// Programs that wait or never end.
const LEFT_OUT: &[&str] = &["sleep", "tail", "top", "watch", "read", "exit", "exec", "bash", "sh"];

/// Makes commands from a seed: the same seed makes the same commands.
pub(crate) struct Generator {
    state: u64,
    corpus: Vec<String>,
    programs: Vec<(String, Program)>,
    model: Vec<FreeCommand>,
}

impl Generator {
    /// Makes commands of programs that have a free command.
    pub(crate) fn new(seed: u64, is_free: impl Fn(&str) -> bool) -> Self {
        let corpus = corpus();
        let free: Vec<String> = corpus.iter().filter(|command| is_free(command)).cloned().collect();
        let used = programs(&free);
        let known = programs(&corpus).into_iter();
        let programs = known
            .filter(|(name, _)| used.contains_key(name) && !LEFT_OUT.contains(&name.as_str()))
            .map(|(name, program)| {
                let subcommands = used.get(&name).map(|used| used.subcommands.clone());
                (name, Program { subcommands: subcommands.unwrap_or_default(), ..program })
            })
            .collect();
        let mut model = free_commands();
        model.retain(|command| !LEFT_OUT.contains(&command.words[0]));
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, corpus: free, programs, model }
    }

    fn next(&mut self, below: usize) -> usize {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(random).unwrap() % below.max(1)
    }

    fn pick<'a>(&mut self, list: &'a [&'a str]) -> &'a str {
        list[self.next(list.len())]
    }

    /// Returns the next command.
    pub(crate) fn command(&mut self) -> String {
        if self.next(20) == 0 {
            let at = self.next(self.corpus.len());
            let command = self.corpus[at].clone();
            // Commands that only wait are skipped: they are allowed, and have no effect to find.
            if !command.contains("sleep") {
                return command;
            }
        }
        let shape = self.pick(SHAPES);
        let mut text = String::new();
        for (i, part) in shape.split('C').enumerate() {
            if i > 0 {
                let simple = self.simple();
                text.push_str(&simple);
            }
            text.push_str(part);
        }
        text
    }

    /// Returns a command of the model: mostly with options under which it still only reads.
    fn of_model(&mut self) -> Vec<String> {
        let at = self.next(self.model.len());
        let FreeCommand { words, options } = self.model[at].clone();
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        for _ in 0..self.next(4) {
            if options.is_empty() || self.next(8) == 0 {
                words.push(self.pick(NASTY).to_owned());
                continue;
            }
            let mut option = options[self.next(options.len())];
            if !option.free && self.next(8) > 0 {
                option = options[self.next(options.len())];
            }
            self.give(option, &mut words);
        }
        words
    }

    fn give(&mut self, option: FreeOption, words: &mut Vec<String>) {
        let FreeOption { name, value, attached, free: _ } = option;
        if !value || (attached && self.next(2) == 0) {
            words.push(name.to_owned());
            return;
        }
        let value = if self.next(2) == 0 { self.pick(VALUES) } else { self.pick(OPERANDS) };
        match (name.starts_with("--"), attached || self.next(2) == 0) {
            (true, true) => words.push(format!("{name}={value}")),
            (false, true) => words.push(format!("{name}{value}")),
            (_, false) => words.extend([name.to_owned(), value.to_owned()]),
        }
    }

    fn simple(&mut self) -> String {
        let mut words = if self.next(2) == 0 { self.of_model() } else { self.of_corpus() };
        for _ in 0..self.next(4) {
            let operand = self.pick(OPERANDS).to_owned();
            words.push(operand);
        }
        // Options may follow operands.
        if words.len() > 3 && self.next(4) == 0 {
            let last = words.len() - 1;
            let to = 1 + self.next(last - 1);
            words.swap(last, to);
        }
        words.iter().map(|word| self.spelled(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns a command of words from the corpus.
    fn of_corpus(&mut self) -> Vec<String> {
        let at = self.next(self.programs.len());
        let mut words = vec![self.programs[at].0.clone()];
        let count = self.programs[at].1.subcommands.len();
        if count > 0 {
            let sub = self.next(count);
            words.push(self.programs[at].1.subcommands[sub].clone());
        }
        for _ in 0..self.next(4) {
            let own = self.programs[at].1.options.len();
            let option = if own > 0 && self.next(3) > 0 {
                let option = self.next(own);
                self.programs[at].1.options[option].clone()
            } else {
                self.pick(NASTY).to_owned()
            };
            words.push(option);
        }
        words
    }

    /// Returns a word in one of its spellings.
    fn spelled(&mut self, word: &str) -> String {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,".contains(c));
        if !plain || word.len() < 2 {
            return word.to_owned();
        }
        let (head, tail) = word.split_at(1);
        match self.next(12) {
            0 => format!("'{word}'"),
            1 => format!("\"{word}\""),
            2 => format!("{head}''{tail}"),
            3 => format!("\\{word}"),
            _ => word.to_owned(),
        }
    }
}

/// Returns the commands of the corpus.
fn corpus() -> Vec<String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/policy/shell.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let commands = text.lines().filter_map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        case["input"]["command"].as_str().map(str::to_owned)
    });
    commands.filter(|command| command.len() < 300).collect()
}
