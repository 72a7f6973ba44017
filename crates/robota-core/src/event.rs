//! Events: the one vocabulary. A session *is* the journal of its events; everything else
//! (state, terminal, JSON output, audit, replay) is a projection of them.
//!
//! The table below is the only list of event types. The macro generates the enum and the decoder
//! from it; `cargo xtask gen` generates the JSON Schema and `docs/events.md`. To add an event:
//! write its data struct in the file of its group, add one line here, and give it a meaning in
//! [`crate::state`].

mod cursor;
mod data;
mod depth;
mod envelope;
mod line;
mod raw;

pub use cursor::{Cursor, CursorError};
pub use data::*;
pub use envelope::{DecodeError, Envelope, FORMAT, READER, TYPE_FIELD};
pub use raw::RawJson;

pub(crate) use depth::check_value;

use crate::journal::JournalError;
use crate::permission::Class;

/// How durable an event must be before the driver performs the effects that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The event survives a crash of the process.
    Written,
    /// The event survives a power failure.
    Synced,
}

/// Says when an event must be durable, as the event table has it. For two events it depends on the
/// class of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// [`Durability::Written`] for every event of this type.
    Written,
    /// [`Durability::Synced`] for every event of this type.
    Synced,
    /// Synced for a call that changes files or runs commands, written for a read-only call.
    SyncedForEffects,
}

/// Says what events of a type do in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Something that happened. It is recorded afterwards.
    Fact,
    /// Something that is about to happen. The event is durable before its effect starts.
    Intent,
    /// A streamed piece of something that a later event contains in full. Clients display chunks;
    /// recovery uses them when a crash prevented the later event.
    Chunk,
}

/// Describes one event type: a row of the event table.
#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    /// The event type as it is written in the journal.
    pub name: &'static str,
    /// Whether the event is a fact, an intent or a chunk.
    pub nature: Nature,
    /// The durability that an append with this event has at least.
    pub barrier: Barrier,
    /// One sentence about the event, for `docs/events.md` and the schema.
    pub doc: &'static str,
}

