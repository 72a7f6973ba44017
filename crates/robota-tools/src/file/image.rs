//! Pictures, for models that can see.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use crate::error::FileError;

/// The largest picture that is shown: services refuse larger ones.
pub const MOST_IMAGE: u64 = 5 * 1024 * 1024;

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Its type, such as `image/png`.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Reads a picture; `None` if it is none, with the file as if nothing had been read.
///
/// # Errors
/// If it is too large or cannot be read.
pub fn read_image(file: &mut File, path: &Path) -> Result<Option<Picture>, FileError> {
    let io = || FileError::io("read", path);
    let mut start = [0; 16];
    let mut filled = 0;
    while filled < start.len() {
        match file.read(&mut start[filled..]).map_err(io())? {
            0 => break,
            read => filled += read,
        }
    }
    file.rewind().map_err(io())?;
    let Some(media_type) = media_type(&start[..filled]) else { return Ok(None) };
    let len = file.metadata().map_err(io())?.len();
    let mut bytes = Vec::new();
    file.take(MOST_IMAGE + 1).read_to_end(&mut bytes).map_err(io())?;
    if bytes.len() as u64 > MOST_IMAGE {
        return Err(FileError::LargePicture { path: path.to_owned(), len, most: MOST_IMAGE });
    }
    Ok(Some(Picture { media_type, bytes }))
}

/// The types that models know, by how such files start.
fn media_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
