//! Computes the base of the verdict on a shell command: what is proven, what a rule allows, and
//! what is left to the mode. It never forbids.

use std::rc::Rc;

use robota_core::permission::{Class, Mode, Verdict};

use super::Base;
use super::shell::Shell;
use super::shell_piped::with_pipes;
use super::shell_rules::is_sink;
use crate::call::ToolCall;
use crate::program::wrap::{self, Inner, InnerCommands, View};
use crate::program::{Program, Shape, Trait, files, reach, read_only};
use crate::rule::{CommandPattern, Matcher, Rule};
use crate::shell::word::{Piece, is_name};
use crate::shell::{Part, Redirect, RedirectKind, Script, Word, expand, vars};
use crate::verdict::{Findings, VerdictSource};
use crate::workspace::FileRef;

impl Shell<'_, '_> {
    /// Returns what is allowed, and whether that rests on the proof alone that every part only
    /// reads.
    pub(super) fn base(&self, call: &ToolCall<'_>, found: &mut Findings) -> (Base, bool) {
        let whole = self.policy.whole_call_allowed(call);
        let proven = self.script.doubts.is_empty();
        if self.script.is_crowded() {
            return (Base::ByMode(Class::Execute), false);
        }
        // Nothing to run, such as a comment or an empty text.
        if self.script.parts.is_empty() && proven {
            return (Base::ReadOnly, whole.is_none());
        }
        if whole.is_none() && self.reads_only_straight() {
            return (Base::ReadOnly, !self.all_ruled());
        }
        let mut base = Base::ReadOnly;
        if !proven {
            // Only a rule for all commands covers what cannot be taken apart.
            for doubt in self.script.doubts.iter().filter(|doubt| !doubt.hard) {
                if whole.is_none() && !self.policy.is_bypass() {
                    found.ask(VerdictSource::Unproven, doubt.why.clone(), None);
                }
            }
            base = match whole {
                Some(_) => Base::Allowed(Class::Execute),
                None => Base::ByMode(Class::Execute),
            };
        }
        if let Some(rule) = whole {
            found.rule(Verdict::Allow, rule, None);
        }
        let mut read_only = true;
        for (part, seen) in self.parts().filter(|(part, _)| !part.hidden) {
            let this = self.part_base(part, seen, whole, found);
            // No rule covers the commands of a substitution: they are free only if they are read-only.
            if part.substituted
                && whole.is_none()
                && !self.policy.is_bypass()
                && !matches!(this, Base::ReadOnly | Base::ReadOutside)
            {
                let why = "it contains a command substitution that is not read-only";
                found.ask(VerdictSource::Unproven, why, Some(&part.shown()));
            }
            read_only &= this == Base::ReadOnly;
            base = base.and(this);
        }
        // A script that never ends is not allowed without a rule, although it only reads.
        if read_only && self.script.endless && whole.is_none() {
            base = base.and(Base::ByMode(Class::Execute));
        }
        let proof = whole.is_none() && matches!(base, Base::ReadOnly | Base::ReadAllowed);
        (base, proof && !self.all_ruled())
    }

    /// Returns whether command rules allow every part that runs something, proof or not.
    fn all_ruled(&self) -> bool {
        let mut runs = self
            .parts()
            .filter(|(part, _)| !part.hidden && !part.words.is_empty() && !part.is_test)
            .peekable();
        runs.peek().is_some()
            && runs.all(|(part, seen)| {
                let harmless = part.assigns.iter().all(|a| vars::is_harmless(&a.name));
                self.ruled(part, seen, None, harmless, &mut Findings::default())
            })
    }

    pub(super) fn part_base(
        &self,
        part: &Part,
        seen: &InnerCommands,
        whole: Option<&Rule>,
        found: &mut Findings,
    ) -> Base {
        let mut base = self.command_base(part, seen, whole, found);
        for redirect in &part.redirects {
            let this = self.redirect_base(part, redirect.kind, &redirect.target);
            self.explain_redirect(this, redirect, found);
            base = base.and(this);
        }
        base
    }

