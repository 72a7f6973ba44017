//! Events: the one vocabulary. A session *is* the journal of its events; everything else
//! (state, terminal, JSON output, audit, replay) is a projection of them.
//!
//! The table below is the only place that lists them. From it come the enum, the decoder, the
//! JSON Schema and `docs/events.md`. To add an event: write its data struct in the file of its
//! group, add one line here, and give it a meaning in [`crate::state`].

mod cursor;
mod data;
mod depth;
mod envelope;
mod line;
mod raw;

pub use cursor::{Cursor, CursorError};
pub use data::*;
pub use envelope::{DecodeError, Envelope, FORMAT, READER};
pub use raw::RawJson;

use crate::permission::Class;

/// How safe an event must be before anything that follows it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the death of this process.
    Written,
    /// Survives the loss of power.
    Synced,
}

/// What the event table says about durability; two events depend on what a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// Written is enough.
    Written,
    /// Always synced.
    Synced,
    /// Synced for a call with effects, written for one that only looks.
    SyncedForEffects,
}

/// What an event is to the fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Something that happened.
    Fact,
    /// Something that is about to happen: durable before its effect starts.
    Intent,
    /// A piece of something that will be told whole: for watchers, and for sealing a tail.
    Chunk,
}

/// One row of the event table.
#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    /// The name in the journal.
    pub name: &'static str,
    /// What it is to the fold.
    pub nature: Nature,
    /// How safe it must be.
    pub barrier: Barrier,
    /// What it says.
    pub doc: &'static str,
}

macro_rules! events {
    ($( $name:literal $variant:ident $nature:ident $barrier:ident $doc:literal; )*) => {
        /// One fact of a session. Types this version does not know are kept as they are.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event {
            $( #[doc = $doc] $variant($variant), )*
            /// A type this version does not know.
            Unknown {
                /// Its name in the journal.
                kind: String,
                /// Its data, byte for byte.
                data: RawJson,
            },
        }

        /// The event table.
        pub const TABLE: &[EventInfo] = &[$( EventInfo {
            name: $name,
            nature: Nature::$nature,
            barrier: Barrier::$barrier,
            doc: $doc,
        }, )*];

        impl Event {
            /// The name in the journal.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $( Self::$variant(_) => $name, )*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Its row of the table; none for an unknown type.
            #[must_use]
            pub fn info(&self) -> Option<&'static EventInfo> {
                let name = match self {
                    $( Self::$variant(_) => $name, )*
                    Self::Unknown { .. } => return None,
                };
                TABLE.iter().find(|info| info.name == name)
            }

            /// Reads the data of an event of that type.
            pub(crate) fn decode(kind: &str, data: &str) -> Result<Self, serde_json::Error> {
                Ok(match kind {
                    $( $name => Self::$variant(depth::read(data)?), )*
                    _ => Self::Unknown {
                        kind: kind.to_owned(),
                        data: RawJson::parse(data)?,
                    },
                })
            }

            /// Writes the data as JSON.
            pub(crate) fn encode_data(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
                match self {
                    $( Self::$variant(data) => serde_json::to_writer(out, data), )*
                    Self::Unknown { data, .. } => {
                        out.extend_from_slice(data.as_str().as_bytes());
                        Ok(())
                    }
                }
            }

            /// The JSON Schema of each type's data, in the order of the table.
            #[must_use]
            pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
                vec![$( ($name, generator.subschema_for::<$variant>()), )*]
            }
        }

        $( impl From<$variant> for Event {
            fn from(data: $variant) -> Self {
                Self::$variant(data)
            }
        } )*
    };
}

