//! The names of what keys do in texts. The composer knows the keys of shells; users bind others.

use crate::terminal::composer::Action;

/// The actions with their names in `keybindings.json`, in the context `Edit`.
pub(super) const NAMES: [(&str, Action); 25] = [
    ("edit:left", Action::Left),
    ("edit:right", Action::Right),
    ("edit:up", Action::Up),
    ("edit:down", Action::Down),
    ("edit:wordLeft", Action::WordLeft),
    ("edit:wordRight", Action::WordRight),
    ("edit:lineStart", Action::LineStart),
    ("edit:lineEnd", Action::LineEnd),
    ("edit:textStart", Action::TextStart),
    ("edit:textEnd", Action::TextEnd),
    ("edit:deleteLeft", Action::DeleteLeft),
    ("edit:deleteRight", Action::DeleteRight),
    ("edit:deleteWordLeft", Action::DeleteWordLeft),
    ("edit:deleteWordRight", Action::DeleteWordRight),
    ("edit:killWord", Action::KillWord),
    ("edit:killToLineEnd", Action::KillToLineEnd),
    ("edit:killToLineStart", Action::KillToLineStart),
    ("edit:yank", Action::Yank),
    ("edit:undo", Action::Undo),
    ("edit:redo", Action::Redo),
    ("edit:historyPrevious", Action::HistoryPrevious),
    ("edit:historyNext", Action::HistoryNext),
    ("edit:acceptSearch", Action::AcceptSearch),
    ("edit:newline", Action::Newline),
    ("edit:expandPaste", Action::Expand),
];
