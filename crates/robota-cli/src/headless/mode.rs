//! The permission mode of a run: the modes of a session, and `dontAsk`.

use robota_core::permission::Mode;

/// The permission mode of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// A mode of the session.
    Session(Mode),
    /// Mode `default`, and calls that need approval are denied although a host could be asked.
    DontAsk,
}

impl RunMode {
    /// Parses the name of a mode. `manual` is another name of `default`.
    ///
    /// # Errors
    /// When there is no such mode; the text lists the modes.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        match name {
            "dontAsk" => Ok(Self::DontAsk),
            "manual" => Ok(Self::Session(Mode::Default)),
            name => name.parse().map(Self::Session).map_err(|error| format!("{error}, dontAsk")),
        }
    }

    /// Returns the mode of the session.
    pub(crate) fn session(self) -> Mode {
        match self {
            Self::Session(mode) => mode,
            Self::DontAsk => Mode::Default,
        }
    }

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Session(mode) => mode.name(),
            Self::DontAsk => "dontAsk",
        }
    }
}
