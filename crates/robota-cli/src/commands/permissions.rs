//! `robota permissions check`: explains the verdict on a tool call, without running it.

use std::io::BufRead as _;
use std::path::PathBuf;

use anyhow::Context as _;
use robota_core::permission::{Class, Mode, Verdict};
use robota_exec::OsPaths;
use robota_policy::{List, Policy, PolicySpec, PolicyVerdict, RuleSource, ToolCall, Workspace};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// The size limit of one line of a batch, in bytes.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Explains one verdict, or with `--batch` one per line of standard input.
pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    if args.batch {
        return batch(args);
    }
    let (Some(tool), Some(input)) = (&args.tool, &args.input) else {
        output::error(
            "--tool and --input are required, e.g. --tool Bash --input '{\"command\": \"ls\"}'",
        );
        return Ok(Exit::Usage);
    };
    let input: Value = serde_json::from_str(input)
        .map_err(|error| Usage(format!("--input: invalid JSON: {error}")))?;
    let setup = Setup::load(&args.settings, args.mode)?;
    setup.report_problems();
    let mut policy = setup.policy;
    for (list, rules) in
        [(List::Allow, &args.allow), (List::Ask, &args.ask), (List::Deny, &args.deny)]
    {
        for rule in rules {
            let source = std::sync::Arc::new(RuleSource::session());
            policy.add(list, &source, rule, &OsPaths)?;
        }
    }
    let judgement = judge(&policy, tool, &input);
    if args.json {
        output::line(&to_json(&judgement).to_string());
    } else {
        explain(tool, &judgement);
    }
    Ok(Exit::Ok)
}

fn judge(policy: &Policy, tool: &str, input: &Value) -> PolicyVerdict {
    policy.judge(&ToolCall { tool, input, class: declared_class(tool) }, &OsPaths)
}

/// Returns the class of a built-in tool. An unknown tool is treated as one that executes code.
fn declared_class(tool: &str) -> Class {
    match tool {
        "Read" | "Glob" | "Grep" | "WebFetch" | "WebSearch" | "TodoWrite" | "AskUserQuestion" => {
            Class::Inspect
        }
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => Class::Modify,
        _ => Class::Execute,
    }
}

fn explain(tool: &str, judgement: &PolicyVerdict) {
    let verdict = match judgement.verdict {
        Verdict::Allow => "allow: runs without approval",
        Verdict::Ask => "ask: needs approval (denied in headless mode)",
        Verdict::Deny => "deny: never runs",
    };
    output::line(verdict);
    for reason in &judgement.reasons {
        let part = reason.part.as_deref().map(|part| format!(" [{part}]")).unwrap_or_default();
        let rule = reason
            .rule
            .as_ref()
            .map(|rule| format!(" — {} rule `{}` from {}", rule.list, rule.rule, rule.from))
            .unwrap_or_default();
        output::line(&format!("  {}{part}{rule}", reason.text));
    }
    if let Some(suggestion) = &judgement.suggestion {
        output::line(&format!("  \"always allow\" would save: {}", suggestion.rules.join(", ")));
    }
    if judgement.reasons.is_empty() {
        output::line(&format!("  {tool}: no rule applies and the mode allows it"));
    }
}

fn to_json(judgement: &PolicyVerdict) -> Value {
    let mut value = json!(judgement);
    if let Value::Object(fields) = &mut value {
        fields.insert("reason".to_owned(), judgement.why().into());
    }
    value
}

/// One case of a batch. Its rules are session rules: `/p` is anchored at its `cwd`.
#[derive(Deserialize)]
#[serde(expecting = "an object with `tool` and `input`")]
struct Case {
    #[serde(default)]
    id: Value,
    tool: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    home: Option<PathBuf>,
    #[serde(default, rename = "additionalDirectories")]
    additional_directories: Vec<PathBuf>,
}

/// Prints one verdict per line of input, in order. An invalid line gets the verdict `error` and does
/// not end the batch.
fn batch(args: &CheckArgs) -> anyhow::Result<Exit> {
    let mut lines = std::io::stdin().lock();
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        let read = lines.read_until(b'\n', &mut line).context("cannot read standard input")?;
        if read == 0 {
            return Ok(Exit::Ok);
        }
        number += 1;
        output::line(&verdict_line(&line, number, args).to_string());
    }
}

fn verdict_line(line: &[u8], number: u64, args: &CheckArgs) -> Value {
    if line.iter().all(u8::is_ascii_whitespace) {
        return failure(&Value::Null, &format!("line {number} is empty"));
    }
    if line.len() > MAX_LINE {
        return failure(&Value::Null, &format!("line {number} is longer than {MAX_LINE} bytes"));
    }
    let case: Case = match serde_json::from_slice(line) {
        Ok(case) => case,
        Err(error) => {
            let id = serde_json::from_slice::<Value>(line)
                .ok()
                .and_then(|value| value.get("id").cloned())
                .unwrap_or_default();
            return failure(&id, &format!("line {number} is not a valid case: {error}"));
        }
    };
    let cwd = match case.cwd.clone().map_or_else(|| crate::compose::working_directory(None), Ok) {
        Ok(cwd) => cwd,
        Err(error) => return failure(&case.id, &format!("{error:#}")),
    };
    let home = case.home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let mut workspace = Workspace::new(cwd, home);
    for dir in &case.additional_directories {
        workspace = workspace.with_additional(dir);
    }
    let spec = PolicySpec::new(workspace)
        .with_defaults()
        .mode(case.mode.or(args.mode).unwrap_or_default())
        .rules(List::Allow, RuleSource::session(), with(&args.allow, case.allow))
        .rules(List::Ask, RuleSource::session(), with(&args.ask, case.ask))
        .rules(List::Deny, RuleSource::session(), with(&args.deny, case.deny));
    let (policy, errors) = Policy::new(&spec, &OsPaths);
    let mut value = to_json(&judge(&policy, &case.tool, &case.input));
    if let Value::Object(fields) = &mut value {
        fields.shift_insert(0, "id".to_owned(), case.id);
        if !errors.is_empty() {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            fields.insert("rule_errors".to_owned(), json!(errors));
        }
    }
    value
}

/// Returns the rules of the command line, which apply to every case, followed by those of a case.
fn with(arguments: &[String], case: Vec<String>) -> Vec<String> {
    arguments.iter().cloned().chain(case).collect()
}

fn failure(id: &Value, reason: &str) -> Value {
    json!({"id": id, "verdict": "error", "reason": reason})
}
