//! Reads image files, for models that accept images.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use crate::error::FileError;

/// The largest image that is shown: model services reject larger ones.
pub const MAX_IMAGE_BYTES: u64 = 5 * 1024 * 1024;

/// An image that was read from a file, with its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    /// Its media type, such as `image/png`.
    pub media_type: &'static str,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Reads an image. Returns `None` if the file is not an image; its position is then 0 again.
///
/// # Errors
/// If the image is too large or cannot be read.
pub fn read_image(file: &mut File, path: &Path) -> Result<Option<ImageFile>, FileError> {
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
    let Some(media_type) = detect_media_type(&start[..filled]) else { return Ok(None) };
    let len = file.metadata().map_err(io())?.len();
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is too large, also if its size was wrong.
    file.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut bytes).map_err(io())?;
    if bytes.len() as u64 > MAX_IMAGE_BYTES {
        return Err(FileError::ImageTooLarge { path: path.to_owned(), len, max: MAX_IMAGE_BYTES });
    }
    Ok(Some(ImageFile { media_type, bytes }))
}

/// Detects the image types that models accept by the first bytes of the file.
fn detect_media_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
