use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "every caller has a fresh `json!`")]
fn read(value: Value) -> Usage {
    Usage::from_provider_value(&value).unwrap()
}

fn usage(input: u64, output: u64, read: u64, write: u64, reasoning: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
        reasoning_tokens: reasoning,
        ..Usage::default()
    }
}

#[test]
fn core_24_anthropic_cache_counts_are_added_to_the_input() {
    let value = json!({
        "input_tokens": 9, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2},
        "server_tool_use": {"web_search_requests": 1}, "service_tier": "standard"
    });
    let expected = Usage { web_searches: 1, ..usage(1109, 5, 1000, 100, 2) };
    assert_eq!(read(value), expected);
    assert_eq!(read(json!({"input_tokens": 9, "output_tokens": 5})), Usage::new(9, 5));
    // The delta at the end of a stream may carry the output alone.
    assert_eq!(read(json!({"output_tokens": 5})), Usage::new(0, 5));
}

#[test]
fn core_24_openai_chat_counts_are_inclusive() {
    let value = json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 900},
        "completion_tokens_details": {"reasoning_tokens": 20}
    });
    assert_eq!(read(value), usage(1000, 50, 900, 0, 20));
}

#[test]
fn core_24_openai_responses_counts_are_inclusive() {
    let value = json!({
        "input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050,
        "input_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 80},
        "output_tokens_details": {"reasoning_tokens": 20}
    });
    assert_eq!(read(value), usage(1000, 50, 900, 80, 20));
}

#[test]
fn core_24_camel_case_shapes() {
    assert_eq!(read(json!({"inputTokens": 3, "outputTokens": 4})), Usage::new(3, 4));
    assert_eq!(
        read(json!({"promptTokens": 3, "completionTokens": 4, "totalTokens": 7})),
        Usage::new(3, 4)
    );
    assert_eq!(
        read(json!({"inputTokens": 30, "outputTokens": 4, "cachedInputTokens": 20,
                    "reasoningTokens": 1})),
        usage(30, 4, 20, 0, 1)
    );
}

#[test]
fn core_24_gemini_thoughts_are_added_to_the_output() {
    let value = json!({
        "promptTokenCount": 55, "candidatesTokenCount": 20, "thoughtsTokenCount": 45,
        "cachedContentTokenCount": 50, "toolUsePromptTokenCount": 5, "totalTokenCount": 125
    });
    assert_eq!(read(value), usage(60, 65, 50, 0, 45));
    // While it thinks there are no candidates yet.
    let thinking = json!({"promptTokenCount": 9, "thoughtsTokenCount": 12, "totalTokenCount": 21});
    assert_eq!(read(thinking), usage(9, 12, 0, 0, 12));
}

#[test]
fn core_24_other_servers() {
    // A cache hit in addition to the prompt's own details.
    let hit = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12,
                     "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2});
    assert_eq!(read(hit), usage(10, 2, 8, 0, 0));
    // Reasoning that the completion does not include: only the total shows it.
    let beside = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 19,
                        "completion_tokens_details": {"reasoning_tokens": 7}});
    assert_eq!(read(beside), usage(10, 9, 0, 0, 7));
    // One side missing.
    assert_eq!(read(json!({"total_tokens": 12, "completion_tokens": 2})), Usage::new(10, 2));
    assert_eq!(read(json!({"total_tokens": 12, "prompt_tokens": 10})), Usage::new(10, 2));
    assert_eq!(read(json!({"total_tokens": 12})), Usage::new(12, 0));
}

