//! Large fields lie beside the log, by their hash.

use robota_core::blob::INLINE_LIMIT;
use robota_core::ids::SessionId;
use robota_core::message::BlobRef;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::replay::blobs::is_hash;

/// What a reference says it is.
pub(super) const KIND: &str = "external-payload";

/// The fields that say what a line is: they are always there.
const ALWAYS_INLINE: [&str; 5] =
    ["timestamp", "sessionId", "event", "executionId", "conversationId"];

/// A file beside a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Where, from the folder of the log.
    pub path: String,
    /// JSON.
    pub bytes: Vec<u8>,
}

/// What a line says of a file beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayloadRef {
    /// Always `external-payload`.
    pub kind: String,
    /// Always `json`.
    pub encoding: String,
    /// The hash of its bytes.
    pub sha256: String,
    /// How many they are.
    #[serde(alias = "bytes")]
    pub byte_length: u64,
    /// Where, from the folder of the log.
    #[serde(alias = "path")]
    pub relative_path: String,
}

impl PayloadRef {
    /// The reference, if this is one; the reason when it is a broken one.
    pub(in crate::replay) fn read(value: &Value) -> Option<Result<Self, String>> {
        if value.get("kind").and_then(Value::as_str) != Some(KIND) {
            return None;
        }
        let read = serde_json::from_value::<Self>(value.clone()).map_err(|error| error.to_string());
        Some(read.and_then(Self::checked))
    }

    fn checked(self) -> Result<Self, String> {
        if self.encoding != "json" {
            return Err(format!("`{}` is an encoding nobody knows", self.encoding));
        }
        if !is_hash(&self.sha256) {
            return Err("its hash is none".to_owned());
        }
        let parts: Vec<_> = self.relative_path.split(['/', '\\']).collect();
        let inside = parts.iter().all(|part| !part.is_empty() && *part != "." && *part != "..");
        // What a file name on any system could turn into a place elsewhere.
        if !inside || self.relative_path.contains([':', '\0']) {
            return Err(format!("`{}` leads elsewhere", self.relative_path));
        }
        Ok(self)
    }

    /// Whether these bytes are what it says.
    pub(in crate::replay) fn fits(&self, bytes: &[u8]) -> Result<(), String> {
        let found = BlobRef::of(bytes);
        if found.bytes != self.byte_length {
            return Err(format!("it has {} bytes, not {}", found.bytes, self.byte_length));
        }
        if found.sha256 != self.sha256 {
            return Err(format!("its hash is {}, not {}", found.sha256, self.sha256));
        }
        Ok(())
    }
}

/// Takes the large fields of a line out of it.
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

/// A session's id as the name of a file: ids have slashes and colons.
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
