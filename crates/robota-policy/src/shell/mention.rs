//! Words of a command that may be files, for commands whose options nobody has listed: every
//! word, and every part of a word that a program may take for a path.

use super::files_table::{SHAPES, Shape};
use super::parse::Part;
use super::word::{Piece, Word};
use super::wrappers::base;
use super::{files, runs};

/// What a command may have to do with which files.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    /// Read or written, nobody knows.
    pub(crate) any: Vec<Word>,
    /// Read at most.
    pub(crate) reads: Vec<Word>,
    /// Written: the value of an option that says so.
    pub(crate) outputs: Vec<Word>,
    /// Names inside a text that the program interprets: read or written.
    pub(crate) inside: Vec<String>,
    /// Names inside a text that may be a message as well.
    pub(crate) suspects: Vec<String>,
}

/// Programs that do nothing to the files their words may name.
const INERT: &[&str] = &[
    "echo", "printf", "true", "false", ":", "basename", "dirname", "which", "type", "whereis",
    "kill", "sleep", "seq", "expr", "test", "[", "[[", "cd", "pushd", "popd", "export", "unset",
    "declare", "local", "readonly", "typeset", "return", "exit", "shift", "wait", "jobs", "hash",
];

/// Readers that write their last operand, or one that an option names.
const WRITING_READERS: &[&str] = &[
    "uniq",
    "xxd",
    "split",
    "csplit",
    "openssl",
    "gpg",
    "age",
    "base64",
    "iconv",
    "uuencode",
    "pandoc",
    "gzip",
    "gunzip",
    "bzip2",
    "xz",
    "zstd",
    "lz4",
    "sqlite3",
    "cpio",
    "ar",
    "unzip",
    "tar",
    "zip",
    "7z",
    "7za",
    "bash",
    "sh",
    "zsh",
    "dash",
    "python",
    "python3",
    "node",
    "ruby",
    "php",
    "perl",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "yq",
    "xmllint",
    "plutil",
    "source",
    ".",
    "sftp",
    "mail",
    "pygmentize",
    "highlight",
    "mapfile",
    "readarray",
];

/// Options that take a message.
const MESSAGES: &[&str] = &[
    "-m",
    "--message",
    "--title",
    "--body",
    "--subject",
    "--description",
    "--notes",
    "--comment",
    "--reason",
    "--author",
    "--grep",
    "--date",
    "--header",
    "--label",
];

/// Git commands that at most read the files they name.
const GIT_READS: &[&str] = &[
    "add",
    "stage",
    "commit",
    "diff",
    "log",
    "show",
    "blame",
    "annotate",
    "ls-files",
    "status",
    "grep",
    "check-ignore",
    "check-attr",
    "hash-object",
    "rev-parse",
    "cat-file",
    "archive",
    "shortlog",
    "range-diff",
    "push",
    "fetch",
    "pull",
    "ls-tree",
    "merge-base",
    "rev-list",
    "diff-tree",
    "diff-index",
    "diff-files",
    "whatchanged",
];

/// What the words may have to do with files, beyond what is known of the program.
pub(crate) fn mentions(words: &[Word], part: &Part) -> Mentions {
    let mut out = Mentions::default();
    let Some(program) = words.first().and_then(Word::value) else { return out };
    let name = base(&program);
    if INERT.contains(&name) || part.is_test {
        return out;
    }
    let args = &words[1..];
    let shape = SHAPES.iter().find(|(known, _)| *known == name).map(|(_, shape)| *shape);
    let sub = if name == "git" { git_sub(args) } else { String::new() };
    // Operands of these are judged exactly.
    let exact = match shape {
        Some(Shape::Git) | None => false,
        Some(Shape::Read | Shape::PatternRead | Shape::Tree | Shape::PatternTree | Shape::List) => {
            !WRITING_READERS.contains(&name)
        }
        Some(Shape::Fetch) => false,
        Some(_) => true,
    };
    let tame = matches!(name, "sed" | "gsed") && !files::wild_sed(args);
    let exact = exact && (tame || !runs::interprets(name));
    let reads_only = name == "git" && GIT_READS.contains(&sub.as_str());
    let script = !tame && runs::interprets(name);
    let mut skip = false;
    let mut operands = 0;
    for (i, word) in args.iter().enumerate() {
        if skip {
            skip = false;
            continue;
        }
        let head = flag_head(word);
        let before =
            i.checked_sub(1).and_then(|at| args.get(at)).map(flag_head).unwrap_or_default();
        if MESSAGES.contains(&head.as_str()) {
            skip = !word.raw.contains('=');
            continue;
        }
        if name == "git" && !head.starts_with("--") && ends_in_message(&head, &sub) {
            skip = true;
            continue;
        }
        // `-i ~/.ssh/id` of ssh is read, and everybody has one.
        if matches!(name, "ssh" | "scp" | "sftp" | "ssh-copy-id") && before == "-i" {
            out.reads.push(word.clone());
            continue;
        }
        let flag = head.starts_with('-') && head.len() > 1;
        if !flag {
            operands += 1;
        }
        if is_output(&before, name) {
            out.outputs.push(word.clone());
        }
        if flag && let Some(value) = glued(word) {
            if is_output(&head, name) {
                out.outputs.push(value.clone());
            }
            out.any.push(value);
        }
        if exact && !flag {
            continue;
        }
        let text = word.value();
        if text.as_ref().is_some_and(|t| t.contains([' ', '\n', '\t']) || script) && !flag {
            let text = text.as_deref().unwrap_or_default();
            let list = if script { &mut out.inside } else { &mut out.suspects };
            list.extend(tokens(text));
        }
        let list = if reads_only || (script && operands == 1 && !flag) {
            &mut out.reads
        } else {
            &mut out.any
        };
        list.push(word.clone());
        list.extend(parts(word));
    }
    if name == "git" {
        out.outputs.extend(git_outputs(&sub, args).unwrap_or_default());
    }
    // Programs that are given names or a program on their input.
    if script || matches!(name, "cpio" | "xargs" | "tar" | "parallel" | "rsync" | "zip" | "pax") {
        let fed = part.stdin.iter().filter_map(Word::value);
        out.inside.extend(fed.flat_map(|text| tokens(&text).collect::<Vec<_>>()));
        for words in part.upstream.iter().filter(|words| prints(words)) {
            let texts = words[1..].iter().filter_map(Word::value);
            out.inside.extend(texts.flat_map(|text| tokens(&text).collect::<Vec<_>>()));
        }
    }
    out
}

