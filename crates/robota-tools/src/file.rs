//! Reading and changing text files: plain functions that block, for tools to wrap.

mod atomic;
mod change;
mod edit;
mod encoding;
mod image;
mod nearest;
mod open;
mod replace;
mod settle;
mod stamp;
mod window;

pub use change::{Place, Planned, commit, plan_edit, plan_write};
pub use edit::{Edited, MOST_EDITED, edit_file};
pub use encoding::Encoding;
pub use image::{MOST_IMAGE, Picture, read_image};
pub use nearest::Nearest;
pub(crate) use open::open_file;
pub use replace::{Replaced, Replacement, Unreplaced, replace};
pub use settle::settle;
pub use stamp::FileStamp;
pub(crate) use window::read_open;
pub use window::{DEFAULT_LINES, LONGEST_LINE, MOST_SHOWN, Range, Window, read_window};

/// The bytes with which some programs mark a file as UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// As many bytes are searched for a NUL to tell text from the rest.
const BINARY_PROBE: usize = 8 * 1024;

fn is_binary(start: &[u8]) -> bool {
    start[..start.len().min(BINARY_PROBE)].contains(&0)
}
