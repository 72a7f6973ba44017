//! Compiles rules, mode and workspace into a policy that judges calls.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::paths::Paths;
use robota_core::permission::{Mode, Verdict};

use crate::call::{Family, canonical, needs_shell};
use crate::glob::folded;
use crate::presets::DEFAULT_ALLOW;
use crate::rule::{Anchors, List, Matcher, Rule, RuleError, RuleSource};
use crate::workspace::{FileRef, Roots, Workspace, within};

/// The parts that a policy is compiled from.
#[derive(Debug, Clone)]
pub struct PolicySpec {
    /// Where the agent works.
    pub workspace: Workspace,
    /// How much it may do without asking.
    pub mode: Mode,
    /// Whether reads and proven read-only commands inside the workspace need no rule.
    pub free_reads: bool,
    /// Files that decide what runs, in addition to those that are protected by name.
    pub protected: Vec<PathBuf>,
    rules: Vec<(List, Arc<RuleSource>, String)>,
}

impl PolicySpec {
    /// Creates a specification without rules: the default mode, and reading is allowed.
    #[must_use]
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            mode: Mode::Default,
            free_reads: true,
            protected: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Sets the permission mode, which decides about calls that no rule matches.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether reads and proven read-only commands inside the workspace are allowed without a rule.
    #[must_use]
    pub fn free_reads(mut self, free: bool) -> Self {
        self.free_reads = free;
        self
    }

    /// Protects further files: changing one needs approval, even if a rule allows it.
    #[must_use]
    pub fn protect<P: Into<PathBuf>>(mut self, files: impl IntoIterator<Item = P>) -> Self {
        self.protected.extend(files.into_iter().map(Into::into));
        self
    }

    /// Adds the rules every session starts with.
    #[must_use]
    pub fn with_defaults(self) -> Self {
        self.rules(List::Allow, RuleSource::flag("built in"), DEFAULT_ALLOW.iter().copied())
    }

    /// Adds rules to a list; [`Policy::new`] reports those that cannot be read.
    #[must_use]
    pub fn rules<S: Into<String>>(
        mut self,
        list: List,
        source: RuleSource,
        rules: impl IntoIterator<Item = S>,
    ) -> Self {
        let source = Arc::new(source);
        self.rules.extend(rules.into_iter().map(|rule| (list, Arc::clone(&source), rule.into())));
        self
    }
}

/// Judges calls by rules, a mode and a workspace. See [`Policy::judge`].
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) mode: Mode,
    pub(crate) workspace: Workspace,
    pub(crate) roots: Roots,
    pub(crate) free_reads: bool,
    pub(crate) deny: Arc<Rules>,
    pub(crate) ask: Arc<Rules>,
    pub(crate) allow: Arc<Rules>,
    /// The home and the workspace's folders by every name, for critical removals.
    pub(crate) precious: Vec<String>,
    /// The further protected files by every name.
    protected: Arc<[String]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access<'t> {
    Read(&'t str),
    Edit,
}

/// Reading a file, by any tool that shows contents.
pub(crate) const READ: Access<'static> = Access::Read("Read");

/// One list, sorted by what its rules match.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    calls: Vec<Rule>,
    commands: Vec<Rule>,
    files: Vec<Rule>,
    /// Command rules by the program they spell out, and those that spell out none: a script
    /// of many commands is not compared with every rule.
    by_program: HashMap<String, Vec<usize>>,
    open: Vec<usize>,
    /// File rules by a name that each of their paths has, and those without one.
    by_name: HashMap<String, Vec<usize>>,
    anywhere: Vec<usize>,
    reads: bool,
    /// Another list that applies too, so that rules can be tried without copying the existing ones.
    below: Option<Arc<Rules>>,
}

impl Rules {
    fn push(&mut self, rule: Rule) {
        match &rule.matcher {
            Matcher::Command(pattern) => {
                let at = self.commands.len();
                match pattern.first_word() {
                    Some(word) => self.by_program.entry(word.to_owned()).or_default().push(at),
                    None => self.open.push(at),
                }
                self.commands.push(rule);
            }
            Matcher::File { pattern, reads, only } => {
                let at = self.files.len();
                match pattern.needles() {
                    Some(names) => names.into_iter().for_each(|name| {
                        self.by_name.entry(name).or_default().push(at);
                    }),
                    None => self.anywhere.push(at),
                }
                // Rules for one tool (`Grep(...)`) say nothing about what a command may read.
                self.reads |= *reads && only.is_none();
                self.files.push(rule);
            }
            _ => self.calls.push(rule),
        }
    }

    /// Returns all rules.
    fn all(&self) -> impl Iterator<Item = &Rule> {
        self.calls().chain(self.commands()).chain(self.files())
    }

    /// Creates a list with the rules of another one, to which more can be added.
    pub(crate) fn above(below: &Arc<Self>) -> Self {
        Self { below: Some(Arc::clone(below)), ..Self::default() }
    }

