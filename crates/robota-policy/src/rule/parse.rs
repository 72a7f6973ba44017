//! Parses a rule's text into its matcher.

use robota_core::paths::Paths;

use super::{CommandPattern, FilePattern, List, Matcher, RuleSource};
use crate::call::{self, Family};
use crate::glob::Wild;
use crate::web::HostPattern;
use crate::workspace::Roots;

pub(crate) struct Anchors<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) paths: &'a dyn Paths,
}

pub(super) struct Problem {
    pub(super) problem: String,
    pub(super) advice: Option<String>,
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self { problem, advice: None }
    }
}

impl From<&str> for Problem {
    fn from(problem: &str) -> Self {
        problem.to_owned().into()
    }
}

/// Rules longer than this were not written by a person.
const MAX_RULE: usize = 4096;

pub(super) fn matcher(
    text: &str,
    list: List,
    source: &RuleSource,
    anchors: &Anchors<'_>,
) -> Result<Matcher, Problem> {
    if text.len() > MAX_RULE {
        return Err(format!("it is longer than {MAX_RULE} bytes").into());
    }
    // Such a rule would look different from what it matches.
    if text.chars().any(|c| c.is_control()) {
        return Err("it contains a control character or a line break".into());
    }
    let text = text.trim();
    let (name, spec) = split(text)?;
    match spec {
        None | Some("" | "*") => whole_tool(name, list),
        Some(spec) => scoped(name, spec, &Origin { list, source, anchors }),
    }
}

/// `Tool` or `Tool(specifier)`.
fn split(text: &str) -> Result<(&str, Option<&str>), Problem> {
    let Some(open) = text.find('(') else {
        return if text.is_empty() {
            Err("it is empty".into())
        } else if text.contains(')') {
            Err("it has a `)` without a `(`".into())
        } else if text.contains(char::is_whitespace) {
            Err(Problem {
                problem: "a tool's name has no spaces".into(),
                advice: Some(format!("for a shell command write Bash({text})")),
            })
        } else {
            Ok((text, None))
        };
    };
    let name = &text[..open];
    if name.is_empty() {
        return Err("it names no tool before `(`".into());
    }
    if name.contains(char::is_whitespace) {
        return Err("a tool's name has no spaces".into());
    }
    let Some(spec) = text[open + 1..].strip_suffix(')') else {
        return Err("its `(` is not closed by a `)` at the end".into());
    };
    Ok((name, Some(spec)))
}

fn whole_tool(name: &str, list: List) -> Result<Matcher, Problem> {
    if let Some(family) = Family::of_rule(name) {
        return Ok(Matcher::Family(family));
    }
    let name = call::canonical(name);
    let wild = Wild::new(name);
    if list == List::Allow && wild.has_star() {
        allow_glob(name)?;
    }
    // A server's name alone matches all of its tools.
    if let Some(server) = name.strip_prefix("mcp__")
        && !server.contains("__")
        && !wild.has_star()
    {
        if server.is_empty() {
            return Err("`mcp__` names no server".into());
        }
        return Ok(Matcher::Name(Wild::new(&format!("{name}__*"))));
    }
    Ok(Matcher::Name(wild))
}

/// In an allow rule a glob may match only tools of one named server: a new
/// server or tool must not be allowed by a pattern that was written before it existed.
fn allow_glob(name: &str) -> Result<(), Problem> {
    let literal = name.split('*').next().unwrap_or_default();
    let server =
        literal.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(s, _)| s);
    match server {
        Some(server) if !server.is_empty() => Ok(()),
        _ => Err(Problem {
            problem: "in an allow rule a `*` may only follow a server that is spelled out".into(),
            advice: Some("write mcp__server or mcp__server__*".into()),
        }),
    }
}

/// Where a rule is written, and what its patterns start from.
struct Origin<'a> {
    list: List,
    source: &'a RuleSource,
    anchors: &'a Anchors<'a>,
}

impl Origin<'_> {
    fn files(&self, reads: bool, only: Option<&str>, spec: &str) -> Result<Matcher, Problem> {
        let root = self.source.root.as_deref();
        let pattern = Box::new(FilePattern::new(spec, self.list, root, self.anchors)?);
        Ok(Matcher::File { reads, only: only.map(str::to_owned), pattern })
    }
}

fn scoped(name: &str, spec: &str, origin: &Origin<'_>) -> Result<Matcher, Problem> {
    let forbids = origin.list != List::Allow;
    let given = parameter(spec);
    if name.contains('*') && !(forbids && given.is_some()) {
        return Err("a tool name with `*` takes no specifier".into());
    }
    let parameter = |tool: &str, (name, value): (&str, &str)| Matcher::Parameter {
        tool: Wild::new(tool),
        name: name.to_owned(),
        value: Wild::new(value),
    };
    match (Family::of_rule(name), call::canonical(name), given) {
        (Some(Family::Shell), _, Some(given))
            if forbids && call::SHELL_PARAMETERS.contains(&given.0) =>
        {
            Ok(parameter("Bash", given))
        }
        (Some(Family::Shell), ..) => Ok(Matcher::Command(CommandPattern::new(spec)?)),
        (Some(family), ..) => origin.files(family == Family::Read, None, spec),
        (None, name @ ("Grep" | "Glob"), _) => origin.files(true, Some(name), spec),
        (None, "WebFetch", _) => Ok(Matcher::Host(HostPattern::new(spec)?)),
        (None, _, Some(_)) if !forbids => {
            Err("a parameter can be denied or asked about, never allowed".into())
        }
        (None, _, Some((name, _))) if call::PRIMARY_FIELDS.contains(&name) => {
            Err(format!("`{name}` has rules of its own and no parameter rule").into())
        }
        (None, name, Some(given)) => Ok(parameter(name, given)),
        (None, "Agent", None) => {
            Ok(Matcher::Named { tool: "Agent", name: Wild::new(spec), boundary: false })
        }
        (None, "Skill", None) => {
            let (stem, boundary) = match spec.strip_suffix(" *").or(spec.strip_suffix(":*")) {
                Some(stem) => (stem.trim_end(), true),
                None => (spec, false),
            };
            if stem.is_empty() {
                return Err("it names no skill".into());
            }
            Ok(Matcher::Named { tool: "Skill", name: Wild::new(stem), boundary })
        }
        (None, name, None) if name.starts_with("mcp__") => {
            Err("a tool of an MCP server takes no specifier but `parameter:value`".into())
        }
        (None, name, None) => {
            Ok(Matcher::Argument { tool: name.to_owned(), value: Wild::new(spec) })
        }
    }
}

/// `name:value` with a name that can be a parameter's.
fn parameter(spec: &str) -> Option<(&str, &str)> {
    let (name, value) = spec.split_once(':')?;
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    // `https://…` is an address and no parameter.
    (starts && goes_on && !value.is_empty() && !value.starts_with("//")).then_some((name, value))
}
