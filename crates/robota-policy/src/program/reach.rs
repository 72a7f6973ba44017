//! What a command may have to do with files and with other commands, beyond what is known of its
//! program: every word, every part of a word and every text that a program may take for a path
//! or for something to run. What is found can only forbid.

use super::args::{Args, Given, base};
use super::files;
use super::{Effect, Opt, Program, Shape, danger};
use crate::shell::Part;
use crate::shell::word::{Piece, Word};

/// What a command may have to do with which files.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    /// Read or written, which is not known.
    pub(crate) any: Vec<Word>,
    /// Read at most.
    pub(crate) reads: Vec<Word>,
    /// Written: the value of an option with such a name.
    pub(crate) outputs: Vec<Word>,
    /// Names inside a text that the program interprets: read or written.
    pub(crate) inside: Vec<String>,
    /// Names inside a text that may be a message as well.
    pub(crate) suspects: Vec<String>,
}

/// Options that take a message, of programs whose options are not listed.
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

/// How a program treats its words.
struct Words {
    args: Option<Args>,
    name: String,
    /// They do nothing to files, and are no commands.
    inert: bool,
    /// What it does to its operands is known.
    exact: bool,
    /// Its operands are programs, or hold some.
    script: bool,
    /// At most it reads what it is given.
    reads_only: bool,
}

impl Words {
    fn of(words: &[Word]) -> Option<Self> {
        let program = words.first()?.value()?;
        let name = base(&program).to_owned();
        let args = Args::parse(words);
        let spec = args.as_ref().map(|args| args.spec);
        let harmless = matches!(name.as_str(), "sed" | "gsed")
            && args.as_ref().is_some_and(|args| !files::sed_may_run_or_write(args));
        let script = !harmless
            && args
                .as_ref()
                .is_some_and(|args| args.program.interprets || args.spec.shape == Shape::Code);
        let exact = !script
            && spec.is_some_and(|spec| match spec.shape {
                Shape::Reads
                | Shape::Names
                | Shape::Facts
                | Shape::Trees
                | Shape::Pattern
                | Shape::PatternTrees
                | Shape::Find => !spec.may_write,
                Shape::Writes
                | Shape::Creates
                | Shape::Copies
                | Shape::Moves
                | Shape::Removes
                | Shape::Modes
                | Shape::Edits
                | Shape::Text => true,
                Shape::Any => name == "dd",
                _ => false,
            });
        let reads_only = name == "git"
            && spec.is_some_and(|spec| {
                matches!(spec.shape, Shape::Revisions | Shape::Reads | Shape::Text)
            });
        let inert = args.as_ref().is_some_and(|args| args.spec.inert)
            || matches!(name.as_str(), "[" | "[[" | "test");
        Some(Self { args, name, inert, exact, script, reads_only })
    }

    fn git_sub(&self) -> &str {
        let args = self.args.as_ref().filter(|args| args.name == "git");
        args.and_then(|args| args.sub.first()).map(String::as_str).unwrap_or_default()
    }

    /// The option of this name, if the program is known to have it.
    fn option(&self, head: &str) -> Option<&'static Opt> {
        let args = self.args.as_ref()?;
        args.spec.option(head).or_else(|| args.program.option(head))
    }

    /// Whether an option takes a message.
    fn is_message(&self, head: &str) -> bool {
        match self.option(head) {
            Some(opt) => opt.effect == Effect::Message,
            None => {
                MESSAGES.contains(&head)
                    || (self.name == "git" && ends_in_message(head, self.git_sub()))
            }
        }
    }

    /// Whether an option is given a file or a folder to write.
    fn is_output(&self, head: &str) -> bool {
        match self.option(head) {
            Some(opt) => opt.effect == Effect::Write,
            None => is_output(head, &self.name),
        }
    }
}

