use serde_json::{Value, json};

use super::*;

/// Checks values that a schema accepts, and values with what it says about them.
#[track_caller]
fn cases(schema: &Value, accepted: &[Value], refused: &[(Value, &str)]) {
    for value in accepted {
        assert_eq!(validate(schema, value), Ok(()), "{schema} {value}");
    }
    for (value, text) in refused {
        let error = validate(schema, value).expect_err(&format!("{schema} accepts {value}"));
        assert!(error.0.contains(text), "{schema} {value}: {}", error.0);
    }
}

#[test]
fn numbers_have_bounds() {
    cases(
        &json!({"properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}}}),
        &[json!({"n": 1}), json!({"n": 9.0}), json!({})],
        &[
            (json!({"n": 0}), "`n` must be at least 1, not 0"),
            (json!({"n": 10}), "`n` must be at most 9, not 10"),
        ],
    );
    cases(
        &json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1.5}),
        &[json!(0.5), json!("text")],
        &[(json!(0), "greater than 0"), (json!(1.5), "less than 1.5")],
    );
    // As draft 4 writes it.
    cases(
        &json!({"minimum": 0, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false}),
        &[json!(1), json!(2)],
        &[(json!(0), "greater than 0"), (json!(3), "at most 2")],
    );
    cases(
        &json!({"multipleOf": 0.1}),
        &[json!(0.3), json!(4), json!(-0.7), json!(1e300)],
        &[(json!(0.25), "a multiple of 0.1, not 0.25")],
    );
    cases(&json!({"multipleOf": 3}), &[json!(0), json!(-6)], &[(json!(4), "a multiple of 3")]);
    // Neither fits into a float.
    cases(
        &json!({"maximum": 9_223_372_036_854_775_806_i64}),
        &[json!(9_223_372_036_854_775_806_i64)],
        &[(json!(9_223_372_036_854_775_807_i64), "at most"), (json!(u64::MAX), "at most")],
    );
}

#[test]
fn texts_have_a_length_and_a_pattern() {
    cases(
        &json!({"minLength": 2, "maxLength": 3}),
        &[json!("ää"), json!("abc"), json!(1)],
        &[(json!("ä"), "at least 2 characters, not 1"), (json!("abcd"), "at most 3 characters")],
    );
    cases(
        &json!({"pattern": "^[a-z]+$"}),
        &[json!("ab")],
        &[(json!("a1"), "must match the pattern ^[a-z]+$")],
    );
    // Found anywhere in the text, unless the pattern is anchored.
    cases(&json!({"pattern": "b"}), &[json!("abc")], &[(json!("ac"), "pattern b")]);
    // Rust's expressions have no look-ahead.
    cases(&json!({"pattern": "^(?!a)"}), &[json!("a"), json!("b")], &[]);
}

#[test]
fn arrays_have_a_size_and_kinds_of_items() {
    cases(
        &json!({"minItems": 1, "maxItems": 2, "uniqueItems": true}),
        &[json!([1]), json!([1, 2]), json!([{"a": 1}, {"a": 2}])],
        &[
            (json!([]), "at least 1 items, not 0"),
            (json!([1, 2, 3]), "at most 2 items"),
            (json!([1, 1.0]), "`[1]` occurs twice"),
            (json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}]), "`[1]` occurs twice"),
        ],
    );
    let pair = &[json!(["a"]), json!(["a", 1]), json!([])];
    let wrong = &[
        (json!([1]), "`[0]` must be string"),
        (json!(["a", "b"]), "`[1]` must be integer"),
        (json!(["a", 1, 2]), "`[2]` is not allowed"),
    ];
    let first = json!([{"type": "string"}, {"type": "integer"}]);
    cases(&json!({"prefixItems": first, "items": false}), pair, wrong);
    cases(&json!({"items": first, "additionalItems": false}), pair, wrong);
    cases(
        &json!({"contains": {"type": "integer"}, "maxContains": 2}),
        &[json!(["a", 1]), json!([1, 2])],
        &[(json!(["a"]), "at least 1 items that fit"), (json!([1, 2, 3]), "at most 2 items")],
    );
    cases(&json!({"contains": {"const": 1}, "minContains": 0}), &[json!([])], &[]);
}