/// Texts of several words that are no messages, of a program that may run them.
pub(crate) fn texts(words: &[Word], part: &Part) -> Vec<String> {
    let Some(program) = words.first().and_then(Word::value) else { return Vec::new() };
    let name = base(&program);
    let exact = SHAPES.iter().any(|(known, shape)| {
        *known == name && !matches!(shape, Shape::Git) && !WRITING_READERS.contains(&name)
    });
    if INERT.contains(&name) || (exact && !runs::interprets(name)) {
        return Vec::new();
    }
    let sub = if name == "git" { git_sub(&words[1..]) } else { String::new() };
    let mut out: Vec<String> = part.stdin.iter().filter_map(Word::value).collect();
    let mut message = false;
    for word in &words[1..] {
        let head = flag_head(word);
        let text = word.value().unwrap_or_else(|| word.raw.clone());
        let is_message = MESSAGES.contains(&head.as_str())
            || (name == "git" && !head.starts_with("--") && ends_in_message(&head, &sub));
        if !message && !is_message && text.contains([' ', '\n', '\t', '(']) {
            out.push(text);
        }
        message = is_message && !word.raw.contains('=');
    }
    out
}

fn prints(words: &[Word]) -> bool {
    matches!(words.first().and_then(Word::value).as_deref(), Some("echo" | "printf"))
}

fn git_sub(args: &[Word]) -> String {
    let mut i = 0;
    while let Some(text) = args.get(i).and_then(Word::value) {
        match text.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => i += 2,
            flag if flag.starts_with('-') => i += 1,
            _ => return text,
        }
    }
    String::new()
}

