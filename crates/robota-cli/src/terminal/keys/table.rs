//! The default bindings.

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Context {
    /// Everywhere, unless the context has a binding of its own.
    Global,
    /// In the composer.
    Chat,
    /// In a question about a call.
    Question,
    /// In a text that belongs to a question: a rule or a note.
    Field,
    /// On a page that fills the terminal.
    Page,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Clears the composer; twice ends the program.
    ClearOrQuit,
    /// Ends the program if the composer is empty; twice.
    Exit,
    /// Stops the process until `fg`.
    Suspend,
    /// Writes the conversation again at the present width.
    Reflow,
    /// Shows or hides the output of calls.
    ToggleOutput,
    /// Opens the transcript.
    Transcript,
    /// Moves the command or the agents that the turn waits for to the background; else opens what is
    /// there.
    Background,
    /// Opens the palette.
    Palette,
    /// Opens the list of models.
    Models,
    /// Goes to the next permission mode.
    CycleMode,
    /// Sends what is in the composer.
    Submit,
    /// Sends it and stops the running turn.
    SubmitNow,
    /// Starts a new line.
    Newline,
    /// Stops the turn, or closes what is open.
    Cancel,
    /// Edits the last waiting prompt, or goes to an earlier prompt.
    Up,
    /// Goes to a later prompt.
    Down,
    /// Moves a waiting prompt before the one above it.
    QueueUp,
    /// Moves a waiting prompt behind the one below it.
    QueueDown,
    /// Opens the composer's text in an editor.
    Editor,
    /// Inserts the image of the clipboard.
    PasteImage,
    /// Searches the earlier prompts.
    SearchHistory,
    /// Shows the keys.
    Help,
    /// Allows the call.
    Yes,
    /// Allows such calls in this session.
    YesSession,
    /// Allows such calls always.
    YesAlways,
    /// Edits the rule of "always".
    EditRule,
    /// Denies the call.
    No,
    /// Adds a note to the answer.
    Note,
    /// Selects the answer before.
    PreviousAnswer,
    /// Selects the next answer.
    NextAnswer,
    /// Scrolls up by a line.
    ScrollUp,
    /// Scrolls down by a line.
    ScrollDown,
    /// Scrolls up by a page.
    PageUp,
    /// Scrolls down by a page.
    PageDown,
    /// Goes to the start.
    Top,
    /// Goes to the end.
    Bottom,
    /// Accepts the text or the entry.
    Accept,
    /// Accepts the rule for this session only.
    AcceptSession,
}