    /// Names the file of a redirection that is not allowed: the command alone may be.
    fn explain_redirect(&self, base: Base, redirect: &Redirect, found: &mut Findings) {
        let mode = self.policy.mode;
        let does = match redirect.kind {
            RedirectKind::Read => "reads",
            RedirectKind::Write => "writes",
            RedirectKind::Copy => return,
        };
        let place = match base {
            Base::ReadOutside if self.policy.free_reads => " outside the workspace",
            Base::OutsideWrite => " outside the workspace",
            _ => "",
        };
        let why = match base.verdict(mode) {
            Verdict::Allow => return,
            Verdict::Ask => format!("no rule allows that ({mode} mode)"),
            Verdict::Deny => format!("{mode} mode changes nothing"),
        };
        let text = format!("it {does} `{}`{place}, and {why}", redirect.target.raw);
        found.add(base.verdict(mode), VerdictSource::Mode, text, None);
    }

    fn redirect_base(&self, part: &Part, kind: RedirectKind, target: &Word) -> Base {
        match kind {
            RedirectKind::Copy => Base::ReadOnly,
            RedirectKind::Read => self.reads_base(part, std::slice::from_ref(target)),
            RedirectKind::Write => {
                let expansion = expand::files(target, &self.scope(part));
                // A glob target may be any file that matches.
                let doubtful = expansion.unknown || expansion.paths.len() > part.cwd.dirs.len();
                self.writes_base(&self.lookup_all(&expansion.paths), doubtful)
            }
        }
    }

    fn lookup_all(&self, paths: &[std::path::PathBuf]) -> Vec<Rc<FileRef>> {
        paths.iter().map(|path| self.disk.lookup(path)).collect()
    }

    pub(super) fn reads_base(&self, part: &Part, words: &[Word]) -> Base {
        let mut base = Base::ReadOnly;
        for word in words {
            let expansion = expand::files(word, &self.scope(part));
            if expansion.unknown {
                base = base.and(Base::ReadOutside);
            }
            for file in self.lookup_all(&expansion.paths) {
                if !is_sink(&file.name) {
                    base = base.and(self.policy.read_base(&file, "Read"));
                }
            }
        }
        base
    }

    fn writes_base(&self, files: &[Rc<FileRef>], unknown: bool) -> Base {
        // A file that is not known may be anywhere.
        let mut base = if unknown { Base::OutsideWrite } else { Base::ReadOnly };
        for file in files {
            if !is_sink(&file.name) {
                base = base.and(self.policy.edit_base(file));
            }
        }
        base
    }

    /// Returns whether the words are proven to only read, inside the workspace or not.
    pub(super) fn is_proven_read(&self, part: &Part, words: &[Word]) -> bool {
        let feeds = |p: &Program| p.shape == Shape::Find || p.is(Trait::Fills);
        read_only::reads(words, part).is_some()
            || (Program::of(words).is_some_and(feeds) && self.fed_base(part).is_some())
    }

