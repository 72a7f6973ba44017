//! The part of awk that prints: patterns, fields, sums, arrays, loops that are counted. Programs
//! are parsed; what is not understood is not proven harmless. Redirections, pipes, other files, the
//! environment, loops without a count and texts that are appended to themselves are not understood.

mod lexer;

use crate::shell::bomb;
use lexer::{Lexer, Token};

/// Returns whether the program prints what it reads and does nothing else.
pub(super) fn is_harmless(program: &str) -> bool {
    let mut parser = Parser { lexer: Lexer::new(program), loops: Vec::new(), depth: 0 };
    parser.program().is_some()
}

const FUNCTIONS: &str = "\
    length substr index split match sub gsub tolower toupper int sqrt exp log sin cos atan2 \
    rand sprintf";

/// Names with effects beyond the input lines, and keywords that this parser does not understand.
const REACHING: &str = "\
    getline system close fflush ENVIRON PROCINFO ARGV ARGC ARGIND SYMTAB FUNCTAB BINMODE \
    while do function func return switch case default nextfile CONVFMT OFMT print printf \
    BEGIN END if else for next exit delete in break continue";

fn is_among(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

fn is_variable(name: &str) -> bool {
    !is_among(REACHING, name) && !is_among(FUNCTIONS, name)
}

const MAX_ROUNDS: f64 = 100_000.0;

/// The properties of an expression that the proof needs.
#[derive(Clone, Copy, Default)]
struct Kind {
    /// Variables and calls whose texts are joined.
    texts: usize,
    place: bool,
    /// Texts are joined at its top.
    joined: bool,
}

/// One text that is not joined with others.
const ONE: Kind = Kind { texts: 1, place: false, joined: false };

struct Parser<'p> {
    lexer: Lexer<'p>,
    /// Counters and bounds of the loops around, which nothing may change.
    loops: Vec<String>,
    depth: usize,
}

type Parsed<T = ()> = Option<T>;

impl<'p> Parser<'p> {
    fn program(&mut self) -> Parsed {
        loop {
            self.lexer.skip_ends();
            if self.lexer.peek(true)? == Token::Done {
                return Some(());
            }
            let start = self.lexer.peek(true)?;
            let special = matches!(start, Token::Name("BEGIN" | "END"));
            if special {
                self.lexer.take(true)?;
            } else if start != Token::Sign("{") {
                self.expression(true)?;
                if self.lexer.eat(",")? {
                    self.lexer.skip_newlines();
                    self.expression(true)?;
                }
            }
            match self.lexer.peek(false)? {
                Token::Sign("{") => self.block()?,
                Token::End | Token::Done if !special => {}
                _ => return None,
            }
        }
    }

    fn block(&mut self) -> Parsed {
        self.expect("{")?;
        loop {
            self.lexer.skip_ends();
            if self.lexer.eat("}")? {
                return Some(());
            }
            self.statement()?;
        }
    }

    /// Parses a statement, with a `;` or the end of the line after it if required.
    fn statement(&mut self) -> Parsed {
        self.depth += 1;
        // Deeper than any program that people write; the parser recurses.
        if self.depth > 32 {
            return None;
        }
        match self.lexer.peek(true)? {
            Token::Sign("{") => self.block()?,
            Token::Name("if") => self.condition()?,
            Token::Name("for") => self.counted()?,
            _ => {
                self.simple()?;
                self.finish()?;
            }
        }
        self.depth -= 1;
        Some(())
    }

    fn finish(&mut self) -> Parsed {
        match self.lexer.peek(false)? {
            Token::End => self.lexer.take(false).map(|_| ()),
            Token::Sign("}") | Token::Done => Some(()),
            _ => None,
        }
    }

    fn condition(&mut self) -> Parsed {
        self.lexer.take(true)?;
        self.expect("(")?;
        self.expression(true)?;
        self.expect(")")?;
        self.lexer.skip_newlines();
        self.body()?;
        // An `else` may follow on a later line; without one the ends belong to the next statement.
        let mark = self.lexer.mark();
        self.lexer.skip_ends();
        if self.lexer.peek(true)? == Token::Name("else") {
            self.lexer.take(true)?;
            self.lexer.skip_newlines();
            return self.body();
        }
        self.lexer.reset(mark);
        Some(())
    }

