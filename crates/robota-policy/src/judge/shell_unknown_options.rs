//! Judges commands of programs whose options are not known: every word may be a file, and every
//! text may be run. The result can only forbid.

use std::path::Path;
use std::rc::Rc;

use robota_core::permission::Verdict;

use super::shell::Shell;
use super::shell_rules::{is_sink, spellings};
use crate::policy::{Access, READ};
use crate::program::reach::{self, Mentions};
use crate::program::wrap::{self, Inner};
use crate::rule::Matcher;
use crate::shell::{Part, Word, expand, scan, vars};
use crate::verdict::{Findings, VerdictSource};
use crate::workspace::FileRef;

impl Shell<'_, '_> {
    /// Forbids files that a command may touch in a way that the model does not know.
    pub(super) fn forbid_mentions(&self, part: &Part, words: &[Word], found: &mut Findings) {
        let policy = self.policy;
        let reads = policy.has_read_rules();
        let writes = !policy.is_bypass() || policy.has_edit_rules();
        // Without such rules nothing can be forbidden, and the files need not be looked up.
        if !reads && !writes {
            return;
        }
        let Mentions { any, reads: read, outputs, inside, suspects } = reach::mentions(words, part);
        // A path on another machine is no file of this one.
        let local = |word: &&Word| {
            let text = word.value().filter(|text| text.contains("://"));
            // A part of a word has the complete address as its written form.
            let text = text.unwrap_or_else(|| word.raw.clone());
            !text.contains("://") || text.contains("file:")
        };
        if reads {
            for word in any.iter().chain(&read).chain(&outputs).filter(local) {
                for file in self.mentioned(part, word) {
                    self.forbid_read_of(&file, found);
                }
            }
        }
        for word in &any {
            for file in self.mentioned(part, word) {
                self.forbid_change_of(&file, found);
            }
        }
        for file in outputs.iter().flat_map(|word| self.mentioned(part, word)) {
            policy.forbid_edit(&file, found);
            // It may be a folder in which files are created.
            let below = self.disk.lookup(&Path::new(file.shown()).join("…"));
            for (rules, _) in policy.forbidding() {
                if let Some(rule) = rules.naming(&below, Access::Edit) {
                    found.rule(Verdict::Ask, rule, Some(file.shown()));
                }
            }
        }
        for file in inside.iter().flat_map(|token| self.named(part, token)) {
            if reads {
                self.forbid_read_of(&file, found);
            }
            self.forbid_change_of(&file, found);
        }
        if reads {
            for file in suspects.iter().flat_map(|token| self.named(part, token)) {
                // An ask and not a denial: whether the text is a file at all is not certain.
                if let Some(rule) = policy.deny.about(&file, READ) {
                    found.rule(Verdict::Ask, rule, Some(file.shown()));
                }
            }
        }
    }

    fn mentioned(&self, part: &Part, word: &Word) -> Vec<Rc<FileRef>> {
        if word.value().is_some_and(|text| text.starts_with('-')) {
            return Vec::new();
        }
        let found = expand::files(word, &self.scope(part));
        let files = found.paths.iter().map(|path| self.disk.lookup(path));
        files.filter(|file| !is_sink(&file.name)).collect()
    }

    /// Returns the files a name inside a text may be.
    fn named(&self, part: &Part, token: &str) -> Vec<Rc<FileRef>> {
        // Programs also expand the home folder themselves.
        let home = self.policy.workspace.home.to_string_lossy();
        let token = token.replace("$HOME", &home).replace("$PWD/", "");
        if token.contains('$') || token.len() < 2 {
            return Vec::new();
        }
        let token = match token.strip_prefix("~/") {
            Some(rest) => format!("{home}/{rest}"),
            None => token,
        };
        let dirs = part.cwd.dirs.iter().take(4);
        dirs.map(|dir| self.disk.lookup(&dir.join(&token))).filter(|f| !is_sink(&f.name)).collect()
    }

    fn forbid_read_of(&self, file: &FileRef, found: &mut Findings) {
        let policy = self.policy;
        self.forbid_folder(file, found);
        found.rules(policy.forbidding(), file.shown(), |rules| rules.naming(file, READ));
    }

    /// Forbids a folder in which nothing may be read, for all of its names.
    pub(super) fn forbid_folder(&self, folder: &FileRef, found: &mut Findings) {
        let any = self.disk.lookup(&Path::new(folder.shown()).join("…"));
        if let Some(rule) = self.policy.deny.naming(&any, READ) {
            found.rule(Verdict::Deny, rule, Some(folder.shown()));
        }
    }

