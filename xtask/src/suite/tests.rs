use std::cell::RefCell;

use super::*;

#[test]
fn the_first_failing_step_stops_the_rest() {
    let ran = RefCell::new(Vec::new());
    let step = |name: &'static str, result: Result<()>| -> Step<'_> {
        let ran = &ran;
        (
            name,
            Box::new(move || {
                ran.borrow_mut().push(name);
                result
            }),
        )
    };
    let broken = Err(anyhow::anyhow!("a tab"));
    let error =
        run_all(vec![step("one", Ok(())), step("two", broken), step("three", Ok(()))]).unwrap_err();
    assert_eq!(*ran.borrow(), ["one", "two"]);
    assert_eq!(error.to_string(), "test: step 2 of 3, two, FAILED: a tab");
}

#[test]
fn all_passing_steps_pass() {
    assert!(run_all(vec![("one", Box::new(|| Ok(())))]).is_ok());
}

#[test]
fn optional_tools_are_used_only_where_they_are() {
    let names = |nextest, deny| -> Vec<&str> {
        steps(Path::new("."), nextest, deny).into_iter().map(|(name, _)| name).collect()
    };
    let bare = ["setup", "fmt", "tidy", "gen --check", "clippy", "tests", "doc tests"];
    assert_eq!(names(false, false), bare);
    assert_eq!(names(true, false), bare);
    assert!(names(false, true).contains(&"deny"));
}
