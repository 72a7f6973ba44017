//! The syntax of bash: from text to statements, by recursive descent.
//!
//! Spans are byte offsets into the text. What bash would not accept is [`Stop::Unparsable`]; what
//! it accepts and this parser does not know is [`Stop::Unsupported`].

mod reader;
mod words;

pub(crate) use words::pieces;

/// A range of the text: the first byte, and the byte after the last.
pub(crate) type Span = (usize, usize);

#[derive(Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) items: Vec<Item>,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) statement: Statement,
    /// It ends with `&`.
    pub(crate) background: bool,
}

#[derive(Debug)]
pub(crate) enum Statement {
    Simple(Simple),
    /// `a && b || c`: the first, and each further one with whether it runs if the one before
    /// succeeded. Flat, because a long list must not fill the stack.
    List(Box<Statement>, Vec<(bool, Statement)>),
    /// `a | b | c`, and the keyword `time` before a statement that is no simple command.
    Pipeline(Vec<Statement>),
    /// A statement with redirections of its own.
    Compound(Compound, Vec<Redirection>),
    /// `f() { …; }`.
    Function(Box<Statement>),
}

#[derive(Debug)]
pub(crate) enum Compound {
    /// `{ …; }`
    Group(Sequence),
    /// `( … )`
    Subshell(Sequence),
    /// `if`: conditions and branches in the order of the text.
    If(Vec<Sequence>),
    /// `while` and `until`.
    While {
        until: bool,
        condition: Sequence,
        body: Sequence,
    },
    /// `for` and `select` over words. Without `in` there are no values.
    For {
        name: Span,
        values: Option<Vec<WordSpan>>,
        select: bool,
        body: Sequence,
    },
    /// A loop that counts: `for (( … ))`.
    Counted(Arithmetic, Sequence),
    Case(WordSpan, Vec<(Vec<WordSpan>, Sequence)>),
    /// `(( … ))`
    Arithmetic(Arithmetic),
    /// `[[ … ]]`, with the brackets and the operators as words.
    Test(Vec<WordSpan>),
}

#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assigns: Vec<Assignment>,
    pub(crate) words: Vec<WordSpan>,
    pub(crate) redirects: Vec<Redirection>,
}

/// `NAME=value`, `NAME+=value`, `NAME[index]=value`, `NAME=(values)`.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) word: WordSpan,
    /// With the index, without the `+`.
    pub(crate) name: Span,
    pub(crate) adds: bool,
    pub(crate) value: Assigned,
}

#[derive(Debug)]
pub(crate) enum Assigned {
    Word(Span),
    Array(Vec<WordSpan>),
}

/// A word, and what the shell evaluates inside it.
#[derive(Debug)]
pub(crate) struct WordSpan {
    pub(crate) span: Span,
    pub(crate) inner: Vec<Inner>,
}

#[derive(Debug)]
pub(crate) enum Inner {
    /// `$( … )`, `` `…` ``
    Command(Sequence),
    /// `<( … )`, `>( … )`
    Process(Sequence),
    /// `$(( … ))`, `$[ … ]`
    Arithmetic(Arithmetic),
    /// `${ … }` that is more than a name: its text, and what is inside.
    Parameter { body: Span, inner: Vec<Inner> },
    /// A backquoted command with escapes: its text is not the text that runs.
    Escaped(Span),
}

/// Text that is evaluated as a number.
#[derive(Debug)]
pub(crate) struct Arithmetic {
    pub(crate) body: Span,
    pub(crate) inner: Vec<Inner>,
}

#[derive(Debug)]
pub(crate) struct Redirection {
    pub(crate) operator: Span,
    pub(crate) target: Target,
}

#[derive(Debug)]
pub(crate) enum Target {
    Word(WordSpan),
    Document(usize),
}

#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) body: Span,
    /// Nothing in it is expanded.
    pub(crate) literal: bool,
    pub(crate) inner: Vec<Inner>,
}

#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) body: Sequence,
    pub(crate) documents: Vec<Document>,
    pub(crate) spans: Spans,
}

/// The positions of words, for a comparison with another grammar.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    /// The words of each simple command.
    pub(crate) commands: Vec<Vec<Span>>,
    /// Words of loops, cases and redirections.
    pub(crate) loose: Vec<Span>,
    /// Words that the other grammar is known to misread, and what it reads in their place.
    pub(crate) masked: Vec<(Span, char)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Bash would not accept it either.
    Unparsable,
    /// Bash may accept it; this parser does not.
    Unsupported(&'static str),
    /// It would take too many steps to read.
    Exhausted,
}

pub(crate) fn parse(text: &str) -> Result<Parsed, Stop> {
    reader::Reader::new(text).program()
}

#[cfg(test)]
mod tests;
