//! Commands that are written to make judging slow, and a disk that helps them. Everything is
//! generated from the number of the input, so that a failure can be repeated.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use robota_core::paths::{PathKind, Paths};
use robota_core::permission::Mode;
use robota_policy::{List, Policy, PolicySpec, RuleSource, Workspace};

/// A disk on which every name without a dot is a folder with entries, down to some depth. Counts
/// how often it is asked.
#[derive(Default)]
pub(crate) struct WidePaths {
    asked: AtomicU64,
}

impl WidePaths {
    /// Returns how often the disk was asked since the last call.
    pub(crate) fn take_asked(&self) -> u64 {
        self.asked.swap(0, Ordering::Relaxed)
    }

    fn ask(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }
}

impl Paths for WidePaths {
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.ask();
        Some(path.to_owned())
    }

    fn kind(&self, path: &Path) -> PathKind {
        self.ask();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let deep = path.components().count() > 6;
        if deep || name.contains('.') { PathKind::File } else { PathKind::Dir }
    }

    fn entries(&self, _: &Path) -> Vec<String> {
        self.ask();
        ["a", "b", "c", "d", "e", "f.rs", "g.rs", "h i", "-n", ".env"].map(str::to_owned).to_vec()
    }

    fn text(&self, _: &Path) -> Option<String> {
        self.ask();
        None
    }

    fn case_sensitive(&self, _: &Path) -> bool {
        self.ask();
        true
    }
}

/// Creates a policy with rules of every kind.
pub(crate) fn policy(mode: Mode, paths: &dyn Paths) -> Policy {
    let spec = PolicySpec::new(Workspace::new("/w/app", "/home/u"))
        .mode(mode)
        .rules(List::Allow, RuleSource::session(), ["Bash(git *)", "Bash(make *)", "Edit(src/**)"])
        .rules(List::Ask, RuleSource::session(), ["Bash(git push *)"])
        .rules(List::Deny, RuleSource::session(), ["Bash(rm *)", "Read(.env)", "Edit(docs/**)"]);
    Policy::new(&spec, paths).0
}

/// A generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    /// Returns a size: mostly small, sometimes as large as a command may be.
    fn size(&mut self) -> usize {
        let most = [3, 20, 150, 1_000, 5_000][self.below(5)];
        1 + self.below(most)
    }
}

/// Text that is repeated before and after a command.
const AROUND: &[(&str, &str)] = &[
    ("$(", ")"),
    ("`", "`"),
    ("(", ")"),
    ("{ ", "; }"),
    ("\"$(", ")\""),
    ("<(", ")"),
    ("if a; then ", "; fi"),
    ("while a; do ", "; done"),
    ("for i in a b; do ", "; done"),
    ("case x in y) ", ";; esac"),
    ("${a:-", "}"),
    ("${a[", "]}"),
    ("$((", "))"),
    ("[[ ", " ]]"),
    ("a[", "]=b"),
    ("f() { ", "; }"),
    ("! ", ""),
    ("time ", ""),
    ("sudo ", ""),
    ("env -S ", ""),
    ("xargs -I{} ", ""),
    ("sh -c ", ""),
    ("eval ", ""),
    ("find . -exec ", " \\;"),
    ("timeout 5 ", ""),
    ("nice nohup ", ""),
    ("{a,b", "}"),
    ("{1..9}", ""),
    ("[", "]"),
    ("'", "'"),
    ("\"", "\""),
    ("$'", "'"),
    ("\\", ""),
    ("@(", ")"),
];

/// Text that is repeated in sequence.
const REPEATED: &[&str] = &[
    "ls | ",
    "ls && ",
    "ls; ",
    "ls & ",
    "cd a && ",
    "cd ..; ",
    "a=$a$a; ",
    "a=b ",
    "x=$(ls); ",
    "cat <<E\nb\nE\n",
    "cat <<E $(ls)\n$a\nE\n",
    "> a ",
    "2>&1 ",
    "< a ",
    "<<< a ",
    "*/",
    "?",
    "[a-z]",
    "{a,b}",
    "{1..9}",
    "$a",
    "\"$a\" ",
    "${a}",
    "$(ls) ",
    "`ls` ",
    "-p ",
    "--output=a ",
    "-exec ls {} + ",
    "\u{e9}",
    "\u{4e2d}",
    "\u{1f600}",
    "e\u{301}",
    "\\\n",
    "\\",
    "'",
    "\"",
    "$",
    "((",
    "))",
    "[[ ",
    "]] ",
    "rm x ",
    "git ",
    ".env ",
    "../",
    "~/",
    "a:b,",
    "=",
    "-",
    "%",
    ";;",
    "|&",
    "<(ls) ",
    "!",
    "#",
    "\t",
    "/",
    "a\nb\n",
    "case a in b) c;; esac; ",
    "function f { ls; }; ",
    "alias a=b; ",
    "trap 'rm x' EXIT; ",
    "a[$i]=1; ",
    "let a++; ",
    "export A=b; ",
    "while read l; do ls; done; ",
    "s/a/b/;",
    "{print}",
    "| .a ",
    "for i in $i a; do i=$i$i; done; ",
    "x='rm x'; $x; ",
    "$((a+1)) ",
    "${a//b/c} ",
    "${!a} ",
    "${#a} ",
];

/// The start of the input.
const HEADS: &[&str] = &[
    "",
    "",
    "ls ",
    "git log ",
    "git -C a ",
    "echo ",
    "cat ",
    "rm ",
    "xargs ",
    "find . ",
    "awk '",
    "sed '",
    "jq '",
    "sh -c '",
    "a=b; ",
    "cd a && ",
    "env ",
    "tar ",
    "make ",
    "python3 -c '",
    "sudo ",
    "rg ",
    "[ ",
];

/// Returns the input of this number.
pub(crate) fn input(number: u64) -> String {
    let mut random = Random::new(number + 1);
    let mut text = random.pick(HEADS).to_owned();
    for _ in 0..1 + random.below(3) {
        match random.below(4) {
            0 => {
                let (open, close) = AROUND[random.below(AROUND.len())];
                // Unbalanced in one of three.
                let (opens, closes) = match random.below(3) {
                    0 => (random.size(), random.size()),
                    _ => {
                        let size = random.size();
                        (size, size)
                    }
                };
                text.push_str(&open.repeat(opens));
                text.push_str(random.pick(&["ls", "rm x", "$a", "*", ""]));
                text.push_str(&close.repeat(closes));
            }
            1 => {
                let size = random.size();
                text.push_str(&random.pick(REPEATED).repeat(size));
            }
            2 => {
                for _ in 0..random.size() {
                    text.push_str(random.pick(REPEATED));
                }
            }
            _ => {
                let size = random.size();
                text.push_str(&random.pick(&["a", "\u{e9}", "-", "*", "0", "a b "]).repeat(size));
            }
        }
        text.push_str(random.pick(&["", " ", "\n", "; ", " | ", " && "]));
    }
    // Longer texts are refused at once, so that most are cut to what is judged.
    if random.below(10) > 0
        && let Some((end, _)) = text.char_indices().nth(9_900)
    {
        text.truncate(end);
    }
    text
}