    /// Forbids a file that the command may change or only read; which of the two is not known.
    fn forbid_change_of(&self, file: &FileRef, found: &mut Findings) {
        let policy = self.policy;
        for (rules, _) in policy.forbidding() {
            if let Some(rule) = rules.naming(file, Access::Edit) {
                found.rule(Verdict::Ask, rule, Some(file.shown()));
            }
        }
        if !policy.is_bypass()
            && let Some(name) = policy.protected_name(file)
        {
            let why = format!("it may change `{name}`, which decides what other programs run");
            found.ask(VerdictSource::Protected, why, Some(file.shown()));
        }
    }

    pub(super) fn forbid_runs(&self, part: &Part, words: &[Word], found: &mut Findings) {
        for command in reach::commands(words, part) {
            let inner =
                Part { words: command, cwd: part.cwd.clone(), hidden: true, ..Part::default() };
            let seen = wrap::unwrap_all(&inner);
            for view in &seen.views {
                self.forbid_text(part, &view.words, found);
                let scope = self.scope(&inner);
                if let Some(why) = self.removal(&inner, &scope).of_command(&view.words) {
                    found.ask(VerdictSource::Critical, why, Some(&part.shown()));
                }
            }
        }
        // The program is not in the model: any of its words may begin a command.
        if reach::is_stranger(words) {
            for tail in wrap::tails(&words[1..]) {
                match tail {
                    // A single word is more likely an argument than a command.
                    Inner::Words(tail) if tail.len() > 1 => self.forbid_tail(part, &tail, found),
                    Inner::Words(_) | Inner::Script(_) | Inner::Unknown => {}
                }
            }
        }
        let workspace = &self.policy.workspace;
        for word in reach::texts(words, part) {
            if scan::critical(&word, &workspace.cwd, &workspace.home, &self.policy.precious) {
                let why = "a text in it may be a removal of something that must not be removed";
                found.ask(VerdictSource::Critical, why, Some(&part.shown()));
            }
        }
    }

    /// Forbids values of variables that the shell or a program may run: those with such names, and
    /// those with a quoted substitution, which an arithmetic or a prompt expansion runs.
    pub(super) fn forbid_variables(&self, part: &Part, found: &mut Findings) {
        let assigned =
            part.assigns.iter().filter_map(|a| Some((a.name.clone(), a.value.as_ref()?.value()?)));
        let words = part.words.iter().skip(1).filter_map(|word| {
            let text = word.value()?;
            text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        });
        for (name, value) in assigned.chain(words) {
            let mut commands = Vec::new();
            if vars::is_dangerous(&name) {
                reach::pieces(&value, true, &mut commands);
            }
            for text in scan::substitutions(&value) {
                reach::pieces(&text, true, &mut commands);
            }
            for command in commands.iter().take(64) {
                let inner =
                    Part { words: command.clone(), cwd: part.cwd.clone(), ..Part::default() };
                for view in &wrap::unwrap_all(&inner).views {
                    self.forbid_tail(part, &view.words, found);
                }
            }
        }
    }

    /// Forbids words that may be a command, for a program that is not in the model.
    fn forbid_tail(&self, part: &Part, words: &[Word], found: &mut Findings) {
        let mut hits = Findings::default();
        self.forbid_text(part, words, &mut hits);
        let inner = Part { words: words.to_vec(), cwd: part.cwd.clone(), ..Part::default() };
        let removes = self.removal(&inner, &self.scope(&inner)).of_command(words);
        if hits.worst() > Verdict::Allow {
            let why = "it may run a command that a rule forbids";
            found.ask(VerdictSource::Unproven, why, Some(&part.shown()));
        }
        if let Some(why) = removes {
            found.ask(VerdictSource::Critical, why, Some(&part.shown()));
        }
    }

    fn forbid_text(&self, part: &Part, words: &[Word], found: &mut Findings) {
        let lists = self.policy.forbidding();
        // Without rules about commands the spellings need not be computed.
        if lists.iter().all(|(rules, _)| rules.commands().next().is_none()) {
            return;
        }
        let text = spellings(words, self.disk.folds_programs());
        for (rules, verdict) in lists {
            for rule in rules.commands_for(text.known.iter()) {
                if let Matcher::Command(pattern) = &rule.matcher
                    && pattern.matches_any(&text)
                {
                    found.rule(verdict, rule, Some(&part.shown()));
                }
            }
        }
    }
}
