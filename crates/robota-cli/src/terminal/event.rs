//! What the terminal program reacts to.

use std::any::Any;
use std::time::Duration;

use crossterm::event::KeyEvent;
use robota_config::model::{BuiltInStatusLine, NotificationChannel};
use robota_core::context::ContextState;
use robota_core::ids::CallId;
use robota_core::permission::Mode;
use robota_sdk::{CommandInfo, CommandResult, InteractiveEvent, Notice};
use robota_tools::UserQuestion;

use super::conversation::Entry;
use super::diff::DiffLine;
use super::popup::Batch;

/// Columns and rows of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// Something happened: the user typed, the session moved, time passed.
pub(crate) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has a new size.
    Resize(Size),
    /// Time passed: something that the view shows may have changed.
    Clock,
    /// Something happened in the session.
    Session(InteractiveEvent),
    /// A call needs approval.
    Asked(Box<Asked>),
    /// A question was withdrawn: the agent that asked it ended.
    Withdrawn(CallId),
    /// The model asks the user something.
    UserAsked {
        /// Names the question in the answer.
        id: u64,
        /// The text of the question, and the answers to choose from.
        question: Box<UserQuestion>,
    },
    /// A question was withdrawn.
    UserQuestionEnded(u64),
    /// A rule that the user edits was tested.
    RuleTested(RuleTest),
    /// The folder has settings that need trust.
    TrustNeeded(Vec<String>),
    /// The session is open.
    Opened(Box<Opened>),
    /// The session could not be opened.
    OpenFailed {
        /// What failed.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A shell command of the user starts.
    ShellStarted {
        /// Names it in [`ShellEnded`](Self::ShellEnded) and in its output.
        call: CallId,
        /// The command line as the user typed it.
        command: String,
    },
    /// A shell command of the user ended, or was refused.
    ShellEnded(CallId),
    /// A command that the user typed was executed.
    CommandDone {
        /// What the user typed.
        typed: String,
        /// The data that the command returned, which the terminal shows or acts on.
        result: CommandResult,
    },
    /// The model was changed.
    ModelChanged(String),
    /// What the user typed was not accepted.
    Rejected {
        /// What the user typed.
        typed: String,
        /// Why it was not accepted, for the user.
        why: String,
    },
    /// A message for the user.
    Notice(Notice),
    /// What the session cost so far, in dollars.
    Cost(f64),
    /// The branch of the folder's git repository.
    Branch(Option<String>),
    /// The status line command printed these lines.
    StatusLines(Vec<String>),
    /// The terminal got or lost the focus.
    Focus(bool),
    /// Files of the folder, for completion.
    Files(Batch),
    /// The prompts of earlier sessions, the oldest first.
    History(Vec<String>),
    /// The image of the clipboard was read, or why not.
    ImagePasted(Result<Vec<u8>, String>),
    /// Another part of the program needs the terminal: the thread that draws runs this function and
    /// does not draw meanwhile.
    Away(Box<dyn FnOnce() + Send>),
    /// The external editor returned this text.
    Edited(String),
    /// A page's work is done.
    Answered(Box<dyn Any + Send>),
    /// The user entered a line, in the terminal for screen readers; none at the end of the input.
    Line(Option<String>),
    /// The session has ended: print these lines and leave.
    Ended(Vec<String>),
}

/// What is known once a session is open.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    pub(crate) session: String,
    pub(crate) name: Option<String>,
    pub(crate) model: String,
    pub(crate) mode: Mode,
    pub(crate) sandbox: String,
    pub(crate) context: Option<ContextState>,
    pub(crate) commands: Vec<CommandInfo>,
    /// The end of the conversation so far.
    pub(crate) history: Vec<Entry>,
    /// Who writes the session, if this terminal only follows it.
    pub(crate) follows: Option<String>,
    /// What the settings say about this terminal.
    pub(crate) notify: Option<NotificationChannel>,
    /// How long the session waits for the user until hooks are notified; none if they never are.
    pub(crate) idle_after: Option<Duration>,
    pub(crate) built_in_status: Option<BuiltInStatusLine>,
    pub(crate) verbose: bool,
    /// The most dollars that the session may cost.
    pub(crate) budget: Option<f64>,
    /// What the agent of the conversation begins with, if nothing was sent yet.
    pub(crate) first_prompt: Option<String>,
}

/// A call that waits for the user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    /// The file, command or address that the call is about.
    pub(crate) argument: String,
    /// Why the call needs approval.
    pub(crate) reason: String,
    /// The rules that "always" would save; empty if that answer is not offered.
    pub(crate) rules: Vec<String>,
    pub(crate) preview: Preview,
    /// The subagent that asks.
    pub(crate) agent: Option<String>,
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Preview {
    /// It changes a file.
    Diff {
        /// The file.
        path: String,
        /// The changes.
        lines: Vec<DiffLine>,
    },
    /// It runs a command.
    Command {
        /// The command line that would run.
        command: String,
        /// Its parts, each with its verdict, if there are several.
        tree: Vec<String>,
    },
    /// It ends plan mode. The plan is Markdown, and shown above the question.
    Plan(String),
    /// The arguments of another tool.
    Input(String),
}

/// What a rule would mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleTest {
    pub(crate) call: CallId,
    pub(crate) rule: String,
    pub(crate) outcome: Result<RuleMeaning, String>,
}

/// What a valid rule covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleMeaning {
    /// Whether the call that waits would be allowed.
    pub(crate) covers: bool,
    /// Other calls that it would allow.
    pub(crate) also: Vec<String>,
}

/// Returns how long ago something was, in the form `0:07`, `12:30` or `1:02:03`.
pub(crate) fn clock_text(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
