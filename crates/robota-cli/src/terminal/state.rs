//! The state of the terminal program. [`super::update`] changes it, [`super::view`] shows
//! it; neither does I/O.

use std::collections::VecDeque;
use std::time::Duration;

use robota_core::context::ContextState;
use robota_core::ids::InputId;
use robota_core::permission::Mode;
use robota_sdk::CommandInfo;

use super::background::BackgroundTasks;
use super::choice::Choices;
use super::composer::{Composer, Draft};
use super::conversation::{Conversation, ToolRow};
use super::event::{Event, Size};
use super::keys::KeyMap;
use super::notify::Notifier;
use super::popup::Popup;
use super::question::Questions;
use super::screens::Page;
use super::text::Line;

/// How long a hint is shown, and how soon the second Ctrl+C or Esc must follow the first.
pub(crate) const HINT: Duration = Duration::from_secs(2);

/// The state of the terminal program.
pub(crate) struct State {
    /// The time since the program started.
    pub(crate) now: Duration,
    pub(crate) size: Size,
    pub(crate) phase: Phase,
    pub(crate) conversation: Conversation,
    /// The newest prompt in the scrollback.
    pub(crate) last_prompt: Option<LastPrompt>,
    pub(crate) composer: Composer,
    pub(crate) popup: Popup,
    pub(crate) questions: Questions,
    /// The questions of the model.
    pub(crate) choices: Choices,
    /// The settings that need trust, while the user is asked about them.
    pub(crate) trust: Option<TrustQuestion>,
    /// What was entered before the session was open, or while a shell command of the user runs.
    pub(crate) early: Vec<Draft>,
    /// The prompts that wait for the running turn.
    pub(crate) queue: VecDeque<Queued>,
    /// The waiting prompt that the user moves; the last one if there is none.
    pub(crate) moving: Option<InputId>,
    pub(crate) turn: Option<Turn>,
    /// The shell command of the user that runs.
    pub(crate) shell: Option<ToolRow>,
    pub(crate) background: BackgroundTasks,
    pub(crate) facts: Facts,
    pub(crate) hint: Option<Hint>,
    pub(crate) page: Option<Box<dyn Page>>,
    /// How many pages were opened. Work for an earlier page is not for this one.
    pub(crate) pages_opened: u64,
    /// The keys and pastes for the page that waits for what it shows.
    pub(crate) page_input: Vec<Event>,
    pub(crate) keys: KeyMap,
    /// Whether calls show their whole output.
    pub(crate) expanded: bool,
    /// When Esc was pressed last, without effect.
    pub(crate) last_escape: Option<Duration>,
    pub(crate) commands: Vec<CommandInfo>,
    pub(crate) notifier: Notifier,
    /// How long the session waits for the user until hooks are notified; none if they never are.
    pub(crate) idle_after: Option<Duration>,
    /// When that is; none while a turn runs, and if the user has typed since.
    pub(crate) idle_at: Option<Duration>,
    /// What the status line command printed.
    pub(crate) script_lines: Vec<Line>,
    /// Whether commands may open pages.
    pub(crate) pages: bool,
    /// Whether the built-in status line is hidden, and the branch in it.
    pub(crate) hides_status: bool,
    pub(crate) hides_branch: bool,
}

/// How far the program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The session is being opened.
    Starting,
    /// The session is open.
    Ready,
    /// The session is written by another process; this one shows it.
    Following,
    /// The session could not be opened.
    Failed,
    /// The session is being closed.
    Ending,
}

/// A prompt in the scrollback.
#[derive(Debug)]
pub(crate) struct LastPrompt {
    pub(crate) first_line: String,
    /// How many rows of the scrollback are below it.
    pub(crate) rows_below: usize,
}

impl LastPrompt {
    pub(crate) fn new(prompt: &str) -> Self {
        let first_line = prompt.lines().next().unwrap_or_default().to_owned();
        Self { first_line, rows_below: 0 }
    }
}

/// The settings that need trust.
#[derive(Debug)]
pub(crate) struct TrustQuestion {
    pub(crate) items: Vec<String>,
    /// Keys count from this time on.
    pub(crate) armed_at: Duration,
}

/// A prompt that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) input: InputId,
    pub(crate) text: String,
}

/// The turn that runs.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) started: Duration,
    pub(crate) stopping: bool,
    /// The failure after which the model is called again.
    pub(crate) retrying: Option<String>,
}

/// What the status line shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) session: String,
    pub(crate) name: Option<String>,
    pub(crate) model: String,
    pub(crate) mode: Mode,
    pub(crate) context: Option<ContextState>,
    pub(crate) cost: Option<f64>,
    /// The most dollars that the session may cost.
    pub(crate) budget: Option<f64>,
    pub(crate) folder: String,
    /// The whole path of the folder.
    pub(crate) root: String,
    pub(crate) branch: Option<String>,
    pub(crate) sandbox: String,
    /// Who writes the session, if this terminal only follows it.
    pub(crate) follows: Option<String>,
}

/// A short message in place of the status line.
#[derive(Debug, Clone)]
pub(crate) struct Hint {
    pub(crate) text: String,
    pub(crate) until: Duration,
    /// Whether it is that of the first Ctrl+C.
    pub(crate) quits: bool,
}

impl State {
    /// Creates the state of a program that starts.
    pub(crate) fn new(size: Size, keys: KeyMap, facts: Facts) -> Self {
        Self {
            now: Duration::ZERO,
            size,
            phase: Phase::Starting,
            conversation: Conversation::default(),
            composer: Composer::new(Vec::new()),
            popup: Popup::default(),
            questions: Questions::default(),
            choices: Choices::default(),
            trust: None,
            last_prompt: None,
            early: Vec::new(),
            queue: VecDeque::new(),
            moving: None,
            turn: None,
            shell: None,
            background: BackgroundTasks::default(),
            facts,
            hint: None,
            page: None,
            pages_opened: 0,
            page_input: Vec::new(),
            keys,
            expanded: false,
            last_escape: None,
            commands: Vec::new(),
            notifier: Notifier::default(),
            idle_after: None,
            idle_at: None,
            script_lines: Vec::new(),
            pages: true,
            hides_status: false,
            hides_branch: false,
        }
    }

    /// Shows a short message.
    pub(crate) fn hint(&mut self, text: impl Into<String>) {
        self.hint = Some(Hint { text: text.into(), until: self.now + HINT, quits: false });
    }

    /// Returns the time at which the view changes although nothing happens; none while nothing moves.
    pub(crate) fn next_change(&self) -> Option<Duration> {
        let second = self.turn.as_ref().map(|turn| {
            let elapsed = self.now.saturating_sub(turn.started);
            turn.started + Duration::from_secs(elapsed.as_secs() + 1)
        });
        let shell = self.shell.as_ref().map(|shell| {
            let elapsed = self.now.saturating_sub(shell.started);
            shell.started + Duration::from_secs(elapsed.as_secs() + 1)
        });
        let hint = self.hint.as_ref().map(|hint| hint.until);
        let armed = self.questions.arms_at(self.now);
        let trust = self.trust.as_ref().map(|trust| trust.armed_at).filter(|at| *at > self.now);
        let choice = self.choices.arms_at(self.now);
        [second, shell, hint, armed, trust, choice, self.idle_at].into_iter().flatten().min()
    }
}
