//! What was decided about each simple command of a script, and what a rule covers. Both are the
//! judge's own findings: a command is judged as part of its call, an example with the rule alone.

mod rule;

pub use rule::{RuleExample, RuleExplanation, explain_rule};

use robota_core::paths::Paths;
use robota_core::permission::Verdict;
use serde::Serialize;

use crate::call::{Family, ToolCall};
use crate::disk::Disk;
use crate::policy::Policy;
use crate::shell::Script;
use crate::verdict::{PolicyVerdict, Reason};

/// The verdict on a call, and the verdict on each command in it.
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
    /// Why, the decisive reasons first.
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