    fn body(&mut self) -> Parsed {
        if self.lexer.peek(true)? == Token::End {
            return self.lexer.take(true).map(|_| ());
        }
        self.statement()
    }

    /// `for (i = 1; i <= NF; i++)`, `for (key in list)`.
    fn counted(&mut self) -> Parsed {
        self.lexer.take(true)?;
        self.expect("(")?;
        let name = self.name()?;
        if self.lexer.peek(false)? == Token::Name("in") {
            self.lexer.take(false)?;
            let list = self.name()?;
            self.expect(")")?;
            // A list that grows while it is walked may never end.
            return self.looped(&[name, list]);
        }
        self.expect("=")?;
        let from = self.bound()?;
        self.end_of_part()?;
        (self.name()? == name).then_some(())?;
        let Token::Sign(compare @ ("<" | "<=" | ">" | ">=")) = self.lexer.take(false)? else {
            return None;
        };
        let to = self.bound()?;
        self.end_of_part()?;
        let up = self.step(name)?;
        (up == compare.starts_with('<')).then_some(())?;
        self.expect(")")?;
        // With known numbers the rounds are counted. Other bounds are limited by the input, so only
        // their nesting is.
        match (from, to) {
            (Bound::Number(a), Bound::Number(b)) => ((b - a).abs() <= MAX_ROUNDS).then_some(())?,
            _ => (self.loops.len() < 4).then_some(())?,
        }
        let mut kept = vec![name];
        kept.extend([from, to].into_iter().filter_map(|bound| match bound {
            Bound::Name(name) => Some(name),
            Bound::Number(_) => None,
        }));
        self.looped(&kept)
    }

    fn end_of_part(&mut self) -> Parsed {
        (self.lexer.take(false)? == Token::End).then_some(())
    }

    /// `i++`, `++i`, `i += 2`, and the same downwards: whether it counts up.
    fn step(&mut self, name: &str) -> Parsed<bool> {
        let token = self.lexer.take(true)?;
        let (first, sign) = match token {
            Token::Name(first) => (first, self.lexer.take(false)?),
            sign @ Token::Sign("++" | "--") => (self.name()?, sign),
            _ => return None,
        };
        (first == name).then_some(())?;
        let up = match sign {
            Token::Sign("++") => true,
            Token::Sign("--") => false,
            Token::Sign(sign @ ("+=" | "-=")) => {
                let Bound::Number(by) = self.bound()? else { return None };
                (by > 0.0).then_some(())?;
                sign == "+="
            }
            _ => return None,
        };
        Some(up)
    }

