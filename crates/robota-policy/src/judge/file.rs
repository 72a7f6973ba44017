//! Judges reading and changing files, for all tools.

use robota_core::paths::{PathKind, Paths};
use robota_core::permission::{Class, Mode, Verdict};
use serde_json::Value;

use super::Base;
use crate::call::{PATH_FIELDS, ToolCall};
use crate::policy::{Access, Policy, READ, Rules};
use crate::rule::{Matcher, Rule};
use crate::verdict::{Findings, VerdictSource};
use crate::workspace::FileRef;

impl Policy {
    pub(super) fn forbid_read(&self, file: &FileRef, tool: &str, found: &mut Findings) {
        let access = Access::Read(tool);
        found.rules(self.forbidding(), file.shown(), |rules| rules.about(file, access));
        self.unknown_target(file, found);
    }

    /// Applies deny and ask rules about changing a file; a deny rule for Read counts too. Protected
    /// files ask.
    pub(super) fn forbid_edit(&self, file: &FileRef, found: &mut Findings) {
        found.rules(self.forbidding(), file.shown(), |rules| rules.about(file, Access::Edit));
        if let Some(rule) = self.deny.about(file, READ) {
            found.rule(Verdict::Deny, rule, Some(file.shown()));
        }
        self.unknown_target(file, found);
        if self.mode != Mode::BypassPermissions
            && let Some(name) = self.protected_name(file)
        {
            let why =
                format!("`{name}` decides what other programs run; no rule pre-approves a change");
            found.ask(VerdictSource::Protected, why, Some(file.shown()));
        }
    }

    pub(super) fn unknown_target(&self, file: &FileRef, found: &mut Findings) {
        if file.target.is_none() {
            let why = "where this path leads cannot be known";
            found.ask(VerdictSource::Unproven, why, Some(file.shown()));
        }
    }

    pub(super) fn read_base(&self, file: &FileRef, tool: &str) -> Base {
        if file.name == "/dev/null" || (self.free_reads && self.roots.holds(file)) {
            return Base::ReadOnly;
        }
        match self.allow.about(file, Access::Read(tool)) {
            Some(_) => Base::ReadAllowed,
            None => Base::ReadOutside,
        }
    }

    pub(super) fn edit_base(&self, file: &FileRef) -> Base {
        if self.allow.about(file, Access::Edit).is_some() {
            return Base::Allowed(Class::Modify);
        }
        if self.roots.holds(file) { Base::ByMode(Class::Modify) } else { Base::OutsideWrite }
    }

    pub(super) fn edit_call(&self, given: &Value, paths: &dyn Paths, found: &mut Findings) -> Base {
        let files = self.given_files(given, paths, found);
        if files.is_empty() {
            found.ask(VerdictSource::Input, "the call names no file", None);
            return Base::ByMode(Class::Modify);
        }
        let mut bases = Vec::new();
        for file in &files {
            self.forbid_edit(file, found);
            if let Some(rule) = self.allow.about(file, Access::Edit) {
                found.rule(Verdict::Allow, rule, Some(file.shown()));
            }
            bases.push(self.edit_base(file));
        }
        bases.into_iter().reduce(Base::and).unwrap_or(Base::ByMode(Class::Modify))
    }

