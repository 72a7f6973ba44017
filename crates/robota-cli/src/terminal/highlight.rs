//! Colours code. The grammars are loaded at the first use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::text::{Line, Role};

/// Longer lines are not coloured: grammars can be slow on generated code.
const LONGEST_LINE: usize = 1000;
/// After this much code the rest is not coloured.
const LONGEST_CODE: usize = 64 * 1024;

/// The grammars, and the roles of their scopes.
struct Grammars {
    set: SyntaxSet,
    roles: Vec<(Scope, Role)>,
}

/// The roles of scopes. The most special scope of a text decides; the first entry that fits it.
const ROLES: [(&str, Role); 24] = [
    ("comment", Role::Comment),
    ("punctuation.definition.comment", Role::Comment),
    ("string", Role::Literal),
    ("punctuation.definition.string", Role::Literal),
    ("constant", Role::Literal),
    ("keyword.operator", Role::Text),
    ("keyword", Role::Keyword),
    ("storage", Role::Keyword),
    ("variable.language", Role::Keyword),
    ("entity.name.function", Role::Name),
    ("entity.name.type", Role::Name),
    ("entity.name.class", Role::Name),
    ("entity.name.struct", Role::Name),
    ("entity.name.enum", Role::Name),
    ("entity.name.tag", Role::Keyword),
    ("entity.name.section", Role::Name),
    ("entity.other.attribute-name", Role::Name),
    ("entity.other.inherited-class", Role::Name),
    ("support.function", Role::Name),
    ("support.type", Role::Name),
    ("support.class", Role::Name),
    ("variable.function", Role::Name),
    ("markup.inserted", Role::Added),
    ("markup.deleted", Role::Removed),
];

static GRAMMARS: OnceLock<Grammars> = OnceLock::new();

fn grammars() -> &'static Grammars {
    GRAMMARS.get_or_init(|| Grammars {
        set: two_face::syntax::extra_newlines(),
        roles: ROLES
            .iter()
            .filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role)))
            .collect(),
    })
}

/// Returns whether the grammars are loaded. If not, a thread begins to load them, so that a text that
/// is being written does not wait for them.
pub(crate) fn is_loaded(language: &str) -> bool {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if GRAMMARS.get().is_none() && !STARTED.swap(true, Ordering::Relaxed) {
        let language = language.to_owned();
        // Colouring a line also compiles the expressions of its grammar, which takes time too.
        let load = move || drop(highlight(&language, "a = \"b\"; // c\n"));
        // Without a thread the caller waits, which is better than a text that never gets its
        // colours.
        if thread::Builder::new().name("grammars".to_owned()).spawn(load).is_err() {
            grammars();
        }
    }
    GRAMMARS.get().is_some()
}

/// Colours lines of code, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Highlighter {
    state: ParseState,
    stack: ScopeStack,
    left: usize,
}

impl Highlighter {
    /// Creates a highlighter, if the language is known. A language is a name or an extension.
    pub(crate) fn new(language: &str) -> Option<Self> {
        let syntax = syntax(language)?;
        Some(Self { state: ParseState::new(syntax), stack: ScopeStack::new(), left: LONGEST_CODE })
    }

    /// Colours the next line, which has no line break.
    pub(crate) fn line(&mut self, text: &str) -> Line {
        if text.len() > LONGEST_LINE || text.len() > self.left {
            self.left = self.left.saturating_sub(text.len());
            return Line::new(text, Role::Text);
        }
        self.left -= text.len();
        let grammars = grammars();
        // The grammars of this set expect the line break: comments to the end of a line end at it.
        let with_break = format!("{text}\n");
        // A grammar that fails on a line costs this line its colours, not the user the text.
        let Ok(operations) = self.state.parse_line(&with_break, &grammars.set) else {
            return Line::new(text, Role::Text);
        };
        let mut line = Line::default();
        let mut start = 0;
        for (at, operation) in &operations {
            let at = (*at).min(text.len());
            // A grammar that cuts a letter must not panic the thread that draws.
            if at > start && text.is_char_boundary(at) {
                line.push(&text[start..at], role(&self.stack, grammars));
                start = at;
            }
            if self.stack.apply(operation).is_err() {
                self.stack = ScopeStack::new();
            }
        }
        if start < text.len() {
            line.push(&text[start..], role(&self.stack, grammars));
        }
        line
    }
}

/// Colours code.
pub(crate) fn highlight(language: &str, code: &str) -> Vec<Line> {
    let mut highlighter = Highlighter::new(language);
    code.lines()
        .map(|text| match &mut highlighter {
            Some(highlighter) => highlighter.line(text),
            None => Line::new(text, Role::Text),
        })
        .collect()
}

/// Returns the language of a file, for [`Highlighter::new`].
pub(crate) fn language_of_path(path: &str) -> Option<&str> {
    let name = path.rsplit(['/', '\\']).next()?;
    match name {
        "Makefile" | "makefile" | "GNUmakefile" => return Some("make"),
        "Dockerfile" | "Containerfile" => return Some("dockerfile"),
        "CMakeLists.txt" => return Some("cmake"),
        "Cargo.lock" => return Some("toml"),
        _ => {}
    }
    name.rsplit_once('.').map(|(_, extension)| extension).filter(|it| !it.is_empty())
}

fn syntax(language: &str) -> Option<&'static SyntaxReference> {
    let language = language.trim();
    let lower = language.to_ascii_lowercase();
    let token = match lower.as_str() {
        "" | "text" | "txt" | "plain" | "plaintext" | "output" | "log" => return None,
        "shell" | "zsh" | "console" | "shellscript" | "shell-session" => "bash",
        "jsonc" | "json5" | "jsonl" => "json",
        "golang" => "go",
        "c++" => "cpp",
        "c#" | "csharp" => "cs",
        "docker" => "dockerfile",
        "node" | "mjs" | "cjs" => "js",
        "mts" | "cts" => "ts",
        "make" => "makefile",
        "objective-c" | "objc" => "m",
        other => other,
    };
    let set = &grammars().set;
    set.find_syntax_by_token(token).filter(|syntax| syntax.name != "Plain Text")
}

fn role(stack: &ScopeStack, grammars: &Grammars) -> Role {
    for scope in stack.as_slice().iter().rev() {
        let found = grammars.roles.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
        if let Some((_, role)) = found {
            return *role;
        }
    }
    Role::Text
}

#[cfg(test)]
mod tests;
