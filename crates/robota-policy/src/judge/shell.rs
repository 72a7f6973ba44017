//! Judges shell commands: rules that forbid apply to every part, and the proof to the whole
//! command.

use std::path::PathBuf;

use robota_core::permission::{Class, Mode};
use serde_json::Value;

use super::Base;
use crate::call::{CWD_FIELDS, TYPED, ToolCall};
use crate::disk::Disk;
use crate::policy::Policy;
use crate::program::removal::{self, Removal};
use crate::program::wrap::{self, InnerCommands, View};
use crate::program::{Program, Trait};
use crate::shell::expand::{self, Scope};
use crate::shell::vars::{self, Vars};
use crate::shell::word::is_name;
use crate::shell::{Part, RedirectKind, Script, Word, scan};
use crate::verdict::{Findings, VerdictSource};

const MAX_NESTING: usize = 4;

const MAX_READINGS: usize = 512;

pub(super) struct Shell<'a, 's> {
    pub(super) policy: &'a Policy,
    pub(super) disk: &'a Disk<'a>,
    pub(super) script: &'s Script,
    seen: Vec<InnerCommands>,
    /// Its variables have more values than were analysed.
    flooded: bool,
}

impl<'a, 's> Shell<'a, 's> {
    pub(super) fn new(policy: &'a Policy, disk: &'a Disk<'a>, script: &'s Script) -> Self {
        let mut shell = Self { policy, disk, script, seen: Vec::new(), flooded: false };
        let mut left = MAX_READINGS;
        shell.seen =
            script.parts.iter().map(|part| shell.inner_commands(part, &mut left)).collect();
        shell.flooded = left == 0;
        shell
    }

    /// Returns everything that can be found in a part, also with the variables replaced that the
    /// script itself sets.
    fn inner_commands(&self, part: &Part, left: &mut usize) -> InnerCommands {
        let mut seen = wrap::unwrap_all(part);
        if !part.words.iter().any(Word::has_var) {
            return seen;
        }
        for words in vars::readings(&part.words, &self.scope(part)) {
            let Some(rest) = left.checked_sub(1) else { break };
            *left = rest;
            let known = wrap::unwrap_all(&Part { words, hidden: true, ..part.clone() });
            seen.views.extend(known.views);
            seen.scripts.extend(known.scripts);
        }
        seen
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = (&'s Part, &InnerCommands)> {
        self.script.parts.iter().zip(&self.seen)
    }

    pub(super) fn removal<'b>(&'b self, part: &'b Part, scope: &'b Scope<'b>) -> Removal<'b> {
        Removal { part, scope, dirs: &self.policy.precious }
    }

    pub(super) fn scope<'b>(&'b self, part: &'b Part) -> Scope<'b> {
        Scope {
            cwd: &part.cwd,
            home: &self.policy.workspace.home,
            vars: &self.script.vars,
            paths: self.disk.paths,
            budget: &self.disk.budget,
        }
    }
}

impl Policy {
    pub(super) fn shell<'a>(
        &'a self,
        call: &ToolCall<'_>,
        script: &Script,
        disk: &'a Disk<'a>,
        found: &mut Findings,
    ) -> (Base, bool) {
        let Some(text) = call.script() else {
            found.ask(VerdictSource::Input, "the call has no command", None);
            return (Base::ByMode(Class::Execute), false);
        };
        let given = given_dirs(call);
        // Tools differ in which field they use, so two different folders cannot both be right.
        if given.windows(2).any(|pair| pair[0] != pair[1]) {
            found.ask(VerdictSource::Input, "the call names two working directories", None);
        }
        let shell = Shell::new(self, disk, script);
        let mut unknown = false;
        // Before the base: what forbids is looked for in everything, also in what is not proven.
        shell.forbid(0, found, &mut unknown);
        shell.doubts(text, unknown, found);

        let (mut base, proof) = shell.base(call, found);
        // Relative names in the command are files of that folder.
        if !self.roots.holds(&disk.lookup(&self.shell_cwd(&given))) {
            base = base.and(Base::ReadOutside);
        }
        if disk.budget.is_spent() {
            let why = "it would take too many steps to analyse";
            found.ask(VerdictSource::Unproven, why, None);
        }
        (base, proof)
    }

    /// Returns the command of a shell call, taken apart; nothing where there is none.
    pub(crate) fn script(&self, call: &ToolCall<'_>) -> Script {
        let Some(text) = call.script() else { return Script::default() };
        let cwd = self.shell_cwd(&given_dirs(call));
        let mut script = Script::parse(text, &cwd, &self.workspace.home);
        if call.tool == TYPED {
            script.typed(text);
        }
        script
    }

    fn shell_cwd(&self, given: &[&str]) -> PathBuf {
        given.first().map_or_else(|| self.workspace.cwd.clone(), |dir| self.workspace.resolve(dir))
    }

    fn scan(&self, text: &str, found: &mut Findings) {
        if scan::critical(text, &self.workspace.cwd, &self.workspace.home, &self.precious) {
            let why = "its text may be a removal of something that must not be removed";
            found.ask(VerdictSource::Critical, why, None);
        }
    }

    pub(super) fn is_bypass(&self) -> bool {
        self.mode == Mode::BypassPermissions
    }
}

struct Nested<'n> {
    text: &'n str,
    dirs: &'n [PathBuf],
    /// Variables that only it gets.
    given: &'n Vars,
}

