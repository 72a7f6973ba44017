//! Hashes of the content of files.

use std::fs::File;
use std::io::{self, Read as _};

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of a file in hexadecimal; `None` if it is longer than `max` bytes.
pub(crate) fn hash_file(file: &mut File, max: u64) -> io::Result<Option<String>> {
    let (mut hash, mut buffer, mut len) = (Sha256::new(), vec![0; 64 * 1024], 0_u64);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(Some(robota_core::hash::hex(&hash.finalize())));
        }
        len += read as u64;
        if len > max {
            return Ok(None);
        }
        hash.update(&buffer[..read]);
    }
}
