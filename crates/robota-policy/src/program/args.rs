//! The one parser of arguments: turns the words of a command into options with their values, and
//! operands, by the description of the program.

use super::{Arity, Effect, Opt, Program, Shape, Trait};
use crate::shell::expand;
use crate::shell::word::{self, Piece, Word};

#[derive(Debug, Clone)]
pub(crate) struct Given {
    /// What is known of it; `None` for an option that is not listed.
    pub(crate) opt: Option<&'static Opt>,
    /// In full, with its dashes and without its value.
    pub(crate) name: String,
    pub(crate) value: Option<Word>,
    pub(crate) command: Vec<Word>,
}

impl Given {
    pub(crate) fn does(&self, effect: Effect) -> bool {
        self.opt.is_some_and(|opt| opt.effect == effect)
    }

    pub(crate) fn known(&self) -> Option<String> {
        self.value.as_ref().and_then(known)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Args {
    pub(crate) name: String,
    pub(crate) program: &'static Program,
    /// The subcommand; the program itself where it has none, or where it is not known.
    pub(crate) spec: &'static Program,
    pub(crate) sub: Vec<String>,
    pub(crate) globals: Vec<Given>,
    pub(crate) options: Vec<Given>,
    pub(crate) operands: Vec<Word>,
    /// How many operands precede `--`, where there is one.
    pub(crate) ended: Option<usize>,
    /// A word may be an option that cannot be known.
    pub(crate) open: bool,
}

pub(crate) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the value of a word that is one word to the shell, and always the same one.
pub(crate) fn known(word: &Word) -> Option<String> {
    let (text, whole) = prefix(word);
    whole.then_some(text)
}

/// Returns what a word begins with before anything that the shell replaces, and whether that is
/// all.
pub(super) fn prefix(word: &Word) -> (String, bool) {
    let mut out = String::new();
    for (i, piece) in word.pieces.iter().enumerate() {
        match piece {
            Piece::Text { text, quoted: true } | Piece::Ansi(text) => out.push_str(text),
            Piece::Text { text, quoted: false } => {
                let stop = if i == 0 && text.starts_with('~') {
                    Some(0)
                } else {
                    text.find(['*', '?', '[', '{', '}'])
                };
                out.push_str(&text[..stop.unwrap_or(text.len())]);
                if stop.is_some() {
                    return (out, false);
                }
            }
            Piece::Var { .. } | Piece::Number | Piece::Unknown => return (out, false),
        }
    }
    (out, true)
}

/// Returns whether a word is one word to the shell, with any value.
pub(crate) fn is_one(word: &Word) -> bool {
    word.pieces.iter().all(|piece| match piece {
        Piece::Var { name, quoted } => *quoted && name != "@",
        Piece::Text { quoted: true, .. } | Piece::Ansi(_) | Piece::Number => true,
        Piece::Text { text, quoted: false } => !text.contains(['*', '?', '[', '{']),
        Piece::Unknown => false,
    })
}

/// Returns whether the shell may split it into several words at blanks.
fn splits(word: &Word) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Var { name, quoted } => !quoted || name == "@",
        Piece::Unknown => true,
        Piece::Text { .. } | Piece::Ansi(_) | Piece::Number => false,
    })
}

fn cut(word: &Word, at: usize) -> Word {
    let pieces = word.after(at).unwrap_or_default();
    Word::of(word::text(&pieces), pieces)
}

/// A word among the words of a command: its known beginning, and whether that is all of it.
struct At<'w> {
    word: &'w Word,
    text: &'w str,
    whole: bool,
    words: &'w [Word],
    i: usize,
}

impl<'w> At<'w> {
    fn name_and_value(&self) -> (&'w str, Option<Word>) {
        match self.text.split_once('=') {
            Some((name, _)) => (name, Some(cut(self.word, name.len() + 1))),
            None => (self.text, None),
        }
    }
}

/// Returns the words that the braces of a word make of it; itself where that cannot be known.
fn braced(word: &Word) -> Vec<Word> {
    let live =
        |piece: &Piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains('{'));
    if !word.pieces.iter().any(live) {
        return vec![word.clone()];
    }
    let mut text: Vec<expand::Live> = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text { text: part, quoted } => text.extend(part.chars().map(|c| (c, !quoted))),
            Piece::Ansi(part) => text.extend(part.chars().map(|c| (c, false))),
            Piece::Var { .. } | Piece::Number | Piece::Unknown => return vec![word.clone()],
        }
    }
    let mut out = Vec::new();
    if !expand::braces(&text, 0, &mut out) {
        return vec![word.clone()];
    }
    let word = |text: &Vec<expand::Live>| {
        Word::of(text.iter().map(|(c, _)| *c).collect::<String>(), word::of_live(text))
    };
    out.iter().map(word).collect()
}

