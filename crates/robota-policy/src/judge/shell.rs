//! Shell commands: every part judged by the rules that forbid, and the whole by what is proven.

use std::path::PathBuf;

use robota_core::paths::Paths;
use robota_core::permission::{Class, Mode, Verdict};
use serde_json::Value;

use super::Base;
use crate::call::{CWD_FIELDS, ToolCall};
use crate::policy::Policy;
use crate::shell::expand::Scope;
use crate::shell::removal::{self, Critical};
use crate::shell::wrappers::{self, Seen};
use crate::shell::{Part, Script, scan};
use crate::verdict::{Findings, Source};
use crate::workspace::FileRef;

/// Scripts inside scripts deeper than this are not looked into.
const MAX_NESTING: usize = 4;

/// Everything known about one call while it is judged.
pub(super) struct Shell<'a> {
    pub(super) policy: &'a Policy,
    pub(super) paths: &'a dyn Paths,
    pub(super) script: &'a Script,
}

impl Shell<'_> {
    pub(super) fn scope<'b>(&'b self, part: &'b Part) -> Scope<'b> {
        Scope {
            cwd: &part.cwd,
            home: &self.policy.workspace.home,
            vars: &self.script.vars,
            paths: self.paths,
        }
    }
}

impl Policy {
    pub(super) fn shell(
        &self,
        call: &ToolCall<'_>,
        paths: &dyn Paths,
        found: &mut Findings,
    ) -> Base {
        let Some(text) = call.input.get("command").and_then(Value::as_str) else {
            found.add(Verdict::Ask, Source::Input, "the call has no `command`", None);
            return Base::ByMode(Class::Execute);
        };
        let cwd = self.shell_cwd(call, found);
        let elsewhere = FileRef::look(&cwd, paths);
        let script = Script::parse(text, &cwd, &self.workspace.home);
        let mut unknown = false;
        self.forbid_script(&script, paths, 0, found, &mut unknown);
        self.doubts(text, &script, unknown, found);

        let shell = Shell { policy: self, paths, script: &script };
        let mut base = shell.base(call, found);
        if !self.roots.holds(&elsewhere) {
            base = base.and(Base::LookOutside);
        }
        base
    }

    fn shell_cwd(&self, call: &ToolCall<'_>, found: &mut Findings) -> PathBuf {
        let given: Vec<&str> = CWD_FIELDS
            .iter()
            .filter_map(|field| call.input.get(field).and_then(Value::as_str))
            .filter(|text| !text.is_empty())
            .collect();
        if given.windows(2).any(|pair| pair[0] != pair[1]) {
            found.add(Verdict::Ask, Source::Input, "the call names two working directories", None);
        }
        given.first().map_or_else(|| self.workspace.cwd.clone(), |dir| self.workspace.resolve(dir))
    }

    /// Deny rules, ask rules, protected files, dangers and critical removals, for every command
    /// that is found anywhere in the script.
    fn forbid_script(
        &self,
        script: &Script,
        paths: &dyn Paths,
        depth: usize,
        found: &mut Findings,
        unknown: &mut bool,
    ) {
        let shell = Shell { policy: self, paths, script };
        let critical = Critical { dirs: &self.precious };
        for part in &script.parts {
            let seen: Seen = wrappers::see(part);
            *unknown |= seen.unknown;
            shell.forbid_assignments(part, found);
            shell.forbid_redirects(part, found);
            for view in &seen.views {
                *unknown |= shell.forbid_command(part, &view.words, found);
                shell.forbid_files(part, &view.words, found);
                let scope = shell.scope(part);
                if let Some(why) = removal::critical(&view.words, &scope, &critical) {
                    found.add(Verdict::Ask, Source::Critical, why, Some(&part.shown()));
                }
            }
            for text in &seen.scripts {
                self.forbid_nested(text, &part.cwd.dirs, paths, depth, found, unknown);
            }
        }
        let cwd = std::slice::from_ref(&self.workspace.cwd);
        for text in &script.substitutions {
            self.forbid_nested(text, cwd, paths, depth, found, unknown);
        }
    }

    /// A script inside another.
    #[expect(clippy::too_many_arguments, reason = "all of one recursion's state")]
    fn forbid_nested(
        &self,
        text: &str,
        dirs: &[PathBuf],
        paths: &dyn Paths,
        depth: usize,
        found: &mut Findings,
        unknown: &mut bool,
    ) {
        if depth >= MAX_NESTING {
            *unknown = true;
            return;
        }
        for cwd in dirs.iter().take(4) {
            let mut inner = Script::parse(text, cwd, &self.workspace.home);
            for part in &mut inner.parts {
                part.hidden = true;
            }
            *unknown |= inner.doubts.iter().any(|doubt| doubt.hard);
            self.forbid_script(&inner, paths, depth + 1, found, unknown);
            if !inner.doubts.is_empty() {
                self.scan(text, found);
            }
        }
    }

    /// What is said about commands that are not proven.
    fn doubts(&self, text: &str, script: &Script, unknown: bool, found: &mut Findings) {
        for doubt in script.doubts.iter().filter(|doubt| doubt.hard) {
            found.add(Verdict::Ask, Source::Unproven, doubt.why.clone(), None);
        }
        if unknown && let Some(rule) = self.any_command_rule() {
            found.add(
                Verdict::Ask,
                Source::Unproven,
                format!(
                    "it runs something that is not known before it runs, and cannot be shown not \
                     to be what {} forbids",
                    rule.text
                ),
                None,
            );
        }
        let inline_code = script.parts.iter().any(|part| {
            wrappers::see(part).views.iter().any(|view| {
                view.words.first().and_then(crate::shell::Word::value).is_some_and(|program| {
                    matches!(
                        wrappers::base(&program),
                        "python" | "python3" | "perl" | "ruby" | "node" | "php" | "deno" | "bun"
                    )
                })
            })
        });
        if unknown || inline_code || !script.doubts.is_empty() {
            self.scan(text, found);
        }
    }

    fn scan(&self, text: &str, found: &mut Findings) {
        let critical = Critical { dirs: &self.precious };
        if scan::critical(text, &self.workspace.cwd, &self.workspace.home, &critical) {
            let why = "its text looks like a removal of something that must not be removed";
            found.add(Verdict::Ask, Source::Critical, why, None);
        }
    }

    pub(super) fn lax(&self) -> bool {
        self.mode == Mode::BypassPermissions
    }
}
