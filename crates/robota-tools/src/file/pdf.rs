//! Reads PDF files, for models that accept documents.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

/// The largest PDF file that is shown.
const MAX_BYTES: u64 = 5 * 1024 * 1024;

/// The most pages of a PDF file that is shown. Each takes thousands of tokens, and services refuse files
/// with too many.
const MAX_PAGES: u64 = 20;

/// The bytes at the start of a file in which a PDF file says how many pages it has, if it is made for
/// the web, and those at its end in which the mark of the end is.
const ENDS: usize = 1_024;

/// A PDF file that can be shown.
#[derive(Debug)]
pub(crate) struct PdfFile {
    /// The number of pages.
    pub(crate) pages: u64,
    /// The content of the file.
    pub(crate) bytes: Vec<u8>,
}

/// Returns whether a file is a PDF file. Its position is 0 again.
pub(crate) fn is_pdf(file: &mut File) -> io::Result<bool> {
    const START: &[u8] = b"%PDF-";
    let mut start = Vec::with_capacity(START.len());
    file.by_ref().take(START.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == START)
}

/// Reads a PDF file. Returns none if it is not shown: it is long, incomplete or encrypted, or its pages
/// cannot be counted. A service that refuses a file would refuse every later request of the conversation.
pub(crate) fn read_pdf(file: &mut File) -> io::Result<Option<PdfFile>> {
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is too large.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let end = bytes.get(bytes.len().saturating_sub(ENDS)..).unwrap_or_default();
    let complete = bytes.len() as u64 <= MAX_BYTES && has(end, b"%%EOF");
    if !complete || has(&bytes, b"/Encrypt") {
        return Ok(None);
    }
    let pages = count_pages(&bytes).filter(|pages| (1..=MAX_PAGES).contains(pages));
    Ok(pages.map(|pages| PdfFile { pages, bytes }))
}

/// Counts the pages; none if they are in compressed parts.
fn count_pages(bytes: &[u8]) -> Option<u64> {
    let start = bytes.get(..bytes.len().min(ENDS)).unwrap_or_default();
    if let (Some(_), Some(number)) = (after(start, b"/Linearized"), after(start, b"/N ")) {
        let digits: String =
            number.iter().take_while(|it| it.is_ascii_digit()).map(|it| char::from(*it)).collect();
        return digits.parse().ok();
    }
    if has(bytes, b"/ObjStm") {
        return None;
    }
    let (mut rest, mut pages) = (bytes, 0);
    while let Some(next) = after(rest, b"/Type") {
        rest = next;
        let name = rest.trim_ascii_start().strip_prefix(b"/Page");
        let ends = |name: &[u8]| !name.first().is_some_and(u8::is_ascii_alphanumeric);
        pages += u64::from(name.is_some_and(ends));
    }
    Some(pages)
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    after(bytes, part).is_some()
}

/// Returns what follows the first occurrence of a part.
fn after<'a>(bytes: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    let at = bytes.windows(part.len()).position(|window| window == part)?;
    bytes.get(at + part.len()..)
}

#[cfg(test)]
mod tests;
