use super::*;

#[test]
fn one_scenario_is_chosen_by_its_name() {
    let names = |only| -> Vec<&str> {
        chosen(program::SCENARIOS, only).unwrap().iter().map(|(name, _)| *name).collect()
    };
    assert_eq!(names(Some("resume")), ["resume"]);
    assert_eq!(names(None).len(), program::SCENARIOS.len());
    let error = chosen(terminal::SCENARIOS, Some("resume")).unwrap_err().to_string();
    assert_eq!(error, "no such scenario; there are: start, stream, idle, history");
}
