//! Finds the words of a command line that name files of a project. It does not need to parse shell
//! syntax exactly: a word too many is harmless, a file too few is not noticed when it changes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

/// The most words of one text.
const MAX_WORDS: usize = 4_096;
/// The most folders that a text changes to.
const MAX_FOLDERS: usize = 8;

/// Ways to write the folder of the checkout.
const CHECKOUT: &[&str] = &["$(git rev-parse --show-toplevel)", "`git rev-parse --show-toplevel`"];

/// Ways to write the folder of the project.
const PROJECT: &[&str] = &[
    "$(pwd)",
    "${CLAUDE_PROJECT_DIR:-.}",
    "${CLAUDE_PROJECT_DIR:-$PWD}",
    "${CLAUDE_PROJECT_DIR:-$(pwd)}",
    "${CLAUDE_PROJECT_DIR}",
    "$CLAUDE_PROJECT_DIR",
    "${ROBOTA_PROJECT_DIR}",
    "$ROBOTA_PROJECT_DIR",
    "${PWD}",
    "$PWD",
];

/// Files with these extensions are code or configuration in any command.
const CODE: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "fish",
    "py",
    "js",
    "mjs",
    "cjs",
    "jsx",
    "ts",
    "mts",
    "cts",
    "tsx",
    "rb",
    "pl",
    "php",
    "lua",
    "r",
    "jl",
    "groovy",
    "kts",
    "ps1",
    "bat",
    "cmd",
    "exe",
    "so",
    "dylib",
    "dll",
    "jar",
    "wasm",
    "awk",
    "sed",
    "jq",
    "mk",
    "json",
    "jsonc",
    "json5",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "config",
    "rc",
    "env",
    "properties",
];

/// A script that could be created is recognised by one of the first extensions.
// Without those that are often data.
const SCRIPTS: &[&str] = CODE.split_at(22).0;

/// Programs that run the file that follows them.
const INTERPRETERS: &[&str] = &[
    "source", ".", "bash", "sh", "zsh", "dash", "ksh", "fish", "node", "nodejs", "deno", "bun",
    "tsx", "ts-node", "python", "python2", "python3", "ruby", "perl", "php", "lua", "java", "awk",
    "make",
];

/// Words after which a command begins.
const BEFORE_COMMAND: &[&str] = &[
    "", "env", "exec", "sudo", "time", "nohup", "command", "builtin", "nice", "if", "then", "else",
    "elif", "while", "until", "do", "!", "eval", "xargs",
];

/// A word of a command line.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    /// The word before it; empty at the start of a command.
    before: String,
    /// Whether output is written to it.
    output: bool,
}

/// Returns the files below the checkout that a text runs or reads as code: those that exist, and
/// paths of scripts that could be created. Data files are not returned. The text runs in the folder of the
/// project, which may be below that of the checkout.
pub(super) fn files(text: &str, (project, checkout): (&Path, &Path)) -> Vec<PathBuf> {
    // The working folder can have another spelling than the real path of the checkout.
    let checkout = if project.starts_with(checkout) { checkout } else { project };
    let written = |text: String, names: &[&str], folder: &Path| {
        let folder = folder.to_string_lossy();
        names.iter().fold(text, |text, name| text.replace(name, &folder))
    };
    let text = written(text.to_owned(), PROJECT, project);
    let text = written(text, CHECKOUT, checkout);
    // The text in quotes may be one word or a command line.
    let mut words = split(&text, true);
    // Both ways: `bash -c "a b"` runs a command line, `"a b.sh"` is one file.
    words.extend(split(&text, false));
    words.truncate(MAX_WORDS);
    let mut folders = vec![project.to_owned()];
    if checkout != project {
        folders.push(checkout.to_owned());
    }
    for word in &words {
        if let Some(folder) = below(checkout, project, &word.text).filter(|path| path.is_dir())
            && folders.len() <= MAX_FOLDERS
            && !folders.contains(&folder)
        {
            folders.push(folder);
        }
    }
    let mut found = Vec::new();
    for word in words.iter().filter(|word| !word.output) {
        for folder in &folders {
            let Some(path) = below(checkout, folder, &word.text) else { continue };
            // Only in the folder of the project: elsewhere most words could be a file.
            let could_exist = || folder == project && is_script_path(&word.text) && !path.exists();
            if (path.is_file() && word.names_code(&path)) || could_exist() {
                found.push(path);
            }
        }
        // `python -m package.module`
        if word.before == "-m" {
            let module = word.text.replace('.', "/");
            let files = [format!("{module}.py"), format!("{module}/__main__.py")];
            for folder in [project, checkout] {
                let files = files.iter().filter_map(|file| below(checkout, folder, file));
                found.extend(files.filter(|path| path.is_file()));
            }
        }
    }
    found
}