    fn command_base(
        &self,
        part: &Part,
        seen: &InnerCommands,
        whole: Option<&Rule>,
        found: &mut Findings,
    ) -> Base {
        if part.declares {
            return self.declaration_base(part, whole);
        }
        let reads_secret = part.reads_secret && !tests_presence(part);
        let Some(core) = core(seen) else {
            // Assignments or redirections alone.
            return if reads_secret && whole.is_none() {
                Base::ByMode(Class::Execute)
            } else {
                Base::ReadOnly
            };
        };
        let harmless = part.assigns.iter().all(|a| vars::is_harmless(&a.name));
        let inert = |name: &str| {
            vars::is_inert(name)
                || (name == "IFS" && core.first().and_then(Word::value).as_deref() == Some("read"))
        };
        // In this order, because most commands are proven by their own words.
        let proven = || {
            self.read_only_base(part, core)
                .or_else(|| self.fed_base(part))
                .or_else(|| self.read_only_base(part, &with_pipes(core)?))
                .or_else(|| self.output_base(part, core))
                .or_else(|| self.script_base(part, core))
        };
        if !reads_secret
            && part.assigns.iter().all(|a| inert(&a.name))
            && let Some(base) = proven()
        {
            if base == Base::ReadOnly {
                return base;
            }
            // Outside the workspace an allow rule may still cover the command.
            return match self.ruled(part, seen, whole, harmless, found) {
                true => Base::ReadAllowed,
                false => base,
            };
        }
        let uses = files::uses(core, part);
        let mut writes = self.lookup_words(part, &uses.writes);
        let (into, unknown_into) = self.created_files(part, &uses);
        writes.0.extend(into);
        writes.1 |= unknown_into;
        let ruled = self.ruled(part, seen, whole, harmless, found);
        if ruled {
            let leave = if uses.needs_leave {
                self.writes_base(&writes.0, writes.1)
            } else {
                Base::ReadOnly
            };
            // A file that an option names as output needs permission if it is outside the
            // workspace.
            let outputs = self.lookup_words(part, &reach::mentions(core, part).outputs).0;
            let away: Vec<_> =
                outputs.into_iter().filter(|file| !self.policy.roots.holds(file)).collect();
            let leave = leave.and(self.writes_base(&away, false));
            return Base::Allowed(Class::Execute).and(leave);
        }
        if reads_secret {
            if !self.policy.is_bypass() {
                let why = "it reads a variable with the name of a secret";
                found.ask(VerdictSource::Unproven, why, Some(&part.shown()));
            }
            return Base::ByMode(Class::Execute);
        }
        // A plain file command is allowed if its reads and writes are.
        let plain = core.iter().all(|word| !word.has_unknown()) && !core[0].is_dynamic();
        if uses.plain_edit && harmless && !part.is_test && plain {
            let reads = self.reads_base(part, &uses.reads);
            return reads.and(self.writes_base(&writes.0, writes.1));
        }
        Base::ByMode(Class::Execute)
    }

    fn lookup_words(&self, part: &Part, words: &[Word]) -> (Vec<Rc<FileRef>>, bool) {
        let mut files = Vec::new();
        let mut unknown = false;
        for word in words {
            let expansion = expand::files(word, &self.scope(part));
            unknown |= expansion.unknown;
            files.extend(self.lookup_all(&expansion.paths));
        }
        (files, unknown)
    }

    fn ruled(
        &self,
        part: &Part,
        seen: &InnerCommands,
        whole: Option<&Rule>,
        harmless: bool,
        found: &mut Findings,
    ) -> bool {
        // A rule for all commands covers all variables but the dangerous ones, which ask.
        if whole.is_some() {
            return true;
        }
        // A variable that is not harmless can change what the program does, so a rule for the
        // command does not cover it.
        if !harmless || part.substituted {
            return false;
        }
        let inmost = core(seen).and_then(|words| words.first()).and_then(Word::value);
        for view in seen.views.iter().filter(|view| view.covered) {
            if view.words.first().is_none_or(Word::is_dynamic)
                || view.words.iter().any(|word| word.has_unknown() && !word.is_unknown())
            {
                continue;
            }
            let shown: Vec<&Word> = view.words.iter().filter(|word| !word.is_unknown()).collect();
            let raw = shown.iter().map(|w| w.raw.as_str()).collect::<Vec<_>>().join(" ");
            let plain = shown.iter().map(|w| w.rendered()).collect::<Vec<_>>().join(" ");
            let appended = shown.len() < view.words.len();
            let texts = [raw, plain];
            let [raw, plain] = &texts;
            let candidates = self.policy.allow.commands_for(texts.iter());
            let rule = candidates.into_iter().find(|rule| match &rule.matcher {
                // An exact rule does not cover what xargs adds, and a rule for a wrapper does not
                // cover what it runs unless it names that.
                Matcher::Command(pattern) => {
                    let inner = || {
                        view.words.first().and_then(Word::value) == inmost
                            || inmost.as_ref().is_some_and(|inner| pattern.names(inner))
                    };
                    !(appended && pattern.is_exact())
                        && (pattern.matches(raw) || pattern.matches(plain))
                        && (pattern.is_exact()
                            || (inner() && self.covers_inner(part, view, pattern)))
                }
                _ => false,
            });
            if let Some(rule) = rule {
                found.rule(Verdict::Allow, rule, Some(&part.shown()));
                return true;
            }
        }
        false
    }

