//! The search: uses ripgrep's walker, matcher and searcher, on several threads.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::WalkState;
use robota_core::tool::InvalidInput;
use robota_exec::LinkFreeDir;
use tokio_util::sync::CancellationToken;

use super::Mode;
use crate::file::{ResolvedPath, open_file};
use crate::tool_workspace::ToolWorkspace;
use crate::walk::{Walk, modified, newest_first};

/// The most characters of one line that are returned.
const MAX_LINE_CHARS: usize = 500;
/// The memory limit of a compiled regular expression.
// The pattern comes from a model; some small ones compile to huge programs.
const MAX_REGEX_BYTES: usize = 16 * 1024 * 1024;
/// The memory limit for one file. Very long lines and multi-line searches need much memory.
const MAX_HEAP_BYTES: usize = 64 * 1024 * 1024;

/// The parameters of a search.
pub(super) struct Request {
    pub(super) root: ResolvedPath,
    pub(super) pattern: String,
    pub(super) glob: Option<String>,
    pub(super) file_type: Option<String>,
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) mode: Mode,
    /// Keep only the text that matches of each line, in the mode `Content`.
    pub(super) only_matching: bool,
    pub(super) limit: usize,
    pub(super) workspace: ToolWorkspace,
    pub(super) cancel: CancellationToken,
}

/// A file with matches.
pub(super) struct FileMatches {
    pub(super) path: PathBuf,
    pub(super) modified: Option<SystemTime>,
    pub(super) matches: u64,
    /// The matching and context lines, at most as many as can be returned.
    pub(super) lines: Vec<Line>,
    /// The number of further lines that were not kept.
    pub(super) more: u64,
}

/// A line of a file.
pub(super) enum Line {
    Match(u64, String),
    Context(u64, String),
    /// Lines of the file are omitted here.
    Gap,
}

/// What a search has found.
pub(super) struct Found {
    /// All files with matches, newest first.
    pub(super) files: Vec<FileMatches>,
    /// The number of files that were left out, because reading them needs approval.
    pub(super) unapproved: usize,
}

/// Searches the files below the root.
pub(super) fn search(request: &Request) -> Result<Found, InvalidInput> {
    let matcher = matcher(request)?;
    let walk = Walk {
        root: &request.root.target,
        hidden: false,
        glob: request.glob.as_deref(),
        file_type: request.file_type.as_deref(),
    };
    let all: Mutex<Vec<FileMatches>> = Mutex::default();
    // If a rule names the root itself, the gate has asked about this call.
    let is_approved = request.workspace.needs_approval(&request.root);
    let unapproved = AtomicUsize::new(0);
    let folder = LinkFreeDir::open(&request.root.target, false).ok();
    walk.build()?.run(|| {
        let (all, folder, matcher) = (&all, folder.as_ref(), matcher.clone());
        let unapproved = &unapproved;
        let mut searcher = searcher(request);
        Box::new(move |entry| {
            if request.cancel.is_cancelled() {
                return WalkState::Quit;
            }
            // Folders that cannot be read are skipped.
            let Ok(entry) = entry else { return WalkState::Continue };
            // Pipes, devices and links are skipped.
            if entry.file_type().is_some_and(|kind| kind.is_file())
                && let Ok(below) = entry.path().strip_prefix(&request.root.target)
                && let Some((path, file)) = open(request, folder, below)
            {
                // Before the search: a count of files with matches would tell what is in them.
                if !is_approved && request.workspace.needs_approval(&path) {
                    unapproved.fetch_add(1, Ordering::Relaxed);
                    return WalkState::Continue;
                }
                let matches = search_file(request, &mut searcher, &matcher, path, &file);
                all.lock().unwrap_or_else(PoisonError::into_inner).extend(matches);
            }
            WalkState::Continue
        })
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    newest_first(&mut all, |file| (file.modified, &file.path));
    Ok(Found { files: all, unapproved: unapproved.into_inner() })
}

/// Opens a file that the walk has found, without following links: a folder may have been replaced
/// by a link since. A file that cannot be read is treated as a file without matches.
fn open(
    request: &Request,
    folder: Option<&LinkFreeDir>,
    below: &Path,
) -> Option<(ResolvedPath, File)> {
    match folder {
        Some(folder) => Some((request.root.join(below), folder.open_file(below).ok()?)),
        // The root is a file.
        None => Some((request.root.clone(), open_file(&request.root).ok()?.0)),
    }
}

fn search_file(
    request: &Request,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: ResolvedPath,
    file: &File,
) -> Option<FileMatches> {
    let mut sink = FileSink { request, matcher, path, allowed: None, found: None };
    searcher.search_file(matcher, file, &mut sink).ok()?;
    sink.found.filter(|found| found.matches > 0)
}

fn matcher(request: &Request) -> Result<RegexMatcher, InvalidInput> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(request.ignore_case).multi_line(true).size_limit(MAX_REGEX_BYTES);
    if request.multiline {
        builder.dot_matches_new_line(true);
    } else {
        // With this `$` matches before `\r\n` too.
        builder.crlf(true);
    }
    builder.build(&request.pattern).map_err(|error| {
        InvalidInput(format!("`pattern` is invalid: {error} (to search for the literal text, put \\ before special characters)"))
    })
}

fn searcher(request: &Request) -> Searcher {
    let content = request.mode == Mode::Content;
    let mut builder = SearcherBuilder::new();
    builder
        .line_number(content)
        .multi_line(request.multiline)
        .line_terminator(if request.multiline {
            LineTerminator::byte(b'\n')
        } else {
            LineTerminator::crlf()
        })
        .heap_limit(Some(MAX_HEAP_BYTES))
        .binary_detection(BinaryDetection::quit(0))
        .before_context(if content { request.before } else { 0 })
        .after_context(if content { request.after } else { 0 });
    builder.build()
}

/// Receives what the searcher finds in one file.
struct FileSink<'a> {
    request: &'a Request,
    matcher: &'a RegexMatcher,
    path: ResolvedPath,
    /// Whether the content of the file may be returned. Checked at the first match.
    allowed: Option<bool>,
    found: Option<FileMatches>,
}