events! {
    "session_created" SessionCreated Fact Synced "The session exists; its id is here and nowhere else in the journal.";
    "opened" Opened Fact Written "A writer opened the journal; a new epoch begins.";
    "closed" Closed Fact Synced "The writer is done with the session.";
    "renamed" Renamed Fact Written "The session has a name.";
    "mode_changed" ModeChanged Fact Written "The permission mode is another.";
    "prompt_set" PromptSet Fact Written "The system prompt from here on.";
    "tools_set" ToolsSet Fact Written "The tools offered from here on.";
    "entry_added" EntryAdded Fact Written "Something for people in the history; no model sees it.";
    "message_injected" MessageInjected Fact Synced "A message put into the conversation by the program.";
    "input_accepted" InputAccepted Fact Synced "Somebody's input is safe; it will be delivered or cancelled.";
    "input_blocked" InputBlocked Fact Written "A hook refused the input.";
    "input_cancelled" InputCancelled Fact Written "The input will not be delivered.";
    "turn_started" TurnStarted Fact Written "Work on an input begins.";
    "user_message" UserMessage Fact Written "The user's message enters the conversation.";
    "context_measured" ContextMeasured Fact Written "How full the context window is.";
    "compaction_started" CompactionStarted Intent Written "The conversation is about to be summarised.";
    "compaction_finished" CompactionFinished Fact Synced "What the model sees is a summary and what follows it.";
    "compaction_failed" CompactionFailed Fact Written "The conversation stays as it was.";
    "prefix_changed" PrefixChanged Fact Written "The next request does not extend the last one, and why.";
    "model_requested" ModelRequested Intent Written "A model is about to be called.";
    "content_left_out" ContentLeftOut Fact Written "Parts of the conversation cannot be sent to this model; told once for each that are.";
    "text_chunk" TextChunk Chunk Written "Text as it arrives.";
    "thinking_chunk" ThinkingChunk Chunk Written "Reasoning as it arrives.";
    "tool_input_chunk" ToolInputChunk Chunk Written "Arguments of a tool call as they arrive.";
    "provider_payload" ProviderPayload Fact Written "What went over the wire, as the provider's adapter saw it.";
    "stream_reset" StreamReset Fact Written "What streamed in this attempt is void; watchers drop it.";
    "model_retry" ModelRetry Fact Written "The call failed and is tried again.";
    "model_failed" ModelFailed Fact Written "The call failed for good.";
    "model_responded" ModelResponded Fact Written "The model's answer is complete.";
    "model_asked" ModelAsked Fact Written "A model was called outside the conversation; what it cost.";
    "assistant_message" AssistantMessage Fact Written "The answer enters the conversation, whole or cut short.";
    "tool_called" ToolCalled Fact Written "The model asks for a tool call.";
    "tool_batch_started" ToolBatchStarted Fact Written "The calls of one answer begin to be worked off.";
    "hook_started" HookStarted Intent Written "A hook is about to run.";
    "hook_finished" HookFinished Fact Written "A hook answered.";
    "permission_asked" PermissionAsked Intent Written "Somebody is asked whether a call may run.";
    "permission_decided" PermissionDecided Fact Written "It is decided whether a call may run, by whom and why.";
    "tool_started" ToolStarted Intent SyncedForEffects "A call is about to run.";
    "files_changing" FilesChanging Intent Synced "A call is about to change files, all of them or none; what they were is kept.";
    "process_started" ProcessStarted Fact Written "A call started a process; it can be found again after our own death.";
    "tool_output" ToolOutput Chunk Written "Output of a running call.";
    "tool_finished" ToolFinished Fact SyncedForEffects "What a call came to, in order of completion.";
    "tool_result" ToolResultAdded Fact Written "What the model is told of a call, in order of the calls.";
    "tool_batch_finished" ToolBatchFinished Fact Written "All calls of one answer have their results.";
    "interrupted" Interrupted Fact Written "The turn was cut short.";
    "turn_finished" TurnFinished Fact Synced "The turn is over.";
    "rewound" Rewound Fact Synced "What the model sees ends earlier; what happened stays.";
    "view_restored" ViewRestored Fact Synced "What the last compaction took out of sight is back.";
    "label_set" LabelSet Fact Synced "A point of the journal has a name.";
    "forked" Forked Fact Synced "Another session continues from a point of this one.";
    "state_snapshot" StateSnapshot Fact Written "Which events the state is made of, so that a resume need not read them all.";
    "recovered" Recovered Fact Synced "What a dead writer left open is sealed.";
    "failed" Failed Fact Written "Something outside a turn went wrong.";
}

impl Event {
    /// How safe this event must be before what follows it happens.
    #[must_use]
    pub fn durability(&self) -> Durability {
        let Some(info) = self.info() else { return Durability::Written };
        match info.barrier {
            Barrier::Written => Durability::Written,
            Barrier::Synced => Durability::Synced,
            Barrier::SyncedForEffects => match self.class() {
                Some(Class::Inspect) => Durability::Written,
                Some(Class::Modify | Class::Execute) | None => Durability::Synced,
            },
        }
    }

    /// Whether it is a piece of something that will be told whole.
    #[must_use]
    pub fn is_chunk(&self) -> bool {
        self.info().is_some_and(|info| info.nature == Nature::Chunk)
    }

    fn class(&self) -> Option<Class> {
        match self {
            Self::ToolStarted(started) => Some(started.class),
            // A call that never ran changed nothing.
            Self::ToolFinished(finished) if finished.outcome.ran == DidRun::No => Some(Class::Inspect),
            Self::ToolFinished(finished) => finished.class,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
