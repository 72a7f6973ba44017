//! From a rule's text to its matcher.

use robota_core::paths::Paths;

use super::{CommandPattern, FilePattern, List, Matcher, RuleSource};
use crate::call::{self, Family};
use crate::glob::Wild;
use crate::web::HostPattern;
use crate::workspace::Roots;

/// What relative patterns start from.
pub(crate) struct Anchors<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) paths: &'a dyn Paths,
}

/// Why a rule cannot be read.
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
    if text.chars().any(|c| c.is_control()) {
        return Err("it contains a control character or a line break".into());
    }
    let text = text.trim();
    let (name, spec) = split(text)?;
    match spec {
        None | Some("" | "*") => whole_tool(name, list),
        Some(spec) => scoped(name, spec, list, source, anchors),
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
    // A server's name alone stands for all of its tools.
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

/// In an allow rule a glob may stand only for tools of one server that is spelled out: a new
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

fn scoped(
    name: &str,
    spec: &str,
    list: List,
    source: &RuleSource,
    anchors: &Anchors<'_>,
) -> Result<Matcher, Problem> {
    if name.contains('*') && !(list != List::Allow && parameter(spec).is_some()) {
        return Err("a tool name with `*` takes no specifier".into());
    }
    match Family::of_rule(name) {
        Some(Family::Shell) => {
            if list != List::Allow
                && let Some((param, value)) = parameter(spec)
                && call::SHELL_PARAMETERS.contains(&param)
            {
                return Ok(Matcher::Parameter {
                    tool: Wild::new("Bash"),
                    name: param.to_owned(),
                    value: Wild::new(value),
                });
            }
            Ok(Matcher::Command(CommandPattern::new(spec)?))
        }
        Some(family @ (Family::Read | Family::Edit)) => {
            let pattern = FilePattern::new(spec, list, source.root.as_deref(), anchors)?;
            Ok(Matcher::File {
                reads: family == Family::Read,
                only: None,
                pattern: Box::new(pattern),
            })
        }
        None => other(call::canonical(name), spec, list, source, anchors),
    }
}

fn other(
    name: &str,
    spec: &str,
    list: List,
    source: &RuleSource,
    anchors: &Anchors<'_>,
) -> Result<Matcher, Problem> {
    match name {
        "Grep" | "Glob" => {
            let pattern = FilePattern::new(spec, list, source.root.as_deref(), anchors)?;
            return Ok(Matcher::File {
                reads: true,
                only: Some(name.to_owned()),
                pattern: Box::new(pattern),
            });
        }
        "WebFetch" => return Ok(Matcher::Host(HostPattern::new(spec)?)),
        _ => {}
    }
    if let Some((param, value)) = parameter(spec) {
        if list == List::Allow {
            return Err("a parameter can be denied or asked about, never allowed".into());
        }
        if call::PRIMARY_FIELDS.contains(&param) {
            return Err(format!("`{param}` has rules of its own and no parameter rule").into());
        }
        return Ok(Matcher::Parameter {
            tool: Wild::new(name),
            name: param.to_owned(),
            value: Wild::new(value),
        });
    }
    match name {
        "Agent" => Ok(Matcher::Named { tool: "Agent", name: Wild::new(spec), boundary: false }),
        "Skill" => {
            let (stem, boundary) = match spec.strip_suffix(" *").or(spec.strip_suffix(":*")) {
                Some(stem) => (stem.trim_end(), true),
                None => (spec, false),
            };
            if stem.is_empty() {
                return Err("it names no skill".into());
            }
            Ok(Matcher::Named { tool: "Skill", name: Wild::new(stem), boundary })
        }
        _ if name.starts_with("mcp__") => {
            Err("a tool of an MCP server takes no specifier but `parameter:value`".into())
        }
        _ => Ok(Matcher::Argument { tool: name.to_owned(), value: Wild::new(spec) }),
    }
}

/// `name:value` with a name that can be a parameter's.
fn parameter(spec: &str) -> Option<(&str, &str)> {
    let (name, value) = spec.split_once(':')?;
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    (starts && goes_on && !value.is_empty() && !value.starts_with("//")).then_some((name, value))
}
