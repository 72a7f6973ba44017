//! Payload files: large fields of a log, stored by their hash.

use robota_core::blob::INLINE_LIMIT;
use robota_core::ids::SessionId;
use robota_core::message::BlobRef;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::replay::blobs::is_hash;

/// The `kind` by which a reference is recognised.
pub(super) const KIND: &str = "external-payload";

/// The fields that identify a line; they are never moved to a file.
const ALWAYS_INLINE: [&str; 5] =
    ["timestamp", "sessionId", "event", "executionId", "conversationId"];

/// Holds a payload file of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The path, relative to the folder of the log.
    pub path: String,
    /// The value of the field as JSON text.
    pub bytes: Vec<u8>,
}

/// Refers from a line to a payload file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadRef {
    /// Always `external-payload`; another kind is not a reference.
    pub kind: String,
    /// Always `json`: how the bytes of the file are read.
    pub encoding: String,
    /// The hash of the file's bytes.
    pub sha256: String,
    /// The length of the file in bytes.
    #[serde(alias = "bytes")]
    pub byte_length: u64,
    /// The path, relative to the folder of the log.
    #[serde(alias = "path")]
    pub relative_path: String,
}

impl PayloadRef {
    /// Reads a reference, if this value is one; an error if it is not valid.
    pub(in crate::replay) fn read(value: &Value) -> Option<Result<Self, String>> {
        if value.get("kind").and_then(Value::as_str) != Some(KIND) {
            return None;
        }
        let read = serde_json::from_value::<Self>(value.clone()).map_err(|error| error.to_string());
        Some(read.and_then(Self::checked))
    }

    fn checked(self) -> Result<Self, String> {
        if self.encoding != "json" {
            return Err(format!("the encoding `{}` is not supported", self.encoding));
        }
        if !is_hash(&self.sha256) {
            return Err("its hash is not valid".to_owned());
        }
        let parts: Vec<_> = self.relative_path.split(['/', '\\']).collect();
        let inside = parts.iter().all(|part| !part.is_empty() && *part != "." && *part != "..");
        // Characters that some systems treat specially in a path, so that it could lead out of the
        // folder.
        if !inside || self.relative_path.contains([':', '\0']) {
            return Err(format!("the path `{}` leads out of the folder", self.relative_path));
        }
        Ok(self)
    }

    /// Checks that these bytes match the reference.
    pub(in crate::replay) fn fits(&self, bytes: &[u8]) -> Result<(), String> {
        let actual = BlobRef::of(bytes);
        if actual.bytes != self.byte_length {
            return Err(format!("it has {} bytes, not {}", actual.bytes, self.byte_length));
        }
        if actual.sha256 != self.sha256 {
            return Err(format!("its hash is {}, not {}", actual.sha256, self.sha256));
        }
        Ok(())
    }
}

/// Moves the large fields of a line to payload files.
pub(super) fn externalise(
    session: &SessionId,
    fields: &mut Map<String, Value>,
    payloads: &mut Vec<Payload>,
) {
    for (name, field) in fields.iter_mut() {
        if ALWAYS_INLINE.contains(&name.as_str()) {
            continue;
        }
        let bytes = field.to_string().into_bytes();
        if bytes.len() <= INLINE_LIMIT {
            continue;
        }
        let BlobRef { sha256, bytes: length } = BlobRef::of(&bytes);
        let path = format!("{}.payloads/{sha256}.json", file_name(session));
        *field = json!({
            "kind": KIND,
            "encoding": "json",
            "sha256": sha256,
            "byteLength": length,
            "relativePath": path,
        });
        if payloads.iter().all(|payload| payload.path != path) {
            payloads.push(Payload { path, bytes });
        }
    }
}

/// Converts a session id to a file name: ids can contain slashes and colons.
pub(super) fn file_name(session: &SessionId) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let mut name = String::new();
    for byte in session.as_str().bytes() {
        if plain(byte) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    name
}
