//! Reads lists of servers page by page, within limits.

use std::collections::HashSet;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestLimits};
use super::link::MAX_MESSAGE;
use crate::error::McpError;

/// At most this many pages of a list are read.
const MAX_PAGES: usize = 100;
/// At most this many items of a list are used.
const MAX_ITEMS: usize = 2_048;
/// At most this many bytes of a list are kept, as JSON. A list of one page cannot have more.
const MAX_BYTES: usize = MAX_MESSAGE;
/// The longest cursor that is sent back, in bytes.
const MAX_CURSOR: usize = 64 * 1024;

/// The items of a list.
pub(super) struct Listed {
    pub(super) items: Vec<Value>,
    /// Whether there are more than can be used.
    pub(super) cut: bool,
}

/// Reads a list: `key` names the field of a page that has its items.
pub(super) async fn list(
    connection: &Connection,
    method: &str,
    key: &str,
) -> Result<Listed, McpError> {
    let limit = RequestLimits::SHORT.total;
    let reading = pages(connection, method, key);
    let timed_out = |_| connection.timed_out(limit);
    tokio::time::timeout(limit, reading).await.map_err(timed_out)?
}

async fn pages(connection: &Connection, method: &str, key: &str) -> Result<Listed, McpError> {
    let (mut items, mut seen, mut bytes) = (Vec::new(), HashSet::new(), 0);
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = match &cursor {
            Some(cursor) => json!({"cursor": cursor}),
            None => json!({}),
        };
        let token = CancellationToken::new();
        let mut page =
            connection.request(method, params, RequestLimits::SHORT, &token, None).await?;
        if let Some(Value::Array(found)) = page.get_mut(key).map(Value::take) {
            for item in found {
                bytes += item.to_string().len();
                if items.len() == MAX_ITEMS || bytes > MAX_BYTES {
                    return Ok(Listed { items, cut: true });
                }
                items.push(item);
            }
        }
        let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        match next {
            None => return Ok(Listed { items, cut: false }),
            // A server that repeats a cursor would never end.
            Some(next) if next.len() > MAX_CURSOR || !seen.insert(next.clone()) => break,
            Some(next) => cursor = Some(next),
        }
    }
    Ok(Listed { items, cut: true })
}