#[test]
fn objects_restrict_keys_and_values() {
    cases(
        &json!({"minProperties": 1, "maxProperties": 2}),
        &[json!({"a": 1})],
        &[(json!({}), "at least 1 keys"), (json!({"a": 1, "b": 1, "c": 1}), "at most 2 keys")],
    );
    cases(
        &json!({"additionalProperties": {"type": "integer"}}),
        &[json!({"a": 1})],
        &[(json!({"a": "1"}), "`a` must be integer")],
    );
    cases(
        &json!({
            "properties": {"n": {"type": "integer"}},
            "patternProperties": {"^x-": {"type": "string"}},
            "additionalProperties": false,
        }),
        &[json!({"n": 1, "x-a": "b"})],
        &[(json!({"x-a": 1}), "`x-a` must be string"), (json!({"y": 1}), "(known: n)")],
    );
    cases(
        &json!({"propertyNames": {"maxLength": 2}}),
        &[json!({"ab": 1})],
        &[(json!({"abc": 1}), "`abc` must have at most 2 characters")],
    );
    cases(
        &json!({"dependentRequired": {"card": ["address"]}}),
        &[json!({}), json!({"card": 1, "address": "x"})],
        &[(json!({"card": 1}), "`address` is required next to `card`")],
    );
    cases(
        &json!({"dependencies": {"a": {"required": ["b"]}, "c": ["d"]}}),
        &[json!({"a": 1, "b": 1})],
        &[(json!({"a": 1}), "`b` is required"), (json!({"c": 1}), "`d` is required")],
    );
    cases(&json!({"properties": {"a": false}}), &[json!({})], &[(json!({"a": 1}), "not allowed")]);
}

#[test]
fn fixed_values_compare_as_json_schema_does() {
    cases(
        &json!({"const": {"a": 1, "b": [2]}}),
        &[json!({"b": [2.0], "a": 1.0})],
        &[(json!({"a": 1}), "must be {\"a\":1,\"b\":[2]}")],
    );
    cases(&json!({"enum": [1, null]}), &[json!(1.0), json!(null)], &[(json!(2), "one of 1, null")]);
    // `null` is a value too.
    cases(&json!({"const": null}), &[json!(null)], &[(json!(0), "must be null")]);
}

#[test]
fn references_are_followed() {
    let item = json!({"type": "object", "properties": {"n": {"minimum": 1}}, "required": ["n"]});
    let schema = json!({"$ref": "#/$defs/Item", "$defs": {"Item": item}});
    cases(&schema, &[json!({"n": 1})], &[(json!({"n": 0}), "at least 1"), (json!(3), "object")]);
    // The name is encoded, and the keywords next to the reference apply.
    let schema = json!({
        "$ref": "#/definitions/a%20b~1c", "maxProperties": 1, "definitions": {"a b/c": item},
    });
    cases(
        &schema,
        &[json!({"n": 1})],
        &[(json!({"n": 0}), "at least 1"), (json!({"n": 1, "m": 1}), "at most 1")],
    );
    // One that cannot be followed restricts nothing.
    for reference in ["#/$defs/Missing", "https://example.com/a.json", "#%2", "#%zz", "#"] {
        cases(&json!({"$ref": reference}), &[json!({})], &[]);
    }
}

#[test]
fn recursive_schemas_check_every_level() {
    let schema = json!({
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
            "additionalProperties": false,
        }},
    });
    // As deep as JSON that is parsed.
    let nested = |inner: Value| (0..126).fold(inner, |inner, _| json!({"next": inner}));
    let run = move || {
        cases(&schema, &[nested(json!(null))], &[(nested(json!({"more": 1})), "is not known")]);
    };
    // Half of the stack of a thread that runs sessions.
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    thread.join().unwrap();
}

#[test]
fn a_schema_without_an_end_is_refused_in_time() {
    let both = |name: &str| json!({"anyOf": [{"$ref": name}, {"$ref": name}]});
    let endless = json!({"$ref": "#/$defs/a", "$defs": {"a": both("#/$defs/a")}});
    let mut wide = json!({"$ref": "#/$defs/d0", "$defs": {"d40": {"const": 1}}});
    for index in 0..40 {
        wide["$defs"][format!("d{index}")] = both(&format!("#/$defs/d{}", index + 1));
    }
    let excluded = json!({"not": {"$ref": "#/$defs/d0"}, "$defs": wide["$defs"]});
    for schema in [&endless, &wide, &excluded] {
        cases(schema, &[], &[(json!(2), "the arguments cannot be checked")]);
    }
    cases(&wide, &[json!(1)], &[]);
}

#[test]
fn expensive_keywords_are_refused_in_time() {
    let long = "x".repeat(1 << 20);
    let texts = |count: usize| json!(vec![long.as_str(); count]);
    let patterns = |count: usize| {
        let patterns = (0..count).map(|index| json!({"pattern": format!("^x*(?:{index})?$")}));
        json!({"allOf": patterns.collect::<Vec<_>>()})
    };
    let names: Vec<_> = (0..100_000).map(|index| format!("name {index}")).collect();
    let refused = [
        (json!({"items": {"pattern": "y$"}}), texts(20)),
        (patterns(80), json!("x")),
        (json!({"items": {"enum": [long, "b"]}}), texts(20)),
        (json!({"uniqueItems": true}), texts(20)),
        (json!({"items": {"enum": names}}), json!(vec!["name 99999"; 1_000])),
        (json!({"items": {"minLength": 1}}), texts(20)),
    ];
    for (schema, value) in refused {
        cases(&schema, &[], &[(value, "cannot be checked")]);
    }
    // Far more than tools need is checked.
    cases(&patterns(60), &[json!("x")], &[(json!("y"), "must match")]);
    let countries = json!({"items": {"enum": names[..200].to_vec()}, "uniqueItems": true});
    cases(&countries, &[json!(names[..200].to_vec())], &[(json!(["Atlantis"]), "one of")]);
    cases(&json!({"pattern": "^x*$", "maxLength": 1 << 21}), &[json!(long)], &[]);
}

