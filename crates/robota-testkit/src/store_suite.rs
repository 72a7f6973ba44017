//! The conformance tests of journal stores. A store's tests supply a function that creates an empty
//! store:
//!
//! ```
//! mod memory {
//!     async fn make() -> robota_testkit::store_suite::TestStore {
//!         robota_testkit::store_suite::TestStore::new(robota_core::journal::MemoryStore::new())
//!     }
//!     robota_testkit::store_suite!(make);
//! }
//! ```
//!
//! Each case is a separate test, so that a failure names the violated requirement.
#![expect(clippy::expect_used, clippy::panic, reason = "a suite of tests")]

mod blobs;
mod events;
mod forks;
mod lists;
mod writers;

use std::any::Any;
use std::sync::Arc;

use robota_core::event::{
    Cursor, Delivery, Durability, Envelope, Event, InputAccepted, Parent, Renamed, SessionCreated,
    TurnEnd, TurnFinished,
};
use robota_core::ids::{InputId, SessionId};
use robota_core::journal::{Journal, JournalError, JournalStore};
use robota_core::message::Block;
use robota_core::usage::Usage;

pub use blobs::*;
pub use events::*;
pub use forks::*;
pub use lists::*;
pub use writers::*;

/// A store for one case, with everything that must live as long as the store.
pub struct TestStore {
    /// The store under test, empty at the start of a case.
    pub store: Arc<dyn JournalStore>,
    _guard: Box<dyn Any + Send>,
}

impl TestStore {
    /// Creates a store that needs nothing else.
    pub fn new(store: impl JournalStore + 'static) -> Self {
        Self::with_guard(store, ())
    }

    /// Creates a store, and a value to drop after it, such as a temporary folder or a server.
    pub fn with_guard(store: impl JournalStore + 'static, guard: impl Any + Send) -> Self {
        Self { store: Arc::new(store), _guard: Box::new(guard) }
    }
}

/// Defines one test for each requirement on stores, with the stores that the given function
/// creates. With `in one test`, defines a single test for all of them, for stores that are
/// expensive to create.
#[macro_export]
macro_rules! store_suite {
    ($make:path) => {
        $crate::store_suite!(@list each $make);
    };
    ($make:path, in one test) => {
        #[tokio::test]
        async fn kode_12_every_case_of_the_suite() {
            $crate::store_suite!(@list all $make);
        }
    };
    (@list $how:ident $make:path) => {
        $crate::store_suite!(@$how $make:
            kode_12_what_is_appended_is_read_back
            kode_12_batches_out_of_order_are_rejected
            kode_12_an_append_can_be_repeated
            kode_12_an_event_that_cannot_be_stored_is_refused
            kode_12_the_largest_sequence_number_is_rejected
            kode_12_a_session_exists_from_its_first_event
            kode_12_unknown_event_types_are_preserved
            kode_12_picked_events_keep_the_requested_order
            kode_12_a_long_journal_is_read_in_pages
            kode_12_chunks_are_left_out_on_request
            kode_12_journal_size_grows_linearly
            kode_12_one_writer_at_a_time
            kode_12_a_dropped_append_is_atomic
            kode_12_sessions_are_written_concurrently
            kode_12_a_session_can_be_followed
            kode_11_ids_are_distinct_and_hostile_ids_are_rejected
            kode_04_a_fork_diverges_from_its_parent
            kode_04_a_fork_of_a_fork_outlives_both
            kode_04_a_fork_needs_an_existing_event_and_a_free_id
            sess_11_the_head_is_the_fold_of_the_events
            sess_11_sessions_are_listed_newest_first
            sess_11_lists_are_filtered_and_paged
            sess_11_deleted_sessions_are_removed
            sess_11_retention_deletes_what_the_policy_does_not_keep
            sess_13_blobs_are_stored_by_their_hash
            sess_13_blobs_are_deleted_with_their_last_reference
        );
    };
    (@each $make:path: $($case:ident)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                // A store of its own for each case: cases must not see the sessions of others.
                let test_store = $make().await;
                $crate::store_suite::$case(&*test_store.store).await;
            }
        )*
    };
    (@all $make:path: $($case:ident)*) => {
        $(
            // The name of the case that fails is the last line of the output.
            println!("{}", stringify!($case));
            {
                let test_store = $make().await;
                $crate::store_suite::$case(&*test_store.store).await;
            }
        )*
    };
}

/// Creates an event at a position.
#[must_use]
pub fn envelope(epoch: u32, seq: u64, event: impl Into<Event>) -> Arc<Envelope> {
    Arc::new(Envelope {
        seq,
        epoch,
        ts: at(seq),
        turn: None,
        event: event.into(),
        min_reader: None,
    })
}

/// Creates a small event with this sequence number.
#[must_use]
pub fn event(seq: u64) -> Arc<Envelope> {
    // A line break and a letter of four bytes: stores of lines and of text must keep both.
    envelope(1, seq, Renamed { name: format!("name {seq}\n\u{1F680}") })
}

/// Creates small events with these sequence numbers.
#[must_use]
pub fn events(range: std::ops::RangeInclusive<u64>) -> Vec<Arc<Envelope>> {
    range.map(event).collect()
}

/// Returns the first event of a session with this working directory.
fn created(session: &SessionId, cwd: &str, parent: Option<Parent>) -> Event {
    let (session, cwd) = (session.clone(), Some(cwd.to_owned()));
    SessionCreated { session, format: 0, cwd, parent, spawned_by: None }.into()
}

fn input_event(text: &str) -> Event {
    InputAccepted {
        input: InputId::from("input"),
        delivery: Delivery::AfterTurn,
        content: vec![Block::text(text)],
        metadata: serde_json::Map::new(),
        source: None,
    }
    .into()
}

fn turn_finished() -> Event {
    let usage = Usage::default();
    TurnFinished {
        end: TurnEnd::Complete,
        rounds: 1,
        tools_executed: 0,
        usage,
        error: None,
        stop: None,
    }
    .into()
}

fn at(second: u64) -> jiff::Timestamp {
    let second = i64::try_from(second).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(1_000_000_000_i64.saturating_add(second))
        .unwrap_or(jiff::Timestamp::MAX)
}

fn id(text: &str) -> SessionId {
    SessionId::from(text)
}

fn cursor(epoch: u32, seq: u64) -> Cursor {
    Cursor { epoch, seq }
}

/// Creates a session with that many small events and returns its writer.
async fn create_session(
    store: &dyn JournalStore,
    session: &SessionId,
    last: u64,
) -> Box<dyn Journal> {
    let mut journal = store.create(session).await.expect("create");
    journal.append(&events(1..=last), Durability::Synced).await.expect("append");
    journal
}

async fn seqs(store: &dyn JournalStore, session: &SessionId) -> Vec<u64> {
    let events = store.read(session, 0, usize::MAX).await.expect("read");
    events.iter().map(|event| event.seq).collect()
}

fn rejected<T>(result: Result<T, JournalError>) -> JournalError {
    match result {
        Ok(_) => panic!("this must be rejected"),
        Err(error) => error,
    }
}
