//! Lists of sessions: no journal is read.

use robota_core::journal::{JournalError, SessionFilter, SessionHead, SessionPage};

use super::append::nanoseconds;
use super::chain::head_of;
use super::{Columns, Query, Value};

/// So many are looked through at once.
const PAGE: i64 = 500;

/// The sessions that a filter lets through. The database narrows them down; the filter decides,
/// so that every store means the same by it.
pub(super) async fn list(
    tx: &mut dyn Query,
    filter: &SessionFilter,
) -> Result<SessionPage, JournalError> {
    let sql = "SELECT head FROM robota_sessions WHERE head IS NOT NULL \
               AND ($1::TEXT IS NULL OR substr(session, 1, length($1)) = $1) \
               AND ($2::TEXT IS NULL OR cwd = $2) \
               AND ($3::BIGINT IS NULL OR updated >= $3) \
               AND ($4::BIGINT IS NULL OR updated < $4) \
               AND ($5::BIGINT IS NULL OR updated < $5 \
                    OR (updated = $5 AND session COLLATE \"C\" > $6)) \
               ORDER BY updated DESC, session COLLATE \"C\" LIMIT $7";
    let nowhere = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('\0'));
    if nowhere(&filter.prefix) || nowhere(&filter.cwd) {
        // No text of a database has that.
        return Ok(SessionPage::default());
    }
    let limit = filter.limit.unwrap_or(usize::MAX);
    let mut found: Vec<SessionHead> = Vec::new();
    let mut after = filter.after.clone();
    loop {
        let wanted = i64::try_from(limit.saturating_sub(found.len())).unwrap_or(i64::MAX);
        let page = if filter.text.is_none() { wanted.saturating_add(1).min(PAGE) } else { PAGE };
        let values = vec![
            Value::opt_text(filter.prefix.as_deref()),
            Value::opt_text(filter.cwd.as_deref()),
            Value::opt_int(filter.since.map(nanoseconds)),
            Value::opt_int(filter.until.map(nanoseconds)),
            Value::opt_int(after.as_ref().map(|mark| nanoseconds(mark.updated))),
            Value::text(after.as_ref().map_or("", |mark| mark.session.as_str())),
            Value::Int(page),
        ];
        let rows = tx.query(sql, values).await?;
        let full = i64::try_from(rows.len()).unwrap_or(i64::MAX) == page;
        for row in rows {
            let head = head_of(&Columns::of(row).text()?)?;
            after = Some(head.mark());
            if filter.matches(&head) {
                found.push(head);
            }
        }
        if !full || found.len() > limit {
            break;
        }
    }
    // Sorts them again, which they are, and cuts the page.
    Ok(filter.page(found))
}
