//! What a Rust file declares: modules in other files, and functions with their attributes.
//!
//! This is a scan over words and brackets, no parser: it also sees what stands inside macros
//! (`proptest! { … }`), where a parser of the language sees only tokens.

use crate::rust_text::{Keep, is_word, mask};

/// What one file declares.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Scan {
    /// `mod name;`
    pub mods: Vec<ModFile>,
    /// `fn name`
    pub funcs: Vec<Func>,
}

/// A module that lives in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModFile {
    /// Its name.
    pub name: String,
    /// The inline modules around the declaration.
    pub inside: Vec<String>,
    /// `#[path = "…"]`
    pub path: Option<String>,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Func {
    /// Its name.
    pub name: String,
    /// Its line, from 1.
    pub line: usize,
    /// The inline modules around it.
    pub inside: Vec<String>,
    /// Its attributes as written, without `#[` and `]`.
    pub attrs: Vec<String>,
    /// Whether it is `pub` (and not `pub(crate)`).
    pub public: bool,
    /// The type, when it stands directly in an inherent `impl`.
    pub owner: Option<String>,
    /// Whether it stands inside another function.
    pub nested: bool,
}

impl Func {
    /// Whether it runs as a test: `#[test]`, `#[tokio::test(…)]` and the like.
    #[must_use]
    pub fn is_test(&self) -> bool {
        let path = |attr: &String| {
            let end = attr.find(['(', '=', ' ']).unwrap_or(attr.len());
            attr[..end].rsplit("::").next().map(str::trim) == Some("test")
        };
        !self.nested && self.attrs.iter().any(path)
    }

    /// Whether it is a test that does not run by default.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.attrs.iter().any(|attr| attr.starts_with("ignore"))
    }
}

enum Block {
    Mod(String),
    Impl(String),
    Fn,
    Other,
}

/// A word, a string (with its quotes) or one other character.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
}

/// Scans one file.
#[must_use]
pub fn scan(source: &str) -> Scan {
    let code = mask(source, Keep::Code);
    let tokens = tokens(&code);
    let mut found = Scan::default();
    let mut attrs: Vec<String> = Vec::new();
    let mut blocks: Vec<(Block, usize)> = Vec::new();
    let mut next_block = None;
    // Inside round and square brackets a `;` ends nothing: `[u8; 4]`.
    let mut depth = 0_usize;
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        let next = tokens.get(i + 1).map_or("", |token| token.text);
        match token.text {
            "#" if next == "[" => {
                let close = matching(&tokens, i + 1);
                let end = tokens.get(close).map_or(source.len(), |token| token.start);
                attrs.push(source[tokens[i + 1].start + 1..end].trim().to_owned());
                i = close;
            }
            "mod" if is_name(next) => match tokens.get(i + 2).map(|token| token.text) {
                Some(";") => found.mods.push(ModFile {
                    name: next.to_owned(),
                    inside: inside(&blocks),
                    path: attrs.iter().find_map(|attr| path_attribute(attr)),
                }),
                Some("{") => next_block = Some(Block::Mod(next.to_owned())),
                _ => {}
            },
            "impl" if starts_item(&tokens, i) => {
                let open = (i..tokens.len()).find(|at| tokens[*at].text == "{");
                let open = open.unwrap_or(tokens.len());
                let owner = inherent_type(&tokens[i + 1..open]);
                next_block = Some(owner.map_or(Block::Other, Block::Impl));
                i = open;
                continue;
            }
            "fn" if is_name(next) => {
                found.funcs.push(Func {
                    name: next.to_owned(),
                    line: line_of(source, token.start),
                    inside: inside(&blocks),
                    attrs: std::mem::take(&mut attrs),
                    public: is_public(&tokens, i),
                    owner: match blocks.last() {
                        Some((Block::Impl(owner), _)) => Some(owner.clone()),
                        _ => None,
                    },
                    nested: blocks.iter().any(|(block, _)| matches!(block, Block::Fn)),
                });
                next_block = Some(Block::Fn);
            }
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" => {
                blocks.push((next_block.take().unwrap_or(Block::Other), depth));
                depth = 0;
                attrs.clear();
            }
            "}" => {
                depth = blocks.pop().map_or(0, |(_, depth)| depth);
                next_block = None;
                attrs.clear();
            }
            ";" if depth == 0 => {
                next_block = None;
                attrs.clear();
            }
            _ => {}
        }
        i += 1;
    }
    found
}

/// The line of an offset, from 1.
pub(crate) fn line_of(source: &str, offset: usize) -> usize {
    source.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The tokens of masked code.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        i += 1;
        if bytes[start] == b'"' {
            while i < bytes.len() && bytes[i] != b'"' {
                i += 1;
            }
            i = (i + 1).min(bytes.len());
        } else if is_word(bytes[start]) {
            while i < bytes.len() && is_word(bytes[i]) {
                i += 1;
            }
        } else if bytes[start].is_ascii_whitespace() {
            continue;
        }
        found.push(Token { text: &code[start..i], start });
    }
    found
}

fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| is_word(byte) && !byte.is_ascii_digit())
}

/// The index of the bracket that closes the one at `open`, or the end.
fn matching(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "[" | "(" | "{" => depth += 1,
            "]" | ")" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

fn inside(blocks: &[(Block, usize)]) -> Vec<String> {
    let name = |(block, _): &(Block, usize)| match block {
        Block::Mod(name) => Some(name.clone()),
        Block::Impl(_) | Block::Fn | Block::Other => None,
    };
    blocks.iter().filter_map(name).collect()
}

fn path_attribute(attr: &str) -> Option<String> {
    let value = attr.strip_prefix("path")?.trim_start().strip_prefix('=')?.trim();
    Some(value.trim_matches('"').to_owned())
}

/// Whether `impl` at `at` is an item and no type (`-> impl Trait`).
fn starts_item(tokens: &[Token<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| tokens[before].text);
    matches!(before, None | Some("}" | "{" | ";" | "]" | "unsafe" | "default"))
}

/// Whether the `fn` at `at` has a plain `pub` in front.
fn is_public(tokens: &[Token<'_>], at: usize) -> bool {
    let qualifier = |text: &str| {
        matches!(text, "const" | "async" | "unsafe" | "safe" | "extern") || text.starts_with('"')
    };
    let before = tokens[..at].iter().rev().find(|token| !qualifier(token.text));
    before.is_some_and(|token| token.text == "pub")
}

/// The type of an inherent `impl`, given what stands between `impl` and `{`; `None` when a
/// trait is implemented.
fn inherent_type(header: &[Token<'_>]) -> Option<String> {
    let mut depth = 0_usize;
    let mut name = None;
    let mut done = false;
    for (at, token) in header.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| header[before].text);
        match token.text {
            "<" => depth += 1,
            ">" if before != "-" => depth = depth.saturating_sub(1),
            "for" if depth == 0 && header.get(at + 1).map(|next| next.text) != Some("<") => {
                return None;
            }
            "where" if depth == 0 => done = true,
            "mut" | "dyn" | "const" => {}
            text if depth == 0 && !done && is_name(text) && before != "'" => {
                name = Some(text.to_owned());
            }
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests;
