use super::*;

#[test]
fn this_process_runs_and_unknown_processes_are_not_reported_as_exited() {
    let us = this_process().unwrap();
    assert!(!has_exited(&us));
    // The same PID, used again by another process.
    let (before, _) = us.rsplit_once('/').unwrap();
    assert!(has_exited(&format!("{before}/1")));
    // A PID that no process has.
    assert!(has_exited(&format!("{}/4194305/1", boot_and_namespace().unwrap())));
    // Another machine, another boot, another container: unknown.
    assert!(!has_exited("3c1d/pid:[1]/17/1"));
    assert!(!has_exited(""));
}
