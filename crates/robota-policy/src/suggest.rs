//! Suggests the rule that "always" saves: as narrow as the call that was shown, and never a prefix
//! that allows any command. Commands that destroy something have none.

pub(crate) mod destroys;

use std::path::Path;
use std::sync::Arc;

use robota_core::paths::Paths;
use robota_core::permission::Verdict;
use serde_json::Value;

use crate::call::{self, Family, PATH_FIELDS, ToolCall};
use crate::disk::Disk;
use crate::policy::{Policy, Rules};
use crate::program::wrap;
use crate::program::{Program, Shape, Trait};
use crate::rule::{CommandPattern, List, RuleSource};
use crate::shell::{Part, RedirectKind, Script, Word};
use crate::verdict::Suggestion;
use crate::web::Target;
use crate::words;
use crate::workspace::{normal, text};

// More than a person reads before they agree.
const MAX_RULES: usize = 5;
/// The most rules that are tried for a call, of which some may not be needed.
const MAX_CONSIDERED: usize = 10;

/// Returns whether a rule is too broad to be saved by a single click.
///
/// ```
/// use robota_policy::too_broad;
/// assert!(too_broad("Bash(git *)"));
/// assert!(too_broad("Bash"));
/// assert!(!too_broad("Bash(git status *)"));
/// ```
#[must_use]
pub fn too_broad(rule: &str) -> bool {
    let rule = rule.trim();
    let (name, spec) = match rule.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')').unwrap_or(rest)),
        None => (rule, ""),
    };
    if name.contains('*') {
        return true;
    }
    let Some(family) = Family::of_tool(name) else {
        return name == "WebFetch" && matches!(spec, "" | "*" | "domain:*");
    };
    if matches!(spec, "" | "*" | "**" | "/**" | "//**" | "~/**") {
        return true;
    }
    if family != Family::Shell {
        return false;
    }
    let Ok(pattern) = CommandPattern::new(spec) else { return true };
    if pattern.is_exact() {
        return false;
    }
    let fixed = pattern.fixed_words();
    let Some(first) = fixed.first() else { return true };
    let program = wrap::base(first);
    // `npm run *` and `python -m *` are as broad as the program alone.
    let selects = |word: &String| !word.starts_with('-') && !words::has("runners", word);
    Program::find(program).is_some_and(|program| program.is(Trait::Broad))
        && !fixed[1..].iter().any(selects)
}

/// Returns whether a rule allows commands that begin with the same words but differ, so that a
/// person should confirm it after seeing what else it allows.
///
/// ```
/// use robota_policy::allows_other_commands;
/// assert!(allows_other_commands("Bash(cargo test *)"));
/// assert!(!allows_other_commands("Bash(npm install left-pad)"));
/// assert!(!allows_other_commands("Edit(./src/a.rs)"));
/// ```
#[must_use]
pub fn allows_other_commands(rule: &str) -> bool {
    let Some((name, rest)) = rule.trim().split_once('(') else {
        return Family::of_tool(rule.trim()) == Some(Family::Shell);
    };
    Family::of_tool(name) == Some(Family::Shell)
        && !CommandPattern::new(rest.strip_suffix(')').unwrap_or(rest))
            .is_ok_and(|pattern| pattern.is_exact())
}

pub(crate) fn suggest(
    policy: &Policy,
    call: &ToolCall<'_>,
    script: &Script,
    paths: &dyn Paths,
) -> Option<Suggestion> {
    let mut rules = match Family::of_tool(call.tool) {
        Some(Family::Shell) => shell(policy, call, script)?,
        Some(family @ (Family::Edit | Family::Read)) => files(policy, call, family)?,
        None => vec![other(call)?],
    };
    rules.dedup();
    if rules.len() > MAX_CONSIDERED {
        return None;
    }
    // A part may be allowed without one; if it is not, nothing is suggested.
    rules.retain(|rule| !too_broad(rule));
    // Judge again as if the rules had been saved: only rules that allow the call are suggested.
    let source = Arc::new(RuleSource::session());
    let allow = |rules: &[String]| {
        let mut trial = policy.clone();
        trial.allow = Arc::new(Rules::above(&policy.allow));
        rules.iter().all(|rule| trial.add(List::Allow, &source, rule, paths).is_ok())
            && trial.judge_plainly(call, script, &Disk::new(paths)).verdict == Verdict::Allow
    };
    if !allow(&rules) {
        return None;
    }
    // Rules for parts that other rules allow are not saved.
    for at in (0..rules.len()).rev() {
        let mut fewer = rules.clone();
        fewer.remove(at);
        if allow(&fewer) {
            rules = fewer;
        }
    }
    (rules.len() <= MAX_RULES).then_some(Suggestion { rules })
}

