//! The sources that services name for the text of an answer. They are kept in the message as a block
//! after the text, in the service's own shape, and are never sent to a service.

use robota_core::message::Opaque;
use serde_json::Value;

/// Names blocks with citations of the Messages API.
pub(crate) const MESSAGES: &str = "anthropic-citations";
/// Names blocks with annotations of the Responses API.
pub(crate) const RESPONSES: &str = "responses-citations";
/// Names blocks with annotations of Chat Completions.
pub(crate) const CHAT: &str = "chat-citations";
/// Names blocks with grounding metadata of Gemini.
pub(crate) const GROUNDING: &str = "gemini-grounding";

/// The names of all blocks with sources.
pub(crate) const ALL: [&str; 4] = [MESSAGES, RESPONSES, CHAT, GROUNDING];

/// Names a source of the text of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Citation {
    /// The address of the source; empty if it is a document of the conversation.
    pub url: String,
    /// The title of the source; empty if the service does not send it.
    pub title: String,
    /// The text of the source that is cited, or the text of the answer that cites it; empty if the
    /// service does not send it.
    pub text: String,
    /// The citation as the service sent it, if it is in the shape of the Messages API.
    pub original: Option<Value>,
}

/// Returns the sources in a block; `None` if the block has other content.
///
/// ```
/// use robota_core::message::Opaque;
/// use robota_providers::citations;
/// use serde_json::{Map, json};
///
/// let value = json!([{"type": "url_citation", "url": "https://e.test", "title": "T"}]);
/// let block = Opaque { wire: "responses-citations".to_owned(), value, extra: Map::new() };
/// let found = citations(&block, "").unwrap_or_default();
/// assert_eq!(found[0].url, "https://e.test");
/// ```
#[must_use]
pub fn citations(block: &Opaque, text: &str) -> Option<Vec<Citation>> {
    let items = || block.value.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    match block.wire.as_str() {
        MESSAGES => Some(items().map(of_messages).collect()),
        RESPONSES => Some(items().map(|item| annotation(item, text)).collect()),
        CHAT => Some(
            // Chat nests the fields one level deeper than Responses.
            items()
                .map(|item| annotation(item.get("url_citation").unwrap_or(item), text))
                .collect(),
        ),
        GROUNDING => Some(grounding(&block.value)),
        _ => None,
    }
}

fn field(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn of_messages(item: &Value) -> Citation {
    let title = ["title", "document_title"].map(|name| field(item, name));
    Citation {
        url: field(item, "url"),
        title: title.into_iter().find(|title| !title.is_empty()).unwrap_or_default(),
        text: field(item, "cited_text"),
        original: Some(item.clone()),
    }
}

/// Returns an annotation: the part of the answer that it is about is counted in characters.
fn annotation(item: &Value, text: &str) -> Citation {
    let index = |name: &str| item.get(name)?.as_u64().and_then(|at| usize::try_from(at).ok());
    let part = match (index("start_index"), index("end_index")) {
        (Some(start), Some(end)) if start < end => {
            text.chars().skip(start).take(end - start).collect()
        }
        _ => String::new(),
    };
    Citation { url: field(item, "url"), title: field(item, "title"), text: part, original: None }
}

/// Returns one citation for each source of each supported part of the answer, and one for each
/// source that supports no part.
fn grounding(value: &Value) -> Vec<Citation> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let sources: Vec<_> = list(value.get("groundingChunks"))
        .iter()
        .map(|chunk| {
            let web = chunk.get("web").or_else(|| chunk.get("retrievedContext"));
            let web = web.cloned().unwrap_or_default();
            (field(&web, "uri"), field(&web, "title"))
        })
        .collect();
    let mut used = vec![false; sources.len()];
    let mut found = Vec::new();
    let citation = |(url, title): &(String, String), text: String| Citation {
        url: url.clone(),
        title: title.clone(),
        text,
        original: None,
    };
    for support in list(value.get("groundingSupports")) {
        let text = support.pointer("/segment/text").and_then(Value::as_str).unwrap_or_default();
        for index in list(support.get("groundingChunkIndices")) {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            let Some(index) = index.filter(|index| *index < sources.len()) else { continue };
            if let (Some(source), Some(used)) = (sources.get(index), used.get_mut(index)) {
                *used = true;
                found.push(citation(source, text.to_owned()));
            }
        }
    }
    let unused = sources.iter().zip(used).filter(|(_, used)| !used);
    found.extend(unused.map(|(source, _)| citation(source, String::new())));
    found
}

#[cfg(test)]
mod tests;
