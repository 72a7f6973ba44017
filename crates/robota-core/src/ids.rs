//! Identifiers, and the port that creates them. No other code in the workspace calls a random
//! generator. Tests inject [`Ids`], so that a whole run can be compared with a snapshot.

mod grammar;

pub use grammar::{SessionName, SessionNameError, SessionPath, name_part};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Creates unique ids. Tests pass ids that count.
pub trait Ids: Send + Sync {
    /// Returns a new id. Those of [`RandomIds`] sort by time.
    fn next(&self) -> Uuid;
}

/// Creates UUIDs of version 7: unique, and sorted by time.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    #[expect(clippy::disallowed_methods, reason = "the one place that mints real ids")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// Counts from one, for tests and demonstrations that must print the same ids every time.
#[derive(Debug, Default)]
pub struct CountingIds(std::sync::atomic::AtomicU64);

impl Ids for CountingIds {
    fn next(&self) -> Uuid {
        let count = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        Uuid::from_u128(u128::from(count))
    }
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Creates a new id.
            pub fn mint(ids: &dyn Ids) -> Self {
                Self(ids.next().to_string())
            }

            /// Returns the id as text, as it is written in journals.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
}

id_type! {
    /// The id of a session: a UUID or a structured name such as `agent:dev/session:main`.
    SessionId
}
id_type! {
    /// The id of a turn. Every event of the turn carries it.
    TurnId
}
id_type! {
    /// The id of a message in a conversation.
    MessageId
}
id_type! {
    /// The id of an input that a client sent.
    InputId
}
id_type! {
    /// Our id of a tool call, since providers repeat theirs. It is also the id of the call's
    /// approval.
    CallId
}
id_type! {
    /// The id of an entry in the history.
    EntryId
}
id_type! {
    /// The id of a background task.
    TaskId
}
id_type! {
    /// The id of a group of background tasks.
    GroupId
}
id_type! {
    /// The id of a schedule, unique in its session.
    ScheduleId
}
