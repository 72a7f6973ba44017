//! Changes the status of a task file and appends progress.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use robota_core::clock::Clock;

use super::TaskFileStatus;
use super::parse::{self, metadata};
use crate::clean::one_line;
use crate::error::ConfigError;
use crate::files::read_bounded;
use crate::mentions::Fences;
use crate::reader::ContextReader;
use crate::write::atomic;

/// Changes the status of a task file, and appends a dated line of progress if there is one.
///
/// # Errors
/// If the file is not a file of the checkout, or cannot be read or written.
pub fn update_task_file(
    reader: &ContextReader,
    file: &Path,
    status: TaskFileStatus,
    progress: Option<&str>,
    clock: &dyn Clock,
) -> Result<(), ConfigError> {
    let path = reader.cwd().join(file);
    let refused =
        |reason: &str| ConfigError::Refused { file: path.clone(), reason: reason.to_owned() };
    let io = |action, source| ConfigError::Io { action, file: path.clone(), source };
    let boundary = reader.folders.boundary(reader.root());
    let real = reader.resolve(&path, &boundary).map_err(|reason| refused(&reason))?;
    let real = real.ok_or_else(|| refused("it does not exist"))?;
    let bytes = read_bounded(&real).map_err(|error| io("read", error))?;
    let text = String::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| refused("it is not UTF-8 text"))?;
    let changed = with_status(&text, status, progress, clock.now());
    atomic::replace(&real, changed.as_bytes(), None).map_err(|error| io("write", error))
}

/// Returns the text of a task file with another status, and with a dated line of progress (in UTC) if
/// there is one.
///
/// ```
/// use robota_config::tasks::{TaskFileStatus, with_status};
///
/// let text = with_status(
///     "# T\n\n- **Status**: todo\n",
///     TaskFileStatus::Completed,
///     Some("Tested."),
///     jiff::Timestamp::UNIX_EPOCH,
/// );
/// assert_eq!(text, "# T\n\n- **Status**: completed\n\n## Progress\n\n- 1970-01-01: Tested.\n");
/// ```
#[must_use]
pub fn with_status(
    text: &str,
    status: TaskFileStatus,
    progress: Option<&str>,
    now: Timestamp,
) -> String {
    // The line ends of the file stay as they are.
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    set_status(&mut lines, status);
    if let Some(progress) = progress.map(one_line).filter(|progress| !progress.is_empty()) {
        let date = now.to_zoned(TimeZone::UTC).date();
        add_progress(&mut lines, format!("- {date}: {progress}"));
    }
    lines.into_iter().flat_map(|line| [line, end.to_owned()]).collect()
}

fn set_status(lines: &mut Vec<String>, status: TaskFileStatus) {
    let body = header_end(lines);
    let written = format!("- **Status**: {}", status.name());
    let plain = plain_lines(lines);
    let in_body = || plain.iter().copied().filter(|at| *at >= body);
    let find = |is: &dyn Fn(&str) -> bool| in_body().find(|at| is(&lines[*at]));
    let in_header = (0..body).filter(|at| {
        let key = lines[*at].split_once(':').map(|(key, _)| key.trim_end());
        key.is_some_and(|key| key.eq_ignore_ascii_case("status"))
    });
    let in_header: Vec<_> = in_header.collect();
    if let Some(at) = find(&|line| metadata(line, "Status").is_some()) {
        lines[at] = written;
    } else if let Some((first, repeated)) = in_header.split_first() {
        lines[*first] = format!("status: {}", status.name());
        // The last of repeated keys would win.
        for at in repeated.iter().rev() {
            lines.remove(*at);
        }
        // A header that is not valid YAML is not read.
        if parse::task(Path::new(""), "", &lines.join("\n")).status != status {
            lines.insert(header_end(lines), written);
        }
    } else if let Some(at) =
        find(&|line| ["Branch", "Scope"].iter().any(|name| metadata(line, name).is_some()))
    {
        lines.insert(at, written);
    } else if let Some(at) = find(&|line| line.starts_with("# ")) {
        lines.splice(at + 1..at + 1, [String::new(), written]);
    } else {
        lines.insert(body, written);
    }
}

/// Returns the position of the first line after the header; 0 if there is none.
fn header_end(lines: &[String]) -> usize {
    let is_fence = |line: &String| line.trim_end() == "---";
    let rest = lines.split_first().filter(|(first, _)| is_fence(first)).map(|(_, rest)| rest);
    rest.and_then(|rest| rest.iter().position(is_fence)).map_or(0, |end| end + 2)
}

fn add_progress(lines: &mut Vec<String>, entry: String) {
    let mut plain = plain_lines(lines);
    // In the header `## Progress` is a comment, and an entry below it would not be YAML.
    let body = header_end(lines);
    plain.retain(|at| *at >= body);
    let is_heading = |at: &usize| lines[*at].starts_with('#');
    let heading = plain.iter().copied().find(|at| {
        is_heading(at) && lines[*at].trim_matches(['#', ' ', ':']).eq_ignore_ascii_case("progress")
    });
    let Some(heading) = heading else {
        lines.extend([String::new(), "## Progress".to_owned(), String::new(), entry]);
        return;
    };
    let next = plain.iter().copied().find(|at| *at > heading && is_heading(at));
    let mut at = next.unwrap_or(lines.len());
    while at > heading + 1 && lines[at - 1].trim().is_empty() {
        at -= 1;
    }
    if at == heading + 1 {
        lines.splice(at..at, [String::new(), entry]);
    } else {
        lines.insert(at, entry);
    }
}

/// Returns the positions of the lines outside fenced code.
fn plain_lines(lines: &[String]) -> Vec<usize> {
    let mut fences = Fences::default();
    (0..lines.len()).filter(|at| !fences.covers(&lines[*at])).collect()
}