impl FileSink<'_> {
    /// Returns the matches to add to; `None` if the content may not be returned.
    fn matches(&mut self) -> Option<&mut FileMatches> {
        let allowed =
            // Late, because the check costs more than the search and most files have no match.
            *self.allowed.get_or_insert_with(|| self.request.workspace.may_read(&self.path));
        allowed.then(|| {
            self.found.get_or_insert_with(|| FileMatches {
                path: self.path.given.clone(),
                modified: modified(&self.path.target),
                matches: 0,
                lines: Vec::new(),
                more: 0,
            })
        })
    }
}

impl Sink for &mut FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let (mode, limit) = (self.request.mode, self.request.limit);
        let (matcher, only_matching) = (self.matcher, self.request.only_matching);
        let Some(file) = self.matches() else { return Ok(false) };
        file.matches += 1;
        match mode {
            // The first match is enough.
            Mode::FilesWithMatches => return Ok(false),
            Mode::Count => {}
            Mode::Content => {
                let first = found.line_number().unwrap_or(0);
                if only_matching {
                    file.push_matches(limit, matcher, first, found.bytes());
                    return Ok(true);
                }
                for (number, line) in (first..).zip(found.lines()) {
                    file.push(limit, || Line::Match(number, text(line)));
                }
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        // Lines before a match are reported before the match itself, so the check may happen here.
        let limit = self.request.limit;
        let Some(file) = self.matches() else { return Ok(false) };
        debug_assert!(*context.kind() != SinkContextKind::Other);
        let number = context.line_number().unwrap_or(0);
        file.push(limit, || Line::Context(number, text(context.bytes())));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if let Some(found) = &mut self.found
            && found.more == 0
            && !found.lines.is_empty()
        {
            found.lines.push(Line::Gap);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        // What was found before the NUL byte is dropped too: the file is not text.
        self.found = None;
        Ok(false)
    }
}

impl FileMatches {
    fn push(&mut self, limit: usize, line: impl FnOnce() -> Line) {
        // Twice the limit, because separators between lines count here and not on the page.
        if self.lines.len() < limit.saturating_mul(2) {
            self.lines.push(line());
        } else {
            self.more += 1;
        }
    }

    /// Adds each match in lines of which the first has the number `first`, without the rest of its
    /// lines.
    fn push_matches(&mut self, limit: usize, matcher: &RegexMatcher, first: u64, lines: &[u8]) {
        let (mut number, mut counted) = (first, 0);
        let found = matcher.find_iter(lines, |found| {
            let before = lines.get(counted..found.start()).unwrap_or_default();
            number += before.iter().filter(|byte| **byte == b'\n').count() as u64;
            counted = found.start();
            let matching = lines.get(found.start()..found.end()).unwrap_or_default();
            if !matching.is_empty() {
                self.push(limit, || Line::Match(number, text(matching)));
            }
            true
        });
        // `RegexMatcher` cannot fail.
        let _: Result<(), grep_matcher::NoError> = found;
    }
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Only as many bytes as the characters can need are decoded, so very long lines are cheap.
    let text = String::from_utf8_lossy(&line[..line.len().min(MAX_LINE_CHARS * 4)]);
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((at, _)) => format!("{} [... line cut, it has {} bytes]", &text[..at], line.len()),
        None => text.into_owned(),
    }
}
