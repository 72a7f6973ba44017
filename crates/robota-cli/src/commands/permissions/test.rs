//! `robota permissions test`: checks that calls get the verdicts that a file expects.
//!
//! Each line is a verdict and a call: `allow git status`, `deny Read(.env)`. A call without a tool
//! is a shell command. `mode NAME` sets the mode of the lines that follow; `#` begins a comment.

use std::path::Path;

use anyhow::Context as _;
use robota_core::permission::{Mode, Verdict};
use serde_json::{Value, json};

use super::{judge, name};
use crate::args::TestArgs;
use crate::setup::Setup;
use crate::{Exit, output};

/// One line of a file.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Nothing,
    Mode(Mode),
    Case { want: Verdict, tool: String, input: Value },
}

pub(super) fn test(args: &TestArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, args.mode)?;
    setup.report_problems();
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for file in &args.files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        // Per file: a line `mode` of one file must not reach the next one.
        let mut policy = setup.policy.clone();
        for (number, line) in text.lines().enumerate() {
            match read(line) {
                Ok(Line::Nothing) => {}
                Ok(Line::Mode(mode)) => policy = policy.with_mode(mode),
                Ok(Line::Case { want, tool, input }) => {
                    let got = judge(&policy, &tool, &input).verdict;
                    if got.verdict == want {
                        passed += 1;
                        continue;
                    }
                    failed += 1;
                    report(
                        file,
                        number,
                        &format!(
                            "must be {}, but is {}: {}\n    {}",
                            name(want),
                            name(got.verdict),
                            got.why(),
                            line.trim()
                        ),
                    );
                }
                Err(problem) => {
                    failed += 1;
                    report(file, number, &format!("{problem}: {}", line.trim()));
                }
            }
        }
    }
    output::line(&format!("{passed} passed, {failed} failed"));
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failure })
}

fn report(file: &Path, number: usize, text: &str) {
    output::line(&format!("{}:{}: {text}", file.display(), number + 1));
}

fn read(line: &str) -> Result<Line, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(Line::Nothing);
    }
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let want = match first {
        "mode" => {
            let mode = rest.parse().map_err(|_| "unknown mode".to_owned())?;
            return Ok(Line::Mode(mode));
        }
        "allow" => Verdict::Allow,
        "ask" => Verdict::Ask,
        "deny" => Verdict::Deny,
        _ => return Err("a line begins with allow, ask, deny or mode".to_owned()),
    };
    if rest.is_empty() {
        return Err("a verdict is followed by a call".to_owned());
    }
    let (tool, input) = call(rest);
    Ok(Line::Case { want, tool, input })
}

/// `Read(file)` is a call of a tool, everything else a shell command.
fn call(text: &str) -> (String, Value) {
    let tool = text.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?)));
    let shell = || ("Bash".to_owned(), json!({ "command": text }));
    let Some((tool, argument)) = tool else {
        let named = text.starts_with("mcp__") && !text.contains(char::is_whitespace);
        return if named { (text.to_owned(), json!({})) } else { shell() };
    };
    let input = match tool {
        "Bash" => json!({ "command": argument }),
        "Read" | "Edit" | "Write" => json!({ "file_path": argument }),
        // The pattern has no influence on the verdict.
        "Grep" => json!({ "pattern": "x", "path": argument }),
        "Glob" => json!({ "pattern": argument }),
        "WebFetch" => json!({ "url": argument }),
        "Agent" => json!({ "subagent_type": argument }),
        "Skill" => json!({ "skill": argument }),
        // A command may have parentheses as well, as in `f() { …; }`.
        _ => return shell(),
    };
    (tool.to_owned(), input)
}

#[cfg(test)]
mod tests;
