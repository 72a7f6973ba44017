//! The command `memory`, for people and models.

use serde_json::{Value, json};

use super::{MemoryEntry, MemoryError, MemoryEvent, MemoryKind, ProjectMemory, RecalledTopic};

/// Holds a parsed `memory` command.
///
/// ```
/// use robota_sdk::memory::MemoryCommand;
///
/// let show = MemoryCommand::Show(Some("testing".to_owned()));
/// assert_ne!(show, MemoryCommand::List);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryCommand {
    /// `list`: the index and the topics.
    List,
    /// `show [TOPIC]`: a topic, or the index.
    Show(Option<String>),
    /// `add KIND TOPIC TEXT`: stores an entry at once.
    Add {
        /// The kind of fact that the entry states.
        kind: MemoryKind,
        /// The topic, which becomes the name of a file.
        topic: String,
        /// The fact; it becomes one line.
        text: String,
    },
    /// `pending`: lists the candidates that wait for approval.
    Pending,
    /// `approve ID`: stores the candidate with this id.
    Approve(String),
    /// `reject ID`: drops the candidate with this id.
    Reject(String),
    /// `find QUESTION`: the topics that a question is about.
    Find(String),
    /// `used`: shows which topics this session recalled.
    Used,
}

/// Answers a `memory` command.
///
/// ```
/// use robota_sdk::memory::MemoryReply;
///
/// fn changed(reply: &MemoryReply) -> bool {
///     reply.event.is_some()
/// }
/// # let _ = changed;
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryReply {
    /// The result of the command, for a person.
    pub message: String,
    /// The same as JSON, for programs.
    pub data: Value,
    /// What to record; `None` if nothing was changed or recalled.
    pub event: Option<MemoryEvent>,
}

const USAGE: &str = "memory list | show [topic] | add <user|feedback|project|reference> <topic> \
    <text> | find <question> | pending | approve <id> | reject <id> | used";

impl MemoryCommand {
    /// Parses the arguments of the command. Without arguments it is `list`.
    ///
    /// # Errors
    /// When they are not of a known form.
    pub fn parse(arguments: &str) -> Result<Self, MemoryError> {
        let usage = || MemoryError::Invalid(format!("usage: {USAGE}"));
        let (name, rest) = split(arguments);
        let one = |make: fn(String) -> Self| {
            if rest.is_empty() || rest.contains(char::is_whitespace) {
                Err(usage())
            } else {
                Ok(make(rest.to_owned()))
            }
        };
        let none = |command| if rest.is_empty() { Ok(command) } else { Err(usage()) };
        match name {
            "" | "list" => none(Self::List),
            "show" if rest.is_empty() => Ok(Self::Show(None)),
            "show" => one(|topic| Self::Show(Some(topic))),
            "add" => {
                let (kind, rest) = split(rest);
                let (topic, text) = split(rest);
                if text.is_empty() {
                    return Err(usage());
                }
                let (topic, text) = (topic.to_owned(), text.to_owned());
                Ok(Self::Add { kind: kind.parse()?, topic, text })
            }
            "find" if rest.is_empty() => Err(usage()),
            "find" => Ok(Self::Find(rest.to_owned())),
            "pending" => none(Self::Pending),
            "approve" => one(Self::Approve),
            "reject" => one(Self::Reject),
            "used" => none(Self::Used),
            _ => Err(usage()),
        }
    }
}

