//! What users can choose for a session: the permission mode, the model, the effort.

use robota_core::permission::Mode;
use robota_sdk::HostedSession;
use robota_sdk::host::EFFORTS;

use super::v1::{self, ConfigOption, ModeState, OpenedSession, SelectOption};

// The ids of the options, which editors send back in `session/set_config_option`.
pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
pub(super) const EFFORT: &str = "effort";
/// The value of the effort that leaves it to the model.
pub(super) const DEFAULT_EFFORT: &str = "default";

/// Returns everything that can be chosen.
pub(super) fn opened(hosted: &HostedSession) -> OpenedSession {
    // The mode is in both: editors support the older list of modes or the newer options.
    OpenedSession { modes: modes(hosted), config_options: config(hosted) }
}

fn modes(hosted: &HostedSession) -> ModeState {
    let describe = |mode: &Mode| v1::Mode {
        id: mode.name().to_owned(),
        name: mode_name(*mode).to_owned(),
        description: mode_description(*mode).to_owned(),
    };
    let current = hosted.session.session().permissions().mode();
    ModeState {
        current_mode_id: current.name().to_owned(),
        available_modes: hosted.modes.iter().map(describe).collect(),
    }
}

/// Returns the choices that clients show as pickers.
pub(super) fn config(hosted: &HostedSession) -> Vec<ConfigOption> {
    let option =
        |value: &str, name: &str| SelectOption { value: value.to_owned(), name: name.to_owned() };
    let mode = hosted.session.session().permissions().mode();
    let efforts = std::iter::once(option(DEFAULT_EFFORT, "Default"))
        .chain(EFFORTS.iter().map(|effort| option(effort, effort)));
    vec![
        ConfigOption {
            id: MODE,
            name: "Permission mode",
            category: "mode",
            kind: "select",
            current_value: mode.name().to_owned(),
            options: hosted.modes.iter().map(|it| option(it.name(), mode_name(*it))).collect(),
        },
        ConfigOption {
            id: MODEL,
            name: "Model",
            category: "model",
            kind: "select",
            current_value: hosted.model.clone(),
            options: hosted.models.iter().map(|model| option(&model.id, &model.name)).collect(),
        },
        ConfigOption {
            id: EFFORT,
            name: "Effort",
            category: "thought_level",
            kind: "select",
            current_value: hosted.effort.clone().unwrap_or_else(|| DEFAULT_EFFORT.to_owned()),
            options: efforts.collect(),
        },
    ]
}

/// Finds a mode by its id.
pub(super) fn find_mode(hosted: &HostedSession, id: &str) -> Option<Mode> {
    hosted.modes.iter().copied().find(|mode| mode.name() == id)
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => "Plan",
        Mode::Default => "Ask",
        Mode::DontAsk => "Don't ask",
        Mode::AcceptEdits => "Accept edits",
        Mode::BypassPermissions => "Allow everything",
    }
}

fn mode_description(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => "Reads only; changes and commands are denied",
        Mode::Default => "Asks before changes and commands",
        Mode::DontAsk => "Denies changes and commands that need approval, without a question",
        Mode::AcceptEdits => "Changes files without a question; asks before commands",
        Mode::BypassPermissions => "Asks only where a rule demands it",
    }
}
