//! The search itself: ripgrep's walker, matcher and searcher, on all cores.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::WalkState;
use robota_core::tool::InvalidInput;
use tokio_util::sync::CancellationToken;

use super::Mode;
use crate::grant::Grant;
use crate::walk::{Walk, modified, newest_first};

/// Characters shown of one line.
const LONGEST: usize = 500;
/// What a regular expression may cost when it is compiled.
const REGEX_SIZE: usize = 16 * 1024 * 1024;
/// What one file may cost in memory: lines without end and searches across lines.
const HEAP: usize = 64 * 1024 * 1024;

/// What to look for, and where.
pub(super) struct Request {
    pub(super) root: PathBuf,
    pub(super) pattern: String,
    pub(super) glob: Option<String>,
    pub(super) file_type: Option<String>,
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) mode: Mode,
    pub(super) limit: usize,
    pub(super) grant: Arc<dyn Grant>,
    pub(super) cancel: CancellationToken,
}

/// A file with matches.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) modified: Option<SystemTime>,
    pub(super) matches: u64,
    /// What is shown of it, no more than could be.
    pub(super) lines: Vec<Line>,
    /// Lines that would be shown too.
    pub(super) more: u64,
}

/// A line of a file.
pub(super) enum Line {
    Match(u64, String),
    Context(u64, String),
    /// Lines are left out here.
    Gap,
}

/// Every file with matches, newest first.
pub(super) fn search(request: &Request) -> Result<Vec<Found>, InvalidInput> {
    let matcher = matcher(request)?;
    let walk = Walk {
        root: &request.root,
        hidden: false,
        glob: request.glob.as_deref(),
        file_type: request.file_type.as_deref(),
    };
    let all: Mutex<Vec<Found>> = Mutex::default();
    walk.build()?.run(|| {
        let (all, matcher) = (&all, matcher.clone());
        let mut searcher = searcher(request);
        Box::new(move |entry| {
            if request.cancel.is_cancelled() {
                return WalkState::Quit;
            }
            // What cannot be looked into has nothing to show.
            let Ok(entry) = entry else { return WalkState::Continue };
            // Not into pipes and devices, and not through links; but what was named is meant.
            let file = entry.file_type().is_some_and(|kind| kind.is_file())
                || (entry.depth() == 0 && entry.path().is_file());
            if file && let Some(found) = look(request, &mut searcher, &matcher, entry.path()) {
                all.lock().unwrap_or_else(PoisonError::into_inner).push(found);
            }
            WalkState::Continue
        })
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    newest_first(&mut all, |found| (found.modified, &found.path));
    Ok(all)
}

fn look(
    request: &Request,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &Path,
) -> Option<Found> {
    let mut take = Take { request, path, allowed: None, found: None };
    // A file that vanished or may not be read is as one without matches.
    searcher.search_path(matcher, path, &mut take).ok()?;
    take.found.filter(|found| found.matches > 0)
}

fn matcher(request: &Request) -> Result<RegexMatcher, InvalidInput> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(request.ignore_case).multi_line(true).size_limit(REGEX_SIZE);
    if request.multiline {
        builder.dot_matches_new_line(true);
    } else {
        // Also sees to it that `$` matches before `\r\n`.
        builder.crlf(true);
    }
    builder.build(&request.pattern).map_err(|error| {
        InvalidInput(format!("`pattern` cannot be used: {error} (to search for it as it is, put \\ before special characters)"))
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
        .heap_limit(Some(HEAP))
        .binary_detection(BinaryDetection::quit(0))
        .before_context(if content { request.before } else { 0 })
        .after_context(if content { request.after } else { 0 });
    builder.build()
}

/// Takes what the searcher finds in one file.
struct Take<'a> {
    request: &'a Request,
    path: &'a Path,
    /// Whether the file may be shown; asked at the first match.
    allowed: Option<bool>,
    found: Option<Found>,
}

impl Take<'_> {
    /// Where to put it; `None` if it may not be shown.
    fn found(&mut self) -> Option<&mut Found> {
        let allowed = *self.allowed.get_or_insert_with(|| self.request.grant.may_read(self.path));
        allowed.then(|| {
            self.found.get_or_insert_with(|| Found {
                path: self.path.to_owned(),
                modified: modified(self.path),
                matches: 0,
                lines: Vec::new(),
                more: 0,
            })
        })
    }
}

impl Sink for &mut Take<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let (mode, limit) = (self.request.mode, self.request.limit);
        let Some(all) = self.found() else { return Ok(false) };
        all.matches += 1;
        match mode {
            // One match tells it all.
            Mode::FilesWithMatches => return Ok(false),
            Mode::Count => {}
            Mode::Content => {
                let first = found.line_number().unwrap_or(0);
                for (number, line) in (first..).zip(found.lines()) {
                    all.push(limit, || Line::Match(number, text(line)));
                }
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        // Lines before a match come before anybody knows that there is one.
        let limit = self.request.limit;
        let Some(all) = self.found() else { return Ok(false) };
        debug_assert!(*context.kind() != SinkContextKind::Other);
        let number = context.line_number().unwrap_or(0);
        all.push(limit, || Line::Context(number, text(context.bytes())));
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
        self.found = None;
        Ok(false)
    }
}

impl Found {
    fn push(&mut self, limit: usize, line: impl FnOnce() -> Line) {
        if self.lines.len() < limit.saturating_mul(2) {
            self.lines.push(line());
        } else {
            self.more += 1;
        }
    }
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Enough bytes for what is shown, so that a line without end costs nothing.
    let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST * 4)]);
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} [... line cut, it has {} bytes]", &text[..at], line.len()),
        None => text.into_owned(),
    }
}
