//! Notifies a user who does not look at the terminal: with the bell, or with a notification of the
//! terminal.

use std::time::Duration;

use robota_config::model::NotificationChannel;

/// A turn that took at least this long is reported.
pub(crate) const LONG_TURN: Duration = Duration::from_secs(10);
/// A user who typed within this time looks at the terminal.
const PRESENT: Duration = Duration::from_secs(5);

/// How to report, and whether the user looks at the terminal.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    /// What the terminal is.
    terminal: TerminalKind,
    channel: Option<Channel>,
    /// Whether the terminal has the focus; none if it does not report it.
    focused: Option<bool>,
    last_key: Option<Duration>,
}

/// The properties of the terminal.
#[derive(Debug, Clone, Default)]
pub(crate) struct TerminalKind {
    /// `TERM_PROGRAM`, or `TERM` where that names the terminal.
    pub(crate) program: String,
    /// Whether tmux is between.
    pub(crate) tmux: bool,
}

impl TerminalKind {
    /// Reads the variables of the environment.
    pub(crate) fn detect<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let program = match (get("TERM_PROGRAM"), get("TERM")) {
            (Some(program), _) if program != "tmux" => program,
            // Inside tmux TERM_PROGRAM names tmux, not the terminal that shows the notification.
            (_, Some(term)) => term,
            (program, None) => program.unwrap_or_default(),
        };
        let tmux = get("TMUX").is_some_and(|tmux| !tmux.is_empty());
        Self { program: program.to_lowercase(), tmux }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Bell,
    Osc9,
    Osc9AndBell,
    Osc99,
    Osc777,
}

impl Notifier {
    /// Creates a notifier that reports nothing.
    pub(crate) fn new(terminal: TerminalKind) -> Self {
        Self { terminal, ..Self::default() }
    }

    /// Sets the channel of the settings. Returns whether something is reported.
    pub(crate) fn set_channel(&mut self, wanted: Option<NotificationChannel>) -> bool {
        self.channel = match wanted {
            None | Some(NotificationChannel::NotificationsDisabled) => None,
            Some(NotificationChannel::TerminalBell) => Some(Channel::Bell),
            Some(NotificationChannel::Iterm2) => Some(Channel::Osc9),
            Some(NotificationChannel::Iterm2WithBell) => Some(Channel::Osc9AndBell),
            Some(NotificationChannel::Ghostty) => Some(Channel::Osc777),
            Some(NotificationChannel::Kitty) => Some(Channel::Osc99),
            Some(NotificationChannel::Auto) => Some(by_terminal(&self.terminal.program)),
        };
        self.channel.is_some()
    }

    /// Notes that the terminal got or lost the focus.
    pub(crate) fn set_focus(&mut self, focused: bool) {
        self.focused = Some(focused);
    }

    /// Notes that the user typed.
    pub(crate) fn typed(&mut self, now: Duration) {
        self.last_key = Some(now);
    }

    /// Returns what to write to the terminal; none if nothing is reported or the user is there.
    pub(crate) fn report(&self, text: &str, now: Duration) -> Option<Vec<u8>> {
        let channel = self.channel?;
        let present = match self.focused {
            Some(focused) => focused,
            None => self.last_key.is_some_and(|typed| now.saturating_sub(typed) < PRESENT),
        };
        (!present).then(|| bytes(channel, text, self.terminal.tmux))
    }
}

fn by_terminal(program: &str) -> Channel {
    let is = |name: &str| program.contains(name);
    if is("iterm") || is("windows") {
        Channel::Osc9
    } else if is("ghostty") || is("wezterm") || is("rxvt") || is("foot") {
        Channel::Osc777
    } else if is("kitty") {
        Channel::Osc99
    } else {
        Channel::Bell
    }
}

fn bytes(channel: Channel, text: &str, tmux: bool) -> Vec<u8> {
    // A separator or a control character would end the sequence.
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let text = text.replace(';', ",");
    let sequence = match channel {
        // Not wrapped: tmux passes on a bell by itself.
        Channel::Bell => return vec![7],
        Channel::Osc9 | Channel::Osc9AndBell => format!("\x1b]9;{text}\x07"),
        // The same id for all, so that kitty replaces an older notification.
        Channel::Osc99 => format!("\x1b]99;i=robota:d=1;{text}\x1b\\"),
        Channel::Osc777 => format!("\x1b]777;notify;Robota;{text}\x07"),
    };
    let mut bytes = passed(&sequence, tmux).into_bytes();
    if channel == Channel::Osc9AndBell {
        bytes.push(7);
    }
    bytes
}

/// Returns a sequence for the terminal behind tmux, if there is one.
pub(crate) fn passed(sequence: &str, tmux: bool) -> String {
    match tmux {
        // tmux passes on what is wrapped so, with each escape doubled.
        true => format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")),
        false => sequence.to_owned(),
    }
}

#[cfg(test)]
mod tests;