    /// Returns whether what a wrapper runs is allowed too: by its own rule, because it only reads,
    /// or because the wrapper's rule names it.
    fn covers_inner(&self, part: &Part, view: &View, pattern: &CommandPattern) -> bool {
        let program = |words: &[Word]| words.first().and_then(Word::value);
        let named = |inner: &Inner| match inner {
            Inner::Words(words) => program(words).is_some_and(|program| pattern.names(&program)),
            Inner::Script(_) | Inner::Unknown => false,
        };
        view.inner.is_empty()
            || view.inner.iter().any(named)
            || view.inner.iter().all(|inner| match inner {
                Inner::Words(words) => self.is_allowed(&Part {
                    words: words.clone(),
                    cwd: part.cwd.clone(),
                    ..Part::default()
                }),
                Inner::Script(text) => part.cwd.dirs.iter().all(|cwd| {
                    let inner = Script::parse(text, cwd, &self.policy.workspace.home);
                    inner.doubts.is_empty()
                        && !inner.parts.is_empty()
                        && self.disk.may_open_script()
                        && inner.parts.iter().all(|part| self.is_allowed(part))
                }),
                Inner::Unknown => false,
            })
    }

    fn is_allowed(&self, part: &Part) -> bool {
        let seen = wrap::unwrap_all(part);
        let base = self.part_base(part, &seen, None, &mut Findings::default());
        base.verdict(Mode::Default) == Verdict::Allow
    }

    /// Returns what a command reads that is proven to only read; `None` when it is not proven.
    pub(super) fn read_only_base(&self, part: &Part, words: &[Word]) -> Option<Base> {
        // The name of the program must be known text, not a variable.
        let written = |word: &Word| !word.is_dynamic() || word.is_bracket();
        if !words.first().is_some_and(written) {
            return None;
        }
        let set = |piece: &Piece| match piece {
            Piece::Var { name, quoted } if self.script.vars.contains_key(name) => {
                Some((name.clone(), *quoted))
            }
            _ => None,
        };
        let used: Vec<(String, bool)> =
            words.iter().flat_map(|word| word.pieces.iter().filter_map(set)).collect();
        // A variable that is set only on some paths, or has too many values, is treated as unknown.
        if used.is_empty() || used.iter().any(|(name, _)| !part.bound.contains(name)) {
            return self.read_only_once(part, words);
        }
        let scope = self.scope(part);
        for (name, quoted) in used {
            let (values, open) = expand::variable(&name, true, &scope, 0);
            if open {
                return self.read_only_once(part, words);
            }
            // Names with blanks that a loop found are split where they are not quoted.
            let split = |value: &Vec<expand::Live>| {
                let found = expand::files_of(value, &scope);
                expand::is_glob(value)
                    && found
                        .paths
                        .iter()
                        .any(|path| path.to_string_lossy().contains(char::is_whitespace))
            };
            if !quoted && values.iter().any(split) {
                return None;
            }
        }
        let readings = vars::readings(words, &scope);
        if readings.is_empty() {
            return self.read_only_once(part, words);
        }
        let mut base = Base::ReadOnly;
        for words in &readings {
            base = base.and(self.read_only_once(part, words)?);
        }
        Some(base)
    }

