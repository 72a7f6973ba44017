//! What a server has changed since the user approved it, for people who decide about it.

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::catalog::{Catalog, ToolChanges, ToolDefinition};
use crate::text::visible;

/// How many bytes of a review are written for people; the data has everything.
const MAX_WRITTEN: usize = 64 * 1024;
/// How many characters of the hash are shown.
const HASH: usize = 16;

/// What waits for the approval of the user: each tool and text as it was approved and as it is now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeReview {
    /// Names exactly what the server offers now. An approval with it approves nothing else.
    pub hash: String,
    /// The tools that are new or differ.
    pub tools: Vec<ToolReview>,
    /// The instructions for models; none if they are the same.
    pub instructions: Option<InstructionsReview>,
}

/// A tool that is new or differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolReview {
    /// The name that the server knows.
    pub name: String,
    /// The approved definition; none if the tool is new.
    pub approved: Option<ToolDefinition>,
    /// The definition that the server sends now, which an approval would accept.
    pub now: ToolDefinition,
}

/// Instructions for models that differ from those that the user approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstructionsReview {
    /// The approved text; none if there was none.
    pub approved: Option<String>,
    /// The text of the server; none if it has none now.
    pub now: Option<String>,
}

impl ChangeReview {
    /// Compares what was approved with what a server offers; none if nothing needs approval.
    pub(crate) fn between(approved: &Catalog, now: &Catalog) -> Option<Self> {
        let changes = ToolChanges::between(approved, now);
        if !changes.need_approval() {
            return None;
        }
        let find = |name: &str| approved.tools.iter().find(|tool| tool.name() == name).cloned();
        let concerned = now.tools.iter().filter(|tool| changes.concern(tool.name()));
        let tools = concerned.map(|tool| ToolReview {
            name: tool.name().to_owned(),
            approved: find(tool.name()),
            now: tool.clone(),
        });
        let instructions = changes.instructions.then(|| InstructionsReview {
            approved: approved.instructions.clone(),
            now: now.instructions.clone(),
        });
        Some(Self { hash: hash(now), tools: tools.collect(), instructions })
    }

    /// Writes the changes for people: lines with `-` were approved, lines with `+` are new. Characters
    /// that are not shown, or that change how others are shown, are written as their codes.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let (mut written, mut left_out) = (0, 0);
        let tools = self.tools.iter().map(ToolReview::lines);
        let instructions = self.instructions.iter().map(InstructionsReview::lines);
        for part in tools.chain(instructions) {
            let bytes: usize = part.iter().map(String::len).sum();
            // Whole parts only: the end of a text may be what matters.
            if written + bytes > MAX_WRITTEN {
                left_out += 1;
            } else {
                written += bytes;
                lines.extend(part);
            }
        }
        if left_out > 0 {
            lines.push(format!(
                "{left_out} more changes are too long to be shown here; `robota mcp get NAME --json` \
                 prints them"
            ));
        }
        lines
    }
}

impl ToolReview {
    fn lines(&self) -> Vec<String> {
        let name = visible(&self.name);
        let mut lines = match self.approved {
            Some(_) => vec![format!("changed tool, waiting for approval: {name}")],
            None => vec![format!("new tool, waiting for approval: {name}")],
        };
        let null = Value::Null;
        let (approved, now) = (self.approved.as_ref().map_or(&null, |it| it.raw()), self.now.raw());
        let fields = [approved, now].into_iter().filter_map(Value::as_object).flatten();
        let mut fields: Vec<_> = fields.map(|(field, _)| field).collect();
        fields.sort();
        fields.dedup();
        // The name is in the heading.
        for field in fields.into_iter().filter(|field| *field != "name") {
            let (before, after) = (text_of(approved.get(field)), text_of(now.get(field)));
            if before != after {
                lines.push(format!("  {}", visible(field)));
                lines.extend(difference(&before, &after));
            }
        }
        lines
    }
}

impl InstructionsReview {
    fn lines(&self) -> Vec<String> {
        let mut lines = vec!["changed instructions for models, waiting for approval:".to_owned()];
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        lines.extend(difference(&text(&self.approved), &text(&self.now)));
        lines
    }
}

/// Returns the hash of everything that an approval of a server approves.
fn hash(catalog: &Catalog) -> String {
    let tools: Vec<_> = catalog.tools.iter().map(ToolDefinition::hash).collect();
    let all = json!([tools, catalog.instructions]).to_string();
    let mut hash = robota_core::hash::hex(&Sha256::digest(all.as_bytes()));
    hash.truncate(HASH);
    hash
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

/// Returns the lines that differ: what two texts have in common at both ends is left out.
fn difference(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let start = same(&mut before.iter().zip(&after));
    let rest = before.len().min(after.len()) - start;
    let end = same(&mut before.iter().rev().zip(after.iter().rev()).take(rest));
    let part = |lines: &[&str], sign: &str| -> Vec<String> {
        let lines = lines.get(start..lines.len() - end).unwrap_or_default();
        lines.iter().map(|line| format!("    {sign} {}", visible(line))).collect()
    };
    [part(&before, "-"), part(&after, "+")].concat()
}

#[cfg(test)]
mod tests;
