use super::*;

#[test]
fn the_input_of_the_protocol_is_without_the_cache() {
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 7,
        cache_read_tokens: 60,
        cache_write_tokens: 30,
        web_searches: 2,
        web_fetches: 1,
        ..Usage::default()
    };
    let shown = token_usage(usage);
    let tools = shown.server_tool_use;
    assert_eq!((tools.web_search_requests, tools.web_fetch_requests), (2, 1));
    assert_eq!((shown.input_tokens, shown.output_tokens), (10, 7));
    assert_eq!((shown.cache_read_input_tokens, shown.cache_creation_input_tokens), (60, 30));
}

#[test]
fn the_window_is_the_one_that_the_service_has_shown() {
    let meter = Meter::new(None, None);
    meter.lock().add("a-model-of-mine", Some(Usage::new(5, 5)));
    assert_ne!(meter.models()["a-model-of-mine"].context_window, 4_096);
    meter.set_window("a-model-of-mine", 4_096);
    for models in [meter.models(), meter.take_new_models()] {
        assert_eq!(models["a-model-of-mine"].context_window, 4_096);
    }
}

#[test]
fn a_model_without_a_price_is_marked() {
    let mut counts = Counts::default();
    counts.add("a-model-of-mine", Some(Usage::new(5, 5)));
    let model = counts.models["a-model-of-mine"];
    assert_eq!((model.cost_usd, model.cost_basis), (0.0, CostBasis::Unknown));
    assert_eq!((model.input_tokens, model.output_tokens), (5, 5));
}
