//! Applies everything that forbids: deny and ask rules about commands and about the files that
//! commands touch, dangerous options and variables.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use robota_core::paths::PathKind;
use robota_core::permission::Verdict;

use super::shell::Shell;
use crate::policy::{Access, Policy, READ};
use crate::program::files::{self, Uses};
use crate::program::wrap::{InnerCommands, base, holes};
use crate::program::{Arity, Program, Shape, Trait, danger};
use crate::rule::{CommandText, Matcher, Rule};
use crate::shell::word::Piece;
use crate::shell::{Part, RedirectKind, Word, expand, vars};
use crate::verdict::{Findings, VerdictSource};
use crate::workspace::FileRef;

impl Policy {
    /// Returns a rule that forbids some commands, or some files that a command might touch.
    pub(super) fn any_command_rule(&self) -> Option<&Rule> {
        let rules = [&self.deny, &self.ask];
        let commands = rules.iter().find_map(|list| list.commands().next());
        commands.or_else(|| rules.iter().find_map(|list| list.files().next()))
    }

    pub(super) fn has_read_rules(&self) -> bool {
        self.deny.about_reads() || self.ask.about_reads()
    }

    pub(super) fn has_edit_rules(&self) -> bool {
        self.deny.files().chain(self.ask.files()).next().is_some()
    }
}

impl Shell<'_, '_> {
    /// Applies rules about the command's text and its options. Returns true if it is not known what
    /// runs.
    pub(super) fn forbid_command(&self, part: &Part, words: &[Word], found: &mut Findings) -> bool {
        let Some(first) = words.first() else { return false };
        self.forbid_by_rule(part, words, found);
        if !self.policy.is_bypass() {
            // A proven read is not dangerous, whatever its options are called.
            let danger = if self.is_proven_read(part, words) {
                None
            } else {
                danger::of_command(&self.with_known_variables(part, words), part.piped)
            };
            if let Some(why) = danger.or_else(|| self.other_repository(part, words)) {
                found.ask(VerdictSource::Danger, why, Some(&part.shown()));
            }
        }
        // A name that the shell computes, or a function or an alias that replaces one.
        first.is_dynamic() || danger::redefines(words)
    }

    pub(super) fn forbid_by_rule(&self, part: &Part, words: &[Word], found: &mut Findings) {
        let Some(first) = words.first() else { return };
        let lists = self.policy.forbidding();
        if lists.iter().any(|(rules, _)| rules.commands().next().is_some()) {
            let text = spellings(words, self.disk.folds_programs());
            for (rules, verdict) in lists {
                // An unknown program may be any of them.
                let candidates = if first.is_dynamic() {
                    rules.commands().collect()
                } else {
                    rules.commands_for(text.known.iter().chain(&text.prefixes))
                };
                for rule in candidates {
                    let Matcher::Command(pattern) = &rule.matcher else { continue };
                    if pattern.matches_any(&text) {
                        found.rule(verdict, rule, Some(&part.shown()));
                    } else if !text.holes.is_empty() && pattern.may_match(&text) {
                        let shown = part.shown();
                        let why = format!(
                            "`{shown}` cannot be shown not to be what {} ({}) forbids",
                            rule.text, rule.source.label
                        );
                        found.ask(VerdictSource::Unproven, why, Some(&shown));
                    }
                }
            }
        }
    }

