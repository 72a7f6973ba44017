//! Finds calls in streamed text.

use std::sync::Arc;

use robota_core::tool::ToolSpec;
use serde_json::Value;

use super::{gemma, parse};
use crate::profile::TextCallForm;

/// A longer call is treated as text.
const MAX_CALL_LEN: usize = 512 << 10;

/// Text or a call, in the order of the stream.
#[derive(Debug, PartialEq)]
pub(super) enum ScanItem {
    Text(String),
    Call { name: String, input: Value },
}

/// The opening and closing marks of one form.
struct Mark {
    form: TextCallForm,
    open: &'static str,
    /// `None`: the call extends to the end of the answer.
    close: Option<&'static str>,
}

fn marks(form: TextCallForm) -> &'static [Mark] {
    use TextCallForm as F;
    macro_rules! marks {
        ($form:ident, $open:literal, $close:expr) => {
            &[Mark { form: F::$form, open: $open, close: $close }]
        };
    }
    match form {
        F::ToolCallTag => marks!(ToolCallTag, "<tool_call>", Some("</tool_call>")),
        F::FunctionXml => marks!(FunctionXml, "<function=", Some("</function>")),
        F::Gemma => marks!(Gemma, "<|tool_call>", Some("<tool_call|>")),
        F::FunctionGemma => {
            marks!(FunctionGemma, "<start_function_call>", Some("<end_function_call>"))
        }
        F::ToolCallsToken => marks!(ToolCallsToken, "[TOOL_CALLS]", None),
        F::Fenced => &[
            Mark { form: F::Fenced, open: "```json\n", close: Some("```") },
            Mark { form: F::Fenced, open: "```tool_call\n", close: Some("```") },
        ],
    }
}

/// Splits streamed text into calls and other text.
pub(super) struct Scanner {
    marks: Vec<&'static Mark>,
    tools: Arc<[ToolSpec]>,
    /// Text that may be the start of a call, or that is inside one.
    buffer: String,
    inside: Option<&'static Mark>,
    /// The offset from which to search for the closing mark.
    search_from: usize,
    /// Whether leading white space separates two calls and is dropped.
    after_call: bool,
    at_line_start: bool,
    pub(super) items: Vec<ScanItem>,
}

impl Scanner {
    pub(super) fn new(forms: &[TextCallForm], tools: Arc<[ToolSpec]>) -> Self {
        // Without tools nothing can be a call, and text need not be held back.
        let marks = if tools.is_empty() {
            Vec::new()
        } else {
            forms.iter().flat_map(|form| marks(*form)).collect()
        };
        Self {
            marks,
            tools,
            buffer: String::new(),
            inside: None,
            search_from: 0,
            after_call: false,
            at_line_start: true,
            items: Vec::new(),
        }
    }

    /// Adds text. With `plain`, the text is not parsed for calls.
    pub(super) fn push(&mut self, text: &str, plain: bool) {
        if text.is_empty() {
            return;
        }
        if self.marks.is_empty() || (plain && self.buffer.is_empty()) {
            return self.push_text(text.to_owned());
        }
        self.buffer.push_str(text);
        self.run(plain, false);
    }

    /// Ends the text for now: the buffered rest is emitted.
    pub(super) fn finish(&mut self, plain: bool) {
        self.run(plain, true);
        let rest = std::mem::take(&mut self.buffer);
        self.inside = None;
        self.push_text(rest);
    }

    fn run(&mut self, plain: bool, last: bool) {
        loop {
            if plain {
                let rest = std::mem::take(&mut self.buffer);
                self.inside = None;
                return self.push_text(rest);
            }
            let Some(mark) = self.inside else {
                if !self.find_call_start(last) {
                    return;
                }
                continue;
            };
            if !self.try_parse_call(mark, last) {
                return;
            }
        }
    }

    /// Emits text up to a possible start of a call. Returns whether a call starts.
    fn find_call_start(&mut self, last: bool) -> bool {
        let mut from = 0;
        let begin = loop {
            let next = self
                .marks
                .iter()
                .filter_map(|mark| Some((self.buffer.get(from..)?.find(mark.open)? + from, *mark)))
                .min_by_key(|(at, _)| *at);
            match next {
                // A fence counts only at the start of a line.
                Some((at, mark)) if mark.form == TextCallForm::Fenced && !self.begins_line(at) => {
                    from = at + 1;
                }
                other => break other,
            }
        };
        match begin {
            Some((at, mark)) => {
                let before: String = self.buffer.drain(..at).collect();
                self.push_text(before);
                self.inside = Some(mark);
                self.search_from = mark.open.len();
                true
            }
            None => {
                let opens: Vec<_> = self.marks.iter().map(|mark| mark.open).collect();
                let keep = if last { 0 } else { partial_mark_len(&self.buffer, &opens) };
                let end = self.buffer.len() - keep;
                let before: String = self.buffer.drain(..end).collect();
                self.push_text(before);
                false
            }
        }
    }