impl Args {
    /// Takes a command apart; `None` for a program of which nothing is known.
    pub(crate) fn parse(words: &[Word]) -> Option<Self> {
        let (first, rest) = words.split_first()?;
        let path = first.value()?;
        let name = base(&path);
        let program = Program::find(name)?;
        // The shell makes several words of braces before the program sees them.
        let words: Vec<Word> = rest.iter().flat_map(braced).collect();
        let mut args = Self {
            name: name.to_owned(),
            program,
            spec: program,
            sub: Vec::new(),
            globals: Vec::new(),
            options: Vec::new(),
            operands: Vec::new(),
            ended: None,
            open: false,
        };
        if program.shape == Shape::Sub {
            args.subcommand(&words);
        } else {
            args.read(&words, 0, program.is(Trait::Posix));
        }
        Some(args)
    }

    fn subcommand(&mut self, words: &[Word]) {
        let at = self.read(words, 0, true);
        // What comes before the subcommand belongs to the program.
        self.globals = std::mem::take(&mut self.options);
        self.operands.clear();
        let Some(first) = words.get(at).and_then(known) else {
            self.open |= at < words.len();
            return;
        };
        let find = |names: &[&str]| self.program.subs.iter().find(|sub| sub.names == names);
        let one = find(&[&first]);
        // Options may come between the two words of a name.
        let open = self.open;
        self.spec = one.unwrap_or(self.program);
        let next = self.read(words, at + 1, true);
        let second = words.get(next).and_then(known);
        let find = |names: &[&str]| self.program.subs.iter().find(|sub| sub.names == names);
        match second.as_deref().and_then(|second| find(&[&first, second])) {
            Some(two) => {
                self.spec = two;
                self.operands.clear();
                self.sub = [Some(first), second].into_iter().flatten().collect();
                self.read(words, next + 1, false);
            }
            None => {
                // The second word belongs to no name, so everything behind the first is read again.
                self.open = open;
                self.options.clear();
                self.operands.clear();
                self.sub = vec![first];
                self.read(words, at + 1, false);
            }
        }
    }

    /// Reads options and operands from here on. With `stop`, it ends at the first operand.
    fn read(&mut self, words: &[Word], from: usize, stop: bool) -> usize {
        let stop = stop || self.spec.is(Trait::Posix);
        let mut i = from;
        while let Some(word) = words.get(i) {
            let (text, whole) = prefix(word);
            // Some programs have `--` as an option of their own.
            if whole && text == "--" && self.spec.option("--").is_none() {
                self.ended = Some(self.operands.len());
                self.operands.extend(words[i + 1..].iter().cloned());
                return i + 1;
            }
            if self.spec.shape == Shape::Find
                && whole
                && let Some(opt) = self.spec.option(&text)
            {
                i = self.give(opt, None, words, i);
                continue;
            }
            if !text.starts_with('-') || (whole && text == "-" && self.spec.option("-").is_none()) {
                // What begins with a variable may be an option.
                self.open |= !whole && text.is_empty() && !may_not_be_option(word);
                if stop {
                    self.operands.extend(words[i..].iter().cloned());
                    return i;
                }
                self.operands.push(word.clone());
                i += 1;
                continue;
            }
            let at = At { word, text: &text, whole, words, i };
            i = if self.spec.is(Trait::Single) {
                self.word_option(&at)
            } else if text.starts_with("--") {
                self.long_option(&at)
            } else {
                self.cluster(&at)
            };
        }
        i
    }

    /// `--name`, `--name=value`.
    fn long_option(&mut self, at: &At<'_>) -> usize {
        let (name, value) = at.name_and_value();
        // After a value that the shell splits, another option may follow.
        self.open |= match &value {
            Some(value) => splits(value),
            None => !at.whole,
        };
        // Options of the program count behind the subcommand as well.
        match self.spec.long(name).or_else(|| self.program.long(name)) {
            Some(opt) => self.give(opt, value, at.words, at.i),
            None => self.unlisted(name, value, at.i),
        }
    }

    /// `-abc`, `-n5`.
    fn cluster(&mut self, at: &At<'_>) -> usize {
        let At { word, text, whole, words, i } = *at;
        if text == "-" && whole {
            return match self.spec.option("-") {
                Some(opt) => self.give(opt, None, words, i),
                None => i + 1,
            };
        }
        if self.spec.is(Trait::Digits) && whole && text[1..].chars().all(|c| c.is_ascii_digit()) {
            return i + 1;
        }
        for (at, c) in text.char_indices().skip(1) {
            let end = at + c.len_utf8();
            let name = format!("-{c}");
            let more = end < text.len() || !whole;
            let Some(opt) = self.spec.option(&name).or_else(|| self.program.option(&name)) else {
                // Options that may be hidden in it must be found: in the whole word and after its
                // first letter.
                return self.unlisted(&name, more.then(|| cut(word, end)), i);
            };
            match opt.arity {
                Arity::None => {
                    self.give(opt, None, words, i);
                }
                _ if more => {
                    let value = cut(word, end);
                    self.open |= splits(&value);
                    return self.give(opt, Some(value), words, i);
                }
                _ => return self.give(opt, None, words, i),
            }
        }
        self.open |= !whole;
        i + 1
    }