impl Context {
    /// The contexts with their names in `keybindings.json`.
    // Some are those of Claude Code, whose file is read too.
    pub(super) const NAMES: [(&'static str, Self); 9] = [
        ("Global", Self::Global),
        ("Chat", Self::Chat),
        ("Confirmation", Self::Question),
        ("Question", Self::Question),
        ("Field", Self::Field),
        ("Page", Self::Page),
        ("Transcript", Self::Page),
        ("Select", Self::Page),
        ("Help", Self::Page),
    ];
}

impl Action {
    /// The actions with their names in `keybindings.json` and what the help says of them.
    // What Claude Code has too has the same name, so that its file can be used.
    pub(crate) const ALL: [(&'static str, Self, &'static str); 38] = [
        ("chat:submit", Self::Submit, "send"),
        ("chat:newline", Self::Newline, "new line"),
        ("chat:sendNow", Self::SubmitNow, "send now: stop the turn"),
        ("chat:cancel", Self::Cancel, "stop the turn, close; twice: rewind"),
        ("chat:cycleMode", Self::CycleMode, "next mode: ask, edits, plan"),
        ("history:previous", Self::Up, "edit the waiting prompt, earlier prompts"),
        ("history:next", Self::Down, "later prompts"),
        ("queue:moveUp", Self::QueueUp, "the waiting prompt earlier"),
        ("queue:moveDown", Self::QueueDown, "the waiting prompt later"),
        ("history:search", Self::SearchHistory, "search earlier prompts"),
        ("chat:externalEditor", Self::Editor, "edit in $EDITOR"),
        ("chat:imagePaste", Self::PasteImage, "paste the image of the clipboard"),
        ("chat:modelPicker", Self::Models, "choose the model"),
        ("app:toggleOutput", Self::ToggleOutput, "show or hide the output of calls"),
        ("app:toggleTranscript", Self::Transcript, "transcript"),
        ("task:background", Self::Background, "move what runs to the background, or show it"),
        ("app:palette", Self::Palette, "all commands"),
        ("app:redraw", Self::Reflow, "write everything again"),
        ("app:help", Self::Help, "keys (in an empty composer)"),
        ("app:suspend", Self::Suspend, "suspend; `fg` comes back"),
        ("app:interrupt", Self::ClearOrQuit, "clear; twice: quit"),
        ("app:exit", Self::Exit, "quit (twice, in an empty composer)"),
        ("confirm:yes", Self::Yes, "allow once"),
        ("confirm:session", Self::YesSession, "allow in this session"),
        ("confirm:always", Self::YesAlways, "allow always, by the rule that is shown"),
        ("confirm:editRule", Self::EditRule, "edit the rule"),
        ("confirm:no", Self::No, "deny"),
        ("confirm:note", Self::Note, "add a note to the answer"),
        ("confirm:previous", Self::PreviousAnswer, "the answer before"),
        ("confirm:next", Self::NextAnswer, "the next answer; Enter confirms it"),
        ("field:accept", Self::Accept, "accept"),
        ("field:acceptSession", Self::AcceptSession, "accept for this session"),
        ("page:up", Self::ScrollUp, "up"),
        ("page:down", Self::ScrollDown, "down"),
        ("page:pageUp", Self::PageUp, "page up"),
        ("page:pageDown", Self::PageDown, "page down"),
        ("page:top", Self::Top, "to the start"),
        ("page:bottom", Self::Bottom, "to the end"),
    ];
}

/// The default bindings.
pub(super) const BINDINGS: &[(Context, &str, Action)] = &[
    (Context::Global, "ctrl+c", Action::ClearOrQuit),
    (Context::Global, "ctrl+z", Action::Suspend),
    (Context::Global, "ctrl+l", Action::Reflow),
    (Context::Global, "ctrl+o", Action::ToggleOutput),
    (Context::Global, "ctrl+t", Action::Transcript),
    (Context::Global, "ctrl+b", Action::Background),
    (Context::Global, "ctrl+p", Action::Palette),
    (Context::Global, "alt+p", Action::Models),
    (Context::Global, "shift+tab", Action::CycleMode),
    (Context::Global, "esc", Action::Cancel),
    (Context::Chat, "ctrl+d", Action::Exit),
    (Context::Chat, "enter", Action::Submit),
    (Context::Chat, "ctrl+enter", Action::SubmitNow),
    (Context::Chat, "ctrl+j", Action::Newline),
    (Context::Chat, "shift+enter", Action::Newline),
    (Context::Chat, "alt+enter", Action::Newline),
    (Context::Chat, "up", Action::Up),
    (Context::Chat, "down", Action::Down),
    (Context::Chat, "alt+up", Action::QueueUp),
    (Context::Chat, "alt+down", Action::QueueDown),
    (Context::Chat, "ctrl+g", Action::Editor),
    (Context::Chat, "ctrl+v", Action::PasteImage),
    (Context::Chat, "ctrl+r", Action::SearchHistory),
    (Context::Chat, "?", Action::Help),
    (Context::Question, "y", Action::Yes),
    (Context::Question, "s", Action::YesSession),
    (Context::Question, "a", Action::YesAlways),
    (Context::Question, "e", Action::EditRule),
    (Context::Question, "n", Action::No),
    (Context::Question, "tab", Action::Note),
    (Context::Question, "up", Action::PreviousAnswer),
    (Context::Question, "left", Action::PreviousAnswer),
    (Context::Question, "down", Action::NextAnswer),
    (Context::Question, "right", Action::NextAnswer),
    (Context::Question, "enter", Action::Accept),
    (Context::Question, "k", Action::ScrollUp),
    (Context::Question, "shift+up", Action::ScrollUp),
    (Context::Question, "j", Action::ScrollDown),
    (Context::Question, "shift+down", Action::ScrollDown),
    (Context::Question, "home", Action::Top),
    (Context::Question, "end", Action::Bottom),
    (Context::Question, "pageup", Action::PageUp),
    (Context::Question, "pagedown", Action::PageDown),
    (Context::Question, "space", Action::PageDown),
    (Context::Field, "enter", Action::Accept),
    (Context::Field, "tab", Action::AcceptSession),
    (Context::Page, "up", Action::ScrollUp),
    (Context::Page, "down", Action::ScrollDown),
    (Context::Page, "pageup", Action::PageUp),
    (Context::Page, "pagedown", Action::PageDown),
    (Context::Page, "home", Action::Top),
    (Context::Page, "end", Action::Bottom),
    (Context::Page, "enter", Action::Accept),
];
