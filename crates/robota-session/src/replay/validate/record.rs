//! Validates a session record.

use robota_core::ids::CountingIds;

use super::ValidationReport;
use crate::replay::record::{Record, repairs};

/// Finds what is missing in a record, or does not match.
#[must_use]
pub fn record(record: &Record) -> ValidationReport {
    let mut report = ValidationReport::new("record");
    report.events = record.history.len() as u64;
    report.messages = record.messages.len() as u64;
    let ids = CountingIds::default();
    for (place, values) in [("history", &record.history), ("messages", &record.messages)] {
        let chat = |value: &serde_json::Value| value["data"]["toolCalls"].as_array().map(Vec::len);
        report.calls += values.iter().filter_map(chat).sum::<usize>() as u64;
        let repairs = repairs(values, record.created_at, &ids);
        for call in repairs.sealed {
            report.error("UNPAIRED_TOOL_USE", place, format!("{call} has no result"));
        }
        for _ in 0..repairs.orphans {
            report.error("RESULT_WITHOUT_CALL", place, "a tool result without a call");
        }
        for reason in repairs.unreadable {
            report.error("MESSAGE_UNREADABLE", place, reason);
        }
    }
    if record.id.is_empty() {
        report.error("ID_MISSING", "id", "the record has no session id");
    }
    report
}
