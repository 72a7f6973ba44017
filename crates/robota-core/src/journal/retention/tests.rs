use super::*;
use crate::event::Cursor;

fn sessions(ages_and_bytes: &[(i64, u64)]) -> Vec<(SessionHead, u64)> {
    ages_and_bytes
        .iter()
        .enumerate()
        .map(|(number, (age, bytes))| {
            let at = Timestamp::from_second(1_000_000 - age).unwrap();
            let head = SessionHead {
                session: SessionId::from(format!("s{number}")),
                parent: None,
                spawned_by: None,
                cwd: None,
                name: None,
                title: None,
                created: at,
                updated: at,
                last: Cursor { epoch: 1, seq: 1 },
                turns: 0,
                snapshot: None,
                foreign: false,
            };
            (head, *bytes)
        })
        .collect()
}

fn chosen(policy: RetentionPolicy) -> Vec<String> {
    let sessions = sessions(&[(1, 10), (20, 10), (30, 50), (400, 10)]);
    let now = Timestamp::from_second(1_000_000).unwrap();
    choose(&sessions, policy, now).into_iter().map(|(session, _)| session.to_string()).collect()
}

#[test]
fn an_empty_policy_keeps_everything() {
    assert!(chosen(RetentionPolicy::default()).is_empty());
}

#[test]
fn keep_last_alone_deletes_all_others() {
    let keep = |count| RetentionPolicy { keep_last: Some(count), ..RetentionPolicy::default() };
    assert_eq!(chosen(keep(2)), ["s3", "s2"]);
    assert_eq!(chosen(keep(0)), ["s3", "s2", "s1", "s0"]);
    assert!(chosen(keep(9)).is_empty());
}

#[test]
fn old_sessions_are_deleted_unless_they_are_among_the_newest() {
    let older_than = Some(SignedDuration::from_secs(25));
    let policy = RetentionPolicy { older_than, ..RetentionPolicy::default() };
    assert_eq!(chosen(policy), ["s3", "s2"]);
    assert_eq!(chosen(RetentionPolicy { keep_last: Some(3), ..policy }), ["s3"]);
}

#[test]
fn the_oldest_are_deleted_until_the_others_fit() {
    let max = |bytes| RetentionPolicy { max_bytes: Some(bytes), ..RetentionPolicy::default() };
    assert_eq!(chosen(max(80)), [""; 0]);
    assert_eq!(chosen(max(79)), ["s3"]);
    assert_eq!(chosen(max(69)), ["s3", "s2"]);
    assert_eq!(chosen(RetentionPolicy { keep_last: Some(3), ..max(1) }), ["s3"]);
}
