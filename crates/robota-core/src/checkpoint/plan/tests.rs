use super::super::{FileContent, NotSaved};
use super::*;

fn file(text: &str) -> PathState {
    let hash = crate::message::BlobRef::of(text.as_bytes()).sha256;
    PathState::File { content: FileContent { hash, saved: None }, mode: Some(0o644) }
}

fn change(path: &str, before: PathState, after: PathState, made: bool) -> RecordedChange {
    RecordedChange { seq: 1, delta: FileDelta { path: path.to_owned(), before, after }, made }
}

fn planned(changes: &[RecordedChange]) -> Vec<PlannedFile> {
    plan(changes)
}

#[test]
fn the_first_state_is_the_target_and_the_last_is_expected() {
    let plan = planned(&[
        change("/a", file("1"), file("2"), true),
        change("/a", file("2"), file("3"), true),
        change("/b", PathState::Missing, file("new"), true),
    ]);
    assert_eq!(plan[0].target, file("1"));
    assert_eq!(plan[0].step(&file("3"), false), RestoreStep::Change);
    assert_eq!(plan[0].step(&file("1"), false), RestoreStep::Nothing);
    assert_eq!(plan[0].step(&file("user"), false), RestoreStep::Conflict);
    assert_eq!(plan[0].step(&file("user"), true), RestoreStep::Change);
    assert_eq!(plan[1].target, PathState::Missing);
}

#[test]
fn a_change_between_two_changes_of_the_session_is_a_conflict() {
    let plan = planned(&[
        change("/a", file("1"), file("2"), true),
        change("/a", file("user"), file("3"), true),
    ]);
    assert_eq!(plan[0].step(&file("3"), false), RestoreStep::Conflict);
    assert_eq!(plan[0].step(&file("3"), true), RestoreStep::Change);
}

#[test]
fn a_change_that_may_not_have_been_made_leaves_two_expected_states() {
    let plan = planned(&[
        change("/a", file("1"), file("2"), true),
        change("/a", file("2"), file("3"), false),
    ]);
    assert_eq!(plan[0].step(&file("2"), false), RestoreStep::Change);
    assert_eq!(plan[0].step(&file("3"), false), RestoreStep::Change);
    let next = planned(&[
        change("/a", file("1"), file("2"), false),
        change("/a", file("1"), file("4"), true),
    ]);
    assert_eq!(next[0].step(&file("4"), false), RestoreStep::Change);
}

#[test]
fn what_was_changed_back_is_not_planned_and_what_was_not_saved_is_named() {
    let back = [
        change("/a", PathState::Missing, file("1"), true),
        change("/a", file("1"), PathState::Missing, true),
    ];
    assert_eq!(planned(&back), []);
    let unsaved = PathState::Unsaved { reason: NotSaved::TooLarge };
    let plan = planned(&[change("/a", unsaved.clone(), file("1"), true)]);
    assert_eq!(plan[0].step(&file("1"), true), RestoreStep::Impossible);
    let plan = planned(&[change("/a", file("1"), unsaved.clone(), true)]);
    assert_eq!(plan[0].step(&unsaved, false), RestoreStep::Conflict, "it would be lost");
    assert_eq!(plan[0].step(&unsaved, true), RestoreStep::Change);
}
