//! Turns a parsed file into entries, one per key, and validates each against the table of keys.

use std::path::Path;

use robota_core::hook::HookEvent;
use serde::Deserialize as _;
use serde_json::Value;

use crate::json::{Document, Kind, Member, Node};
use crate::keys::{self, Check, Found, KeyRule, Mismatch, Step};
use crate::layer::{Layer, Origin};
use crate::mcp::McpServerMatch;
use crate::model::HookDefinition;
use crate::path::KeyPath;
use crate::report::{Problem, Severity};
use crate::settings::MODELS;

/// The maximum number of problems reported per file, so that a file cannot fill the screen.
// A file of another program with thousands of keys must not fill the terminal.
const MAX_PROBLEMS: usize = 50;

/// One key of one layer.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) path: KeyPath,
    /// The row of the table; none for an unknown key.
    pub(crate) rule: Option<&'static KeyRule>,
    pub(crate) content: Content,
    pub(crate) origin: Origin,
    /// Whether the file repeats the key further down.
    pub(crate) repeated: bool,
}

/// The value of an entry.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// One value, which a higher layer replaces.
    Whole(Value),
    /// A list whose items are merged one by one.
    Items(Vec<(Value, Origin)>),
}

impl Content {
    /// Returns whether it is a list without items, which has no effect.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Items(items) if items.is_empty())
    }

    /// Returns the content as one value.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Whole(value) => value.clone(),
            Self::Items(items) => items.iter().map(|(value, _)| value.clone()).collect(),
        }
    }
}

/// The entries and problems of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checked {
    pub(crate) entries: Vec<Entry>,
    pub(crate) problems: Vec<Problem>,
    /// Whether a value that can forbid is unreadable, so that the restrictions are unknown.
    pub(crate) restrictions_unknown: bool,
    /// Whether the file may have a list of models that is unreadable.
    pub(crate) models_unknown: bool,
}

/// Validates a file, key by key. What is wrong does not stop it.
pub(crate) fn check(document: &Document, layer: Layer, file: Option<&Path>) -> Checked {
    let mut walk = Walk { document, layer, file, checked: Checked::default(), unreported: 0 };
    match &document.root.kind {
        Kind::Object(members) => walk.object(members, &KeyPath::default(), false),
        _ => walk.unreadable(&KeyPath::default(), &document.root, "an object"),
    }
    let unreported = walk.unreported;
    if unreported > 0 {
        let origin = Origin { layer, file: file.map(Path::to_path_buf), line: None };
        let message = format!("and {unreported} more problems");
        walk.checked.problems.push(Problem {
            severity: Severity::Warning,
            origin,
            key: None,
            message,
        });
    }
    walk.checked
}

struct Walk<'a> {
    document: &'a Document,
    layer: Layer,
    file: Option<&'a Path>,
    checked: Checked,
    /// The number of problems above [`MAX_PROBLEMS`].
    unreported: usize,
}