    /// `-name`, `-name=value`, `-Dvalue`, of programs that have no clusters.
    fn word_option(&mut self, at: &At<'_>) -> usize {
        let (head, value) = at.name_and_value();
        let (spec, program, text) = (self.spec, self.program, at.text);
        let find = |name: &str| spec.option(name).or_else(|| program.option(name));
        // Most of these programs treat `--name` as `-name`.
        let found = find(head).or_else(|| head.strip_prefix('-').and_then(find));
        if let Some(opt) = found {
            self.open |= !at.whole && value.is_none();
            return self.give(opt, value, at.words, at.i);
        }
        let glued = |option: &&Opt| {
            (option.arity == Arity::Attached
                || (option.arity == Arity::Required
                    && option.name.len() > 2
                    && spec.shape == Shape::Trees))
                && text.len() > option.name.len()
                && text.starts_with(option.name)
        };
        let options = spec.options.iter().chain(&program.options);
        match options.filter(glued).max_by_key(|option| option.name.len()) {
            Some(opt) => self.give(opt, Some(cut(at.word, opt.name.len())), at.words, at.i),
            None => self.unlisted(head, value, at.i),
        }
    }

    fn unlisted(&mut self, name: &str, value: Option<Word>, i: usize) -> usize {
        self.options.push(Given { opt: None, name: name.to_owned(), value, command: Vec::new() });
        i + 1
    }

    /// Takes an option and its values; returns the index after them.
    fn give(&mut self, opt: &'static Opt, value: Option<Word>, words: &[Word], i: usize) -> usize {
        let mut given =
            Given { opt: Some(opt), name: opt.name.to_owned(), value, command: Vec::new() };
        let mut next = i + 1;
        match opt.arity {
            Arity::None | Arity::Attached => {}
            Arity::Required => {
                if given.value.is_none() {
                    given.value = words.get(next).cloned();
                    // One word may become several, and the next of them an option.
                    self.open |= given.value.as_ref().is_none_or(|word| !is_one(word));
                    next += 1;
                }
            }
            Arity::Pair => {
                given.value = words.get(next + 1).cloned();
                self.open |= words.get(next..next + 2).is_none_or(|pair| !pair.iter().all(is_one));
                next += 2;
            }
            Arity::Command => {
                // A value in the same word is the beginning of the command.
                given.command.extend(given.value.clone());
                while let Some(word) = words.get(next) {
                    next += 1;
                    if matches!(known(word).as_deref(), Some(";" | "+")) {
                        break;
                    }
                    given.command.push(word.clone());
                }
            }
        }
        self.options.push(given);
        // A missing value must not lead beyond the words.
        next.min(words.len())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Given> {
        self.globals.iter().chain(&self.options)
    }

    /// Returns the options with this effect, those before the subcommand first.
    pub(crate) fn given(&self, effect: Effect) -> impl Iterator<Item = &Given> {
        self.all().filter(move |given| given.does(effect))
    }

    pub(crate) fn has(&self, effect: Effect) -> bool {
        self.given(effect).next().is_some()
    }

    /// Returns whether one of these options was given behind the subcommand.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        self.options.iter().any(|given| names.contains(&given.name.as_str()))
    }

    /// Returns whether an option gives the pattern or the script, so that the first operand is
    /// none.
    pub(crate) fn has_pattern(&self) -> bool {
        [Effect::Pattern, Effect::Script, Effect::ScriptFile].into_iter().any(|e| self.has(e))
    }

    /// Returns whether every option is known, and no other word can be one.
    pub(crate) fn is_clear(&self) -> bool {
        !self.open && self.all().all(|given| given.opt.is_some())
    }
}

/// Returns whether a word that begins with something the shell replaces is a file's name all the
/// same.
fn may_not_be_option(word: &Word) -> bool {
    match word.pieces.first() {
        Some(Piece::Var { name, .. }) => matches!(name.as_str(), "PWD" | "HOME"),
        // Names that match are checked one by one.
        Some(Piece::Text { .. }) => true,
        Some(Piece::Ansi(_) | Piece::Number | Piece::Unknown) | None => false,
    }
}