    fn begins_line(&self, at: usize) -> bool {
        match self.buffer.get(..at) {
            None | Some("") => self.at_line_start,
            Some(before) => before.ends_with('\n'),
        }
    }

    /// Parses the call if its closing mark has arrived. Returns whether the scan can continue.
    fn try_parse_call(&mut self, mark: &'static Mark, last: bool) -> bool {
        let end = match mark.close {
            Some(close) => self
                .buffer
                .get(self.search_from..)
                .and_then(|rest| rest.find(close))
                .map(|at| (self.search_from + at, close.len())),
            None => None,
        };
        let (end, length) = match end {
            Some(end) => end,
            None if last => (self.buffer.len(), 0),
            None if self.buffer.len() > MAX_CALL_LEN => return self.treat_as_text(mark),
            None => {
                // The closing mark may be split across chunks.
                let close = mark.close.map_or(0, str::len);
                let search_from = self.buffer.len().saturating_sub(close).max(mark.open.len());
                self.search_from = floor_char_boundary(&self.buffer, search_from);
                return false;
            }
        };
        let body = &self.buffer[mark.open.len().min(end)..end];
        let calls = match mark.form {
            TextCallForm::ToolCallTag => parse::tagged(body, &self.tools),
            TextCallForm::FunctionXml => {
                parse::xml(&self.buffer[..end + length], &self.tools).map(|call| vec![call])
            }
            TextCallForm::Gemma => gemma::call(body, "<|\"|>").map(|call| vec![call]),
            TextCallForm::FunctionGemma => gemma::call(body, "<escape>").map(|call| vec![call]),
            TextCallForm::ToolCallsToken => parse::token(body),
            TextCallForm::Fenced => parse::json_calls(body),
        };
        let offered = |name: &String| self.tools.iter().any(|tool| tool.name == *name);
        match calls {
            // A name that was not offered is text that looks like a call, such as an example in an
            // answer.
            Some(calls) if !calls.is_empty() && calls.iter().all(|(name, _)| offered(name)) => {
                self.buffer.drain(..end + length);
                self.inside = None;
                self.after_call = true;
                self.at_line_start = true;
                let calls = calls.into_iter().map(|(name, input)| ScanItem::Call { name, input });
                self.items.extend(calls);
                true
            }
            // The closing mark may be part of an argument, if the JSON is still incomplete.
            _ if length > 0
                && !last
                && parse::is_incomplete_json(body)
                && self.buffer.len() < MAX_CALL_LEN =>
            {
                self.search_from = end + length;
                true
            }
            _ => self.treat_as_text(mark),
        }
    }

    /// Treats the opening mark as text and scans what follows again.
    fn treat_as_text(&mut self, mark: &'static Mark) -> bool {
        self.inside = None;
        let text: String = self.buffer.drain(..mark.open.len().min(self.buffer.len())).collect();
        self.push_text(text);
        true
    }

    fn push_text(&mut self, text: String) {
        let text = if self.after_call {
            let trimmed = text.trim_start();
            if trimmed.is_empty() {
                return;
            }
            trimmed.to_owned()
        } else {
            text
        };
        if text.is_empty() {
            return;
        }
        self.after_call = false;
        self.at_line_start = text.ends_with('\n');
        match self.items.last_mut() {
            Some(ScanItem::Text(before)) => before.push_str(&text),
            _ => self.items.push(ScanItem::Text(text)),
        }
    }
}

/// Returns how many bytes at the end of a text may be the start of one of the marks.
pub(super) fn partial_mark_len(text: &str, marks: &[&str]) -> usize {
    let longest = |mark: &&str| {
        (1..mark.len())
            .rev()
            .find(|length| mark.get(..*length).is_some_and(|part| text.ends_with(part)))
    };
    marks.iter().filter_map(longest).max().unwrap_or(0)
}

/// Returns the last character boundary at or before a position.
fn floor_char_boundary(text: &str, mut at: usize) -> usize {
    while at > 0 && !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
