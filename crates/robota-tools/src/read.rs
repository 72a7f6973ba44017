//! Read: returns numbered lines of a text file, an image, or a short PDF file.

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::ids::CallId;
use robota_core::message::{Image, ResultBlock};
use robota_core::permission::Class;
use robota_core::tool::{InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec, shared_spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::arguments::{EarlyOutcome, HiddenArguments, parse, resolve, schema_of, whole_number};
use crate::blocking::blocking;
use crate::error::FileError;
use crate::file::{
    DEFAULT_LINES, ImageFile, PdfFile, Range, ResolvedPath, Window, is_pdf, open_file, read_image,
    read_open, read_pdf, read_text,
};
use crate::tool_workspace::ToolWorkspace;

const DESCRIPTION: &str = "Reads a text file and returns its lines, each with its number and a \
    tab before it. Returns up to 2000 lines from the start; use offset and limit for other parts \
    of a long file. Shows images (PNG, JPEG, GIF, WebP) and short PDF files. Read a file before you change it.";

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
    /// Pages of a PDF file, such as `1-5`. Only whole files are shown; the error says how to read the
    /// pages.
    #[serde(default)]
    pages: Option<String>,
}

/// The tool Read: returns lines of a text file, an image, or a PDF file.
pub struct Read {
    spec: Arc<ToolSpec>,
    hidden: HiddenArguments,
    workspace: ToolWorkspace,
}

enum Content {
    Text(Window),
    Image(ImageFile),
    Pdf(PdfFile),
}

impl Read {
    /// Creates the tool. It records in the workspace which files were read.
    #[must_use]
    pub fn new(workspace: &ToolWorkspace) -> Self {
        let mut spec = ToolSpec {
            name: "Read".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        let hidden = HiddenArguments::of(&mut spec, &["pages"]);
        Self { spec: shared_spec(spec), hidden, workspace: workspace.clone() }
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
        let pages = input.pages;
        let unsaved = match &workspace.editor {
            // Asked before the file is opened, because a blocking thread cannot wait for the
            // editor.
            Some(editor) => editor.read(&path.given).await,
            None => None,
        };
        let content = blocking(move || {
            read_content(&workspace, &path, range, pages.as_deref(), unsaved.as_deref())
        })
        .await?;
        let outcome = match content {
            Content::Text(window) => {
                let outcome = ToolOutcome::ok(window.text).with_metadata("lines", window.lines);
                match window.total {
                    Some(total) => outcome.with_metadata("total_lines", total),
                    None => outcome,
                }
            }
            Content::Image(image) => self.image(&image).await,
            Content::Pdf(pdf) => self.pdf(&pdf).await,
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
        attach(&**blobs, (text, kind), &file.bytes).await
    }

    async fn pdf(&self, file: &PdfFile) -> ToolOutcome {
        let (pages, bytes) = (file.pages, file.bytes.len());
        // Not every service takes documents.
        let text = format!(
            "[PDF file: {pages} pages, {bytes} bytes; if it is not shown, the command \
             `pdftotext -layout FILE -` prints its text]\n"
        );
        match &self.workspace.blobs {
            Some(blobs) => attach(&**blobs, (text, "application/pdf"), &file.bytes).await,
            None => ToolOutcome::ok(text),
        }
    }
}

/// Returns an outcome with a file that models see.
async fn attach(
    blobs: &dyn Blobs,
    (text, kind): (String, &'static str),
    bytes: &[u8],
) -> ToolOutcome {
    match blobs.put(bytes).await {
        Ok(blob) => {
            let image = Image { blob, media_type: kind.to_owned(), extra: Map::new() };
            let mut outcome = ToolOutcome::ok(text).with_metadata("media_type", kind);
            outcome.content.push(ResultBlock::Image(image));
            outcome
        }
        Err(error) => ToolOutcome::failed("io", format!("the file cannot be stored: {error}")),
    }
}

fn read_content(
    workspace: &ToolWorkspace,
    path: &ResolvedPath,
    range: Range,
    pages: Option<&str>,
    unsaved: Option<&str>,
) -> Result<Content, FileError> {
    let (mut file, metadata) = open_file(path)?;
    // The gate judged the argument of the call; this is about the file that was found.
    if !workspace.may_read(path) {
        return Err(FileError::Denied { path: path.given.clone() });
    }
    if let Some(image) = read_image(&mut file, &path.given)? {
        return Ok(Content::Image(image));
    }
    if is_pdf(&mut file).map_err(FileError::io("read", &path.given))? {
        if pages.is_none()
            && workspace.blobs.is_some()
            && let Some(pdf) = read_pdf(&mut file).map_err(FileError::io("read", &path.given))?
        {
            return Ok(Content::Pdf(pdf));
        }
        let range = pages.map(page_options).unwrap_or_default();
        return Err(FileError::Pdf { path: path.given.clone(), range });
    }
    // Later changes are compared with the file, not with what the editor shows.
    let saved = if unsaved.is_some() { Range { offset: 1, limit: 1 } } else { range };
    let window = read_open(file, &path.given, &metadata, saved)?;
    workspace.log.record(&path.target, window.stamp);
    match unsaved {
        Some(text) => Ok(Content::Text(read_text(text, &path.given, &metadata, range)?)),
        None => Ok(Content::Text(window)),
    }
}

/// Returns the options of `pdftotext` for pages such as `3`, `1-5` or `10-`; none if the text is
/// something else.
fn page_options(pages: &str) -> String {
    let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match (number(first), number(last)) {
        (Some(first), Some(last)) => format!(" -f {first} -l {last}"),
        (Some(first), None) if last.trim().is_empty() => format!(" -f {first}"),
        _ => String::new(),
    }
}

#[async_trait::async_trait]
impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.hidden.check(input)
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
