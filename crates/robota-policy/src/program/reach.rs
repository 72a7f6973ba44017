//! Finds what a command may do with files and other commands, beyond the description of its
//! program: every word, every part of a word and every text that a program may take for a path
//! or for something to run. What is found can only forbid.

use super::args::{Args, Given, base};
use super::files;
use super::{Effect, Language, Opt, Program, Shape, Trait, danger};
use crate::shell::Part;
use crate::shell::word::{Piece, Word};
use crate::words;

#[derive(Debug, Default)]
pub(crate) struct Mentions {
    pub(crate) any: Vec<Word>,
    pub(crate) reads: Vec<Word>,
    /// Written: the value of an option with such a name.
    pub(crate) outputs: Vec<Word>,
    /// Names inside a text that the program interprets: read or written.
    pub(crate) inside: Vec<String>,
    /// Names inside a text that may be a message as well.
    pub(crate) suspects: Vec<String>,
}

struct Words {
    args: Option<Args>,
    inert: bool,
    /// What it does to its operands is known.
    exact: bool,
    /// Its operands are programs, or hold some.
    script: bool,
    /// It can at most read its arguments.
    reads_only: bool,
}

impl Words {
    fn of(words: &[Word]) -> Option<Self> {
        let program = words.first()?.value()?;
        let name = base(&program).to_owned();
        let args = Args::parse(words);
        let spec = args.as_ref().map(|args| args.spec);
        let script = args.as_ref().is_some_and(|args| {
            (args.program.is(Trait::Interprets) || args.spec.shape == Shape::Code)
                && (args.program.language != Some(Language::Sed)
                    || files::sed_may_run_or_write(args))
        });
        let exact = !script
            && spec.is_some_and(|spec| match spec.shape {
                Shape::Reads
                | Shape::Names
                | Shape::Facts
                | Shape::Trees
                | Shape::Pattern
                | Shape::PatternTrees
                | Shape::Find => !spec.is(Trait::MayWrite),
                Shape::Writes
                | Shape::Creates
                | Shape::Copies
                | Shape::Moves
                | Shape::Removes
                | Shape::Modes
                | Shape::Edits
                | Shape::Device
                | Shape::Text => true,
                _ => false,
            });
        let reads_only = args.as_ref().is_some_and(|args| args.program.is(Trait::Git))
            && spec.is_some_and(|spec| {
                matches!(spec.shape, Shape::Revisions | Shape::Reads | Shape::Text)
            });
        let inert = spec.is_some_and(|spec| spec.is(Trait::Inert)) || name == "[[";
        Some(Self { args, inert, exact, script, reads_only })
    }

    fn option(&self, head: &str) -> Option<&'static Opt> {
        let args = self.args.as_ref()?;
        args.spec.option(head).or_else(|| args.program.option(head))
    }

    fn is_message(&self, head: &str) -> bool {
        match self.option(head) {
            Some(opt) => opt.effect == Effect::Message,
            // `git commit -am text`
            None => {
                let letters = head.strip_prefix('-').and_then(|head| head.strip_suffix('m'));
                words::has("messages", head)
                    || (self.option("-m").is_some_and(|opt| opt.effect == Effect::Message)
                        && letters.is_some_and(|l| l.chars().all(|c| c.is_ascii_lowercase())))
            }
        }
    }

    fn is_output(&self, head: &str) -> bool {
        match self.option(head) {
            Some(opt) => opt.effect == Effect::Write,
            // The first letter of several is known: the parser has found their values.
            None => {
                let letter =
                    head.char_indices().nth(2).and_then(|(at, _)| self.option(&head[..at]));
                is_output(head) && (head.starts_with("--") || letter.is_none())
            }
        }
    }
}

