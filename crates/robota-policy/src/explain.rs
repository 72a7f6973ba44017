//! Explains the verdict on each simple command of a script, and what a rule covers. Both use the
//! same code as [`Policy::judge`]: a command is judged as part of its call, an example with the
//! rule alone.

use robota_core::paths::Paths;
use robota_core::permission::{Class, Verdict};
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::{Family, ToolCall};
use crate::disk::Disk;
use crate::policy::{Policy, PolicySpec};
use crate::rule::{List, RuleError, RuleSource};
use crate::shell::Script;
use crate::verdict::{PolicyVerdict, Reason};
use crate::workspace::{LexicalPaths, Workspace};

/// Holds the verdict on a call, and the verdict on each command in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What was decided about the call.
    #[serde(flatten)]
    pub verdict: PolicyVerdict,
    /// The simple commands of a shell call, in the order of the text. Commands of a script inside
    /// a word (`sh -c '…'`) are judged with the command that runs them.
    pub commands: Vec<ExplainedCommand>,
    /// Why the text is not fully understood, if so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// What was decided about one simple command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedCommand {
    /// The command with its redirections.
    pub text: String,
    /// What contains it, from the outside: `for`, `( )`, `$( )`.
    pub within: Vec<&'static str>,
    /// What this command alone would get.
    pub verdict: Verdict,
    /// Whether it is allowed because it is proven to only read.
    pub read_only: bool,
    /// The reasons of the verdict, the decisive ones first.
    pub reasons: Vec<Reason>,
}

impl Policy {
    /// Judges a call like [`Policy::judge`], and each simple command in it.
    #[must_use]
    pub fn explain(&self, call: &ToolCall<'_>, paths: &dyn Paths) -> Explanation {
        let verdict = self.judge(call, paths);
        let disk = Disk::new(paths);
        let script = match Family::of_tool(call.tool) {
            Some(Family::Shell) => self.script(call),
            Some(Family::Edit | Family::Read) | None => Script::default(),
        };
        let described = script.parts.iter().filter(|part| part.is_command());
        let commands = described.map(|part| {
            // With the variables of the whole script: alone, the command would not know what `$x`
            // is.
            let alone = Script {
                parts: vec![part.clone()],
                vars: script.vars.clone(),
                ..Script::default()
            };
            let judged = self.judge_plainly(call, &alone, &disk);
            ExplainedCommand {
                text: part.described(),
                within: part.within.clone(),
                verdict: judged.verdict,
                read_only: judged.read_only_proof,
                reasons: judged.reasons,
            }
        });
        let commands = commands.collect();
        let doubts = script.doubts.iter().map(|doubt| doubt.why.clone()).collect();
        Explanation { verdict, commands, doubts }
    }
}

/// Calls that are judged to show what a rule covers, a kind and an example per line.
const EXAMPLES: &str = include_str!("explain/examples.txt");

/// A rule in one list, and what it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleExplanation {
    /// The rule as it was written.
    pub rule: String,
    /// The list it would be in.
    pub list: List,
    /// A description in one sentence.
    pub about: String,
    /// Calls whose verdict it changes to that of its list.
    pub covered: Vec<RuleExample>,
    /// Similar calls that it does not cover.
    pub not_covered: Vec<RuleExample>,
}

/// A call that was judged with the rule and without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleExample {
    /// The tool and its argument; for a shell the command.
    pub call: String,
    /// The verdict that the call gets with the rule.
    pub verdict: Verdict,
    /// The decisive reason of that verdict, for people.
    pub reason: String,
}

/// Explains a rule by calls that are made from it and judged with it alone, in default mode.
///
/// # Errors
/// If the rule cannot be read.
pub fn explain_rule(
    rule: &str,
    list: List,
    workspace: &Workspace,
) -> Result<RuleExplanation, RuleError> {
    // An allow rule has a visible effect where the mode asks; a deny or ask rule, where everything
    // is allowed.
    let spec = match list {
        List::Allow => PolicySpec::new(workspace.clone()),
        List::Ask | List::Deny => PolicySpec::new(workspace.clone()).rules(
            List::Allow,
            RuleSource::session(),
            ["Bash", "Edit", "Read", "WebFetch", "mcp__server"],
        ),
    };
    let without = Policy::new(&spec, &LexicalPaths).0;
    let spec = spec.rules(list, RuleSource::session(), [rule]);
    let (with, errors) = Policy::new(&spec, &LexicalPaths);
    if let Some(error) = errors.into_iter().next() {
        return Err(error);
    }
    let wanted = match list {
        List::Allow => Verdict::Allow,
        List::Ask => Verdict::Ask,
        List::Deny => Verdict::Deny,
    };
    let (name, specifier) = match rule.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.trim_end().strip_suffix(')').unwrap_or(rest)),
        None => (rule.trim(), ""),
    };
    let mut explanation = RuleExplanation {
        rule: rule.to_owned(),
        list,
        about: about(name, specifier, list),
        covered: Vec::new(),
        not_covered: Vec::new(),
    };
    for (tool, argument) in candidates(name, specifier) {
        let input = input(&tool, &argument);
        let class = match tool.as_str() {
            "Read" | "WebFetch" => Class::Inspect,
            "Edit" => Class::Modify,
            _ => Class::Execute,
        };
        let call = ToolCall { tool: &tool, input: &input, class };
        let (before, after) =
            (without.judge(&call, &LexicalPaths), with.judge(&call, &LexicalPaths));
        let call = if tool == "Bash" { argument } else { format!("{tool}({argument})") };
        let example = RuleExample { call, verdict: after.verdict, reason: after.why().to_owned() };
        if after.verdict == wanted && before.verdict != wanted {
            explanation.covered.push(example);
        } else if before.verdict != wanted {
            explanation.not_covered.push(example);
        }
    }
    Ok(explanation)
}