impl Word {
    /// Returns whether the word names a program, a script or configuration, and not data.
    fn names_code(&self, path: &Path) -> bool {
        let before = self.before.rsplit('/').next().unwrap_or_default();
        let extension = path.extension().and_then(|end| end.to_str());
        let executable = path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
        executable
            || extension.is_some_and(|end| CODE.contains(&end.to_ascii_lowercase().as_str()))
            || INTERPRETERS.contains(&before)
            || BEFORE_COMMAND.contains(&before)
            // After an assignment a command begins: `A=1 tool`.
            || (before.contains('=') && !before.starts_with('-'))
    }
}

/// Splits a text into words; with `quotes`, quotes and backslashes work as in a shell.
fn split(text: &str, quotes: bool) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut word = Word::default();
    let (mut quote, mut escaped) = (None, false);
    let mut end = |word: &mut Word, at_command: bool| {
        if !word.text.is_empty() {
            let text = std::mem::take(&mut word.text);
            word.output |= is_output(&word.before);
            // The value of an option or a variable: `--config=x`, `LD_PRELOAD=x`.
            if let Some((name, value)) = text.split_once('=').filter(|(_, value)| !value.is_empty())
            {
                let output = word.output || is_output(name);
                let before = name.to_owned();
                words.push(Word { text: value.to_owned(), before, output });
            }
            words.push(Word { text: text.clone(), ..word.clone() });
            // An option between an interpreter and its file changes nothing.
            let skipped = text.starts_with('-') && INTERPRETERS.contains(&word.before.as_str());
            if !skipped || text == "-m" {
                word.before = text;
            }
            word.output = false;
        }
        if at_command {
            *word = Word::default();
        }
    };
    for letter in text.chars() {
        match letter {
            _ if std::mem::take(&mut escaped) => word.text.push(letter),
            '\\' if quote != Some('\'') => escaped = quotes,
            '\'' | '"' if !quotes => end(&mut word, false),
            '\'' | '"' if quote == Some(letter) => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            _ if quote.is_some() => word.text.push(letter),
            '>' => {
                end(&mut word, false);
                word.output = true;
            }
            ';' | '|' | '&' | '(' | ')' | '`' | '{' | '}' | '\n' => end(&mut word, true),
            // `{a,b}` and `<file` name files as well.
            '<' | ',' => end(&mut word, false),
            _ if letter.is_whitespace() => end(&mut word, false),
            _ => word.text.push(letter),
        }
    }
    end(&mut word, true);
    words
}

/// Returns whether the file after this word is written by the command.
fn is_output(before: &str) -> bool {
    before == "-o" || before == "tee" || before == "-a" || before.starts_with("--out")
}

/// Returns the path of a word, if it is below the checkout. Links are not followed here.
fn below(checkout: &Path, folder: &Path, word: &str) -> Option<PathBuf> {
    if word.len() > 4_096 || word.contains('\0') {
        return None;
    }
    let mut path = PathBuf::new();
    for part in folder.join(word).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => path.push(part),
        }
    }
    (path.starts_with(checkout) && path != checkout).then_some(path)
}

fn is_script_path(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|end| end.to_str());
    let is_path = !word.starts_with('-')
        && !word.contains(|c: char| c.is_whitespace() || "=;|&()<>".contains(c));
    is_path && (extension.is_some_and(|end| SCRIPTS.contains(&end)) || word.starts_with("./"))
}
