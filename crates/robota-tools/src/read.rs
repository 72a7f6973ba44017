//! Read: lines of a text file, numbered; or a picture.

use std::path::{Path, PathBuf};

use robota_core::message::{Image, ResultBlock};
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::arguments::{Early, parse, resolve, schema_of, whole_number};
use crate::blocking::blocking;
use crate::error::FileError;
use crate::file::{DEFAULT_LINES, Picture, Range, Window, open_file, read_image, read_open};
use crate::workplace::Workplace;

const DESCRIPTION: &str = "Reads a text file and returns its lines, each with its number and a \
    tab before it. Returns up to 2000 lines from the start; use offset and limit for other parts \
    of a long file. Shows pictures (PNG, JPEG, GIF, WebP). Read a file before you change it.";

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

/// Reads files.
pub struct Read {
    spec: ToolSpec,
    place: Workplace,
}

enum Found {
    Text(Window),
    Picture(Picture),
}

impl Read {
    /// A tool that reads in a workplace and remembers there what it read.
    #[must_use]
    pub fn new(place: &Workplace) -> Self {
        let spec = ToolSpec {
            name: "Read".to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: schema_of::<Input>(),
            class: Class::Inspect,
        };
        Self { spec, place: place.clone() }
    }

    async fn read(&self, input: Value) -> Result<ToolOutcome, Early> {
        let input: Input = parse(input)?;
        let path = resolve(&self.place.cwd, &input.file_path)?;
        let range = Range {
            offset: input.offset.unwrap_or(1),
            limit: input.limit.unwrap_or(DEFAULT_LINES),
        };
        let place = self.place.clone();
        let found = blocking(move || look(&place, &path, range)).await?;
        let outcome = match found {
            Found::Text(window) => {
                let outcome = ToolOutcome::ok(window.text).with_metadata("lines", window.lines);
                match window.total {
                    Some(total) => outcome.with_metadata("total_lines", total),
                    None => outcome,
                }
            }
            Found::Picture(picture) => self.picture(&picture).await,
        };
        Ok(outcome.with_metadata("file_path", input.file_path))
    }

    async fn picture(&self, picture: &Picture) -> ToolOutcome {
        let (kind, bytes) = (picture.media_type, picture.bytes.len());
        let text = format!("[a picture: {kind}, {bytes} bytes]\n");
        let Some(blobs) = &self.place.blobs else {
            let text = format!("{text}[there is nothing here to show pictures with]\n");
            return ToolOutcome::ok(text).with_metadata("media_type", kind);
        };
        match blobs.put(&picture.bytes).await {
            Ok(blob) => {
                let image = Image { blob, media_type: kind.to_owned(), extra: Map::new() };
                let mut outcome = ToolOutcome::ok(text).with_metadata("media_type", kind);
                outcome.content.push(ResultBlock::Image(image));
                outcome
            }
            Err(error) => ToolOutcome::failed("io", format!("the picture cannot be kept: {error}")),
        }
    }
}

fn look(place: &Workplace, path: &Path, range: Range) -> Result<Found, FileError> {
    let (mut file, metadata) = open_file(path)?;
    // Of the thing that was opened, whatever led to it.
    if !place.grant.may_read(&real_path(&file, path)) {
        return Err(FileError::Denied { path: path.to_owned() });
    }
    if let Some(picture) = read_image(&mut file, path)? {
        return Ok(Found::Picture(picture));
    }
    let window = read_open(file, path, &metadata, range)?;
    place.log.record(path, window.stamp);
    Ok(Found::Text(window))
}

/// The path of an open file, as the system knows it.
fn real_path(file: &std::fs::File, path: &Path) -> PathBuf {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        if let Ok(real) = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
            return real;
        }
    }
    let _ = file;
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[async_trait::async_trait]
impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
        self.read(input).await.unwrap_or_else(|Early(outcome)| *outcome)
    }
}

#[cfg(test)]
mod tests;