fn about(name: &str, specifier: &str, list: List) -> String {
    let verb = match list {
        List::Allow => "runs without approval",
        List::Ask => "needs approval in every mode",
        List::Deny => "never runs",
    };
    let what = match (name, specifier) {
        ("Bash" | "Shell", "" | "*") => "every shell command".to_owned(),
        ("Bash" | "Shell", text) if text.ends_with(" *") || text.ends_with(":*") => {
            let prefix = text.trim_end_matches('*').trim_end_matches([' ', ':']);
            format!("`{prefix}` alone or with more words")
        }
        ("Bash" | "Shell", text) if text.contains('*') => {
            format!("each simple command that matches `{text}`")
        }
        ("Bash" | "Shell", text) => format!("exactly the command `{text}`"),
        (name, "" | "*") => format!("every call of {name}"),
        (name, text) => format!("{name} of `{text}`"),
    };
    let parts = match (name, list) {
        ("Bash" | "Shell", List::Allow) => {
            "; in a longer command every other part must be allowed too"
        }
        ("Bash" | "Shell", List::Ask | List::Deny) => {
            "; one such part of a longer command is enough"
        }
        _ => "",
    };
    format!("{what} {verb}{parts}")
}

/// Calls that the rule may cover, and similar calls.
fn candidates(name: &str, specifier: &str) -> Vec<(String, String)> {
    let on = |tool: &str, arguments: &[String]| {
        arguments.iter().map(|argument| (tool.to_owned(), argument.clone())).collect()
    };
    match name {
        "Bash" | "Shell" => on("Bash", &commands(specifier)),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => on("Edit", &files(specifier)),
        "Read" | "Grep" | "Glob" => on("Read", &files(specifier)),
        "WebFetch" => on("WebFetch", &urls(specifier)),
        other => vec![
            (other.trim_end_matches('*').to_owned(), String::new()),
            (format!("{other}__tool"), String::new()),
            (format!("{other}x"), String::new()),
        ],
    }
}

/// Returns the examples of a kind: `{}` is what the rule names, `{program}` its first word.
fn examples(kind: &str, named: &str) -> Vec<String> {
    let program = named.split(' ').next().unwrap_or_default();
    let lines = EXAMPLES.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(": "));
    lines.map(|line| line.replace("{program}", program).replace("{}", named)).collect()
}

fn commands(pattern: &str) -> Vec<String> {
    let stem = pattern.trim_end_matches(":*").trim_end_matches('*').trim_end();
    let stem = if stem.is_empty() { "npm test" } else { stem };
    examples("command", &stem.replace('*', "x"))
}

fn files(pattern: &str) -> Vec<String> {
    let stem = pattern.trim_end_matches("/**").trim_end_matches("/*");
    let stem = if stem.is_empty() || stem == "*" { "notes.txt" } else { stem };
    let plain = stem.strip_prefix("//").map_or_else(|| stem.to_owned(), |rest| format!("/{rest}"));
    examples("file", &plain.replace("**", "a/b").replace('*', "x"))
}

fn urls(pattern: &str) -> Vec<String> {
    let host = pattern.strip_prefix("domain:").unwrap_or(pattern);
    let host = if host.is_empty() { "example.com" } else { host };
    if host.contains("://") {
        return examples("address", &host.replace('*', "page"));
    }
    examples("host", &host.replace('*', "sub"))
}

fn input(tool: &str, argument: &str) -> Value {
    match tool {
        "Bash" => json!({ "command": argument }),
        "Edit" | "Read" => json!({ "file_path": argument }),
        "WebFetch" => json!({ "url": argument }),
        _ => json!({}),
    }
}
