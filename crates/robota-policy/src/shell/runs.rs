//! Texts that another program may run: scripts of awk and sed, options that take a command,
//! commands behind `!`. They are cut into pieces that would be commands if a shell saw them; what
//! is found can only forbid.

use super::parse::Part;
use super::word::Word;
use super::wrappers::base;
use super::{danger, files};

/// Programs whose words are programs of their own.
const INTERPRETERS: &[&str] = &[
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
    "perl",
    "python",
    "python2",
    "python3",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "expect",
    "osascript",
    "vim",
    "vi",
    "nvim",
    "view",
    "ex",
    "ed",
    "emacs",
    "emacsclient",
    "sqlite3",
    "duckdb",
    "psql",
    "mysql",
    "mariadb",
    "gdb",
    "lldb",
    "make",
    "gmake",
    "julia",
    "Rscript",
    "R",
    "ghc",
    "ghci",
    "irb",
    "bc",
    "dc",
    "m4",
    "jshell",
    "groovy",
    "scala",
    "pwsh",
    "powershell",
    "elixir",
    "erl",
    "socat",
    "less",
    "more",
    "gnuplot",
    "octave",
    "mongosh",
    "redis-cli",
    "ftp",
    "lftp",
    "sftp",
    "telnet",
];

/// Whether a program takes programs or commands among its words.
pub(crate) fn interprets(name: &str) -> bool {
    INTERPRETERS.contains(&name)
}

/// More pieces than this are not looked at.
const MAX_PIECES: usize = 64;

/// What the words may give to another program to run, as words.
pub(crate) fn commands(words: &[Word], part: &Part) -> Vec<Vec<Word>> {
    let Some(program) = words.first().and_then(Word::value) else { return Vec::new() };
    let name = base(&program);
    let args = &words[1..];
    let all = interprets(name);
    if matches!(name, "sed" | "gsed") && !files::wild_sed(args) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut before = false;
    for word in args {
        let Some(text) = word.value() else {
            before = false;
            continue;
        };
        let runs = danger::takes_command(name, &text);
        if runs || before || all {
            pieces(&text, runs || before, &mut out);
            if matches!(name, "sed" | "gsed" | "perl") {
                // `s/x/rm y/e`
                text.split(['/', '|', '#', ',']).for_each(|part| pieces(part, false, &mut out));
            }
        }
        before = runs;
    }
    if all && let Some(text) = part.stdin.as_ref().and_then(Word::value) {
        pieces(&text, false, &mut out);
    }
    out.truncate(MAX_PIECES);
    out
}

/// Cuts a text into what would be commands.
fn pieces(text: &str, single: bool, out: &mut Vec<Vec<Word>>) {
    if !single && !text.contains([' ', '\t', ',', '!', '(']) {
        return;
    }
    for segment in text.split(|c: char| "\n;|&(){}\"'`!=".contains(c)).take(MAX_PIECES) {
        // `exec:rm x`, `sh -c,rm`: lists of a language become words.
        let tokens: Vec<&str> = segment
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|t| !t.is_empty())
            .collect();
        // `1e rm x`, `shell rm x`, `.system rm x`: what stands first may not be the program.
        for from in 0..tokens.len().min(3) {
            let Some(first) = tokens.get(from) else { continue };
            let first = first.rsplit(':').next().unwrap_or(first);
            let named = first.chars().all(|c| c.is_ascii_alphanumeric() || "_./~-+".contains(c));
            if !named || first.is_empty() || (from > 0 && first.starts_with('-')) {
                continue;
            }
            let mut words = vec![Word::parse(first)];
            words.extend(tokens.iter().skip(from + 1).map(|token| Word::parse(token)));
            out.push(words);
        }
    }
}