    pub(super) fn read_call(
        &self,
        call: &ToolCall<'_>,
        paths: &dyn Paths,
        found: &mut Findings,
    ) -> Base {
        let mut files = self.given_files(call.input, paths, found);
        match call.tool {
            "Glob" => {
                // The pattern itself may lead out of the folder: `/etc/*`, `../**`.
                if let Some(pattern) = call.input.get("pattern").and_then(Value::as_str) {
                    let stem = literal_stem(pattern);
                    let away = pattern.starts_with(['/', '~']);
                    let dirs: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
                    if dirs.is_empty() || away {
                        files.push(FileRef::lookup(&self.workspace.resolve(&stem), paths));
                    }
                    for dir in dirs {
                        let dir = std::path::Path::new(&dir);
                        files.push(FileRef::lookup(&dir.join(stem.trim_start_matches('/')), paths));
                    }
                    // `a*/../..` leads upwards after the wildcard, `{/etc,src}` to another folder.
                    let rest = &pattern[stem.len().min(pattern.len())..];
                    if rest.contains("..") || rest.contains("{/") || rest.contains(",/") {
                        let why = "where the pattern leads cannot be known";
                        found.ask(VerdictSource::Unproven, why, Some(pattern));
                    }
                }
            }
            "Grep" | "LS" if files.is_empty() => {
                files.push(FileRef::lookup(&self.workspace.cwd, paths));
            }
            _ => {}
        }
        if files.is_empty() {
            found.ask(VerdictSource::Input, "the call names no file", None);
            return Base::ReadOutside;
        }
        let mut base = Base::ReadOnly;
        for file in &files {
            self.forbid_read(file, call.tool, found);
            let mut this = self.read_base(file, call.tool);
            let rule = self.allow.about(file, Access::Read(call.tool));
            if this != Base::ReadOnly
                && let Some(rule) = rule.or_else(|| self.whole_call_allowed(call))
            {
                found.rule(Verdict::Allow, rule, Some(file.shown()));
                this = Base::ReadAllowed;
            }
            base = base.and(this);
        }
        base
    }

    /// Returns every file a call names, under every name its field may have, those of the single
    /// edits of a call that makes several included.
    fn given_files(&self, input: &Value, paths: &dyn Paths, found: &mut Findings) -> Vec<FileRef> {
        let edits = match input.get("edits") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(edits)) => edits,
            Some(_) => {
                found.ask(VerdictSource::Input, "`edits` is not a list", None);
                &[]
            }
        };
        let inputs = std::iter::once(input).chain(edits);
        inputs.flat_map(|input| self.named_files(input, paths, found)).collect()
    }

    fn named_files(&self, input: &Value, paths: &dyn Paths, found: &mut Findings) -> Vec<FileRef> {
        let mut files = Vec::new();
        for field in PATH_FIELDS {
            match input.get(field) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.contains('\0') => {
                    found.add(Verdict::Deny, VerdictSource::Input, "the path contains a NUL", None);
                }
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => {
                    files.push(FileRef::lookup(&self.workspace.resolve(text), paths));
                }
                Some(_) => {
                    let text = format!("`{field}` is not text");
                    found.ask(VerdictSource::Input, text, None);
                }
            }
        }
        files
    }

    /// Returns the rule of this list about reading or changing something below the folder.
    pub(super) fn rule_below<'p>(
        &self,
        rules: &'p Rules,
        folder: &FileRef,
        reading: bool,
        paths: &dyn Paths,
    ) -> Option<&'p Rule> {
        let candidates: Vec<&Rule> = rules
            .files()
            .filter(|rule| match &rule.matcher {
                Matcher::File { reads, only: None, pattern } => {
                    *reads == reading && pattern.may_match_below(folder)
                }
                _ => false,
            })
            .collect();
        let first = *candidates.first()?;
        let target = folder.target.as_deref()?;
        if paths.kind(std::path::Path::new(target)) != PathKind::Dir {
            return None;
        }
        let mut todo = vec![std::path::PathBuf::from(target)];
        let mut budget = 2_000usize;
        while let Some(dir) = todo.pop() {
            for name in paths.entries(&dir) {
                budget = match budget.checked_sub(1) {
                    Some(left) => left,
                    // Too many files to check: it cannot be shown that nothing is there.
                    None => return Some(first),
                };
                let path = dir.join(&name);
                let file = FileRef::lookup(&path, paths);
                let hit = candidates.iter().find(|rule| match &rule.matcher {
                    Matcher::File { pattern, .. } => pattern.touches(&file),
                    _ => false,
                });
                if let Some(rule) = hit {
                    return Some(rule);
                }
                if paths.kind(&path) == PathKind::Dir && name != ".git" && name != "node_modules" {
                    todo.push(path);
                }
            }
        }
        None
    }
}

/// Returns the folder before the first wildcard of a glob.
fn literal_stem(pattern: &str) -> String {
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    if wild == pattern.len() {
        return pattern.to_owned();
    }
    match pattern[..wild].rfind('/') {
        Some(slash) => pattern[..=slash].to_owned(),
        None => String::new(),
    }
}
