//! Computes the verdict on a call: the strictest of the answers of the mode, the rules, the
//! protected files and the danger checks.

mod call;
mod file;
mod shell;
mod shell_base;
mod shell_piped;
mod shell_repo;
mod shell_rules;
mod shell_unknown_options;

pub(crate) use shell_rules::is_sink;

use robota_core::paths::Paths;
use robota_core::permission::{Class, Mode, Verdict};

use crate::call::{Family, ToolCall};
use crate::disk::Disk;
use crate::policy::Policy;
use crate::shell::Script;
use crate::suggest;
use crate::verdict::{Findings, PolicyVerdict, VerdictSource};

/// What a call would do and what the mode and the allow rules say about it, before anything
/// that can only tighten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// It only reads, and only inside the workspace: allowed in every mode.
    ReadOnly,
    /// Reads outside the workspace, from the network, or anywhere while free reads are off: asks in
    /// every mode but bypass.
    ReadOutside,
    /// An allow rule covers a read outside the workspace; it applies in plan mode too.
    ReadAllowed,
    Allowed(Class),
    ByMode(Class),
    /// The mode would decide by class, but the file is outside the workspace.
    OutsideWrite,
    /// Several of these: what each mode says (in the order of [`Mode::ALL`]), and the class.
    Mixed([Verdict; Mode::ALL.len()], Class),
}

impl Base {
    pub(crate) fn class(self) -> Class {
        match self {
            Self::ReadOnly => Class::Inspect,
            // Not inspect, which is for reads inside the workspace that may start early.
            Self::ReadOutside | Self::ReadAllowed => Class::Execute,
            Self::Allowed(class) | Self::ByMode(class) => class,
            Self::OutsideWrite => Class::Modify,
            Self::Mixed(_, class) => class,
        }
    }

    pub(crate) fn verdict(self, mode: Mode) -> Verdict {
        match (self, mode) {
            (Self::Mixed(verdicts, _), mode) => {
                let at = Mode::ALL.iter().position(|other| *other == mode).unwrap_or(0);
                verdicts[at]
            }
            // Rules that forbid and critical removals are added later; the base itself never stops
            // this mode.
            (_, Mode::BypassPermissions) => Verdict::Allow,
            (Self::ReadOnly | Self::ReadAllowed, _) => Verdict::Allow,
            (Self::ReadOutside, _) => Verdict::Ask,
            (Self::Allowed(Class::Inspect), _) => Verdict::Allow,
            (Self::Allowed(_) | Self::OutsideWrite, Mode::Plan) => Verdict::Deny,
            (Self::Allowed(_), _) => Verdict::Allow,
            (Self::ByMode(class), mode) => mode.verdict(class),
            (Self::OutsideWrite, _) => Verdict::Ask,
        }
    }

    /// Combines two bases: in every mode the stricter verdict, and the class with more effects.
    pub(crate) fn and(self, other: Self) -> Self {
        let verdicts = |base: Self| Mode::ALL.map(|mode| base.verdict(mode));
        let rank = |class| {
            [Class::Inspect, Class::Modify, Class::Execute].iter().position(|c| *c == class)
        };
        let (a, b) = (verdicts(self), verdicts(other));
        let both: [Verdict; Mode::ALL.len()] = std::array::from_fn(|i| a[i].max(b[i]));
        let class =
            if rank(self.class()) >= rank(other.class()) { self.class() } else { other.class() };
        // If one of them equals the result, keep it, because its explanation is more specific.
        if both == a && class == self.class() {
            self
        } else if both == b && class == other.class() {
            other
        } else {
            Self::Mixed(both, class)
        }
    }
}

impl Policy {
    /// Judges a call: what it would do, whether it may, and why.
    ///
    /// Nothing is run and nothing is asked; the same call under the same policy and the same
    /// files always gets the same verdict.
    #[must_use]
    pub fn judge(&self, call: &ToolCall<'_>, paths: &dyn Paths) -> PolicyVerdict {
        let disk = Disk::new(paths);
        let script = match Family::of_tool(call.tool) {
            Some(Family::Shell) => self.script(call),
            _ => Script::default(),
        };
        let mut judged = self.judge_plainly(call, &script, &disk);
        // Only for an ask that a rule can answer: what a rule, a danger or a protected file asks
        // stays asked.
        if judged.verdict == Verdict::Ask
            && matches!(judged.source, VerdictSource::Mode | VerdictSource::Unproven)
        {
            judged.suggestion = suggest::suggest(self, call, &script, paths);
        }
        judged
    }

    /// Judges without computing what "always" would save. `script` is the parsed command of a shell
    /// call.
    pub(crate) fn judge_plainly<'a>(
        &'a self,
        call: &ToolCall<'_>,
        script: &Script,
        disk: &'a Disk<'a>,
    ) -> PolicyVerdict {
        let paths = disk.paths;
        let mut found = Findings::default();
        let mut proof = false;
        // First, and independent of what the call does: a rule for a whole tool needs no analysis.
        self.whole_call_rules(call, &mut found);
        let base = match Family::of_tool(call.tool) {
            Some(Family::Shell) => {
                let (base, proven) = self.shell(call, script, disk, &mut found);
                proof = proven;
                base
            }
            Some(Family::Edit) => self.edit_call(call.input, paths, &mut found),
            Some(Family::Read) => self.read_call(call, paths, &mut found),
            None => self.other_call(call, &mut found),
        };
        self.explain_base(base, &mut found);
        let mut verdict = found.into_verdict(base.class());
        // A proof counts only where nothing else allowed the call; in bypass mode everything is
        // allowed anyway.
        verdict.read_only_proof =
            proof && verdict.verdict == Verdict::Allow && self.mode != Mode::BypassPermissions;
        verdict
    }

    fn explain_base(&self, base: Base, found: &mut Findings) {
        let verdict = base.verdict(self.mode);
        let mode = self.mode;
        let text = match base {
            Base::ReadOnly => "read-only, inside the workspace".into(),
            Base::ReadOutside if !self.free_reads => {
                format!("read-only, but no rule allows it ({mode} mode, free reads are off)")
            }
            Base::ReadOutside => format!("it reads outside the workspace ({mode} mode)"),
            Base::ReadAllowed | Base::Allowed(_) if verdict == Verdict::Allow => {
                "every part of it is allowed".into()
            }
            Base::ReadAllowed | Base::Allowed(_) => format!("{mode} mode changes nothing"),
            Base::Mixed(..) => match verdict {
                Verdict::Allow => "every part of it is allowed".into(),
                Verdict::Ask => format!("a part of it is not allowed by any rule ({mode} mode)"),
                Verdict::Deny => format!("{mode} mode changes nothing"),
            },
            Base::OutsideWrite => format!("it writes outside the workspace ({mode} mode)"),
            Base::ByMode(class) => {
                let what = match class {
                    Class::Inspect => "only reads",
                    Class::Modify => "changes files",
                    Class::Execute => "runs something",
                };
                match verdict {
                    Verdict::Allow => format!("it {what}, which {mode} mode allows"),
                    Verdict::Ask => format!("it {what}, and no rule allows it ({mode} mode)"),
                    Verdict::Deny => format!("it {what}, and {mode} mode changes nothing"),
                }
            }
        };
        found.add(verdict, VerdictSource::Mode, text, None);
    }
}
