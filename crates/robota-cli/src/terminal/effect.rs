//! Effects: what a state change makes the terminal program do outside its state, such as to send a
//! prompt or to load a page.

use std::any::Any;
use std::path::PathBuf;

use futures::future::BoxFuture;
use robota_core::approve::Scope;
use robota_core::ids::{CallId, InputId, SessionId};
use robota_core::permission::Mode;

use super::composer::Draft;
use super::run::WorkContext;

/// Something that the update asks for. The worker performs most of them, the thread that draws the
/// rest.
pub(crate) enum Effect {
    /// Take a text that the user entered: a prompt or a command.
    Enter(Draft),
    /// Take a text, and stop the running turn so that it is answered next.
    EnterNow(Draft),
    /// Run a shell command for the user, through the permissions.
    Shell(String),
    /// End the shell command of the user.
    StopShell,
    /// Stop the running turn. The prompts that wait are cancelled.
    Interrupt,
    /// Stop the running turn, so that the first prompt that waits is answered.
    StartNext,
    /// Remove a prompt that waits.
    CancelPrompt(InputId),
    /// Move a prompt that waits, so that this many are answered before it.
    MovePrompt(InputId, usize),
    /// Answer a question.
    Decide {
        /// The call that waits for the decision.
        call: CallId,
        /// What the user chose.
        answer: Decided,
        /// A remark of the user.
        note: Option<String>,
    },
    /// Answer a question of the model; none declines it.
    AnswerUser {
        /// The number of the question in [`super::event::Event::UserAsked`].
        id: u64,
        /// What the user typed or chose.
        answer: Option<String>,
    },
    /// Test a rule that the user edits.
    TestRule {
        /// The call that waits.
        call: CallId,
        /// The text of the rule as it is typed so far.
        rule: String,
    },
    /// Let the work of calls continue in the background, so that the turn does not wait for it.
    MoveToBackground(Vec<CallId>),
    /// Change the permission mode.
    SetMode(Mode),
    /// Trust the folder's settings, or continue without them.
    Trust(bool),
    /// Do something for a page and return the result as [`super::event::Event::Answered`].
    Work(Work),
    /// List the files of the folder.
    ListFiles,
    /// Read the image of the clipboard.
    PasteImage,
    /// Open this text in the user's editor.
    Editor(String),
    /// Open this file in the user's editor; [`super::screens::FileEdited`] is the answer.
    EditFile(PathBuf),
    /// Write the whole conversation again.
    Reflow,
    /// Write bytes to the terminal that draw nothing, such as the bell.
    Write(Vec<u8>),
    /// Let the terminal report its focus.
    WatchFocus,
    /// Notify the hooks that the session waits for the user.
    NotifyIdle,
    /// Stop the process, as Ctrl+Z does.
    Suspend,
    /// End this session and open another, or a fork of it.
    Switch {
        /// The session that is opened or forked.
        session: SessionId,
        /// Whether to fork it.
        fork: bool,
    },
    /// End the session and the program.
    Quit,
}

/// An answer of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decided {
    /// The call may run.
    Allow(Scope),
    /// The call may run, and what matches these rules.
    AllowRules(Scope, Vec<String>),
    /// The plan is approved: the session continues in this mode.
    Plan(Mode),
    /// The call may not run.
    Deny,
}

/// Work of a page, which runs in a task of its own.
pub(crate) type Work =
    Box<dyn FnOnce(WorkContext) -> BoxFuture<'static, Box<dyn Any + Send>> + Send>;

impl std::fmt::Debug for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Enter(text) => f.debug_tuple("Enter").field(text).finish(),
            Self::EnterNow(text) => f.debug_tuple("EnterNow").field(text).finish(),
            Self::Shell(command) => f.debug_tuple("Shell").field(command).finish(),
            Self::StopShell => f.write_str("StopShell"),
            Self::Interrupt => f.write_str("Interrupt"),
            Self::StartNext => f.write_str("StartNext"),
            Self::CancelPrompt(input) => f.debug_tuple("CancelPrompt").field(input).finish(),
            Self::MovePrompt(input, position) => {
                f.debug_tuple("MovePrompt").field(input).field(position).finish()
            }
            Self::Decide { call, answer, note } => {
                f.debug_tuple("Decide").field(call).field(answer).field(note).finish()
            }
            Self::AnswerUser { id, answer } => {
                f.debug_tuple("AnswerUser").field(id).field(answer).finish()
            }
            Self::TestRule { rule, .. } => f.debug_tuple("TestRule").field(rule).finish(),
            Self::MoveToBackground(calls) => {
                f.debug_tuple("MoveToBackground").field(calls).finish()
            }
            Self::SetMode(mode) => f.debug_tuple("SetMode").field(mode).finish(),
            Self::Trust(yes) => f.debug_tuple("Trust").field(yes).finish(),
            Self::Work(_) => f.write_str("Work"),
            Self::Editor(text) => f.debug_tuple("Editor").field(text).finish(),
            Self::EditFile(file) => f.debug_tuple("EditFile").field(file).finish(),
            Self::PasteImage => f.write_str("PasteImage"),
            Self::ListFiles => f.write_str("ListFiles"),
            Self::Reflow => f.write_str("Reflow"),
            Self::Write(bytes) => f.debug_tuple("Write").field(bytes).finish(),
            Self::WatchFocus => f.write_str("WatchFocus"),
            Self::NotifyIdle => f.write_str("NotifyIdle"),
            Self::Suspend => f.write_str("Suspend"),
            Self::Switch { session, fork } => {
                f.debug_tuple("Switch").field(session).field(fork).finish()
            }
            Self::Quit => f.write_str("Quit"),
        }
    }
}