/// Returns what `env A=b sh -c …` gives to the script.
fn given_vars(words: &[Word]) -> Vars {
    let mut vars = Vars::new();
    for word in words {
        if let Some(text) = word.value()
            && let Some((name, value)) = text.split_once('=')
            && is_name(name)
        {
            vars.entry(name.to_owned()).or_default().push(vars::Value::Set(Word::plain(value)));
        }
    }
    vars
}

fn given_dirs<'c>(call: &ToolCall<'c>) -> Vec<&'c str> {
    let fields = CWD_FIELDS.iter();
    let texts = fields.filter_map(|field| call.input.get(field).and_then(Value::as_str));
    texts.filter(|text| !text.is_empty()).collect()
}

impl Shell<'_, '_> {
    fn there(&self, part: &Part, folder: Option<&Word>) -> Option<Part> {
        let found = expand::files(folder?, &self.scope(part));
        let mut cwd = part.cwd.clone();
        cwd.lost |= found.unknown;
        cwd.moved = true;
        cwd.dirs = found.paths;
        Some(Part { cwd, ..part.clone() })
    }

    /// Applies deny rules, ask rules, protected files, danger checks and critical removals to every
    /// command that is found in the script.
    fn forbid(&self, depth: usize, found: &mut Findings, unknown: &mut bool) {
        if self.flooded {
            let why = "its variables have more values than are analysed";
            found.ask(VerdictSource::Unproven, why, None);
        }
        if self.script.is_crowded() {
            let why = "it has more commands or words than are analysed";
            found.ask(VerdictSource::Unproven, why, None);
            *unknown = true;
        }
        let analysed = self.script.analysed();
        // Beyond the limit only rules about the text are applied: the rest would take too long, and
        // the verdict is at least an ask already.
        for (part, seen) in self.parts().skip(analysed) {
            for view in &seen.views {
                self.forbid_by_rule(part, &view.words, found);
            }
        }
        for (part, seen) in self.parts().take(analysed) {
            *unknown |= seen.unknown;
            self.forbid_assignments(part, seen, found);
            self.forbid_redirects(part, found);
            self.forbid_variables(part, found);
            for view in &seen.views {
                let there = self.there(part, view.folder.as_ref());
                let part = there.as_ref().unwrap_or(part);
                *unknown |= self.forbid_command(part, &view.words, found);
                self.forbid_files(part, &view.words, found);
                let scope = self.scope(part);
                if let Some(why) = self.removal(part, &scope).of_command(&view.words) {
                    found.ask(VerdictSource::Critical, why, Some(&part.shown()));
                }
                // What is proven to read needs no guess about its other words.
                if !self.is_proven_read(part, &view.words) {
                    self.forbid_mentions(part, &view.words, found);
                    self.forbid_runs(part, &view.words, found);
                }
            }
            let writes = part.redirects.iter().filter(|r| r.kind == RedirectKind::Write);
            for redirect in writes {
                if let Some(why) = removal::device(&redirect.target, &self.scope(part)) {
                    found.ask(VerdictSource::Critical, why, Some(&part.shown()));
                }
            }
            let given = given_vars(&part.words);
            for text in &seen.scripts {
                let inner = Nested { text, dirs: &part.cwd.dirs, given: &given };
                self.forbid_nested(&inner, depth, found, unknown);
            }
        }
        let cwd = std::slice::from_ref(&self.policy.workspace.cwd);
        for text in &self.script.substitutions {
            let inner = Nested { text, dirs: cwd, given: &Vars::new() };
            self.forbid_nested(&inner, depth, found, unknown);
        }
    }

    fn forbid_nested(
        &self,
        nested: &Nested<'_>,
        depth: usize,
        found: &mut Findings,
        unknown: &mut bool,
    ) {
        let Nested { text, dirs, given } = nested;
        if depth >= MAX_NESTING {
            *unknown = true;
            return;
        }
        for cwd in dirs.iter().take(4) {
            if !self.disk.may_open_script() {
                let why = "it contains more scripts than are analysed";
                found.ask(VerdictSource::Unproven, why, None);
                *unknown = true;
                return;
            }
            let mut inner = Script::parse(text, cwd, &self.policy.workspace.home);
            for part in &mut inner.parts {
                part.hidden = true;
            }
            // The variables of the script around it may be exported, so they count as possible
            // values.
            for (name, values) in self.script.vars.iter().chain(*given) {
                inner.vars.entry(name.clone()).or_default().extend(values.iter().cloned());
            }
            *unknown |= inner.doubts.iter().any(|doubt| doubt.hard);
            Shell::new(self.policy, self.disk, &inner).forbid(depth + 1, found, unknown);
            if !inner.doubts.is_empty() {
                self.policy.scan(text, found);
            }
        }
    }

    fn doubts(&self, text: &str, unknown: bool, found: &mut Findings) {
        for doubt in self.script.doubts.iter().filter(|doubt| doubt.hard) {
            found.ask(VerdictSource::Unproven, doubt.why.clone(), None);
        }
        if unknown && let Some(rule) = self.policy.any_command_rule() {
            let why = format!(
                "it runs something that is not known before it runs, and cannot be shown not to be \
                 what {} forbids",
                rule.text
            );
            found.ask(VerdictSource::Unproven, why, None);
        }
        let inline = |view: &View| Program::of(&view.words).is_some_and(|p| p.is(Trait::Inline));
        let inline = self.seen.iter().flat_map(|seen| &seen.views).any(inline);
        // The text itself is searched where its meaning is not certain: a removal must not hide in
        // a text that is run later.
        if unknown || inline || !self.script.doubts.is_empty() {
            self.policy.scan(text, found);
        }
    }
}