    fn lists(&self) -> impl Iterator<Item = &Self> {
        // Trial rules lie above the others, which are shared instead of copied.
        self.below.as_deref().into_iter().chain([self])
    }

    /// Rules over whole tools, parameters, hosts and names.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Rule> {
        self.lists().flat_map(|list| &list.calls)
    }

    pub(crate) fn commands(&self) -> impl Iterator<Item = &Rule> {
        self.lists().flat_map(|list| &list.commands)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Rule> {
        self.lists().flat_map(|list| &list.files)
    }

    pub(crate) fn about_reads(&self) -> bool {
        self.lists().any(|list| list.reads)
    }

    /// Returns the rule about an access to a file: one over all such accesses, or one that names
    /// the file.
    pub(crate) fn about(&self, file: &FileRef, access: Access<'_>) -> Option<&Rule> {
        let family = if access == Access::Edit { Family::Edit } else { Family::Read };
        let whole = |rule: &&Rule| matches!(rule.matcher, Matcher::Family(f) if f == family);
        self.calls().find(whole).or_else(|| self.naming(file, access))
    }

    /// Returns the rule about an access to a file, of the rules that name files.
    pub(crate) fn naming(&self, file: &FileRef, access: Access<'_>) -> Option<&Rule> {
        let hits = |rule: &&Rule| match (&rule.matcher, access) {
            (Matcher::File { reads: true, only: Some(only), .. }, Access::Read(tool))
                if only != tool =>
            {
                false
            }
            (Matcher::File { reads: true, pattern, .. }, Access::Read(_))
            | (Matcher::File { reads: false, pattern, .. }, Access::Edit) => match rule.list {
                // An allow rule has to cover every name of the file, also the target of a link; a
                // rule that forbids applies if one name matches.
                List::Allow => pattern.covers(file),
                List::Ask | List::Deny => pattern.touches(file),
            },
            _ => false,
        };
        self.files_for(file).into_iter().find(hits)
    }

    pub(crate) fn files_for(&self, file: &FileRef) -> Vec<&Rule> {
        let mut found = Vec::new();
        for list in self.lists().filter(|list| !list.files.is_empty()) {
            let mut at: Vec<usize> = list.anywhere.clone();
            if !list.by_name.is_empty() {
                for name in file.names().flat_map(|name| name.split('/')) {
                    at.extend(list.by_name.get(&*folded(name)).into_iter().flatten());
                }
            }
            // In the order of the rules, so that the same rule is named as the reason each time.
            at.sort_unstable();
            at.dedup();
            found.extend(at.into_iter().filter_map(|at| list.files.get(at)));
        }
        found
    }

    pub(crate) fn commands_for<'a>(
        &'a self,
        texts: impl Iterator<Item = &'a String>,
    ) -> Vec<&'a Rule> {
        let mut words: Vec<&str> = texts.filter_map(|text| text.split(' ').next()).collect();
        words.sort_unstable();
        words.dedup();
        let mut found = Vec::new();
        for list in self.lists() {
            let named = words.iter().filter_map(|word| list.by_program.get(*word)).flatten();
            found.extend(named.chain(&list.open).filter_map(|at| list.commands.get(*at)));
        }
        found
    }
}

impl Policy {
    pub(crate) fn forbidding(&self) -> [(&Rules, Verdict); 2] {
        [(&self.deny, Verdict::Deny), (&self.ask, Verdict::Ask)]
    }

    /// Compiles a policy. Rules that cannot be read are returned as errors and match nothing.
    #[must_use]
    pub fn new(spec: &PolicySpec, paths: &dyn Paths) -> (Self, Vec<RuleError>) {
        let roots = Roots::new(&spec.workspace, paths);
        let anchors = Anchors { roots: &roots, paths };
        let mut lists = [Rules::default(), Rules::default(), Rules::default()];
        let mut errors = Vec::new();
        for (list, source, text) in &spec.rules {
            match Rule::parse(text, *list, source, &anchors) {
                Ok(rule) => lists[*list as usize].push(rule),
                Err(error) => errors.push(error),
            }
        }
        // In the order in which `List` declares them.
        let [allow, ask, deny] = lists.map(Arc::new);
        let precious = precious(&roots);
        let protected = spec.protected.iter().flat_map(|path| {
            let file = FileRef::lookup(&spec.workspace.cwd.join(path), paths);
            file.names().map(str::to_owned).collect::<Vec<_>>()
        });
        let policy = Self {
            protected: protected.collect(),
            mode: spec.mode,
            workspace: spec.workspace.clone(),
            free_reads: spec.free_reads,
            roots,
            deny,
            ask,
            allow,
            precious,
        };
        (policy, errors)
    }

