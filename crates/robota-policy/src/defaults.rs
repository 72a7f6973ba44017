//! Rules every session starts with.

/// What an agent may always read: the instructions that were written for it. Settings and
/// credentials in the same folders are not among them.
pub const DEFAULT_ALLOW: &[&str] = &[
    "Read(.agents/**)",
    "Glob(.agents/**)",
    "Read(.claude/skills/**)",
    "Read(.claude/agents/**)",
    "Read(.claude/commands/**)",
    "Read(.claude/plans/**)",
    "Read(.claude/output-styles/**)",
    "Glob(.claude/skills/**)",
    "Glob(.claude/agents/**)",
    "Glob(.claude/commands/**)",
    "Read(.robota/skills/**)",
    "Read(.robota/agents/**)",
    "Read(.robota/commands/**)",
    "Read(.robota/memory/**)",
    "Glob(.robota/skills/**)",
    "Glob(.robota/agents/**)",
    "Glob(.robota/commands/**)",
];