/// What the words may have to do with files, beyond what is known of the program.
pub(crate) fn mentions(words: &[Word], part: &Part) -> Mentions {
    let mut out = Mentions::default();
    let Some(how) = Words::of(words).filter(|how| !how.inert && !part.is_test) else { return out };
    let args = &words[1..];
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
        if how.is_message(&head) {
            skip = !has_value(word);
            continue;
        }
        // `-i ~/.ssh/id` of ssh is read, and everybody has one.
        if matches!(how.name.as_str(), "ssh" | "scp" | "sftp" | "ssh-copy-id") && before == "-i" {
            out.reads.push(word.clone());
            continue;
        }
        let flag = head.starts_with('-') && head.len() > 1;
        if !flag {
            operands += 1;
        }
        if how.is_output(&before) {
            out.outputs.push(word.clone());
        }
        if flag && let Some(value) = glued(word) {
            if how.is_output(&head) || how.is_output(head.get(..2).unwrap_or(&head)) {
                out.outputs.push(value.clone());
            }
            out.any.push(value);
        }
        if how.exact && !flag {
            continue;
        }
        let text = word.value();
        let blank = |text: &String| text.contains([' ', '\n', '\t']);
        if text.as_ref().is_some_and(|text| blank(text) || how.script) && !flag {
            let text = text.as_deref().unwrap_or_default();
            let list = if how.script { &mut out.inside } else { &mut out.suspects };
            list.extend(tokens(text));
        }
        let reads = how.reads_only || (how.script && operands == 1 && !flag);
        let list = if reads { &mut out.reads } else { &mut out.any };
        list.push(word.clone());
        list.extend(parts(word));
    }
    if let Some(args) = &how.args {
        // Clusters and abbreviations too.
        let writes = |given: &&Given| given.opt.is_some_and(|opt| opt.effect == Effect::Write);
        out.outputs.extend(args.all().filter(writes).filter_map(|given| given.value.clone()));
        if args.name == "git" {
            out.outputs.extend(git_outputs(args));
        }
    }
    // Programs that are given names or a program on their input.
    if how.script || how.args.as_ref().is_some_and(|args| args.program.names_input) {
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
    let Some(how) = Words::of(words).filter(|how| !how.inert && !how.exact) else {
        return Vec::new();
    };
    let mut out: Vec<String> = part.stdin.iter().filter_map(Word::value).collect();
    let mut message = false;
    for word in &words[1..] {
        let head = flag_head(word);
        // The pieces do not keep the text of a substitution.
        let text = if word.has_unknown() { word.raw.clone() } else { word.text() };
        let is_message = how.is_message(&head);
        if !message && !is_message && text.contains([' ', '\n', '\t', '(']) {
            out.push(text);
        }
        message = is_message && !has_value(word);
    }
    out
}

fn prints(words: &[Word]) -> bool {
    files::is_program(words, &["echo", "printf"])
}

fn has_value(word: &Word) -> bool {
    word.pieces.iter().any(
        |piece| matches!(piece, Piece::Text { text, .. } | Piece::Ansi(text) if text.contains('=')),
    )
}

/// Files and folders that a git command creates at a given path.
fn git_outputs(args: &Args) -> Vec<Word> {
    let operands = args.operands.iter().cloned();
    let names: Vec<&str> = args.sub.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["clone"] => args.operands.get(1..).and_then(<[Word]>::last).cloned().into_iter().collect(),
        ["init"] => args.operands.last().cloned().into_iter().collect(),
        ["worktree", "add"] => operands.collect(),
        ["worktree" | "bundle" | "submodule"] => {
            let what = args.operands.first().and_then(Word::value).unwrap_or_default();
            let skip = 1 + usize::from(names == ["submodule"]);
            match what.as_str() {
                "add" | "create" | "move" => operands.skip(skip).collect(),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
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
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text { text: part, .. } | Piece::Ansi(part) => text.push_str(part),
            Piece::Var { .. } | Piece::Number | Piece::Unknown => break,
        }
    }
    match text.split_once('=') {
        Some((head, _)) => head.to_owned(),
        None => text,
    }
}