    /// Returns the name of what is protected in this file, or in the folder that it is.
    pub(crate) fn protected_name<'a>(&'a self, file: &'a FileRef) -> Option<&'a str> {
        let by_table = file.names().find_map(crate::protect::protected);
        by_table.or_else(|| {
            let inside = |name: &str| {
                // Compared without case, because some disks ignore it.
                let holds = |file: &&String| within(file, name, true);
                // The workspace as a whole is guarded by critical removals.
                let found = self.protected.iter().find(holds);
                found.filter(|_| !self.roots.inside.iter().any(|root| within(root, name, false)))
            };
            file.names().find_map(inside).map(String::as_str)
        })
    }

    /// Returns the permission mode, which decides about calls that no rule matches.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the policy with another mode.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Adds a rule for this session ("always", or a client's decision).
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add(
        &mut self,
        list: List,
        source: &Arc<RuleSource>,
        text: &str,
        paths: &dyn Paths,
    ) -> Result<(), RuleError> {
        let rule = Rule::parse(text, list, source, &Anchors { roots: &self.roots, paths })?;
        // Copied only if another policy shares the list.
        Arc::make_mut(self.list_mut(list)).push(rule);
        Ok(())
    }

    /// Removes the rules of a list that `removed` selects.
    pub fn remove(&mut self, list: List, removed: impl Fn(&Rule) -> bool) {
        let rules = self.list_mut(list);
        if !rules.all().any(&removed) {
            return;
        }
        let mut kept = Rules::default();
        rules.all().filter(|rule| !removed(rule)).for_each(|rule| kept.push(rule.clone()));
        *rules = Arc::new(kept);
    }

    /// Returns the folders of the workspace.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the policy with other additional folders.
    #[must_use]
    pub fn with_additional(mut self, folders: Vec<PathBuf>, paths: &dyn Paths) -> Self {
        self.workspace.additional = folders;
        self.roots = Roots::new(&self.workspace, paths);
        self.precious = precious(&self.roots);
        for list in [List::Allow, List::Ask, List::Deny] {
            let mut rules = Rules::default();
            for rule in self.list_mut(list).clone().all() {
                let anchors = Anchors { roots: &self.roots, paths };
                // Rules without an anchor of their own start at the folders of the workspace. Each was
                // valid before.
                let again = Rule::parse(&rule.text, list, &rule.source, &anchors);
                rules.push(again.unwrap_or_else(|_| rule.clone()));
            }
            *self.list_mut(list) = Arc::new(rules);
        }
        self
    }

    fn list_mut(&mut self, list: List) -> &mut Arc<Rules> {
        match list {
            List::Allow => &mut self.allow,
            List::Ask => &mut self.ask,
            List::Deny => &mut self.deny,
        }
    }

    /// Returns whether a deny rule forbids every call of this tool, or of the tools without which it has
    /// nothing to do, so that it need not be offered.
    #[must_use]
    pub fn denies_tool(&self, name: &str) -> bool {
        let denies = |name: &str| {
            self.deny.calls().any(|rule| match &rule.matcher {
                Matcher::Family(family) => Family::of_tool(name) == Some(*family),
                Matcher::Name(wild) => wild.matches(canonical(name)) || wild.matches(name),
                _ => false,
            })
        };
        denies(name) || (needs_shell(name) && denies("Bash"))
    }

    /// Returns whether search tools (Grep, Glob) may show this file: false if a deny rule for Read
    /// names it.
    #[must_use]
    pub fn may_read(&self, path: &Path, paths: &dyn Paths) -> bool {
        let file = FileRef::lookup(&self.workspace.cwd.join(path), paths);
        // Only deny rules: see `needs_approval_to_read` for the others.
        self.deny.about(&file, READ).is_none()
    }

    /// Returns whether a search (Grep) has to leave this file out, because an ask rule for Read names it:
    /// the gate judges the folder of a search, not the files in it.
    #[must_use]
    pub fn needs_approval_to_read(&self, path: &Path, paths: &dyn Paths) -> bool {
        let named = || {
            let file = FileRef::lookup(&self.workspace.cwd.join(path), paths);
            self.ask.naming(&file, READ).is_some()
        };
        // The look-up costs system calls for each file of a search, and most users have no such rule.
        self.ask.about_reads() && named()
    }

    /// Returns whether an allow rule names this private or loopback address, or `localhost`, for
    /// this URL. A rule for a domain does not: the owner of a domain decides to which address it
    /// resolves.
    #[must_use]
    pub fn private_address_allowed(&self, url: &str, address: IpAddr) -> bool {
        let Ok(target) = crate::web::Target::parse(url) else { return false };
        self.allow.calls().any(|rule| match &rule.matcher {
            Matcher::Host(pattern) => pattern.names_address(&target, address),
            _ => false,
        })
    }
}

/// Returns the folders whose removal is critical in every mode.
fn precious(roots: &Roots) -> Vec<String> {
    roots.home.iter().chain(&roots.cwd).chain(&roots.inside).cloned().collect()
}