/// Returns what the words may have to do with files, beyond what is known of the program.
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
        // The text of a message is no file, whatever it looks like.
        if how.is_message(&head) {
            skip = !has_value(word);
            continue;
        }
        // `-i ~/.ssh/id` of ssh is only read, and is common.
        if before == "-i" && how.args.as_ref().is_some_and(|args| args.program.is(Trait::Keys)) {
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
        // What `uses` finds about these operands is complete.
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
        // An interpreter only reads the script that it is given first.
        let reads = how.reads_only || (how.script && operands == 1 && !flag);
        let list = if reads { &mut out.reads } else { &mut out.any };
        list.push(word.clone());
        list.extend(parts(word));
    }
    if let Some(args) = &how.args {
        // Clusters and abbreviations too.
        out.outputs.extend(args.given(Effect::Write).filter_map(|given| given.value.clone()));
        if args.spec.is(Trait::Makes) {
            out.outputs.extend(args.operands.iter().skip(args.spec.places).cloned());
        }
    }
    // Programs that are given names or a program on their input.
    if how.script || how.args.as_ref().is_some_and(|args| args.program.is(Trait::NamesInput)) {
        let fed = part.stdin.iter().filter_map(Word::value);
        out.inside.extend(fed.flat_map(|text| tokens(&text).collect::<Vec<_>>()));
        for words in part
            .upstream
            .iter()
            .filter(|words| Program::of(words).is_some_and(|p| p.is(Trait::Prints)))
        {
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

fn has_value(word: &Word) -> bool {
    word.pieces.iter().any(
        |piece| matches!(piece, Piece::Text { text, .. } | Piece::Ansi(text) if text.contains('=')),
    )
}

/// Returns the option a word is, without its value; what is not known ends it.
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

/// Returns whether an option of this name that is not listed takes a file or folder to write.
fn is_output(flag: &str) -> bool {
    let Some(name) = flag.strip_prefix('-') else { return false };
    match name.strip_prefix('-') {
        Some(long) => long
            .split(['-', '_'])
            .any(|part| part.starts_with("out") || words::has("output-parts", part)),
        None => name.starts_with(['o', 'O']) || name == "w",
    }
}

/// Returns the value in the same word as its option: `-o/etc/x`, `--out=x`.
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

fn cut(word: &Word, at: usize) -> Option<Word> {
    let pieces = word.after(at).filter(|pieces| !pieces.is_empty())?;
    Some(Word::of(origin(word), pieces))
}

/// Returns the address that contains a part of a word; empty if the word is no address. A part of
/// an address is no local file.
fn origin(word: &Word) -> String {
    let text = word.text();
    if text.contains("://") { text.trim_start_matches('-').to_owned() } else { String::new() }
}

/// Parts of a word that may be a path: between marks, and from each mark to the end.
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

fn tokens(text: &str) -> impl Iterator<Item = String> {
    // A backslash may only quote what follows, so names are searched without it.
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

const MAX_PIECES: usize = 64;

/// Returns what the words may give to another program to run, as words.
pub(crate) fn commands(words: &[Word], part: &Part) -> Vec<Vec<Word>> {
    let Some(how) = Words::of(words) else { return Vec::new() };
    let mut out = Vec::new();
    let language = how.args.as_ref().and_then(|args| args.program.language);
    let sed = matches!(language, Some(Language::Sed | Language::Perl));
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

fn runs(given: &Given) -> bool {
    match given.opt {
        Some(opt) => opt.effect.runs() || opt.effect == Effect::Script,
        None => danger::is_running_option(given.name.trim_start_matches('-')),
    }
}

/// Cuts a text into what would be commands.
pub(crate) fn pieces(text: &str, single: bool, out: &mut Vec<Vec<Word>>) {
    // A single word is a command only where an option asks for one.
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

/// Returns whether nothing is known of the program: any of its words may begin a command.
pub(crate) fn is_stranger(words: &[Word]) -> bool {
    let name = words.first().and_then(Word::value);
    name.is_some_and(|name| Program::find(base(&name)).is_none())
}
