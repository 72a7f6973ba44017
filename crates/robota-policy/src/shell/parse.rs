//! Splits a script into simple commands: what each would run, read and write, and where.
//!
//! The statements come from [`syntax`](super::syntax); `walk` follows them, and `second` compares
//! their words with the reading of an independent grammar. What is not understood is still
//! searched for commands, but leaves a doubt.

mod second;
mod walk;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::vars::Vars;
use super::word::Word;

/// After this many commands of one script, the others are only compared with rules, and the script
/// asks.
const MAX_PARTS: usize = 150;

const MAX_WORDS: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    pub(crate) parts: Vec<Part>,
    pub(crate) doubts: Vec<Doubt>,
    /// Texts of substitutions, found without the grammar; only where there are doubts.
    pub(crate) substitutions: Vec<String>,
    pub(crate) vars: Vars,
    pub(crate) words: usize,
    pub(crate) endless: bool,
    /// It evaluates values as numbers or names, which can run commands in them.
    pub(crate) computes: bool,
}

/// A reason why the list of parts may be incomplete or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub(crate) why: String,
    /// The text cannot be trusted to say what it does; no rule covers it.
    pub(crate) hard: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    pub(crate) assigns: Vec<Assign>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) cwd: Cwd,
    /// It is inside something that is not proven (a function): deny and ask rules see it,
    /// allow rules do not.
    pub(crate) hidden: bool,
    /// It is inside a substitution: it is free if it is proven read-only, and no allow rule
    /// covers it.
    pub(crate) substituted: bool,
    /// Words that are the output of commands, by their index: the words of those commands.
    pub(crate) outputs: Vec<(usize, Vec<Vec<Word>>)>,
    /// It reads what another command writes, or what a statement around it reads.
    pub(crate) piped: bool,
    pub(crate) upstream: Vec<Vec<Word>>,
    /// Variables that are set whenever it runs.
    pub(crate) bound: Names,
    /// The text of a here-document or here-string it reads.
    pub(crate) stdin: Option<Word>,
    /// `export`, `declare` and similar builtins: assignments that reach other programs.
    pub(crate) declares: bool,
    pub(crate) is_test: bool,
    /// It reads a variable with the name of a secret.
    pub(crate) reads_secret: bool,
    /// The statements and substitutions around it, from the outside.
    pub(crate) within: Vec<&'static str>,
}

/// `NAME=value` before a command, or alone.
#[derive(Debug, Clone)]
pub(crate) struct Assign {
    pub(crate) name: String,
    pub(crate) value: Option<Word>,
}

/// A redirection, such as `> file`.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    pub(crate) target: Word,
    pub(crate) raw: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    /// A copy or the end of a descriptor.
    Copy,
}

/// Names, of which each part has those that were there before it. Copies share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(Option<Rc<(String, Names)>>);

impl Names {
    pub(crate) fn with(&self, name: String) -> Self {
        Self(Some(Rc::new((name, self.clone()))))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        let mut at = self;
        while let Some(node) = &at.0 {
            if node.0 == name {
                return true;
            }
            at = &node.1;
        }
        false
    }
}

impl Drop for Names {
    /// A long list would overflow the stack if each name dropped the next.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(node) = next {
            next = Rc::into_inner(node).and_then(|(_, mut rest)| rest.0.take());
        }
    }
}

/// Where a command may run, after the `cd`s before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cwd {
    pub(crate) dirs: Vec<PathBuf>,
    /// It may also be somewhere else.
    pub(crate) lost: bool,
    /// A `cd` came before.
    pub(crate) moved: bool,
    /// Where it is if every `cd` worked.
    pub(crate) straight: Option<Straight>,
}

/// The one place where a command runs if every `cd` before it worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Straight {
    pub(crate) at: PathBuf,
    /// The folders that must exist for that.
    pub(crate) entered: Vec<PathBuf>,
}

impl Script {
    /// Takes a command apart. Never fails: what is not understood becomes a doubt.
    pub(crate) fn parse(text: &str, cwd: &Path, home: &Path) -> Self {
        let mut script = Self::default();
        if let Some(why) = unreadable(text) {
            script.doubt(why, true);
        }
        // A deny rule must also hold for long commands, but within a limit: each level of nesting
        // doubles the cost.
        if text.len() > 20 * MAX_COMMAND || too_nested(text) {
            return script;
        }
        let parsed = super::syntax::parse(text);
        if let Ok(parsed) = &parsed {
            walk::walk(text, parsed, cwd, home, &mut script);
        }
        // It asks anyway, and a second reading would cost much.
        if script.is_crowded() {
            return script;
        }
        second::check(text, parsed.as_ref().map_err(|stop| *stop), cwd, &mut script);
        // A doubt means that a substitution may have been missed.
        if !script.doubts.is_empty() {
            script.substitutions.extend(super::scan::substitutions(text));
            // To the shell, a continued line is one line.
            if text.contains("\\\n") {
                script.substitutions.push(text.replace("\\\n", ""));
            }
        }
        script
    }

