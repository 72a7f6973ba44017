use serde_json::json;

use super::*;

fn one(group: &str, function: Option<&str>, value: Option<&str>, nanos: f64) -> Measured {
    let elements = value.and_then(|value| value.parse::<u64>().ok());
    let bench = json!({
        "group_id": group,
        "function_id": function,
        "value_str": value,
        "throughput": elements.map(|count| json!({"Elements": count})),
    });
    measured(&bench, &json!({"median": {"point_estimate": nanos}})).unwrap()
}

#[test]
fn cost_per_element_is_compared_to_the_smallest_size() {
    let table = table(&[
        one("fold", None, Some("100000"), 30_000_000.0),
        one("fold", None, Some("9"), 1_800.0),
        one("fold", None, Some("10"), 2_000.0),
    ]);
    assert_eq!(
        table,
        "fold: 9 200.0 ns/element, ratio 1.00 to 9\n\
         fold: 10 200.0 ns/element, ratio 1.00 to 9\n\
         fold: 100000 300.0 ns/element, ratio 1.50 to 9\n"
    );
}

#[test]
fn each_function_is_compared_to_itself() {
    let table = table(&[
        one("turn", Some("fold"), Some("10"), 100.0),
        one("turn", Some("fold"), Some("20"), 400.0),
        one("turn", Some("append"), Some("10"), 50.0),
    ]);
    assert_eq!(
        table,
        "turn: append/10 5.0 ns/element, ratio 1.00 to append/10\n\
         turn: fold/10 10.0 ns/element, ratio 1.00 to fold/10\n\
         turn: fold/20 20.0 ns/element, ratio 2.00 to fold/10\n"
    );
}

#[test]
fn a_named_baseline_wins() {
    let table = table(&[
        one("append", Some("a"), None, 50.0),
        one("append", Some("baseline"), None, 20.0),
        one("alone", None, None, 7.0),
    ]);
    assert_eq!(
        table,
        "alone: alone 7.0 ns, ratio 1.00 to alone\n\
         append: baseline 20.0 ns, ratio 1.00 to baseline\n\
         append: a 50.0 ns, ratio 2.50 to baseline\n"
    );
}

#[test]
fn an_unknown_form_is_refused() {
    assert_eq!(measured(&json!({}), &json!({"median": {"point_estimate": 1.0}})), None);
    assert_eq!(measured(&json!({"group_id": "x"}), &json!({})), None);
}
