use robota_core::scripted::Script;

use super::*;

/// The script in the documentation, which has every key of scripts.
const SCRIPTED: &str = include_str!("../../../../../docs/scripted.md");

fn documented() -> &'static str {
    SCRIPTED.split("```yaml\n").nth(2).unwrap().split("```").next().unwrap()
}

#[test]
fn every_script_is_an_equal_scenario() {
    let script = Script::from_yaml(documented()).unwrap();
    let scenario = Scenario::from_yaml(documented()).unwrap();
    assert_eq!(scenario.answers.len(), script.answers().len());
    for (at, (read, made)) in
        scenario.answers.iter().zip(Scenario::from(script).answers).enumerate()
    {
        let mut read = read.clone();
        // A message alone has no kind here; in scripts the kind of such an error is `provider`.
        for step in &mut read.steps {
            if let Step::Error(failure) = step {
                failure.kind.get_or_insert(robota_core::error::ErrorKind::Provider);
                failure.retryable = None;
            }
        }
        assert_eq!(read, made, "answer {}", at + 1);
    }
}

#[test]
fn the_documented_scenario_is_valid() {
    let docs = include_str!("../../../../../docs/mock-model.md");
    let yaml = docs.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let scenario = Scenario::from_yaml(yaml).unwrap();
    assert_eq!(scenario.models, ["big", "small"]);
    assert_eq!(scenario.answers.len(), 8);
}

#[test]
fn scenarios_round_trip_through_json() {
    let scenario = Scenario::from_yaml(documented()).unwrap();
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
    assert_eq!(Scenario::from_yaml(&json).unwrap(), scenario, "JSON is YAML");
}

#[test]
fn wire_specific_keys_are_parsed() {
    let scenario = Scenario::from_yaml(
        "
key: k-1
models: [a, b]
quirks: [crlf, {padding: 10}]
answers:
  - when: {nth: 2, wire: gemini, last: hello}
    hold: {gate: ready}
    headers: {x-extra: 'yes'}
    quirks: [{bytes: 1}, {text_calls: hermes}, no_ids]
    steps:
      - {text: x, times: 20000}
      - search: {query: q, url: 'https://e.test', title: T}
      - event: {type: ping}
      - bytes: ': hello'
      - truncate
  - steps: [close]
  - steps: [{text: half}, reset]
  - error: {status: 429, message: Slow down, retry_after: Wed, looks: html, code: x}
",
    )
    .unwrap();
    assert_eq!(scenario.key.as_deref(), Some("k-1"));
    assert_eq!(scenario.quirks, [Quirk::Crlf, Quirk::Padding(10)]);
    assert_eq!(scenario.answers[0].when.nth, Some(2));
    assert_eq!(scenario.answers[0].steps.len(), 5);
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
}

#[test]
fn errors_name_the_mistake() {
    let wrong = |yaml: &str| Scenario::from_yaml(yaml).unwrap_err().to_string();
    assert!(wrong("- {txt: hi}").contains("unknown field `txt`"), "{}", wrong("- {txt: hi}"));
    assert!(wrong("- {text: a, steps: []}").contains("not both"));
    assert!(wrong("- steps: [drop, {text: a}]").contains("nothing can follow"));
    assert!(wrong("- steps: [{text: a, id: b}]").contains("belong to another kind"));
    assert!(wrong("- steps: [{}]").contains("exactly one of"));
    assert!(wrong("- quirks: [odd]").contains("unknown variant `odd`"));
}
