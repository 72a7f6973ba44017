//! Read: returns numbered lines of a text file, or an image.

use robota_core::ids::CallId;
use robota_core::message::{Image, ResultBlock};
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::arguments::{EarlyOutcome, parse, resolve, schema_of, whole_number};
use crate::blocking::blocking;
use crate::error::FileError;
use crate::file::{
    DEFAULT_LINES, ImageFile, Range, ResolvedPath, Window, open_file, read_image, read_open,
};
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str = "Reads a text file and returns its lines, each with its number and a \
    tab before it. Returns up to 2000 lines from the start; use offset and limit for other parts \
    of a long file. Shows images (PNG, JPEG, GIF, WebP). Read a file before you change it.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Absolute, or relative to the working directory.
    file_path: String,
    /// The first line to read, counted from 1.
    #[serde(default, deserialize_with = "whole_number")]
    offset: Option<u64>,
    /// How many lines to read.
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<u64>,
}

/// The Read tool.
pub struct Read {
    spec: ToolSpec,
    workspace: ToolWorkspace,
}

enum Content {
    Text(Window),
    Image(ImageFile),
}

impl Read {
    /// Creates the tool. It records in the workspace which files were read.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let spec = ToolSpec {
            name: "Read".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec, workspace: workspace.clone() }
    }

    async fn read(&self, input: Value, call: &CallId) -> Result<ToolOutcome, EarlyOutcome> {
        let input: Input = parse(input)?;
        let path = resolve(&self.workspace.cwd, &input.file_path)?;
        let path = self.workspace.granted(call, &path)?;
        let range = Range {
            offset: input.offset.unwrap_or(1),
            limit: input.limit.unwrap_or(DEFAULT_LINES),
        };
        let workspace = self.workspace.clone();
        let content = blocking(move || read_content(&workspace, &path, range)).await?;
        let outcome = match content {
            Content::Text(window) => {
                let outcome = ToolOutcome::ok(window.text).with_metadata("lines", window.lines);
                match window.total {
                    Some(total) => outcome.with_metadata("total_lines", total),
                    None => outcome,
                }
            }
            Content::Image(image) => self.image(&image).await,
        };
        Ok(outcome.with_metadata("file_path", input.file_path))
    }

    async fn image(&self, file: &ImageFile) -> ToolOutcome {
        let (kind, bytes) = (file.media_type, file.bytes.len());
        let text = format!("[image: {kind}, {bytes} bytes]\n");
        let Some(blobs) = &self.workspace.blobs else {
            let text = format!("{text}[images cannot be shown in this session]\n");
            return ToolOutcome::ok(text).with_metadata("media_type", kind);
        };
        match blobs.put(&file.bytes).await {
            Ok(blob) => {
                let image = Image { blob, media_type: kind.to_owned(), extra: Map::new() };
                let mut outcome = ToolOutcome::ok(text).with_metadata("media_type", kind);
                outcome.content.push(ResultBlock::Image(image));
                outcome
            }
            Err(error) => ToolOutcome::failed("io", format!("the image cannot be stored: {error}")),
        }
    }
}

fn read_content(
    workspace: &ToolWorkspace,
    path: &ResolvedPath,
    range: Range,
) -> Result<Content, FileError> {
    let (mut file, metadata) = open_file(path)?;
    if !workspace.may_read(path) {
        return Err(FileError::Denied { path: path.given.clone() });
    }
    if let Some(image) = read_image(&mut file, &path.given)? {
        return Ok(Content::Image(image));
    }
    let window = read_open(file, &path.given, &metadata, range)?;
    workspace.log.record(&path.target, window.stamp);
    Ok(Content::Text(window))
}

#[async_trait::async_trait]
impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        self.workspace.gate_file(call, input)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.read(input, &context.call).await.unwrap_or_else(|EarlyOutcome(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
