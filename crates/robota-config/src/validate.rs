//! From a parsed file to its entries: one per key, each checked against the table.

use std::path::Path;

use robota_core::hook::HookEvent;
use serde_json::Value;

use crate::json::{Document, Kind, Member, Node};
use crate::keys::{self, Check, Found, KeyRule, Mismatch, Step};
use crate::layer::{Layer, Origin};
use crate::model::HookDefinition;
use crate::path::KeyPath;
use crate::report::{Problem, Severity};

/// A file that is wrong throughout must not fill the screen.
const MOST_PROBLEMS: usize = 50;

/// One key of one layer.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) path: KeyPath,
    /// Its row of the table; none for a key that is not known.
    pub(crate) rule: Option<&'static KeyRule>,
    pub(crate) content: Content,
    pub(crate) origin: Origin,
    /// Whether the same key stands in the file again, further down.
    pub(crate) repeated: bool,
}

/// What an entry says.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// One value.
    Whole(Value),
    /// A list whose items count one by one.
    Items(Vec<(Value, Origin)>),
}

impl Content {
    /// Whether it is a list without items, which says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Items(items) if items.is_empty())
    }

    /// As one value.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Whole(value) => value.clone(),
            Self::Items(items) => items.iter().map(|(value, _)| value.clone()).collect(),
        }
    }
}

/// What a file says, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checked {
    pub(crate) entries: Vec<Entry>,
    pub(crate) problems: Vec<Problem>,
    /// Whether something that forbids cannot be read: then it is not known what is forbidden.
    pub(crate) forbids_unknown: bool,
}

/// Checks a file.
pub(crate) fn check(document: &Document, layer: Layer, file: Option<&Path>) -> Checked {
    let mut walk = Walk { document, layer, file, checked: Checked::default(), more: 0 };
    match &document.root.kind {
        Kind::Object(members) => walk.object(members, &KeyPath::default(), false),
        _ => walk.unreadable(&KeyPath::default(), &document.root, "an object"),
    }
    let more = walk.more;
    if more > 0 {
        let origin = Origin { layer, file: file.map(Path::to_path_buf), line: None };
        let message = format!("and {more} more problems");
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
    more: usize,
}

impl Walk<'_> {
    fn object(&mut self, members: &[Member], path: &KeyPath, repeated: bool) {
        let mut seen = std::collections::HashMap::new();
        for (at, member) in members.iter().enumerate() {
            seen.insert(member.key.as_str(), at);
        }
        for (at, member) in members.iter().enumerate() {
            let path = path.child(&member.key);
            let again = seen.get(member.key.as_str()).is_some_and(|last| *last != at);
            if again {
                let message = "the key stands here more than once; the last one counts, and \
                               whatever any of them forbids";
                self.problem(Severity::Warning, member.key_at, &path, message.to_owned());
            }
            self.member(member, &path, repeated || again);
        }
    }

    fn member(&mut self, member: &Member, path: &KeyPath, repeated: bool) {
        let node = &member.node;
        // Many programs write `null` for "not set".
        if matches!(node.kind, Kind::Null) || path.names() == ["$schema"] {
            return;
        }
        if !self.name_fits(member, path) {
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
                let message = "this key is not known; it is kept and does nothing".to_owned();
                self.problem(Severity::Warning, member.key_at, path, message);
                self.push(member, path, None, Content::Whole(node.to_value()), repeated);
            }
        }
    }

    /// Two objects have names that mean something by themselves.
    fn name_fits(&mut self, member: &Member, path: &KeyPath) -> bool {
        match path.names() {
            [outer, name] if outer == "env" && !keys::is_variable_name(name) => {
                let message = "this cannot be the name of a variable".to_owned();
                self.problem(Severity::Error, member.key_at, path, message);
                false
            }
            [outer, name] if outer == "hooks" && !keys::HOOK_EVENTS.contains(&name.as_str()) => {
                let message = "there is no such event, so these hooks never run".to_owned();
                self.problem(Severity::Warning, member.key_at, path, message);
                true
            }
            [outer, name] if outer == "hooks" && name.parse::<HookEvent>().is_err() => {
                let message = "this version has no such event, so these hooks never run".to_owned();
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
            (Check::Type(fits), _) => {
                let value = node.to_value();
                match fits(&value) {
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
                // It may have kept something from happening, so it does not just go away.
                let kept = self.hook_group(path, node);
                Some(Content::Items(vec![(kept, self.origin(node.span.start))]))
            }
        }
    }

    /// A group of hooks, with those that are not well-formed in a form that is: they are kept,
    /// and refuse where hooks decide.
    fn hook_group(&mut self, path: &KeyPath, group: &Node) -> Value {
        let hooks = group.member("hooks").map(|member| &member.node);
        let matcher = group.member("matcher").map(|member| &member.node);
        let Some(Node { kind: Kind::Array(items), .. }) = hooks else {
            let reason = "a group has a list of `hooks`, and may have a `matcher`";
            self.problem(Severity::Error, group.span.start, path, reason.to_owned());
            return serde_json::json!({ "hooks": [group.to_value()] });
        };
        let mut kept = serde_json::Map::new();
        match matcher.map(|node| (&node.kind, node)) {
            None | Some((Kind::Null, _)) => {}
            Some((Kind::String(text), _)) => {
                kept.insert("matcher".to_owned(), Value::from(text.as_str()));
            }
            // Without a matcher it is for everything: more is refused, not less.
            Some((_, node)) => self.unreadable(&path.child("matcher"), node, "a string"),
        }
        for item in items {
            match HookDefinition::read(&item.to_value()) {
                Ok(HookDefinition::Unusable(hook)) => {
                    let message = format!("{}; where hooks decide, it refuses", hook.reason);
                    self.problem(Severity::Warning, item.span.start, path, message);
                }
                Ok(_) => {}
                Err(reason) => self.problem(Severity::Error, item.span.start, path, reason),
            }
        }
        kept.insert("hooks".to_owned(), items.iter().map(Node::to_value).collect());
        Value::Object(kept)
    }

    /// `$ENV:` means something in `apiKey` only; elsewhere it is most likely a mistake.
    fn warn_of_reference(&mut self, path: &KeyPath, node: &Node) {
        let Kind::String(text) = &node.kind else { return };
        let is_key = path.names().last().is_some_and(|name| name == "apiKey");
        if !is_key && robota_core::env_ref::is_env_reference(text) {
            let message = "`$ENV:` is replaced in `apiKey` only; here it stays as it is";
            self.problem(Severity::Warning, node.span.start, path, message.to_owned());
        }
    }

    fn mismatch(&mut self, path: &KeyPath, node: &Node, mismatch: &Mismatch) {
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
        // What serde says may repeat the value, and the value may be a secret.
        let message = match &at.kind {
            Kind::String(text) if !text.is_empty() => mismatch.message.replace(text.as_str(), "…"),
            _ => mismatch.message.clone(),
        };
        self.forbids_unknown(&path);
        self.problem(Severity::Error, at.span.start, &path, message);
    }

    fn unreadable(&mut self, path: &KeyPath, node: &Node, due: &str) {
        self.forbids_unknown(path);
        let message = format!("{due} is due here, not {}", node.type_name());
        self.problem(Severity::Error, node.span.start, path, message);
    }

    fn forbids_unknown(&mut self, path: &KeyPath) {
        self.checked.forbids_unknown |= keys::may_forbid(path.names());
    }

    fn problem(&mut self, severity: Severity, at: usize, path: &KeyPath, message: String) {
        if self.checked.problems.len() >= MOST_PROBLEMS {
            self.more += 1;
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