    /// Marks a script that is typed into a program that runs: where and in which state that is
    /// cannot be known, so that only a rule for all commands covers it.
    pub(crate) fn typed(&mut self, text: &str) {
        self.doubt("it is typed into a running program, whose state is not known", false);
        // The rest of the line may come later, and be judged without its beginning.
        if !text.is_empty() && !text.ends_with('\n') {
            self.doubt("it is typed without the end of its line", true);
        }
        for part in &mut self.parts {
            part.cwd.lost = true;
            part.cwd.moved = true;
            part.cwd.straight = None;
        }
    }

    /// Returns whether it has more commands, or more words, than are analysed.
    pub(crate) fn is_crowded(&self) -> bool {
        self.parts.len() > MAX_PARTS || self.words > MAX_WORDS
    }

    pub(crate) fn analysed(&self) -> usize {
        let mut words = 0;
        let fits = |part: &&Part| {
            words += part.words.len();
            words <= MAX_WORDS
        };
        self.parts.iter().take(MAX_PARTS).take_while(fits).count()
    }

    pub(crate) fn doubt(&mut self, why: impl Into<String>, hard: bool) {
        let doubt = Doubt { why: why.into(), hard };
        if !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }
}

impl Part {
    /// Returns the command as people would write it, for messages. Long ones are cut.
    pub(crate) fn shown(&self) -> String {
        const MOST: usize = 120;
        let assigns = self.assigns.iter().flat_map(|assign| {
            let value = assign.value.as_ref().map_or("…", |value| value.raw.as_str());
            [assign.name.as_str(), "=", value, " "]
        });
        let words = self.words.iter().flat_map(|word| [word.raw.as_str(), " "]);
        // One more for the last blank.
        let text = assigns.chain(words).flat_map(str::chars).take(MOST + 2).collect::<String>();
        let text = text.strip_suffix(' ').unwrap_or(&text);
        if text.chars().count() > MOST {
            text.chars().take(MOST - 1).chain(['…']).collect()
        } else {
            text.to_owned()
        }
    }

    /// Returns whether it runs a command: the head of a loop does not.
    pub(crate) fn is_command(&self) -> bool {
        let sets = self.assigns.iter().any(|assign| assign.value.is_some());
        sets || !self.words.is_empty() || !self.redirects.is_empty()
    }

    pub(crate) fn described(&self) -> String {
        let shown = self.shown();
        let words = Some(shown).filter(|shown| !shown.is_empty());
        let redirects = self.redirects.iter().map(|redirect| redirect.raw.clone());
        words.into_iter().chain(redirects).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn program(&self) -> Option<String> {
        self.words.first().and_then(Word::literal)
    }
}

/// A longer command is never proven, because a user cannot read it in full.
const MAX_COMMAND: usize = 10_000;

fn unreadable(text: &str) -> Option<String> {
    if text.chars().count() > MAX_COMMAND {
        return Some(format!("the command is longer than {MAX_COMMAND} characters"));
    }
    if too_nested(text) {
        return Some(format!("substitutions are nested more than {MAX_SUBSTITUTIONS} deep"));
    }
    let bad = text.chars().find(|c| misleading(*c))?;
    Some(if bad == '\0' {
        "the command contains a NUL character".into()
    } else {
        format!("the command contains U+{:04X}, which hides or changes what it says", bad as u32)
    })
}

/// Deeper nesting than this is not analysed: the time doubles from level to level.
const MAX_SUBSTITUTIONS: usize = 8;

fn too_nested(text: &str) -> bool {
    nesting(text) > MAX_SUBSTITUTIONS
}

/// Returns how deep substitutions and expansions are nested, counted on the text alone. Quotes are
/// not considered: a quoted bracket can make it too little, so that the parsers bound their work
/// themselves.
fn nesting(text: &str) -> usize {
    let (mut open, mut deepest, mut before) = (0_usize, 0, ' ');
    for letter in text.chars() {
        match letter {
            '(' if matches!(before, '$' | '<' | '>') => open += 1,
            '{' if before == '$' => open += 1,
            // An escaped one closes nothing.
            ')' | '}' if before != '\\' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
        before = letter;
    }
    // Nested backquotes are escaped.
    deepest.max(text.matches("\\`").count() / 2)
}

/// Control characters, and characters that are shown as a space or not at all but are letters to the shell.
fn misleading(c: char) -> bool {
    match c {
        '\n' | '\t' | ' ' => false,
        c if c.is_control() => true,
        c if c.is_whitespace() => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