/// Files and folders that a git command creates where it is told to.
fn git_outputs(sub: &str, args: &[Word]) -> Option<Vec<Word>> {
    let at = args.iter().position(|word| word.raw == sub)?;
    let operands = args[at + 1..].iter().filter(|word| !word.raw.starts_with('-'));
    Some(match sub {
        "clone" => operands.skip(1).collect::<Vec<_>>().pop().into_iter().cloned().collect(),
        "init" => operands.clone().next_back().into_iter().cloned().collect(),
        "worktree" | "bundle" | "submodule" => {
            let mut operands = operands;
            let what = operands.next()?.raw.as_str();
            let skip = usize::from(sub == "submodule");
            if matches!(what, "add" | "create" | "move") {
                operands.skip(skip).cloned().collect()
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    })
}

/// `-am` of git takes a message as well.
fn ends_in_message(head: &str, sub: &str) -> bool {
    matches!(sub, "commit" | "tag" | "merge" | "notes" | "stash")
        && head.len() > 1
        && head.starts_with('-')
        && head.ends_with('m')
        && head[1..].chars().all(|c| c.is_ascii_lowercase())
}

/// The option a word is, without its value; what is not known ends it.
fn flag_head(word: &Word) -> String {
    let text = match word.pieces.first() {
        Some(Piece::Text { text, .. } | Piece::Ansi(text)) => text.as_str(),
        _ => "",
    };
    text.split('=').next().unwrap_or(text).to_owned()
}

/// Whether an option of this name is given a file or folder to write.
fn is_output(flag: &str, program: &str) -> bool {
    let Some(name) = flag.strip_prefix('-') else { return false };
    if name.is_empty() {
        return false;
    }
    if let Some(long) = name.strip_prefix('-') {
        return long.split('-').any(|part| {
            part.starts_with("out")
                || matches!(
                    part,
                    "dest"
                        | "destination"
                        | "dir"
                        | "directory"
                        | "log"
                        | "logfile"
                        | "trace"
                        | "stderr"
                        | "write"
                        | "save"
                        | "dump"
                        | "prefix"
                        | "root"
                        | "target"
                        | "cookie"
                        | "jar"
                        | "report"
                        | "export"
                        | "basedir"
                )
        });
    }
    match program {
        "tar" | "bsdtar" => {
            name.contains(['C', 'g']) || (name.contains('f') && !name.contains(['x', 't']))
        }
        "unzip" => name.starts_with('d'),
        "wget" => name.contains(['a', 'o', 'O', 'P']),
        "csplit" | "ssh-keygen" => name.starts_with('f'),
        "history" => name.contains(['w', 'a']),
        "cpio" => name.contains('O'),
        _ => name.starts_with(['o', 'O']) || name == "w" || name.starts_with("out"),
    }
}

/// The value that stands in the same word as its option: `-o/etc/x`, `--out=x`.
fn glued(word: &Word) -> Option<Word> {
    let first = flag_head(word);
    if first.starts_with("--") {
        let has_value = word.raw.contains('=');
        return has_value.then(|| cut(word, first.len() + 1)).flatten();
    }
    match first.char_indices().nth(2) {
        Some((at, _)) => cut(word, at),
        // `-o"$HOME/x"`
        None if word.pieces.len() > 1 => cut(word, first.len()),
        None => None,
    }
}

/// What follows the first so many bytes.
fn cut(word: &Word, at: usize) -> Option<Word> {
    let mut pieces = word.pieces.clone();
    match pieces.first_mut()? {
        Piece::Text { text, .. } | Piece::Ansi(text) => *text = text.get(at..)?.to_owned(),
        Piece::Var { .. } | Piece::Number | Piece::Unknown => return None,
    }
    pieces.retain(|piece| !matches!(piece, Piece::Text { text, .. } if text.is_empty()));
    if pieces.is_empty() {
        return None;
    }
    Some(Word::of(origin(word), pieces))
}

/// Where a part of a word comes from: whether it names something elsewhere is seen there.
fn origin(word: &Word) -> &str {
    if word.raw.contains("://") { word.raw.trim_start_matches('-') } else { "" }
}

/// Parts of a word that may be a path: between `=`, `:`, `@`, `,` and their like, and from each
/// of them to the end.
fn parts(word: &Word) -> Vec<Word> {
    const MARKS: &str = "=:@,;%+<>|";
    let marked = |piece: &Piece| matches!(piece, Piece::Text { text, .. } | Piece::Ansi(text) if text.contains(|c| MARKS.contains(c)));
    if !word.pieces.iter().any(marked) {
        return Vec::new();
    }
    // The stretches between marks, each a list of pieces.
    let mut stretches: Vec<Vec<Piece>> = vec![Vec::new()];
    let push = |piece: Piece, stretches: &mut Vec<Vec<Piece>>| {
        stretches.last_mut().into_iter().for_each(|last| last.push(piece.clone()));
    };
    for piece in &word.pieces {
        let (Piece::Text { text, .. } | Piece::Ansi(text)) = piece else {
            push(piece.clone(), &mut stretches);
            continue;
        };
        let quoted = !matches!(piece, Piece::Text { quoted: false, .. });
        for (i, stretch) in text.split(|c| MARKS.contains(c)).take(16).enumerate() {
            if i > 0 {
                stretches.push(Vec::new());
            }
            // `file:///etc/x`
            let stretch =
                if i > 0 { stretch.strip_prefix("//").unwrap_or(stretch) } else { stretch };
            if !stretch.is_empty() {
                push(Piece::Text { text: stretch.to_owned(), quoted }, &mut stretches);
            }
        }
    }
    let mut out: Vec<Word> = stretches
        .into_iter()
        .filter(|pieces| !pieces.is_empty())
        .map(|pieces| Word::of(origin(word), pieces))
        .collect();
    // A name may have a mark in it.
    if let Some(Piece::Text { text, .. } | Piece::Ansi(text)) = word.pieces.first() {
        let marks = text.char_indices().filter(|(_, c)| MARKS.contains(*c)).take(4);
        out.extend(marks.filter_map(|(at, mark)| cut(word, at + mark.len_utf8())));
    }
    out
}

/// What may be a file's name in a text.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    let bare = text.replace('\\', "");
    let list: Vec<String> = bare
        .split(|c: char| c.is_whitespace() || "\"'`;|&<>(){}[],=:@!#".contains(c))
        .filter(|token| !token.is_empty() && token.len() < 4_096)
        .take(256)
        .flat_map(|token| {
            // `1r.env`, `-f/x`: a path may begin inside.
            let inner = token.find(['.', '/', '~']).filter(|at| *at > 0 && *at < 5);
            [Some(token.to_owned()), inner.map(|at| token[at..].to_owned())]
        })
        .flatten()
        .collect();
    list.into_iter()
}