    /// Returns the words with variables replaced whose values are all known to be no options.
    fn with_known_variables<'w>(&self, part: &Part, words: &'w [Word]) -> Cow<'w, [Word]> {
        if !words.iter().any(|word| matches!(word.pieces.as_slice(), [Piece::Var { .. }])) {
            return words.into();
        }
        let scope = self.scope(part);
        let settle = |word: &Word| match word.pieces.as_slice() {
            [Piece::Var { name, .. }] if self.script.vars.contains_key(name) => {
                let (values, open) = expand::variable(name, true, &scope, 0);
                let plain = |value: &Vec<expand::Live>| {
                    value.first().is_some_and(|(c, _)| *c != '-')
                        && !value.iter().any(|(c, _)| c.is_whitespace())
                        && !expand::is_glob(value)
                };
                let first: String = values.first()?.iter().map(|(c, _)| *c).collect();
                (!open && values.iter().all(plain)).then(|| Word::plain(&first))
            }
            _ => None,
        };
        words.iter().map(|word| settle(word).unwrap_or_else(|| word.clone())).collect()
    }

    pub(super) fn forbid_assignments(
        &self,
        part: &Part,
        seen: &InnerCommands,
        found: &mut Findings,
    ) {
        if self.policy.is_bypass() {
            return;
        }
        let mut names: Vec<String> = part.assigns.iter().map(|a| a.name.clone()).collect();
        if part.declares {
            names.extend(part.words.iter().skip(1).filter_map(Word::literal));
        }
        for view in &seen.views {
            if Program::of(&view.words).is_some_and(|program| program.is(Trait::Assigns)) {
                names.extend(view.words.iter().skip(1).filter_map(|word| {
                    let text = word.value()?;
                    text.split_once('=').map(|(name, _)| name.to_owned())
                }));
            }
        }
        // `IFS= read` splits what it reads and nothing else.
        let reads = part.words.first().and_then(Word::value).as_deref() == Some("read");
        names.retain(|name| !(reads && name == "IFS"));
        for name in names.iter().filter(|name| vars::is_dangerous(name)) {
            let why = format!("`{name}` decides what programs run or load");
            found.ask(VerdictSource::Danger, why, Some(&part.shown()));
        }
    }

    pub(super) fn forbid_redirects(&self, part: &Part, found: &mut Findings) {
        for redirect in &part.redirects {
            let words = std::slice::from_ref(&redirect.target);
            match redirect.kind {
                RedirectKind::Copy => {}
                RedirectKind::Read => self.forbid_reads(part, words, true, found),
                RedirectKind::Write => self.forbid_writes(part, words, found),
            }
        }
    }

    pub(super) fn forbid_files(&self, part: &Part, words: &[Word], found: &mut Findings) {
        let uses = files::uses(words, part);
        self.forbid_reads(part, &uses.reads, true, found);
        self.forbid_reads(part, &uses.trees, true, found);
        self.forbid_reads(part, &uses.maybe_reads, false, found);
        self.forbid_trees(part, &uses.trees, found);
        self.forbid_writes(part, &uses.writes, found);
        self.forbid_writes(part, &uses.removes, found);
        self.forbid_below(part, &uses.below, found);
        for file in self.created_files(part, &uses).0 {
            if !is_sink(&file.name) {
                self.policy.forbid_edit(&file, found);
            }
        }
    }

    fn forbid_reads(&self, part: &Part, words: &[Word], sure: bool, found: &mut Findings) {
        if words.is_empty()
            || (!self.policy.has_read_rules()
                && !self.policy.deny.calls().chain(self.policy.ask.calls()).any(is_read_family))
        {
            return;
        }
        // Asked only where some file must not be read; otherwise an unknown name is harmless.
        let asks = sure && self.policy.has_read_rules();
        self.forbid_each(part, words, asks.then_some("read"), found, |file, found| {
            self.forbid_read(file, found);
        });
    }

    /// Forbids each file that these words may be, and asks once where that cannot be known and some
    /// files must not be accessed like this.
    fn forbid_each(
        &self,
        part: &Part,
        words: &[Word],
        mut access: Option<&str>,
        found: &mut Findings,
        forbid: impl Fn(&Rc<FileRef>, &mut Findings),
    ) {
        for word in words {
            let expansion = expand::files(word, &self.scope(part));
            let files = expansion.paths.iter().map(|path| self.disk.lookup(path));
            files.filter(|file| !is_sink(&file.name)).for_each(|file| forbid(&file, found));
            if expansion.unknown
                && let Some(access) = access.take()
            {
                let raw = &word.raw;
                let why =
                    format!("which file `{raw}` is cannot be known, and some must not be {access}");
                found.ask(VerdictSource::Unproven, why, Some(&part.shown()));
            }
        }
    }

    fn forbid_read(&self, file: &Rc<FileRef>, found: &mut Findings) {
        let policy = self.policy;
        found.rules(policy.forbidding(), file.shown(), |rules| {
            self.disk.rule(rules, file, false, || rules.about(file, READ))
        });
        policy.unknown_target(file, found);
    }

    fn forbid_trees(&self, part: &Part, words: &[Word], found: &mut Findings) {
        if words.is_empty() || !self.policy.has_read_rules() {
            return;
        }
        for word in words {
            for path in &expand::files(word, &self.scope(part)).paths {
                let folder = self.disk.lookup(path);
                self.forbid_folder(&folder, found);
                for (rules, _) in self.policy.forbidding() {
                    let find = || self.policy.rule_below(rules, &folder, true, self.disk.paths);
                    if let Some(rule) = self.disk.rule(rules, &folder, true, find) {
                        found.rule(Verdict::Ask, rule, Some(&part.shown()));
                    }
                }
            }
        }
    }

    fn forbid_below(&self, part: &Part, words: &[Word], found: &mut Findings) {
        if !self.policy.has_edit_rules() {
            return;
        }
        for path in words.iter().flat_map(|word| expand::files(word, &self.scope(part)).paths) {
            if self.disk.paths.kind(&path) == PathKind::File {
                continue;
            }
            let folder = self.disk.lookup(&path);
            let inside = self.disk.lookup(&path.join("…"));
            for (rules, verdict) in self.policy.forbidding() {
                if let Some(rule) = rules.naming(&inside, Access::Edit) {
                    found.rule(verdict, rule, Some(folder.shown()));
                } else if let Some(rule) =
                    self.policy.rule_below(rules, &folder, false, self.disk.paths)
                {
                    found.rule(Verdict::Ask, rule, Some(folder.shown()));
                }
            }
            if let Some(rule) = self.policy.deny.naming(&inside, READ) {
                found.rule(Verdict::Deny, rule, Some(folder.shown()));
            }
        }
    }

    fn forbid_writes(&self, part: &Part, words: &[Word], found: &mut Findings) {
        let access = self.policy.has_edit_rules().then_some("changed");
        self.forbid_each(part, words, access, found, |file, found| {
            self.policy.forbid_edit(file, found);
        });
    }

    /// Returns what a copy creates: in a folder, a file of the same name; true when there may be
    /// more.
    pub(super) fn created_files(&self, part: &Part, uses: &Uses) -> (Vec<Rc<FileRef>>, bool) {
        let Some((sources, target)) = &uses.into else { return (Vec::new(), false) };
        let scope = self.scope(part);
        let expansion = expand::files(target, &scope);
        let mut unknown = expansion.unknown;
        let paths = self.disk.paths;
        let is = |path: &Path| paths.kind(path) == PathKind::Dir;
        let is_dir = |path: &Path| is(path) || paths.canonical(path).is_some_and(|real| is(&real));
        let mut out = Vec::new();
        for path in &expansion.paths {
            // A path that ends with a slash is a folder, or the copy fails.
            let into_folder =
                is_dir(path) || target.value().is_some_and(|text| text.ends_with('/'));
            if !into_folder {
                out.push(self.disk.lookup(path));
                continue;
            }
            for source in sources {
                let names = expand::files(source, &scope);
                unknown |= names.unknown;
                let names: Vec<PathBuf> = names
                    .paths
                    .iter()
                    .filter_map(|p| p.file_name().map(|n| path.join(n)))
                    .collect();
                out.extend(names.iter().map(|path| self.disk.lookup(path)));
            }
        }
        (out, unknown)
    }
}

