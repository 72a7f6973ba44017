use proptest::prelude::*;

use super::*;

fn inputs() -> ContextInputs {
    ContextInputs {
        serialized_bytes: 400,
        latest_usage: Some(Usage::new(70, 30)),
        usage_is_last: false,
        floor: 0,
        window: 1_000,
    }
}

#[test]
fn core_24_exact_when_the_count_belongs_to_the_last_message() {
    // Even where the guess from the text and the floor are far larger.
    let exact = estimate(&ContextInputs {
        serialized_bytes: 4_000_000,
        usage_is_last: true,
        floor: 5_000,
        ..inputs()
    });
    assert_eq!((exact.effective, exact.exact), (100, true));
    assert_eq!((exact.serialized, exact.provider, exact.floor), (1_000_000, Some(100), 5_000));
}

#[test]
fn core_24_otherwise_the_largest_of_three() {
    let effective = |inputs: ContextInputs| {
        let estimate = estimate(&inputs);
        assert!(!estimate.exact);
        estimate.effective
    };
    assert_eq!(effective(ContextInputs { serialized_bytes: 301, ..inputs() }), 100);
    assert_eq!(effective(ContextInputs { serialized_bytes: 405, ..inputs() }), 102);
    assert_eq!(effective(ContextInputs { floor: 101, ..inputs() }), 101);
    assert_eq!(effective(ContextInputs { latest_usage: None, ..inputs() }), 100);
    assert_eq!(
        effective(ContextInputs { latest_usage: None, floor: 7, serialized_bytes: 0, ..inputs() }),
        7
    );
}

#[test]
fn core_24_a_provider_that_counts_nothing_is_not_exact() {
    let zero =
        ContextInputs { latest_usage: Some(Usage::default()), usage_is_last: true, ..inputs() };
    let estimate = estimate(&zero);
    assert_eq!((estimate.effective, estimate.provider, estimate.exact), (100, None, false));
}

#[test]
fn core_24_cached_tokens_are_counted_once() {
    let usage = Usage { cache_read_tokens: 60, cache_write_tokens: 5, ..Usage::new(70, 30) };
    let inputs = ContextInputs { latest_usage: Some(usage), usage_is_last: true, ..inputs() };
    assert_eq!(estimate(&inputs).effective, 100);
}

#[test]
fn core_24_the_state_shows_the_share() {
    let state = estimate(&ContextInputs { usage_is_last: true, ..inputs() }).state();
    assert_eq!(
        state,
        ContextState { max_tokens: 1_000, used_tokens: 100, used_percentage: 10.0, exact: true }
    );
    let unknown = estimate(&ContextInputs { window: 0, ..inputs() });
    assert_eq!(unknown.state().used_percentage, 0.0);
    assert!(!unknown.exceeds(GUARD));
}

#[test]
fn core_18_thresholds_are_exceeded_not_reached() {
    assert_eq!((GUARD, TOOL_RESULTS, COMPACT), (0.95, 0.80, 0.835));
    assert!(!exceeds(190_000, 200_000, GUARD));
    assert!(exceeds(190_001, 200_000, GUARD));
    assert!(!exceeds(160_000, 200_000, TOOL_RESULTS));
    assert!(exceeds(160_001, 200_000, TOOL_RESULTS));
    assert!(!exceeds(167_000, 200_000, COMPACT));
    assert!(exceeds(167_001, 200_000, COMPACT));
}

#[test]
fn core_18_tool_results_count_two_characters_a_token() {
    assert_eq!([0, 1, 2, 3].map(conservative_tokens), [0, 1, 1, 2]);
    assert_eq!([0, 1, 4, 5].map(serialized_tokens), [0, 1, 1, 2]);
}

proptest! {
    #[test]
    fn core_24_estimates_are_bounds(
        serialized_bytes: u64, input: u64, output: u64, has_usage: bool, usage_is_last: bool,
        floor: u64, window: u64,
    ) {
        let latest_usage = has_usage.then(|| Usage::new(input, output));
        let inputs = ContextInputs { serialized_bytes, latest_usage, usage_is_last, floor, window };
        let estimate = estimate(&inputs);
        if estimate.exact {
            prop_assert!(usage_is_last);
            prop_assert_eq!(Some(estimate.effective), estimate.provider);
        } else {
            let candidates =
                [estimate.serialized, estimate.provider.unwrap_or(0), estimate.floor];
            // A maximum: no candidate is larger, and it is one of them, never a sum.
            prop_assert!(candidates.iter().all(|candidate| estimate.effective >= *candidate));
            prop_assert!(candidates.contains(&estimate.effective));
        }
        prop_assert!(estimate.state().used_percentage.is_finite());
    }

    #[test]
    fn core_24_more_text_never_means_less_context(bytes in 0_u64..1 << 40, more in 0_u64..1 << 40) {
        let at = |serialized_bytes| estimate(&ContextInputs { serialized_bytes, ..inputs() });
        prop_assert!(at(bytes + more).effective >= at(bytes).effective);
    }
}