#[test]
fn values_are_equal_whatever_the_form_of_their_numbers_and_the_order_of_their_keys() {
    let schema = json!({"enum": [{"a": [1, {"b": 2.0}], "c": null}]});
    cases(
        &schema,
        &[json!({"c": null, "a": [1.0, {"b": 2}]})],
        &[
            (json!({"a": [1, {"b": 2.5}], "c": null}), "must be one of"),
            (json!({"a": [1, {"b": 2}]}), "must be one of"),
            (json!({"a": [1, {"b": 2}, 3], "c": null}), "must be one of"),
        ],
    );
}

#[test]
fn alternatives_name_the_form_that_was_meant() {
    let circle = json!({"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
        "required": ["kind", "r"]});
    let square = json!({"properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
        "required": ["kind", "side"]});
    for keyword in ["anyOf", "oneOf"] {
        cases(
            &json!({keyword: [circle, square]}),
            &[json!({"kind": "circle", "r": 1}), json!({"kind": "square", "side": 1.5})],
            &[
                (json!({"kind": "square", "side": "1"}), "`side` must be number, not string"),
                (json!({"kind": "cube"}), "fits none of the allowed forms: (1) `r` is required"),
            ],
        );
        let error = validate(&json!({keyword: [circle, square]}), &json!({"kind": "square"}));
        assert_eq!(error.unwrap_err().0, "`side` is required");
    }
    let optional = json!({"properties": {"a": {"anyOf": [{"type": "object", "required": ["b"]}, {"type": "null"}]}}});
    let error = validate(&optional, &json!({"a": {}})).unwrap_err().0;
    assert_eq!(error, "`a.b` is required");
    let many: Vec<_> = (0..9).map(|least| json!({"minimum": 10 + least})).collect();
    let error = validate(&json!({"anyOf": many}), &json!(1)).unwrap_err().0;
    assert!(
        error.ends_with("(3) the arguments must be at least 12, not 1, and 6 more forms"),
        "{error}"
    );
}

#[test]
fn schemas_are_combined() {
    cases(
        &json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}),
        &[json!(2)],
        &[(json!(0), "at least 1"), (json!(4), "at most 3")],
    );
    cases(
        &json!({"oneOf": [{"minimum": 1}, {"maximum": 3}]}),
        &[json!(0), json!(4)],
        &[(json!(2), "fits 2 of the forms in `oneOf`")],
    );
    cases(
        &json!({"not": {"const": "x"}}),
        &[json!("y")],
        &[(json!("x"), "a form that the schema excludes")],
    );
    let conditional = json!({
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"required": ["b"]},
        "else": {"required": ["c"]},
    });
    cases(
        &conditional,
        &[json!({"a": 1, "b": 1}), json!({"a": 2, "c": 1})],
        &[(json!({"a": 1}), "`b` is required"), (json!({"b": 1}), "`c` is required")],
    );
}

#[test]
fn a_schema_with_a_typing_error_is_found() {
    for fine in [
        json!({"type": "object", "properties": {"type": {"type": ["string", "null"]}}}),
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"items": {"$ref": "#"}}}}),
        json!({"enum": [{"$ref": "data"}], "const": {"type": "data"}, "additionalProperties": false}),
        json!({"properties": {"a": true}, "dependentRequired": {"a": ["b"]}}),
    ] {
        assert_eq!(check_schema(&fine), Ok(()), "{fine}");
    }
    for (schema, text) in [
        (json!({"type": "objekt"}), "unknown type \"objekt\" (known: null, boolean"),
        (json!({"properties": {"n": {"type": ["int"]}}}), "unknown type \"int\" at /properties/n"),
        (json!({"items": {"$ref": "#/$defs/A"}}), "\"#/$defs/A\" at /items refers to nothing"),
        (json!({"$ref": "https://example.com/a"}), "refers to nothing in the schema"),
        (json!({"anyOf": [{"not": 3}]}), "not 3 at /anyOf/0/not"),
        (json!({"prefixItems": [{"type": 3}]}), "unknown type 3 at /prefixItems/0"),
        (json!(["object"]), "a schema is an object, not [\"object\"]"),
    ] {
        let error = check_schema(&schema).unwrap_err().to_string();
        assert!(error.contains(text), "{schema}: {error}");
    }
}