    fn read_only_once(&self, part: &Part, words: &[Word]) -> Option<Base> {
        let reads = read_only::reads(words, part)?;
        if part.cwd.lost || (reads.fixed_cwd && self.other_repository(part, words).is_some()) {
            return None;
        }
        if (reads.fixed_cwd && self.repository_runs_programs())
            || (reads.version && self.chooses_toolchain(part, words))
        {
            return None;
        }
        let unsettled = |piece: &Piece| matches!(piece, Piece::Var { name, .. } if self.script.vars.contains_key(name));
        if reads.paths.iter().any(|word| word.pieces.iter().any(unsettled)) {
            return None;
        }
        // Without a path the program starts in the working directory.
        let here = [Word::plain(".")];
        let starts = if reads.paths.is_empty() { &here[..] } else { &reads.paths };
        let inside = |word: &Word| {
            let found = expand::files(word, &self.scope(part));
            !found.unknown && found.paths.iter().all(|path| self.stays_inside(path))
        };
        if reads.follows && !starts.iter().all(inside) {
            return None;
        }
        let mut base = Base::ReadOnly;
        // Relative names, and what the program finds itself, are in the working directory.
        for dir in &part.cwd.dirs {
            base = base.and(self.policy.read_base(&self.disk.lookup(dir), "Read"));
        }
        for word in &reads.paths {
            if reads.revisions && !leads_away(word) {
                continue;
            }
            let expansion = expand::files(word, &self.scope(part));
            // A file named like an option would become one.
            let option = word.is_dynamic()
                && word.may_be_flag()
                && expansion.paths.iter().any(|path| {
                    part.cwd.dirs.iter().any(|dir| {
                        path.strip_prefix(dir)
                            .is_ok_and(|rest| rest.to_string_lossy().starts_with('-'))
                    })
                });
            if expansion.unknown || option {
                return None;
            }
            base = base.and(self.reads_base(part, std::slice::from_ref(word)));
        }
        Some(base)
    }

    fn declaration_base(&self, part: &Part, whole: Option<&Rule>) -> Base {
        let names: Option<Vec<String>> = part.words.iter().skip(1).map(Word::literal).collect();
        let unset = part.words.first().and_then(Word::value).as_deref() == Some("unset");
        let fine = names.is_some_and(|names| {
            names.iter().all(|name| {
                matches!(name.as_str(), "-x" | "-r" | "-g" | "-f")
                    || ((name.is_empty() || is_name(name)) && (unset || vars::is_harmless(name)))
            })
        });
        let fine = fine && (unset || !vars::dumps(&part.words) || !part.assigns.is_empty());
        if fine && part.assigns.iter().all(|a| vars::is_harmless(&a.name)) {
            Base::ReadOnly
        } else if whole.is_some() {
            Base::Allowed(Class::Execute)
        } else {
            let shown = part.shown();
            let words = part.words.iter().map(|w| w.raw.as_str()).collect::<Vec<_>>().join(" ");
            let covered = self.policy.allow.commands().any(|rule| match &rule.matcher {
                Matcher::Command(pattern) => pattern.matches(&words) || pattern.matches(&shown),
                _ => false,
            });
            if covered { Base::Allowed(Class::Execute) } else { Base::ByMode(Class::Execute) }
        }
    }
}

/// Returns the command under the wrappers that every kind of rule ignores.
fn core(seen: &InnerCommands) -> Option<&[Word]> {
    // Of two commands of the same length the inner one is used: `xargs` adds a word.
    let covered = seen.views.iter().rev().filter(|view| view.covered && !view.words.is_empty());
    covered.min_by_key(|view| view.words.len()).map(|view| view.words.as_slice())
}

/// Recognises `[ -n "$X" ]`, which shows whether a variable is set, and not its value.
fn tests_presence(part: &Part) -> bool {
    let mut words: Vec<Option<String>> = part.words.iter().map(Word::value).collect();
    words.retain(|word| !matches!(word.as_deref(), Some("[" | "]" | "[[" | "]]" | "test")));
    part.is_test && matches!(words.as_slice(), [Some(test), _] if test == "-n" || test == "-z")
}

fn leads_away(word: &Word) -> bool {
    let Some(text) = word.value() else { return true };
    text.starts_with(['/', '~'])
        || text.split('/').any(|name| name == "..")
        || (word.is_dynamic() && text.contains(['*', '?', '[', '{']))
}