    fn bound(&mut self) -> Parsed<Bound<'p>> {
        match self.lexer.take(true)? {
            Token::Number(number) => Some(Bound::Number(number)),
            Token::Name("length") => {
                self.expect("(")?;
                let name = self.name()?;
                self.expect(")")?;
                Some(Bound::Name(name))
            }
            Token::Name(name) if !is_among(REACHING, name) => Some(Bound::Name(name)),
            _ => None,
        }
    }

    fn looped(&mut self, names: &[&str]) -> Parsed {
        let before = self.loops.len();
        self.loops.extend(names.iter().map(|name| (*name).to_owned()));
        self.lexer.skip_newlines();
        self.body()?;
        self.loops.truncate(before);
        Some(())
    }

    fn simple(&mut self) -> Parsed {
        match self.lexer.peek(true)? {
            Token::Name("print") => {
                self.lexer.take(true)?;
                self.printed()
            }
            Token::Name("printf") => {
                self.lexer.take(true)?;
                let grouped = self.lexer.eat("(")?;
                self.format()?;
                while self.lexer.eat(",")? {
                    self.lexer.skip_newlines();
                    self.expression(grouped)?;
                }
                if grouped { self.expect(")") } else { Some(()) }
            }
            Token::Name("next" | "break" | "continue") => self.lexer.take(true).map(|_| ()),
            Token::Name("exit") => {
                self.lexer.take(true)?;
                match self.lexer.peek(true)? {
                    Token::End | Token::Done | Token::Sign("}") => Some(()),
                    _ => self.expression(false).map(|_| ()),
                }
            }
            Token::Name("delete") => {
                self.lexer.take(true)?;
                let name = self.name()?;
                if self.lexer.eat("[")? { self.index() } else { self.free(name) }
            }
            _ => self.expression(false).map(|_| ()),
        }
    }

    /// Parses a list of expressions; a `>` outside brackets would be a redirection.
    fn printed(&mut self) -> Parsed {
        if matches!(self.lexer.peek(true)?, Token::End | Token::Done | Token::Sign("}")) {
            return Some(());
        }
        loop {
            self.expression(false)?;
            if !self.lexer.eat(",")? {
                return Some(());
            }
            self.lexer.skip_newlines();
        }
    }

    fn format(&mut self) -> Parsed {
        let Token::Text(text) = self.lexer.take(true)? else { return None };
        (bomb::narrow(text) && !text.contains('*')).then_some(())?;
        // The format must be this text alone: no operator may follow.
        matches!(self.lexer.peek(false)?, Token::End | Token::Done | Token::Sign("," | ")" | "}"))
            .then_some(())
    }

    fn name(&mut self) -> Parsed<&'p str> {
        match self.lexer.take(true)? {
            Token::Name(name) if is_variable(name) => Some(name),
            _ => None,
        }
    }

    /// Returns whether nothing depends on this name keeping its value.
    fn free(&self, name: &str) -> Parsed {
        (!self.loops.iter().any(|kept| kept == name)).then_some(())
    }

    fn expect(&mut self, sign: &str) -> Parsed {
        self.lexer.eat(sign)?.then_some(())
    }

    fn maybe_index(&mut self) -> Parsed {
        if self.lexer.eat("[")? { self.index() } else { Some(()) }
    }

    fn index(&mut self) -> Parsed {
        loop {
            self.expression(true)?;
            if !self.lexer.eat(",")? {
                return self.expect("]");
            }
        }
    }

    /// Parses an expression. `compare`: a `>` compares, and does not redirect.
    fn expression(&mut self, compare: bool) -> Parsed<Kind> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        let kind = self.choice(compare)?;
        self.depth -= 1;
        Some(kind)
    }

    fn choice(&mut self, compare: bool) -> Parsed<Kind> {
        let target = self.lexer.peek(true)?;
        let left = self.operators(compare)?;
        match self.lexer.peek(false)? {
            Token::Sign("?") => {
                self.lexer.take(false)?;
                let a = self.expression(compare)?;
                self.expect(":")?;
                let b = self.expression(compare)?;
                Some(Kind {
                    texts: a.texts.max(b.texts),
                    joined: a.joined || b.joined,
                    place: false,
                })
            }
            Token::Sign("=" | "+=" | "-=" | "*=" | "/=" | "%=" | "^=") => {
                left.place.then_some(())?;
                let Token::Sign(sign) = self.lexer.take(false)? else { return None };
                self.assignable(target)?;
                let right = self.expression(compare)?;
                // A text that joins two others can double with every line.
                let grows = sign == "=" && right.joined && right.texts > 1;
                let loops = !self.loops.is_empty() && right.joined && right.texts > 0;
                (!grows && !loops).then_some(ONE)
            }
            _ => Some(left),
        }
    }

    fn assignable(&self, target: Token<'p>) -> Parsed {
        match target {
            // Assigning the number of fields changes the length of the line.
            Token::Name("NF") => None,
            Token::Name(name) => self.free(name),
            Token::Sign("$" | "++" | "--") => Some(()),
            _ => None,
        }
    }

    /// Operators between operands. Which binds stronger makes no difference to what is done.
    fn operators(&mut self, compare: bool) -> Parsed<Kind> {
        let mut kind = self.operand()?;
        loop {
            let next = self.lexer.peek(false)?;
            match next {
                Token::Sign(">") if compare => {}
                Token::Sign(">") => return None,
                Token::Sign(
                    "&&" | "||" | "==" | "!=" | "<" | "<=" | ">=" | "~" | "!~" | "+" | "-" | "*"
                    | "/" | "%" | "^",
                ) => {}
                Token::Name("in") => {
                    self.lexer.take(false)?;
                    self.name()?;
                    kind = Kind::default();
                    continue;
                }
                // Two operands side by side are joined.
                Token::Number(_)
                | Token::Text(_)
                | Token::Name(_)
                | Token::Sign("$" | "(" | "!") => {
                    if matches!(next, Token::Name(name) if is_among(REACHING, name)) {
                        return Some(kind);
                    }
                    let right = self.operand()?;
                    kind = Kind { texts: kind.texts + right.texts, joined: true, place: false };
                    continue;
                }
                _ => return Some(kind),
            }
            self.lexer.take(false)?;
            if matches!(next, Token::Sign("&&" | "||")) {
                self.lexer.skip_newlines();
            }
            self.operand()?;
            kind = Kind::default();
        }
    }

    fn operand(&mut self) -> Parsed<Kind> {
        let first = self.lexer.take(true)?;
        let kind = match first {
            Token::Number(_) | Token::Text(_) | Token::Regex => Kind::default(),
            Token::Sign("!" | "-" | "+") => {
                self.operand()?;
                Kind::default()
            }
            Token::Sign("++" | "--") => {
                let target = self.lexer.peek(true)?;
                let kind = self.operand()?;
                (kind.place && target != Token::Name("NF")).then_some(())?;
                if let Token::Name(name) = target {
                    self.free(name)?;
                }
                Kind::default()
            }
            Token::Sign("$") => self.field()?,
            Token::Sign("(") => {
                let kind = self.expression(true)?;
                // `(i, j) in list`
                let mut several = false;
                while self.lexer.eat(",")? {
                    several = true;
                    self.expression(true)?;
                }
                self.expect(")")?;
                if several {
                    (self.lexer.peek(false)? == Token::Name("in")).then_some(())?;
                }
                Kind { place: false, ..kind }
            }
            Token::Name(name) if is_among(REACHING, name) => return None,
            Token::Name(name) if is_among(FUNCTIONS, name) => self.call(name)?,
            Token::Name(_) => {
                if self.lexer.follows('(') {
                    return None;
                }
                self.maybe_index()?;
                Kind { place: true, ..ONE }
            }
            Token::Sign(_) | Token::End | Token::Done => return None,
        };
        let changed = matches!(self.lexer.peek(false)?, Token::Sign("++" | "--"));
        if changed && kind.place {
            if let Token::Name(name) = first {
                (name != "NF").then_some(())?;
                self.free(name)?;
            }
            self.lexer.take(false)?;
            return Some(ONE);
        }
        Some(kind)
    }

    /// `$1`, `$NF`, `$(NF - 1)`, `$i`.
    fn field(&mut self) -> Parsed<Kind> {
        match self.lexer.take(true)? {
            // A field with a large index makes the line as long.
            Token::Number(number) => {
                (number <= 10_000.0).then_some(Kind { texts: 0, place: true, joined: false })
            }
            Token::Name(name) if is_variable(name) => {
                self.maybe_index()?;
                Some(ONE)
            }
            Token::Sign("(") => {
                self.expression(true)?;
                self.expect(")")?;
                Some(ONE)
            }
            Token::Sign("$") => self.field().map(|_| ONE),
            _ => None,
        }
    }

    fn call(&mut self, name: &str) -> Parsed<Kind> {
        if name == "length" && self.lexer.peek(false)? != Token::Sign("(") {
            return Some(ONE);
        }
        self.expect("(")?;
        if name == "sprintf" {
            self.format()?;
        } else if matches!(name, "sub" | "gsub") {
            return self.replaced();
        } else if matches!(self.lexer.peek(true)?, Token::Sign(")")) {
            self.lexer.take(true)?;
            return matches!(name, "length" | "rand").then_some(ONE);
        } else {
            self.expression(true)?;
        }
        while self.lexer.eat(",")? {
            self.lexer.skip_newlines();
            if name == "split"
                && let Token::Name(list) = self.lexer.peek(true)?
            {
                self.free(list)?;
            }
            self.expression(true)?;
        }
        self.expect(")")?;
        Some(ONE)
    }

    /// `gsub(/a/, "b")`: of the line or one of its fields, so that nothing grows for long.
    fn replaced(&mut self) -> Parsed<Kind> {
        self.expression(true)?;
        self.expect(",")?;
        let Token::Text(text) = self.lexer.take(true)? else { return None };
        let short = text.len() <= 1 && text != "&";
        if self.lexer.eat(",")? {
            let target = self.lexer.peek(true)?;
            let kind = self.expression(true)?;
            kind.place.then_some(())?;
            if let Token::Name(name) = target {
                (short && name != "NF").then_some(())?;
                self.free(name)?;
            }
        }
        self.expect(")")?;
        (short || (self.loops.is_empty() && text.len() <= 256)).then_some(Kind::default())
    }
}

#[derive(Clone, Copy)]
enum Bound<'p> {
    Number(f64),
    Name(&'p str),
}

#[cfg(test)]
mod tests;
