//! A snapshot of the state: numbers of events, never their content.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::data;
use crate::event::Cursor;
use crate::ids::{CallId, InputId, MessageId, TurnId};
use crate::message::Cause;
use crate::permission::Mode;
use crate::process::ProcessIdentity;
use crate::state::SafePoints;
use crate::usage::Usage;

data! {
    /// Which events the state is made of.
    StateSnapshot {
        /// The version of the fold that made it; another fold ignores it.
        reducer: u32,
        /// The event that says which session this is.
        created: u64,
        /// The session's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The permission mode.
        mode: Mode,
        /// The event with the system prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<u64>,
        /// The event with the tools.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<u64>,
        /// The event that says what requests are without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<u64>,
        /// What the model sees.
        view: ViewRefs,
        /// What the model saw before the last summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Box<ReplacedViewRefs>>,
        /// The events with the inputs that are not delivered yet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<u64>,
        /// The turn that is running; it streams nothing and owes no result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<Box<QuietTurn>>,
        /// Turns that ended with an answer.
        turns_completed: u64,
        /// What everything cost.
        usage: Usage,
        /// Where the session can be forked.
        safe_points: SafePoints,
        /// The snapshot before this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<u64>,
        /// Processes that outlive their calls and may still run.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        background: IndexMap<CallId, Vec<ProcessIdentity>>,
        /// Named places.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        labels: IndexMap<String, Cursor>,
    }

    /// The events a conversation is made of. It may begin with one that an older snapshot
    /// lists, so that snapshots of a growing conversation stay small.
    ViewRefs {
        /// The snapshot whose conversation this one begins with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<u64>,
        /// The events after that.
        events: Vec<u64>,
        /// What the provider counted last, and for which message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latest_usage: Option<CountedUsage>,
    }

    /// What a provider counted for a message.
    CountedUsage {
        /// The message.
        message: MessageId,
        /// The count.
        usage: Usage,
    }

    /// A conversation that a summary took the place of.
    ReplacedViewRefs {
        /// The conversation.
        view: ViewRefs,
        /// How many messages of the shorter one stand for it.
        replaced_by: u64,
    }

    /// A turn between two rounds.
    QuietTurn {
        /// Its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<TurnId>,
        /// The input it works on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputId>,
        /// The round it is in.
        round: u32,
        /// What its answers cost so far.
        usage: Usage,
        /// Calls of it that ran to their end.
        tools_executed: u32,
        /// What interrupted it, if anything has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupted: Option<Cause>,
    }
}
