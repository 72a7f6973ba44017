//! Reads and changes text files. These are blocking functions that the tools wrap.

mod atomic_swap;
mod change;
mod edit;
mod encoding;
mod hash;
mod image;
mod line_window;
mod nearest;
mod open;
mod pdf;
mod replace;
mod resolved_path;
mod restore;
mod saved_content;
mod settle_files;
mod stamp;

pub use change::{EditLocation, PlannedChange, commit, plan_edit, plan_write};
pub use edit::{Edited, MAX_EDIT_BYTES, edit_file};
pub use encoding::Encoding;
pub(crate) use hash::hash_file;
pub use image::{ImageFile, MAX_IMAGE_BYTES, read_image};
pub use line_window::{DEFAULT_LINES, MAX_LINE_CHARS, MAX_SHOWN_BYTES, Range, Window, read_window};
pub(crate) use line_window::{read_open, read_text};
pub use nearest::NearestMatch;
pub(crate) use open::open_file;
pub use open::{read_start, read_whole};
pub(crate) use pdf::{PdfFile, is_pdf, read_pdf};
pub use replace::{ReplaceError, Replaced, Replacement, replace};
pub use resolved_path::ResolvedPath;
pub(crate) use restore::{read_current, restore_one, set_folder_mode};
pub(crate) use saved_content::SavedContents;
pub use settle_files::settle_files;
pub use stamp::FileStamp;

/// The byte order mark with which some programs mark a file as UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// How many bytes are searched for a NUL byte, which means that the file is not text.
const BINARY_PROBE: usize = 8 * 1024;

fn is_binary(start: &[u8]) -> bool {
    start[..start.len().min(BINARY_PROBE)].contains(&0)
}