#[test]
fn core_24_a_whole_response_may_be_given() {
    let chat = json!({"id": "c1", "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    assert_eq!(read(chat), Usage::new(1, 2));
    let gemini = json!({"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}});
    assert_eq!(read(gemini), Usage::new(1, 2));
}

#[test]
fn core_24_no_count_is_no_usage() {
    for value in [
        Value::Null,
        json!({}),
        json!([]),
        json!("usage"),
        json!(7),
        json!({"usage": null}),
        json!({"input_tokens": "12", "output_tokens": null}),
        json!({"input_tokens": -1}),
        json!({"service_tier": "standard"}),
    ] {
        assert_eq!(Usage::from_provider_value(&value), None, "{value}");
    }
}

#[test]
fn core_24_hostile_counts_do_no_harm() {
    assert_eq!(read(json!({"input_tokens": -5, "output_tokens": 2})), Usage::new(0, 2));
    assert_eq!(read(json!({"input_tokens": 3.9, "output_tokens": -0.5})), Usage::new(3, 0));
    assert_eq!(
        read(json!({"input_tokens": "3", "output_tokens": true, "total_tokens": 1})).total(),
        1
    );
    let huge = read(json!({
        "input_tokens": 1e300, "cache_read_input_tokens": u64::MAX, "output_tokens": u64::MAX,
        "output_tokens_details": {"reasoning_tokens": 1e19}
    }));
    assert_eq!(huge.input_tokens, u64::MAX);
    assert_eq!(huge.total(), u64::MAX);
    // More cached than sent: the part is limited to the whole.
    let odd = json!({"prompt_tokens": 10, "completion_tokens": 1,
                     "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 5},
                     "completion_tokens_details": {"reasoning_tokens": 4}});
    assert_eq!(read(odd), usage(10, 1, 10, 0, 1));
}

#[test]
fn core_24_on_the_wire_zeros_are_left_out() {
    assert_eq!(
        serde_json::to_value(Usage::new(3, 0)).unwrap(),
        json!({"input_tokens": 3, "output_tokens": 0})
    );
    assert_eq!(
        serde_json::to_string(&usage(9, 8, 3, 2, 1)).unwrap(),
        r#"{"input_tokens":9,"output_tokens":8,"cache_read_tokens":3,"cache_write_tokens":2,"reasoning_tokens":1}"#
    );
    let sum: Usage = [usage(9, 8, 3, 2, 1), Usage::new(u64::MAX, 1)].into_iter().sum();
    assert_eq!(sum, usage(u64::MAX, 9, 3, 2, 1));
    assert_eq!(usage(9, 8, 3, 2, 1).uncached_input(), 4);
}

fn field() -> impl Strategy<Value = (String, Value)> {
    let names = [
        "input_tokens",
        "output_tokens",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "promptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "cachedContentTokenCount",
        "toolUsePromptTokenCount",
        "totalTokenCount",
        "prompt_tokens_details",
        "completion_tokens_details",
        "reasoning_tokens",
        "usage",
    ];
    let number = prop_oneof![
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..2_000_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
        Just(Value::Null),
        any::<u64>().prop_map(|n| json!({"cached_tokens": n, "reasoning_tokens": n})),
    ];
    (prop::sample::select(names.to_vec()), number)
        .prop_map(|(name, value)| (name.to_owned(), value))
}

proptest! {
    #[test]
    fn core_24_parts_never_exceed_their_whole(fields in prop::collection::vec(field(), 0..8)) {
        let value = Value::Object(fields.into_iter().collect());
        if let Some(usage) = Usage::from_provider_value(&value) {
            let cached = u128::from(usage.cache_read_tokens) + u128::from(usage.cache_write_tokens);
            prop_assert!(cached <= u128::from(usage.input_tokens), "{value} {usage:?}");
            prop_assert!(usage.reasoning_tokens <= usage.output_tokens, "{value} {usage:?}");
        }
    }

    #[test]
    fn core_24_our_own_form_reads_as_itself(
        read in 0_u64..1 << 40, write in 0_u64..1 << 40, rest in 0_u64..1 << 40,
        reasoning in 0_u64..1 << 40, text in 0_u64..1 << 40,
    ) {
        let usage = usage(read + write + rest, reasoning + text, read, write, reasoning);
        let value = serde_json::to_value(usage).unwrap();
        prop_assert_eq!(Usage::from_provider_value(&value), Some(usage));
        prop_assert_eq!(serde_json::from_value::<Usage>(value).unwrap(), usage);
    }
}