macro_rules! events {
    ($( $name:literal $variant:ident $nature:ident $barrier:ident $doc:literal; )*) => {
        /// Records one fact of a session. Events of unknown types are preserved.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        #[expect(clippy::large_enum_variant, reason = "a snapshot is one of hundreds of events, and is not kept")]
        pub enum Event {
            $( #[doc = $doc] $variant($variant), )*
            /// An event of a type that this version does not know, for instance of a newer version.
            Unknown {
                /// The event type as it is written in the journal.
                kind: String,
                /// The data, byte for byte as it was written.
                data: RawJson,
            },
        }

        /// Describes every known event type in one row.
        pub const TABLE: &[EventInfo] = &[$( EventInfo {
            name: $name,
            nature: Nature::$nature,
            barrier: Barrier::$barrier,
            doc: $doc,
        }, )*];

        impl Event {
            /// Returns the event type as it is written in the journal.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $( Self::$variant(_) => $name, )*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Returns the row of the table, or `None` for an unknown type.
            #[must_use]
            pub fn info(&self) -> Option<&'static EventInfo> {
                let name = match self {
                    $( Self::$variant(_) => $name, )*
                    Self::Unknown { .. } => return None,
                };
                TABLE.iter().find(|info| info.name == name)
            }

            /// Decodes the data of an event of type `kind`.
            pub(crate) fn decode(kind: &str, data: &str) -> Result<Self, serde_json::Error> {
                Ok(match kind {
                    $( $name => Self::$variant(depth::read(data)?), )*
                    _ => Self::Unknown {
                        kind: kind.to_owned(),
                        data: RawJson::parse(data)?,
                    },
                })
            }

            /// Appends the data as JSON to `out`.
            pub(crate) fn encode_data(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
                match self {
                    $( Self::$variant(data) => serde_json::to_writer(out, data), )*
                    Self::Unknown { data, .. } => {
                        out.extend_from_slice(data.as_str().as_bytes());
                        Ok(())
                    }
                }
            }

            /// Returns the JSON Schema of each type's data, in the order of the table.
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
    "session_created" SessionCreated Fact Written "The session was created. No other event contains its id.";
    "opened" Opened Fact Written "A process opened the journal for writing; a new epoch begins.";
    "closed" Closed Fact Synced "The process that wrote the session closed it.";
    "renamed" Renamed Fact Written "The session got a new name.";
    "mode_changed" ModeChanged Fact Written "The permission mode changed.";
    "prompt_set" PromptSet Fact Written "The system prompt of the following model calls.";
    "tools_set" ToolsSet Fact Written "The tools offered in the following model calls.";
    "entry_added" EntryAdded Fact Written "The program added an entry to the history. It is not part of the conversation.";
    "message_injected" MessageInjected Fact Synced "The program added a message to the conversation.";
    "input_accepted" InputAccepted Fact Synced "The session accepted an input. It will be delivered, blocked or cancelled.";
    "input_changed" InputChanged Fact Synced "An input that was not delivered yet was changed, or moved to another place of the queue.";
    "input_blocked" InputBlocked Fact Written "A hook blocked the input.";
    "input_cancelled" InputCancelled Fact Written "The input was cancelled and will not be delivered.";
    "turn_rules_added" TurnRulesAdded Fact Synced "Rules were added that deny calls in one turn: that of an input, or the running one.";
    "turn_started" TurnStarted Fact Written "A turn started.";
    "user_message" UserMessage Fact Written "A user message was added to the conversation.";
    "context_measured" ContextMeasured Fact Written "An estimate of how full the context window is, before a model call.";
    "compaction_started" CompactionStarted Intent Written "The conversation is about to be summarised.";
    "compaction_finished" CompactionFinished Fact Synced "A summary replaced the older messages in the model's view.";
    "compaction_failed" CompactionFailed Fact Written "The compaction failed; the conversation is unchanged.";
    "prefix_changed" PrefixChanged Fact Written "The next request does not start with the content of the last one, so a provider's prompt cache may not apply.";
    "model_requested" ModelRequested Intent Written "The model is about to be called.";
    "content_left_out" ContentLeftOut Fact Written "Requests to this model omit parts of the conversation that it cannot take. Written again only when more is omitted.";
    "text_chunk" TextChunk Chunk Written "A streamed piece of the answer's text.";
    "thinking_chunk" ThinkingChunk Chunk Written "A streamed piece of the model's reasoning.";
    "tool_input_chunk" ToolInputChunk Chunk Written "A streamed piece of the arguments of a tool call.";
    "provider_payload" ProviderPayload Fact Written "A raw request or response of the provider's API, if recording of payloads is enabled.";
    "stream_reset" StreamReset Fact Written "The chunks of this attempt are void; clients remove them.";
    "model_retry" ModelRetry Fact Written "A model call failed and will be retried.";
    "model_failed" ModelFailed Fact Written "A model call failed and this request will not be retried.";
    "model_responded" ModelResponded Fact Written "The model finished its answer.";
    "model_asked" ModelAsked Fact Written "A model was called outside the conversation, or its answer was discarded; records its usage.";
    "assistant_message" AssistantMessage Fact Written "The model's answer was added to the conversation, complete or interrupted.";
    "tool_called" ToolCalled Fact Written "The model asked for a tool call.";
    "tool_batch_started" ToolBatchStarted Fact Written "The session starts to process the tool calls of one answer.";
    "hook_started" HookStarted Intent Written "The hooks of one point are about to run.";
    "hook_finished" HookFinished Fact Written "The hooks of one point finished; records their merged decision.";
    "permission_asked" PermissionAsked Intent Written "The session asks a user to approve a call.";
    "permission_decided" PermissionDecided Fact Written "The decision whether a call may run, who made it and why.";
    "tool_started" ToolStarted Intent SyncedForEffects "A call is about to run.";
    "files_changing" FilesChanging Intent Synced "A call is about to change files, all of them or none. Their previous content is stored.";
    "files_watched" FilesWatched Intent Synced "A command is about to run that may change files. The workspace before it is recorded, and the content of its files is stored.";
    "files_changed" FilesChanged Fact Written "A command changed files of the workspace.";
    "process_started" ProcessStarted Fact Written "A call started a process. Recovery can identify the process after a crash.";
    "tool_output" ToolOutput Chunk Written "A piece of the output of a running call.";
    "tool_finished" ToolFinished Fact SyncedForEffects "The outcome of a call. These events are in order of completion.";
    "tool_result" ToolResultAdded Fact Written "The result of a call was added to the conversation. These events are in order of the calls.";
    "tool_batch_finished" ToolBatchFinished Fact Written "Every call of one answer has its result.";
    "interrupted" Interrupted Fact Written "The turn was interrupted.";
    "turn_finished" TurnFinished Fact Synced "The turn ended.";
    "rewound" Rewound Fact Synced "The model's view was cut back to its first messages. The journal keeps all events.";
    "view_restored" ViewRestored Fact Synced "The last compaction was undone: the messages that its summary replaced are in the model's view again.";
    "restore_started" RestoreStarted Intent Synced "A checkpoint is about to be restored. The current content of its files is stored.";
    "restore_finished" RestoreFinished Fact Synced "A checkpoint was restored.";
    "task_changed" TaskChanged Fact Written "Something happened to a background task: it was created, started, did something, or ended.";
    "task_group_changed" TaskGroupChanged Fact Written "Something happened to a group of background tasks.";
    "label_set" LabelSet Fact Synced "A point of the journal got a name.";
    "forked" Forked Fact Synced "Another session was forked from a point of this one.";
    "state_snapshot" StateSnapshot Fact Written "Which events make up the state, so that a resume need not read all of them.";
    "recovered" Recovered Fact Synced "What a crashed process left open was closed.";
    "schedule_added" ScheduleAdded Fact Synced "A schedule was added; it sends an input at certain times.";
    "schedule_skipped" ScheduleSkipped Fact Synced "Times of a schedule came, and it sent no input.";
    "schedule_paused" SchedulePaused Fact Synced "A schedule was paused.";
    "schedule_resumed" ScheduleResumed Fact Synced "A paused schedule was resumed.";
    "schedule_removed" ScheduleRemoved Fact Synced "A schedule was removed.";
    "room_joined" RoomJoined Fact Synced "A member joined the room that this journal belongs to.";
    "room_left" RoomLeft Fact Synced "A member left the room.";
    "room_said" RoomSaid Fact Synced "A message was sent to the room.";
    "room_delivered" RoomDelivered Fact Written "A member's session accepted a message of the room.";
    "room_heard" RoomHeard Fact Synced "This session joined a room late, and received its messages up to a number in one note.";
    "failed" Failed Fact Written "Something failed outside a turn.";
}

impl Event {
    /// Returns how durable this event must be before the driver performs the effects that follow
    /// it.
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

    /// Returns true for a streamed piece of something that a later event contains in full.
    #[must_use]
    pub fn is_chunk(&self) -> bool {
        self.info().is_some_and(|info| info.nature == Nature::Chunk)
    }

    /// Checks that a journal can store the event: values that programs put into it may be nested too
    /// deep. The other events contain only what was parsed, with a lower limit.
    ///
    /// # Errors
    /// [`JournalError::Unencodable`] if it cannot be stored.
    pub fn check_storable(&self) -> Result<(), JournalError> {
        let checked = match self {
            Self::InputAccepted(data) => check_value(data),
            Self::InputChanged(data) => check_value(data),
            Self::EntryAdded(data) => check_value(data),
            Self::MessageInjected(data) => check_value(data),
            Self::ToolFinished(data) => check_value(&data.outcome.metadata),
            Self::TaskChanged(data) => check_value(data),
            Self::TaskGroupChanged(data) => check_value(data),
            _ => Ok(()),
        };
        let kind = || self.kind().to_owned();
        checked.map_err(|reason| JournalError::Unencodable { kind: kind(), reason })
    }

    fn class(&self) -> Option<Class> {
        match self {
            Self::ToolStarted(started) => Some(started.class),
            // A call that never ran changed nothing.
            Self::ToolFinished(finished) if finished.outcome.ran == DidRun::No => {
                Some(Class::Inspect)
            }
            Self::ToolFinished(finished) => finished.class,
            _ => None,
        }
    }
}

/// Returns the types of events that are chunks, as they are written in the journal.
pub fn chunk_kinds() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|info| info.nature == Nature::Chunk).map(|info| info.name)
}

#[cfg(test)]
mod tests;
