//! Maps a session id to the name of its folder.
//!
//! Names are flat and contain only lower-case letters, digits, `-`, `_` and `%`. So no id can leave
//! the root (`..`, `/`), no name is special to a file system (NUL, dots, device names), and two ids
//! never share a folder on a disk that folds case or normalises Unicode.

use std::fmt::Write as _;

use robota_core::hash::hex;
use robota_core::ids::SessionId;
use sha2::{Digest, Sha256};

/// Longer names are replaced by a prefix and a hash.
const MAX_NAME: usize = 120;

/// How many bytes of a long name stay readable before the hash.
const READABLE_PREFIX: usize = 48;

/// Returns the name of a session's folder.
pub(super) fn folder_name(session: &SessionId) -> String {
    let id = session.as_str();
    let mut name = String::with_capacity(id.len());
    // Escaping the first byte of a device name is enough: `con` is a device, `%63on` is not.
    let device = is_device_name(id);
    for (at, byte) in id.bytes().enumerate() {
        if is_plain(byte) && !(device && at == 0) {
            name.push(char::from(byte));
        } else {
            escape(byte, &mut name);
        }
    }
    if name.is_empty() {
        // An empty id gets the name `%`, which escaping never produces.
        return "%".to_owned();
    }
    if name.len() <= MAX_NAME { name } else { hashed(id, &name) }
}

/// Shortens a long name. Escaping never produces `%-`, so a hashed name cannot equal the name of a
/// short id.
fn hashed(id: &str, name: &str) -> String {
    let hash = hex(&Sha256::digest(id.as_bytes()));
    // The name is ASCII, so any cut is between characters.
    format!("{}%-{hash}", name.get(..READABLE_PREFIX).unwrap_or_default())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

fn escape(byte: u8, name: &mut String) {
    let _ = write!(name, "%{byte:02x}");
}

/// Names that Windows reserves for devices. Ids with upper-case letters are escaped anyway.
fn is_device_name(id: &str) -> bool {
    matches!(id, "con" | "prn" | "aux" | "nul")
        || ["com", "lpt"].iter().any(|device| {
            id.strip_prefix(device)
                .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
        })
}

#[cfg(test)]
mod tests;
