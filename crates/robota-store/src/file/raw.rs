//! Raw payloads: what went over the wire, kept beside the journal and waited for by nobody.
//!
//! `{number}.raw` holds records one after the other: a line `sha256 length`, the bytes, a newline.
//! Each writer begins a file of its own, so a fork may share its parent's.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::Path;

use robota_core::blob::BLOB_LIMIT;
use robota_core::journal::JournalError;
use robota_core::message::BlobRef;

use super::{Files, io};
use crate::disk::{Make, Tail};

/// A file is closed once it is this long.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A longer first line of a record is damage.
const LONGEST_LINE: u64 = 128;

/// The file that grows.
pub(super) struct RawFile {
    tail: Box<dyn Tail>,
    len: u64,
}

fn numbers(files: &Files, folder: &Path) -> Result<Vec<u64>, JournalError> {
    let names = match files.disk.names(folder) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(io("list", folder, &error)),
    };
    let number = |name: &String| name.strip_suffix(".raw")?.parse().ok();
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Keeps a payload.
pub(super) fn append(
    files: &Files,
    folder: &Path,
    open: &mut Option<RawFile>,
    hash: &str,
    bytes: &[u8],
) -> Result<(), JournalError> {
    if open.as_ref().is_none_or(|file| file.len >= LONGEST) {
        let mut number = numbers(files, folder)?.last().map_or(1, |last| last + 1);
        let tail = loop {
            let path = folder.join(format!("{number}.raw"));
            match files.disk.open_append(&path, Make::Always) {
                Ok(tail) => break tail,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(io("create", &path, &error)),
            }
        };
        *open = Some(RawFile { tail, len: 0 });
    }
    let Some(file) = open else { return Ok(()) };
    let mut record = format!("{hash} {}\n", bytes.len()).into_bytes();
    record.extend_from_slice(bytes);
    record.push(b'\n');
    if let Err(error) = file.tail.write(&record) {
        // What follows must not stand behind half a record.
        let _ = file.tail.truncate(file.len);
        *open = None;
        return Err(io("write", folder, &error));
    }
    file.len += record.len() as u64;
    Ok(())
}

/// The payload of that hash, if one of the files has it. Goes from record to record without
/// reading what is in them; the newest file first.
pub(super) fn find(
    files: &Files,
    folder: &Path,
    hash: &str,
) -> Result<Option<Vec<u8>>, JournalError> {
    for number in numbers(files, folder)?.into_iter().rev() {
        let path = folder.join(format!("{number}.raw"));
        let fail = |error: std::io::Error| io("read", &path, &error);
        let file = files.disk.open_read(&path).map_err(fail)?;
        let mut input = BufReader::new(file);
        loop {
            let mut line = Vec::new();
            (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(fail)?;
            let Some((found, len)) = parse(&line) else { break };
            if found == hash {
                let mut bytes = Vec::new();
                input.take(len).read_to_end(&mut bytes).map_err(fail)?;
                // A torn or damaged record is as good as none.
                return Ok((BlobRef::of(&bytes).sha256 == hash).then_some(bytes));
            }
            input.seek_relative(i64::try_from(len).unwrap_or(i64::MAX)).map_err(fail)?;
            let mut end = [0];
            if input.read(&mut end).map_err(fail)? == 0 {
                break;
            }
        }
    }
    Ok(None)
}

fn parse(line: &[u8]) -> Option<(&str, u64)> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (hash, len) = line.split_once(' ')?;
    let len = len.parse().ok()?;
    (len <= BLOB_LIMIT as u64).then_some((hash, len))
}

impl Files {
    /// A fork can look at its parent's payloads; that it cannot is no reason to refuse one.
    pub(super) fn link_raw(&self, from: &Path, to: &Path, share: bool) {
        if !share {
            return;
        }
        for number in numbers(self, from).unwrap_or_default() {
            let name = format!("{number}.raw");
            let _ = self.disk.link(&from.join(&name), &to.join(&name));
        }
    }
}
