use super::*;

#[test]
fn we_are_here_and_nobody_else_is_mistaken_for_gone() {
    let us = ourselves().unwrap();
    assert!(!is_gone(&us));
    // The same number, used again by another process.
    let (before, _) = us.rsplit_once('/').unwrap();
    assert!(is_gone(&format!("{before}/1")));
    // A number nobody has.
    assert!(is_gone(&format!("{}/4194305/1", here().unwrap())));
    // Another machine, another boot, another container: who knows.
    assert!(!is_gone("3c1d/pid:[1]/17/1"));
    assert!(!is_gone(""));
}