/// Whether an option of this name, of a program for which it is not listed, takes a file or folder
/// to write.
fn is_output(flag: &str, program: &str) -> bool {
    let Some(name) = flag.strip_prefix('-').filter(|name| !name.is_empty()) else { return false };
    const WORDS: &[&str] = &[
        "dest",
        "destination",
        "dir",
        "directory",
        "log",
        "logfile",
        "trace",
        "stderr",
        "write",
        "save",
        "dump",
        "prefix",
        "root",
        "target",
        "cookie",
        "jar",
        "report",
        "export",
        "basedir",
    ];
    if let Some(long) = name.strip_prefix('-') {
        return long.split(['-', '_']).any(|part| part.starts_with("out") || WORDS.contains(&part));
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

/// The value in the same word as its option: `-o/etc/x`, `--out=x`.
fn glued(word: &Word) -> Option<Word> {
    let first = flag_head(word);
    if first.starts_with("--") {
        return has_value(word).then(|| cut(word, first.len() + 1)).flatten();
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
    let mut left = at;
    let mut pieces = Vec::new();
    for piece in &word.pieces {
        let (Piece::Text { text, .. } | Piece::Ansi(text)) = piece else {
            if left > 0 {
                return None;
            }
            pieces.push(piece.clone());
            continue;
        };
        let taken = left.min(text.len());
        left -= taken;
        let rest = text.get(taken..)?;
        if !rest.is_empty() {
            let quoted = !matches!(piece, Piece::Text { quoted: false, .. });
            pieces.push(Piece::Text { text: rest.to_owned(), quoted });
        }
    }
    (!pieces.is_empty()).then(|| Word::of(origin(word), pieces))
}

/// Where a part of a word comes from: whether it names something elsewhere is seen there.
fn origin(word: &Word) -> String {
    let text = word.text();
    if text.contains("://") { text.trim_start_matches('-').to_owned() } else { String::new() }
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

/// More pieces than this are not analysed.
const MAX_PIECES: usize = 64;

/// What the words may give to another program to run, as words.
pub(crate) fn commands(words: &[Word], part: &Part) -> Vec<Vec<Word>> {
    let Some(how) = Words::of(words) else { return Vec::new() };
    let mut out = Vec::new();
    let sed = matches!(how.name.as_str(), "sed" | "gsed" | "perl");
    match &how.args {
        Some(args) => {
            for text in args
                .all()
                .filter(|given| runs(given))
                .filter_map(|given| given.value.as_ref()?.value())
            {
                pieces(&text, true, &mut out);
            }
        }
        // The program is not in the model: an option may take a command.
        None => {
            let mut before = false;
            for text in words[1..].iter().filter_map(Word::value) {
                let name = text.strip_prefix("--").unwrap_or_default();
                let runs = danger::is_running_option(name.split('=').next().unwrap_or(name));
                if runs || before {
                    pieces(&text, true, &mut out);
                }
                before = runs;
            }
        }
    }
    if how.script {
        for text in words[1..].iter().filter_map(Word::value) {
            pieces(&text, false, &mut out);
            if sed {
                // `s/x/rm y/e`
                text.split(['/', '|', '#', ',']).for_each(|part| pieces(part, false, &mut out));
            }
        }
        if let Some(text) = part.stdin.as_ref().and_then(Word::value) {
            pieces(&text, false, &mut out);
        }
    }
    out.truncate(MAX_PIECES);
    out
}

/// Whether an option is given a command, or something that can hold one.
fn runs(given: &Given) -> bool {
    match given.opt {
        Some(opt) => {
            matches!(opt.effect, Effect::Run | Effect::Shell | Effect::Load | Effect::Script)
        }
        None => danger::is_running_option(given.name.trim_start_matches('-')),
    }
}

/// Cuts a text into what would be commands.
pub(crate) fn pieces(text: &str, single: bool, out: &mut Vec<Vec<Word>>) {
    if !single && !text.contains([' ', '\t', ',', '!', '(']) {
        return;
    }
    for segment in text.split(|c: char| "\n;|&(){}\"'`!=".contains(c)).take(MAX_PIECES) {
        // `exec:rm x`, `sh -c,rm`: lists of a language become words.
        let tokens: Vec<&str> = segment
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|t| !t.is_empty())
            .collect();
        // `1e rm x`, `shell rm x`, `.system rm x`: the first word may not be the program.
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

/// Whether nothing is known of the program: any of its words may begin a command.
pub(crate) fn is_stranger(words: &[Word]) -> bool {
    let name = words.first().and_then(Word::value);
    name.is_some_and(|name| Program::find(base(&name)).is_none())
}
