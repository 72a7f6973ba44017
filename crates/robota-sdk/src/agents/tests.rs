use super::*;

#[test]
fn sdk_16_a_definition_never_lifts_the_mode_of_its_parent() {
    use Mode::*;
    for (parent, definition, expected) in [
        (Default, None, Default),
        (Default, Some(AcceptEdits), AcceptEdits),
        (Default, Some(Plan), Plan),
        (Default, Some(BypassPermissions), Default),
        (Plan, Some(AcceptEdits), Plan),
        (Plan, Some(BypassPermissions), Plan),
        (Default, Some(DontAsk), DontAsk),
        (DontAsk, Some(AcceptEdits), DontAsk),
        (DontAsk, Some(Plan), Plan),
        (AcceptEdits, Some(Default), AcceptEdits),
        (AcceptEdits, Some(DontAsk), DontAsk),
        (BypassPermissions, Some(DontAsk), DontAsk),
        (AcceptEdits, Some(Plan), Plan),
        (BypassPermissions, Some(AcceptEdits), BypassPermissions),
        (BypassPermissions, Some(Plan), Plan),
    ] {
        assert_eq!(agent_mode(parent, definition), expected, "{parent:?} {definition:?}");
    }
}