impl Walk<'_> {
    fn object(&mut self, members: &[Member], path: &KeyPath, repeated: bool) {
        let mut last_at = std::collections::HashMap::new();
        for (at, member) in members.iter().enumerate() {
            last_at.insert(member.key.as_str(), at);
        }
        // All values of a repeated key are read: a parser that keeps only the last one would drop a
        // deny rule that another program obeys.
        for (at, member) in members.iter().enumerate() {
            let path = path.child(&member.key);
            let again = last_at.get(member.key.as_str()).is_some_and(|last| *last != at);
            if again {
                let message = "the key is repeated; the last value applies, and the restrictions \
                               of all of them";
                self.problem(Severity::Warning, member.key_at, &path, message.to_owned());
            }
            self.member(member, &path, repeated || again);
        }
    }

    fn member(&mut self, member: &Member, path: &KeyPath, repeated: bool) {
        let node = &member.node;
        // Other programs write `null` for "not set".
        // `$schema` is for editors.
        if matches!(node.kind, Kind::Null) || path.names() == ["$schema"] {
            return;
        }
        if !self.check_name(member, path) {
            return;
        }
        match (keys::find(path.names()), &node.kind) {
            (Found::Rule(rule), _) => {
                if let Some(content) = self.content(rule, path, node) {
                    self.push(member, path, Some(rule), content, repeated);
                }
            }
            (Found::Object, Kind::Object(members)) => self.object(members, path, repeated),
            (Found::Object, _) => self.unreadable(path, node, "an object"),
            (Found::Unknown, _) => {
                let message = "unknown key; it has no effect".to_owned();
                self.problem(Severity::Warning, member.key_at, path, message);
                // Kept for `config explain`, which shows where an unknown key was written.
                self.push(member, path, None, Content::Whole(node.to_value()), repeated);
            }
        }
    }

    /// Validates the names of variables and hook events. Returns whether the value is to be read.
    fn check_name(&mut self, member: &Member, path: &KeyPath) -> bool {
        match path.names() {
            [outer, name] if outer == "env" && !keys::is_variable_name(name) => {
                let message = "not a valid name of a variable".to_owned();
                self.problem(Severity::Error, member.key_at, path, message);
                false
            }
            [outer, name] if outer == "hooks" && !keys::HOOK_EVENTS.contains(&name.as_str()) => {
                let message = "unknown hook event; these hooks never run".to_owned();
                self.problem(Severity::Warning, member.key_at, path, message);
                true
            }
            [outer, name] if outer == "hooks" && name.parse::<HookEvent>().is_err() => {
                let message =
                    "this version does not support the event yet; these hooks never run".to_owned();
                self.problem(Severity::Warning, member.key_at, path, message);
                true
            }
            _ => true,
        }
    }

    fn push(
        &mut self,
        member: &Member,
        path: &KeyPath,
        rule: Option<&'static KeyRule>,
        content: Content,
        repeated: bool,
    ) {
        let origin = self.origin(member.key_at);
        self.checked.entries.push(Entry { path: path.clone(), rule, content, origin, repeated });
    }

    fn content(&mut self, rule: &KeyRule, path: &KeyPath, node: &Node) -> Option<Content> {
        match (rule.check, &node.kind) {
            (Check::Type(check), _) => {
                let value = node.to_value();
                match check(&value) {
                    Ok(()) => {
                        self.warn_of_reference(path, node);
                        Some(Content::Whole(value))
                    }
                    Err(mismatch) => {
                        self.mismatch(path, node, &mismatch);
                        None
                    }
                }
            }
            (Check::Texts, Kind::Array(items)) => {
                let mut texts = Vec::new();
                for item in items {
                    match &item.kind {
                        Kind::String(text) => {
                            texts.push((Value::from(text.as_str()), self.origin(item.span.start)));
                        }
                        _ => self.unreadable(path, item, "a string"),
                    }
                }
                Some(Content::Items(texts))
            }
            (Check::Servers, Kind::Array(items)) => {
                let mut servers = Vec::new();
                for item in items {
                    let value = item.to_value();
                    if McpServerMatch::deserialize(&value).is_ok() {
                        servers.push((value, self.origin(item.span.start)));
                    } else {
                        let expected =
                            "an object with `serverName`, `serverCommand` or `serverUrl`";
                        self.unreadable(path, item, expected);
                    }
                }
                Some(Content::Items(servers))
            }
            (Check::Servers, _) => {
                self.unreadable(path, node, "a list of objects");
                None
            }
            (Check::Hooks, Kind::Array(groups)) => Some(Content::Items(
                groups
                    .iter()
                    .map(|group| (self.hook_group(path, group), self.origin(group.span.start)))
                    .collect(),
            )),
            (Check::Texts, _) => {
                self.unreadable(path, node, "a list of strings");
                None
            }
            (Check::Hooks, _) => {
                self.unreadable(path, node, "a list of hook groups");
                // The hook may have been meant to deny calls, so it must not disappear.
                let group = self.hook_group(path, node);
                Some(Content::Items(vec![(group, self.origin(node.span.start))]))
            }
        }
    }

    /// Returns a valid group of hooks. Invalid hooks are kept in a form that denies where hooks
    /// decide.
    fn hook_group(&mut self, path: &KeyPath, group: &Node) -> Value {
        let hooks = group.member("hooks").map(|member| &member.node);
        let matcher = group.member("matcher").map(|member| &member.node);
        let Some(Node { kind: Kind::Array(items), .. }) = hooks else {
            let reason =
                "expected a hook group: an object with a list `hooks` and an optional `matcher`";
            self.problem(Severity::Error, group.span.start, path, reason.to_owned());
            return serde_json::json!({ "hooks": [group.to_value()] });
        };
        let mut valid = serde_json::Map::new();
        match matcher.map(|node| (&node.kind, node)) {
            None | Some((Kind::Null, _)) => {}
            Some((Kind::String(text), _)) => {
                valid.insert("matcher".to_owned(), Value::from(text.as_str()));
            }
            // Without a matcher the group applies to every call, so it denies more, not less.
            Some((_, node)) => self.unreadable(&path.child("matcher"), node, "a string"),
        }
        for item in items {
            match HookDefinition::read(&item.to_value()) {
                // It does not run, so nothing about it matters.
                Ok(hook) if !hook.is_enabled() => {}
                Ok(HookDefinition::Unusable(hook)) => {
                    let message = format!("{}; the hook denies where hooks decide", hook.reason);
                    self.problem(Severity::Warning, item.span.start, path, message);
                }
                Ok(hook) => {
                    if let Some(message) = hook.timeout_warning() {
                        self.problem(Severity::Warning, item.span.start, path, message);
                    }
                }
                Err(reason) => self.problem(Severity::Error, item.span.start, path, reason),
            }
        }
        valid.insert("hooks".to_owned(), items.iter().map(Node::to_value).collect());
        Value::Object(valid)
    }

    /// Warns of `$ENV:` outside `apiKey`, where it is not replaced and most likely a mistake.
    fn warn_of_reference(&mut self, path: &KeyPath, node: &Node) {
        let Kind::String(text) = &node.kind else { return };
        let is_key = path.names().last().is_some_and(|name| name == "apiKey");
        if !is_key && robota_core::env_ref::is_env_reference(text) {
            let message = "`$ENV:` is replaced in `apiKey` only; here it is used literally";
            self.problem(Severity::Warning, node.span.start, path, message.to_owned());
        }
    }

    fn mismatch(&mut self, path: &KeyPath, node: &Node, mismatch: &Mismatch) {
        self.mark_restrictions(path);
        let mut at = node;
        let mut path = path.clone();
        for step in &mismatch.path {
            let (inner, name) = match (step, &at.kind) {
                (Step::Key(key), _) => (at.member(key).map(|member| &member.node), key.clone()),
                (Step::Index(index), Kind::Array(items)) => (items.get(*index), index.to_string()),
                (Step::Index(_), _) => (None, String::new()),
            };
            let Some(inner) = inner else { break };
            at = inner;
            path = path.child(&name);
        }
        // The text of serde may include the value, which may be a secret.
        let message = match &at.kind {
            // One or two characters are in many words of the message, and are no secret.
            Kind::String(text) if text.chars().count() > 2 => {
                mismatch.message.replace(text.as_str(), "…")
            }
            _ => mismatch.message.clone(),
        };
        self.problem(Severity::Error, at.span.start, &path, message);
    }

    fn unreadable(&mut self, path: &KeyPath, node: &Node, expected: &str) {
        self.mark_restrictions(path);
        let message = format!("expected {expected}, found {}", node.type_name());
        self.problem(Severity::Error, node.span.start, path, message);
    }

    /// Records that the restrictions are unknown if a key at the path can forbid, or is the list of models,
    /// which allows every model if it is absent.
    fn mark_restrictions(&mut self, path: &KeyPath) {
        self.checked.restrictions_unknown |= keys::may_forbid(path.names());
        let whole_file = path.names().is_empty() && self.layer == Layer::Managed;
        self.checked.models_unknown |= whole_file || path.names() == [MODELS];
    }

    fn problem(&mut self, severity: Severity, at: usize, path: &KeyPath, message: String) {
        // Counted: the user should know that there is more.
        if self.checked.problems.len() >= MAX_PROBLEMS {
            self.unreported += 1;
            return;
        }
        let key = (!path.names().is_empty()).then(|| path.clone());
        let origin = self.origin(at);
        self.checked.problems.push(Problem { severity, origin, key, message });
    }

    fn origin(&self, at: usize) -> Origin {
        let line = self.file.is_some().then(|| self.document.line(at));
        Origin { layer: self.layer, file: self.file.map(Path::to_path_buf), line }
    }
}
