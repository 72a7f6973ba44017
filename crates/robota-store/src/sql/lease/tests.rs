use std::time::Duration;

use super::super::{BlobLock, Long, Query, Row};
use super::*;

/// A database with one session, that nobody writes to, and that takes long to tell the time.
struct SlowDatabase;

#[async_trait::async_trait]
impl Query for SlowDatabase {
    async fn query(&mut self, sql: &str, _: Vec<Value>) -> Result<Vec<Row>, JournalError> {
        Ok(vec![if sql.contains("FROM robota_leases") {
            vec![Value::Int(1), Value::Int(0), Value::Null, Value::Int(3), Value::Int(1)]
        } else {
            vec![Value::Null, Value::Int(0), Value::Null, Value::Null]
        }])
    }
}

#[async_trait::async_trait]
impl Tx for SlowDatabase {
    async fn execute(&mut self, _: &str, _: Vec<Value>) -> Result<u64, JournalError> {
        Ok(1)
    }

    async fn now(&mut self) -> Result<i64, JournalError> {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(0)
    }

    async fn new_journal_id(&mut self) -> Result<i64, JournalError> {
        Ok(1)
    }

    async fn lock_blobs(&mut self, _: BlobLock) -> Result<(), JournalError> {
        Ok(())
    }

    async fn allow_long_statements(&mut self, _: Long) -> Result<(), JournalError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_writer_does_not_count_on_its_lease_for_longer_than_the_database() {
    let ended = Arc::new(EndedLeases::new(Duration::from_secs(30)));
    let request = LeaseRequest { owner: LeaseOwner::default(), ttl: 30_000, ended };
    // The lease begins at the time that the database answers: it may have read its clock at once.
    let asked_at = Instant::now();
    let (lease, _) = open(&mut SlowDatabase, &SessionId::from("s"), &request).await.unwrap();
    assert_eq!(lease.last_renewed(), asked_at);
}
