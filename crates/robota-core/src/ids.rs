//! Identifiers, and the port that mints them. Nothing in the workspace calls a random
//! generator by itself: with [`Ids`] injected, a whole run can be compared to a snapshot.

mod grammar;

pub use grammar::{SessionName, SessionNameError, SessionPath, name_part};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Mints unique ids.
pub trait Ids: Send + Sync {
    /// A fresh id. Real ones sort by time.
    fn next(&self) -> Uuid;
}

/// Ids that sort by time and repeat never (UUID version 7).
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    #[expect(clippy::disallowed_methods, reason = "the one place that mints real ids")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// Counts from one: for tests and demonstrations that must print the same ids every time.
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
            /// A fresh one.
            pub fn mint(ids: &dyn Ids) -> Self {
                Self(ids.next().to_string())
            }

            /// As text.
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
    /// A session: a UUID or a structured name such as `agent:dev/session:main`.
    SessionId
}
id_type! {
    /// One turn: from a user's input to the answer.
    TurnId
}
id_type! {
    /// One message of the conversation.
    MessageId
}
id_type! {
    /// One input somebody sent, before it is a message.
    InputId
}
id_type! {
    /// One tool call, minted by us: providers repeat theirs. It is also the permission id.
    CallId
}
id_type! {
    /// One entry of the history.
    EntryId
}
