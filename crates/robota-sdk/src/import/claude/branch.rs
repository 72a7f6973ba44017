//! Finds the active branch of a transcript.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::import::lines::text;

/// The lines of a transcript as a tree.
pub(super) struct Tree<'a> {
    lines: &'a [Value],
    by_uuid: HashMap<&'a str, usize>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(lines: &'a [Value]) -> Self {
        let mut by_uuid = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(uuid) = text(line, "uuid") {
                // A line that was written twice counts once.
                by_uuid.entry(uuid).or_insert(at);
            }
        }
        Self { lines, by_uuid }
    }

    /// Returns the positions of the messages of the active branch, in order.
    pub(super) fn active(&self) -> Vec<usize> {
        let mut branch = Vec::new();
        let mut visited = HashSet::new();
        let mut next = self.leaf();
        // A damaged file can contain a loop.
        while let Some(at) = next.filter(|at| visited.insert(*at)) {
            branch.push(at);
            next = self.parent(at);
        }
        branch.reverse();
        let branch = self.with_parallel_lines(branch);
        branch.into_iter().filter(|at| self.is_message(*at)).collect()
    }

    /// Returns the last message; a `last-prompt` line after it may name an earlier one, to which the
    /// user went back.
    fn leaf(&self) -> Option<usize> {
        let last = (0..self.lines.len()).rev().find(|at| self.is_message(*at))?;
        let pinned = self.lines[last..].iter().rev().find_map(|line| {
            let leaf = text(line, "leafUuid").filter(|_| text(line, "type") == Some("last-prompt"));
            self.by_uuid.get(leaf?).copied()
        });
        Some(pinned.unwrap_or(last))
    }

    fn parent(&self, at: usize) -> Option<usize> {
        let line = &self.lines[at];
        // A compaction begins a new tree: its `parentUuid` is null, and the logical parent leads to
        // the lines before.
        let named = text(line, "parentUuid").or_else(|| text(line, "logicalParentUuid"));
        match named {
            Some(uuid) => self.by_uuid.get(uuid).copied().or_else(|| self.before(at)),
            None if self.is_boundary(at) => self.before(at),
            None => None,
        }
    }

    /// Returns the message before a line: the best guess where the parent is a line that was lost.
    fn before(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|at| self.is_message(*at))
    }

    /// Adds the lines of parallel calls: an answer's other blocks, and results of its calls that are
    /// on side branches.
    fn with_parallel_lines(&self, branch: Vec<usize>) -> Vec<usize> {
        let answer = |at: usize| {
            let line = &self.lines[at];
            text(line.get("message")?, "id").filter(|_| text(line, "type") == Some("assistant"))
        };
        let on_branch: HashSet<usize> = branch.iter().copied().collect();
        let answers: HashSet<&str> = branch.iter().filter_map(|at| answer(*at)).collect();
        let mut blocks: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut calls: HashMap<&str, &str> = HashMap::new();
        for at in (0..self.lines.len()).filter(|at| self.is_message(*at)) {
            let Some(id) = answer(at).filter(|id| answers.contains(id)) else { continue };
            for call in self.content(at).filter_map(|block| text(block, "id")) {
                calls.insert(call, id);
            }
            if !on_branch.contains(&at) {
                blocks.entry(id).or_default().push(at);
            }
        }
        for at in (0..self.lines.len()).filter(|at| self.is_message(*at)) {
            let mut results = self.content(at).filter_map(|block| text(block, "tool_use_id"));
            if let Some(id) =
                results.find_map(|call| calls.get(call)).filter(|_| !on_branch.contains(&at))
            {
                blocks.entry(id).or_default().push(at);
            }
        }
        let mut all = Vec::with_capacity(branch.len());
        for at in branch {
            all.push(at);
            if let Some(more) = answer(at).and_then(|id| blocks.remove(id)) {
                all.extend(more);
            }
        }
        all
    }

    /// Returns the positions of the compactions that belong to the active branch, in order.
    pub(super) fn boundaries(&self, active: &[usize]) -> Vec<usize> {
        let end = active.iter().max().copied().unwrap_or_default();
        let on_branch = |at: &usize| {
            let uuid = text(&self.lines[*at], "uuid");
            let is_parent =
                |at: &usize| uuid.is_some() && text(&self.lines[*at], "parentUuid") == uuid;
            let kept = self.lines[*at].pointer("/compactMetadata/preservedMessages/uuids");
            let mut kept = kept.and_then(Value::as_array).into_iter().flatten();
            active.iter().any(is_parent)
                || kept.any(|uuid| {
                    let at = uuid.as_str().and_then(|uuid| self.by_uuid.get(uuid));
                    at.is_some_and(|at| active.contains(at))
                })
                // The conversation may end with a compaction, which no message follows.
                || *at > end
        };
        (0..self.lines.len()).filter(|at| self.is_boundary(*at)).filter(on_branch).collect()
    }

    fn content(&self, at: usize) -> impl Iterator<Item = &'a Value> {
        let content = self.lines[at].pointer("/message/content").and_then(Value::as_array);
        content.into_iter().flatten()
    }

    fn is_message(&self, at: usize) -> bool {
        let line = &self.lines[at];
        matches!(text(line, "type"), Some("user" | "assistant"))
            && line.get("isSidechain") != Some(&Value::Bool(true))
            && line.get("message").is_some()
    }

    fn is_boundary(&self, at: usize) -> bool {
        let line = &self.lines[at];
        text(line, "type") == Some("system")
            && text(line, "subtype") == Some("compact_boundary")
            && line.get("isSidechain") != Some(&Value::Bool(true))
    }
}