fn shell(policy: &Policy, call: &ToolCall<'_>, script: &Script) -> Option<Vec<String>> {
    call.input.get("command")?.as_str()?;
    // What is not understood cannot be described by a rule.
    if !script.doubts.is_empty() || script.is_crowded() {
        return None;
    }
    let mut rules = Vec::new();
    for part in &script.parts {
        if crate::program::read_only::reads(&part.words, part).is_none() && !part.words.is_empty() {
            rules.push(command_rule(part)?);
        }
        for redirect in part.redirects.iter().filter(|r| r.kind == RedirectKind::Write) {
            let target = redirect.target.literal()?;
            if !super::judge_sink(&target) {
                let dir = part.cwd.dirs.first()?;
                rules.push(file_rule("Edit", &dir.join(target), policy));
            }
        }
    }
    Some(rules)
}

fn command_rule(part: &Part) -> Option<String> {
    let views = wrap::unwrap_all(part).views;
    if views.iter().any(|view| destroys::destroys(&view.words)) {
        return None;
    }
    // The rule is for what the transparent wrappers run.
    let given =
        views.into_iter().filter(|view| view.covered).min_by_key(|view| view.words.len())?.words;
    let values: Vec<String> = given.iter().map(Word::literal).collect::<Option<_>>()?;
    let program = values.first()?;
    let exact = || {
        let text = given.iter().map(Word::rendered).collect::<Vec<_>>().join(" ");
        format!("Bash({})", escape_command(&text))
    };
    // Elsewhere the next words may be code that is fetched or run: packages, images, files, hosts.
    let Some(known) = Program::find(program).filter(|known| known.shape == Shape::Sub) else {
        return Some(exact());
    };
    let mut stem = vec![program.clone()];
    for value in &values[1..] {
        if value.starts_with('-') || !is_plain(value) {
            return Some(exact());
        }
        stem.push(value.clone());
        let group = stem.len() == 2
            && (known.groups.contains(&"*") || known.groups.contains(&value.as_str()));
        if !group && !words::has("runners", value) {
            break;
        }
    }
    let named = |count: usize| stem.get(1..=count).map(|words| words.join("/"));
    let is_prefix =
        |count: usize| named(count).is_some_and(|name| known.prefixes.contains(&name.as_str()));
    let rule = format!("Bash({} *)", stem.join(" "));
    Some(if (is_prefix(1) || is_prefix(2)) && !too_broad(&rule) { rule } else { exact() })
}

fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_:.@/".contains(c))
}

fn escape_command(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*")
}

fn files(policy: &Policy, call: &ToolCall<'_>, family: Family) -> Option<Vec<String>> {
    let tool = if family == Family::Edit { "Edit" } else { "Read" };
    let mut rules = Vec::new();
    for field in PATH_FIELDS {
        if let Some(path) = call.input.get(field).and_then(Value::as_str) {
            rules.push(file_rule(tool, &policy.workspace.resolve(path), policy));
        }
    }
    Some(rules)
}

/// Returns the rule for one file, relative to the working directory if the file is in it.
fn file_rule(tool: &str, path: &Path, policy: &Policy) -> String {
    let path = normal(path);
    let cwd = normal(&policy.workspace.cwd);
    match path.strip_prefix(&cwd) {
        Ok(rest) if !rest.as_os_str().is_empty() => {
            format!("{tool}(./{})", escape_path(&text(rest)))
        }
        _ => format!("{tool}(/{})", escape_path(&text(&path))),
    }
}

fn escape_path(path: &str) -> String {
    let escaped = |c| matches!(c, '*' | '?' | '[' | '\\').then_some('\\').into_iter().chain([c]);
    path.chars().flat_map(escaped).collect()
}

fn other(call: &ToolCall<'_>) -> Option<String> {
    let name = call::canonical(call.tool);
    let field =
        |names: &[&str]| names.iter().find_map(|name| call.input.get(name).and_then(Value::as_str));
    match name {
        "WebFetch" => {
            let target = Target::parse(field(&["url"])?).ok()?;
            Some(format!("WebFetch(domain:{})", target.host))
        }
        "Agent" => {
            let agent = field(&["subagent_type", "subagentType", "agent", "agentType"])?;
            is_plain(agent).then(|| format!("Agent({agent})"))
        }
        "Skill" => {
            let skill = field(&["skill", "name", "command"])?;
            is_plain(skill).then(|| format!("Skill({skill})"))
        }
        // One tool of one server is as narrow as it gets.
        _ if name.starts_with("mcp__") && name.matches("__").count() >= 2 => {
            is_plain(name).then(|| name.to_owned())
        }
        _ => None,
    }
}
