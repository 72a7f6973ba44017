//! How each role looks: the escape sequences of a style.

use super::text::{Ground, Role, Style};

/// The colours that the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    /// 256 colours on a dark background.
    Dark,
    /// 256 colours on a light background.
    Light,
    /// The 16 colours of the terminal's own palette.
    Sixteen,
    /// No colours; attributes such as bold and underline remain (`NO_COLOR`).
    None,
    /// No escape sequences for appearance at all (`TERM=dumb`).
    Dumb,
}

/// The values of the environment that decide about colours.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Environment<'a> {
    pub(crate) term: Option<&'a str>,
    pub(crate) colorterm: Option<&'a str>,
    pub(crate) no_color: Option<&'a str>,
    pub(crate) colorfgbg: Option<&'a str>,
    pub(crate) term_program: Option<&'a str>,
    /// `VTE_VERSION`, which terminals of the GNOME family set.
    pub(crate) vte_version: Option<&'a str>,
    /// `WT_SESSION`, which Windows Terminal sets.
    pub(crate) wt_session: Option<&'a str>,
    /// The theme that the settings name: `dark`, `light`, `ansi`, `none` or `auto`.
    pub(crate) setting: Option<&'a str>,
}

/// Turns styles into escape sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    colours: Colours,
    links: bool,
}

impl Theme {
    /// Creates a theme.
    pub(crate) fn new(colours: Colours, links: bool) -> Self {
        Self { colours, links }
    }

    /// Selects a theme by what the environment says about the terminal.
    pub(crate) fn detect(environment: &Environment<'_>) -> Self {
        let term = environment.term.unwrap_or("");
        if term.is_empty() || term == "dumb" {
            // Such a terminal would print the sequences.
            return Self::new(Colours::Dumb, false);
        }
        let links = supports_links(environment);
        // An empty value counts as not set (no-color.org).
        if environment.no_color.is_some_and(|value| !value.is_empty()) {
            return Self::new(Colours::None, links);
        }
        // Not every terminal with 256 colours says so in a variable; these are known by their names.
        let many = environment.colorterm.is_some_and(|it| matches!(it, "truecolor" | "24bit"))
            || term.contains("256color")
            || term.contains("direct")
            || matches!(term, "xterm-kitty" | "xterm-ghostty" | "alacritty" | "foot")
            || environment.wt_session.is_some();
        let colours = match (environment.setting, many) {
            (Some("none"), _) => Colours::None,
            (Some("ansi"), _) | (_, false) => Colours::Sixteen,
            (Some("light"), _) => Colours::Light,
            (Some("dark"), _) => Colours::Dark,
            _ if is_light(environment.colorfgbg) => Colours::Light,
            _ => Colours::Dark,
        };
        Self::new(colours, links)
    }

    /// Returns whether the terminal opens links (OSC 8).
    pub(crate) fn links(&self) -> bool {
        self.links
    }

    /// Writes the escape sequence that switches from any style to this one.
    pub(crate) fn write(&self, style: Style, out: &mut Vec<u8>) {
        if self.colours == Colours::Dumb {
            return;
        }
        // Every style begins with a reset, so that it does not depend on the style before it.
        out.extend_from_slice(b"\x1b[0");
        let mut attributes = Attributes::from(style);
        let (role, ground) = match self.colours {
            Colours::Dark => (DARK.role(style.role), DARK.ground(style.ground)),
            Colours::Light => (LIGHT.role(style.role), LIGHT.ground(style.ground)),
            Colours::Sixteen => sixteen(style, &mut attributes),
            Colours::None | Colours::Dumb => {
                // NO_COLOR forbids colours, not attributes, which carry the meaning then.
                without_colours(style, &mut attributes);
                ("", "")
            }
        };
        for (set, code) in attributes.codes() {
            if set {
                out.extend_from_slice(code.as_bytes());
            }
        }
        if let Role::Ansi(colour) = style.role
            && self.colours != Colours::None
        {
            // The colours from 8 on are the bright ones, which have codes of their own.
            let code = u32::from(colour & 7) + if colour & 8 == 0 { 30 } else { 90 };
            out.extend_from_slice(format!(";{code}").as_bytes());
        }
        for code in [role, ground] {
            if !code.is_empty() {
                out.push(b';');
                out.extend_from_slice(code.as_bytes());
            }
        }
        out.push(b'm');
    }
}

/// Returns false for the terminals that are known to print the sequence instead of a link.
fn supports_links(environment: &Environment<'_>) -> bool {
    // 5000 is version 0.50 of VTE, the first that knows links.
    let old_vte = environment
        .vte_version
        .and_then(|version| version.parse::<u32>().ok())
        .is_some_and(|version| version < 5000);
    !old_vte
        && environment.term != Some("linux")
        && environment.term_program != Some("Apple_Terminal")
}

/// Reads `COLORFGBG`, such as `0;15`: the last number is the background.
fn is_light(value: Option<&str>) -> bool {
    let background = value.and_then(|value| value.rsplit(';').next());
    // 8 is dark grey, and not in the list.
    matches!(background, Some("7" | "9" | "10" | "11" | "12" | "13" | "14" | "15"))
}