impl ProjectMemory {
    /// Runs a command. `events` are the events of this session so far, oldest first.
    ///
    /// # Errors
    /// When the command cannot be done. [`MemoryError::event`] says what to record.
    pub fn run(
        &self,
        command: &MemoryCommand,
        events: &[MemoryEvent],
    ) -> Result<MemoryReply, MemoryError> {
        match command {
            MemoryCommand::List => {
                let topics = self.topics();
                let message = match topics.is_empty() {
                    true => "The memory is empty.".to_owned(),
                    false => format!("Topics: {}", topics.join(", ")),
                };
                Ok(reply(message, json!({ "topics": topics })))
            }
            MemoryCommand::Show(None) => {
                let index = self.index()?;
                let data = json!({ "text": index.text, "truncated": index.truncated });
                Ok(reply(index.text, data))
            }
            MemoryCommand::Show(Some(topic)) => {
                let text = self.topic(topic)?;
                let data = json!({ "topic": topic, "text": text });
                // What the model has read counts as recalled, whichever command showed it.
                let event = MemoryEvent::Recalled { topics: vec![topic.clone()] };
                Ok(MemoryReply { message: text, data, event: Some(event) })
            }
            MemoryCommand::Add { kind, topic, text } => {
                let entry = MemoryEntry::new(*kind, topic, text)?;
                let added = self.add(&entry)?;
                let what = if added.deduplicated { "is already in" } else { "was added to" };
                let message = format!("The entry {what} `{}`.", entry.topic());
                let data = json!({ "topic": entry.topic(), "deduplicated": added.deduplicated });
                Ok(MemoryReply { message, data, event: Some(added.event) })
            }
            MemoryCommand::Pending => {
                let pending = self.pending()?;
                let line = |it: &super::Candidate| {
                    format!("{} ({}) {}: {}", it.id, it.kind, it.topic, it.text)
                };
                let lines: Vec<_> = pending.iter().map(line).collect();
                let message = match lines.is_empty() {
                    true => "No candidate waits.".to_owned(),
                    false => lines.join("\n"),
                };
                Ok(reply(message, json!({ "pending": pending })))
            }
            MemoryCommand::Approve(id) => {
                let added = self.approve(id)?;
                let message = format!("Candidate {id} was approved.");
                let data = json!({ "id": id, "deduplicated": added.deduplicated });
                Ok(MemoryReply { message, data, event: Some(added.event) })
            }
            MemoryCommand::Reject(id) => {
                let event = self.reject(id)?;
                let message = format!("Candidate {id} was rejected.");
                Ok(MemoryReply { message, data: json!({ "id": id }), event: Some(event) })
            }
            MemoryCommand::Find(question) => Ok(self.find(question)),
            MemoryCommand::Used => Ok(used(events)),
        }
    }
}

impl ProjectMemory {
    /// Returns the topics that a question is about. Only what was found is recorded.
    fn find(&self, question: &str) -> MemoryReply {
        let (recalled, event) = self.recall(question);
        if recalled.is_empty() {
            let message = "No topic shares a word with the question.".to_owned();
            return reply(message, json!({ "topics": [] }));
        }
        let text = |it: &RecalledTopic| {
            let more = if it.truncated { "\n[cut: `memory show` shows all of it]" } else { "" };
            format!("# {}\n\n{}{more}", it.topic, it.text.trim_end())
        };
        let message = recalled.iter().map(text).collect::<Vec<_>>().join("\n\n");
        let topics: Vec<_> = recalled.iter().map(|it| it.topic.as_str()).collect();
        MemoryReply { message, data: json!({ "topics": topics }), event: Some(event) }
    }
}

impl MemoryError {
    /// Returns the event to record for an error; `None` if nothing was refused.
    #[must_use]
    pub fn event(&self) -> Option<MemoryEvent> {
        match self {
            Self::Refused(reason) => Some(MemoryEvent::Refused { reason: *reason }),
            _ => None,
        }
    }
}

/// Lists the topics that were recalled, each once.
fn used(events: &[MemoryEvent]) -> MemoryReply {
    let mut topics: Vec<&str> = Vec::new();
    for event in events {
        if let MemoryEvent::Recalled { topics: recalled } = event {
            for topic in recalled {
                if !topics.contains(&topic.as_str()) {
                    topics.push(topic);
                }
            }
        }
    }
    let message = match topics.is_empty() {
        true => "This session has recalled nothing.".to_owned(),
        false => format!("Recalled: {}", topics.join(", ")),
    };
    reply(message, json!({ "topics": topics }))
}

fn reply(message: String, data: Value) -> MemoryReply {
    MemoryReply { message, data, event: None }
}

/// Splits the first word off a text.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

#[cfg(test)]
mod tests;
