//! Lists sessions without reading journals.

use robota_core::journal::{JournalError, SessionFilter, SessionHead, SessionPage};

use super::append::nanoseconds;
use super::chain::head_of;
use super::{Columns, Query, Value};

/// How many sessions are fetched at a time.
const PAGE: i64 = 500;

/// Lists the sessions that match a filter. The database narrows them down; `SessionFilter` decides,
/// so that every store gives the same result.
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
    let has_nul = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('\0'));
    if has_nul(&filter.prefix) || has_nul(&filter.cwd) {
        // Texts in a database cannot contain NUL.
        return Ok(SessionPage::default());
    }
    let limit = filter.limit.unwrap_or(usize::MAX);
    let mut heads: Vec<SessionHead> = Vec::new();
    let mut after = filter.after.clone();
    loop {
        let missing = i64::try_from(limit.saturating_sub(heads.len())).unwrap_or(i64::MAX);
        let page = if filter.text.is_none() { missing.saturating_add(1).min(PAGE) } else { PAGE };
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
                heads.push(head);
            }
        }
        if !full || heads.len() > limit {
            break;
        }
    }
    // They are sorted already; this cuts the page.
    Ok(filter.page(heads))
}