fn is_read_family(rule: &Rule) -> bool {
    matches!(rule.matcher, Matcher::Family(crate::call::Family::Read))
}

pub(crate) fn is_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || path.strip_prefix("/dev/fd/").is_some_and(|n| n.parse::<u8>().is_ok())
}

/// Returns every way the command may be spelled in a rule that forbids it.
pub(super) fn spellings(words: &[Word], fold: bool) -> CommandText {
    let mut text = CommandText::default();
    let mut forms: Vec<Cow<'_, [Word]>> = vec![words.into()];
    if let Some(program) = words.first().and_then(Word::value) {
        // `/usr/bin/git` is `git` for a rule.
        let short = base(&program);
        if short != program {
            let mut form = words.to_vec();
            form[0] = Word::plain(short);
            forms.push(form.into());
        }
        if fold && short.chars().any(char::is_uppercase) {
            let mut form = words.to_vec();
            form[0] = Word::plain(&short.to_lowercase());
            forms.push(form.into());
        }
        if let Some(form) = without_globals(short, words) {
            forms.push(form.into());
        }
    }
    for form in &forms {
        let known: Vec<String> = form.iter().map_while(Word::value).collect();
        if known.len() == form.len() {
            text.known.push(known.join(" "));
        } else if !known.is_empty() {
            text.prefixes.push(known.join(" "));
        }
        if form.iter().any(Word::is_dynamic) {
            text.holes.push(holes(form));
        }
    }
    // As it is written, too: a rule may have been made from that text.
    text.known.push(words.iter().map(|w| w.raw.as_str()).collect::<Vec<_>>().join(" "));
    text
}

/// Returns the words without options before the subcommand, which a rule like `git push *` does not
/// contain.
fn without_globals(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let program = Program::find(name)?;
    (program.shape == Shape::Sub || program.is(Trait::Make)).then_some(())?;
    let mut i = 1;
    while let Some(text) = words.get(i).and_then(Word::value) {
        if !text.starts_with(['-', '+']) || text == "-" {
            break;
        }
        i += 1;
        let arity = program.option(&text).map(|option| option.arity);
        // `make -j 4`: the number belongs to the option, not to the target.
        let number = |word: &Word| word.value().is_some_and(|text| text.parse::<u32>().is_ok());
        if arity == Some(Arity::Required)
            || (arity == Some(Arity::Attached) && words.get(i).is_some_and(number))
        {
            i += 1;
        }
    }
    (i > 1 && i < words.len()).then(|| {
        let mut form = vec![Word::plain(name)];
        form.extend_from_slice(&words[i..]);
        form
    })
}
