//! Prints the results of tool calls.

use robota_core::event::{
    Envelope, Event, FilesChanging, HookFinished, ToolFinished, ToolResultAdded,
};
use robota_core::message::{BlobRef, ResultBlock, ToolResult};
use robota_tools::REFUSED;
use serde_json::Value;

use super::Projection;
use crate::headless::blocks;
use crate::headless::line_room;
use crate::headless::loaded::LoadedBlobs;
use crate::headless::structured;
use crate::headless::tool_output::{self, FinishedCall};
use robota_stream_json::{Block, ResultMeta, UserContent, UserLine};

impl Projection {
    /// Remembers the content of a file before a call changes it.
    pub(super) fn files_changing(&mut self, data: &FilesChanging) {
        // The output types have one `originalFile`, so a call that changes several files has none.
        if let (Some(call), [file]) = (self.calls.get_mut(&data.call), data.files.as_slice()) {
            call.before.clone_from(&file.before);
        }
    }

    /// Returns the blobs that the line of this event shows.
    pub(crate) fn wanted_blobs(&self, event: &Event) -> Vec<BlobRef> {
        let Event::ToolResultAdded(data) = event else { return Vec::new() };
        if !self.writer.is_on() {
            return Vec::new();
        }
        let images = data.result.content.iter().filter_map(|block| match block {
            ResultBlock::Image(image) => Some(image.blob.clone()),
            ResultBlock::Text(_) | ResultBlock::Unknown(_) => None,
        });
        let call = self.calls.get(&data.result.call);
        images.chain(call.and_then(|call| call.before.clone())).collect()
    }

    /// Takes the blobs that the next line shows.
    pub(crate) fn provide(&mut self, blobs: LoadedBlobs) {
        self.blobs = blobs;
    }

    /// Takes the outcome of a call, and counts attempts at a structured answer.
    pub(super) fn finished(&mut self, data: &ToolFinished) {
        if let Some(call) = self.calls.get_mut(&data.call) {
            call.duration_ms = data.duration_ms;
            call.blocks = data.outcome.content.len();
            // The host refused to answer the question of the model: no gate denied that call, but
            // hosts expect it among the denials.
            if data.outcome.error_code.as_deref() == Some(REFUSED) {
                self.record.denials.push((call.tool_use.clone(), data.outcome.text()));
            }
        }
        let Some(answer) = &self.structured else { return };
        let is_answer =
            self.calls.get(&data.call).is_some_and(|call| call.tool_use.name == structured::TOOL);
        if is_answer && data.outcome.error_code.as_deref() == Some("invalid_input") {
            self.record.structured_exhausted = answer.count_invalid();
        }
    }

    /// Takes what a hook decided: whether the turn ends, and which result a call has.
    pub(super) fn hook_finished(&mut self, data: &HookFinished) {
        if data.stop.is_some() {
            self.record.stopped.clone_from(&data.stop);
        }
        let call = data.call.as_ref().and_then(|call| self.calls.get_mut(call));
        if let (Some(call), Some(outcome)) = (call, &data.outcome) {
            call.blocks = outcome.content.len();
        }
    }

    pub(super) fn result(&mut self, data: &ToolResultAdded, envelope: &Envelope) {
        if !self.writer.is_on() {
            return;
        }
        let blobs = std::mem::take(&mut self.blobs);
        let result = &data.result;
        let call = self.calls.get(&result.call);
        let no_input = Value::Null;
        let before = call.and_then(|call| call.before.as_ref()).and_then(|blob| blobs.get(blob));
        let blocks = call.map_or(usize::MAX, |call| call.blocks);
        // What hooks add is for the model: it is no output of the tool.
        let of_tool = (blocks < result.content.len()).then(|| ToolResult {
            content: result.content.iter().take(blocks).cloned().collect(),
            ..ToolResult::clone(result)
        });
        let finished = FinishedCall {
            input: call
                .and_then(|call| call.input.as_ref().or_else(|| call.tool_use.input.json()))
                .unwrap_or(&no_input),
            result: of_tool.as_ref().unwrap_or(result),
            duration_ms: call.map_or(0, |call| call.duration_ms),
            before: before.and_then(|bytes| std::str::from_utf8(bytes).ok()),
            old_todos: &self.todos,
            cwd: &self.cwd,
            blobs: &blobs,
            agents: self.ended_agents.get(&result.call).map_or(&[], Vec::as_slice),
        };
        let (mut tool_use_result, failed) = finished.in_line();
        let decision = call.and_then(|call| call.decision);
        let meta = decision
            .map(|permission_decision| ResultMeta { id: result.public_id(), permission_decision });
        let id = self.writer.id();
        let mut block = blocks::of_result(result, &blobs);
        if let Block::ToolResult { is_error, .. } = &mut block {
            // The text stays that of the model; only hosts show a command that failed as an error.
            *is_error = failed;
        }
        line_room::fit(&mut tool_use_result, &block);
        let content = UserContent::Blocks(vec![block]);
        self.writer.print(&UserLine {
            tool_use_result: Some(tool_use_result),
            tool_result_meta: meta.into_iter().collect(),
            ..self.user_line(content, id.as_str(), envelope)
        });
        if let Some(list) = result.metadata.get("todos") {
            self.todos = tool_output::todos(Some(list));
        }
    }
}