#[derive(Clone, Copy)]
struct Attributes {
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    reverse: bool,
    strike: bool,
}

impl From<Style> for Attributes {
    fn from(style: Style) -> Self {
        let Style { bold, italic, underline, strike, reverse, .. } = style;
        Self { bold, dim: false, italic, underline, reverse, strike }
    }
}

impl Attributes {
    fn codes(self) -> [(bool, &'static str); 6] {
        [
            (self.bold, ";1"),
            (self.dim, ";2"),
            (self.italic, ";3"),
            (self.underline, ";4"),
            (self.reverse, ";7"),
            (self.strike, ";9"),
        ]
    }
}

/// The colours of a theme with 256 colours.
struct Palette {
    dim: &'static str,
    accent: &'static str,
    user: &'static str,
    good: &'static str,
    bad: &'static str,
    warn: &'static str,
    code: &'static str,
    keyword: &'static str,
    literal: &'static str,
    comment: &'static str,
    name: &'static str,
    added: &'static str,
    added_word: &'static str,
    removed: &'static str,
    removed_word: &'static str,
    selected: &'static str,
}

// Colours of the fixed 256-colour cube: the first 16 depend on the palette of the user.
const DARK: Palette = Palette {
    dim: "38;5;245",
    accent: "38;5;75",
    user: "38;5;147",
    good: "38;5;114",
    bad: "38;5;203",
    warn: "38;5;221",
    code: "38;5;180",
    keyword: "38;5;176",
    literal: "38;5;150",
    comment: "38;5;245",
    name: "38;5;111",
    added: "48;5;22",
    added_word: "48;5;28",
    removed: "48;5;52",
    removed_word: "48;5;88",
    selected: "48;5;237",
};

const LIGHT: Palette = Palette {
    dim: "38;5;242",
    accent: "38;5;25",
    user: "38;5;55",
    good: "38;5;28",
    bad: "38;5;160",
    warn: "38;5;130",
    code: "38;5;94",
    keyword: "38;5;90",
    literal: "38;5;22",
    comment: "38;5;243",
    name: "38;5;25",
    added: "48;5;194",
    added_word: "48;5;157",
    removed: "48;5;224",
    removed_word: "48;5;217",
    selected: "48;5;254",
};

impl Palette {
    fn role(&self, role: Role) -> &'static str {
        match role {
            Role::Text | Role::Ansi(_) => "",
            Role::Dim => self.dim,
            Role::Accent | Role::Link => self.accent,
            Role::User => self.user,
            Role::Good | Role::Added => self.good,
            Role::Bad | Role::Removed => self.bad,
            Role::Warn => self.warn,
            Role::Code => self.code,
            Role::Keyword => self.keyword,
            Role::Literal => self.literal,
            Role::Comment => self.comment,
            Role::Name => self.name,
        }
    }

    fn ground(&self, ground: Ground) -> &'static str {
        match ground {
            Ground::Plain => "",
            Ground::Added => self.added,
            Ground::AddedWord => self.added_word,
            Ground::Removed => self.removed,
            Ground::RemovedWord => self.removed_word,
            Ground::Selected => self.selected,
        }
    }
}

/// The colours of the terminal's own palette. Backgrounds would hide text in some palettes, so
/// lines of a diff have a coloured text and their changed words are reversed.
fn sixteen(style: Style, attributes: &mut Attributes) -> (&'static str, &'static str) {
    let on_ground = match style.ground {
        Ground::Plain => None,
        Ground::Added => Some("32"),
        Ground::Removed => Some("31"),
        Ground::AddedWord | Ground::RemovedWord | Ground::Selected => {
            attributes.reverse = !style.reverse;
            match style.ground {
                Ground::AddedWord => Some("32"),
                Ground::RemovedWord => Some("31"),
                _ => None,
            }
        }
    };
    let role = match style.role {
        Role::Text | Role::Ansi(_) => "",
        Role::Dim | Role::Comment => {
            attributes.dim = true;
            ""
        }
        Role::Accent | Role::Link | Role::Name => "36",
        Role::User => "35",
        Role::Good | Role::Added | Role::Literal => "32",
        Role::Bad | Role::Removed => "31",
        Role::Warn | Role::Code => "33",
        Role::Keyword => "34",
    };
    (on_ground.unwrap_or(role), "")
}

/// Adds attributes in place of colours that carry a meaning.
fn without_colours(style: Style, attributes: &mut Attributes) {
    match style.ground {
        Ground::AddedWord | Ground::RemovedWord => attributes.underline = true,
        Ground::Selected => attributes.reverse = !style.reverse,
        Ground::Plain | Ground::Added | Ground::Removed => {}
    }
    match style.role {
        Role::Dim | Role::Comment => attributes.dim = true,
        Role::Accent | Role::Bad | Role::Warn => attributes.bold = true,
        Role::Link => attributes.underline = true,
        _ => {}
    }
}

#[cfg(test)]
mod tests;
