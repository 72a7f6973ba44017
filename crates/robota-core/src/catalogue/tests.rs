use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn precision(id: &str) -> Option<(String, Precision)> {
    let catalogue = Catalogue::builtin();
    catalogue.find(id).map(|found| (found.model.id.clone(), found.precision))
}

fn found(id: &str, precision: Precision) -> Option<(String, Precision)> {
    Some((id.to_owned(), precision))
}

#[test]
fn core_25_the_data_file_parses_and_is_sound() {
    let models: Vec<ModelInfo> = serde_json::from_str(MODELS).unwrap();
    assert!(models.len() > 40);
    let mut keys = HashSet::new();
    for model in &models {
        for name in model.aliases.iter().chain([&model.id]) {
            assert!(keys.insert(lookup::key(name)), "{name} twice");
        }
        assert!(model.source.as_deref().is_some_and(|url| url.starts_with("https://")));
        let window = model.context_window.unwrap_or(DEFAULT_CONTEXT_WINDOW);
        assert!((8_000..=20_000_000).contains(&window), "{}", model.id);
        assert!(model.max_output.is_none_or(|output| output <= window), "{}", model.id);
        let long = model.long_prompt.map(|long| {
            assert!(long.above < window, "{}", model.id);
            long.prices
        });
        for prices in model.prices.into_iter().chain(long) {
            assert!(prices.input > 0.0 && prices.output >= prices.input, "{}", model.id);
            assert!(prices.cache_read.is_none_or(|read| read < prices.input), "{}", model.id);
            assert!(prices.cache_write.is_none_or(|write| write >= prices.input), "{}", model.id);
        }
    }
    assert_eq!(Catalogue::builtin().models().count(), models.len());
}

#[test]
fn core_25_limits_and_names_by_id() {
    let catalogue = Catalogue::builtin();
    assert_eq!(catalogue.context_window("claude-opus-4-6"), 1_000_000);
    assert_eq!(catalogue.max_output("claude-opus-4-6"), 128_000);
    assert_eq!(catalogue.name("claude-opus-4-6"), "Claude Opus 4.6");
    assert_eq!(catalogue.context_window("claude-haiku-4-5"), 200_000);
    assert!(catalogue.get("claude-haiku-4-5").unwrap().can(Capability::Tools));
}

#[test]
fn core_25_unknown_models_have_defaults() {
    let catalogue = Catalogue::builtin();
    for id in ["nobody-knows", "", "/", "-", "claude", "gpt", "😀"] {
        assert_eq!(catalogue.context_window(id), 200_000, "{id}");
        assert_eq!(catalogue.max_output(id), 16_384, "{id}");
        assert_eq!(catalogue.name(id), id);
        assert_eq!(catalogue.cost(id, Usage::new(1, 1)), None);
    }
    // Known, but not its limits.
    assert_eq!(catalogue.context_window("gemini-3.5-flash-lite"), 200_000);
}

#[test]
fn core_25_prefixes_dates_and_tags_are_tolerated() {
    use Precision::{Exact, Snapshot, Variant};
    for (id, expected) in [
        ("anthropic/claude-sonnet-4-5", found("claude-sonnet-4-5", Exact)),
        ("anthropic/claude-sonnet-4.5", found("claude-sonnet-4-5", Exact)),
        ("claude-sonnet-4-5-20250929", found("claude-sonnet-4-5", Snapshot)),
        ("claude-opus-4-5@20251101", found("claude-opus-4-5", Snapshot)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", found("claude-sonnet-4-5", Snapshot)),
        ("claude-opus-5-5-latest", found("claude-opus-5-5", Snapshot)),
        ("models/gemini-2.5-pro", found("gemini-2.5-pro", Exact)),
        ("publishers/google/models/gemini-2.5-pro-001", found("gemini-2.5-pro", Snapshot)),
        ("gpt-5.5-2026-04-23", found("gpt-5.5", Snapshot)),
        ("gpt-oss:20b", found("gpt-oss-20b", Exact)),
        ("llama3.3:latest", found("llama-3.3-70b", Snapshot)),
        ("meta-llama/Llama-3.3-70B-Instruct", found("llama-3.3-70b", Snapshot)),
        ("Qwen/Qwen3-32B-AWQ", found("qwen3-32b", Variant)),
        ("gpt-5.4-mini", found("gpt-5.4-mini", Exact)),
        ("gpt-5.4-pro", found("gpt-5.4", Variant)),
        ("claude-sonnet-4-5[1m]", found("claude-sonnet-4-5", Variant)),
        // Another generation is another model, not a kind of the one before.
        ("claude-opus-5-6", None),
        ("claude-opus-5-10", None),
        ("claude-opus-5-6-20270101", None),
        ("gpt-5.4.1", None),
        ("gpt-5.45", None),
        ("xclaude-opus-5", None),
        ("my-claude-opus-5", None),
    ] {
        assert_eq!(precision(id), expected, "{id}");
    }
}

#[test]
fn core_25_a_variant_has_limits_but_no_price() {
    let catalogue = Catalogue::builtin();
    assert_eq!(catalogue.context_window("gpt-5.4-pro"), 1_050_000);
    assert_eq!(catalogue.cost("gpt-5.4-pro", Usage::new(1_000, 1_000)), None);
    assert_eq!(catalogue.name("gpt-5.4-pro"), "gpt-5.4-pro");
    assert!(catalogue.cost("openai/gpt-5.4", Usage::new(1_000, 1_000)).is_some());
}

#[test]
fn core_25_users_add_and_replace_entries() {
    let builtin = Catalogue::builtin();
    let added = builtin.clone().with(ModelInfo {
        context_window: Some(8_000),
        aliases: vec!["tiny".to_owned()],
        ..ModelInfo::new("gpt-5.5-mini", "Ours", "Us")
    });
    assert_eq!(added.context_window("tiny"), 8_000);
    assert_eq!(added.context_window("gpt-5.5-mini-2027-01-01"), 8_000);
    assert_eq!(added.models().count(), builtin.models().count() + 1);
    assert_eq!(builtin.context_window("gpt-5.5-mini"), 1_050_000, "a relative, as before");

    let replaced = builtin
        .clone()
        .with(ModelInfo { context_window: Some(9_000), ..ModelInfo::new("GPT-5.5", "Ours", "Us") });
    assert_eq!(replaced.context_window("gpt-5.5"), 9_000);
    assert_eq!(replaced.models().count(), builtin.models().count());
    assert_eq!(builtin.context_window("gpt-5.5"), 1_050_000);
}

#[test]
fn core_25_a_mistyped_entry_is_refused() {
    let text = r#"{"id": "a", "name": "A", "vendor": "B", "context_windw": 1}"#;
    let error = serde_json::from_str::<ModelInfo>(text).unwrap_err().to_string();
    assert!(error.contains("context_windw"), "{error}");
}

#[test]
fn core_25_token_counts_for_people() {
    for (tokens, text) in [
        (0, "0"),
        (950, "950"),
        (999, "999"),
        (1_000, "1K"),
        (16_384, "16.3K"),
        (128_000, "128K"),
        (200_000, "200K"),
        (999_999, "999.9K"),
        (1_000_000, "1M"),
        (1_048_576, "1M"),
        (1_500_000, "1.5M"),
        (10_000_000, "10M"),
    ] {
        assert_eq!(format_tokens(tokens), text);
    }
}

fn priced() -> ModelInfo {
    let prices = Prices { input: 2.0, output: 10.0, cache_read: Some(0.2), cache_write: Some(2.5) };
    ModelInfo { prices: Some(prices), ..ModelInfo::new("m", "M", "V") }
}

#[test]
fn core_25_cost_counts_each_token_once() {
    let usage = Usage {
        cache_read_tokens: 600_000,
        cache_write_tokens: 100_000,
        reasoning_tokens: 50_000,
        ..Usage::new(1_000_000, 100_000)
    };
    // 0.3M fresh, 0.6M read, 0.1M written, 0.1M out (thinking is part of it).
    let dollars = cost(&priced(), usage).unwrap();
    assert!((dollars - (0.6 + 0.12 + 0.25 + 1.0)).abs() < 1e-9, "{dollars}");
    assert_eq!(cost(&priced(), Usage::default()), Some(0.0));
}

#[test]
fn core_25_long_prompts_cost_what_they_cost() {
    let long = LongPrompt {
        above: 200_000,
        prices: Prices { input: 4.0, output: 15.0, cache_read: None, cache_write: None },
    };
    let model = ModelInfo { long_prompt: Some(long), ..priced() };
    assert_eq!(cost(&model, Usage::new(200_000, 0)), Some(0.4));
    assert_eq!(cost(&model, Usage::new(250_000, 0)), Some(1.0));
}

#[test]
fn core_25_no_price_no_cost() {
    let usage = Usage { cache_read_tokens: 5, ..Usage::new(10, 1) };
    assert_eq!(cost(&ModelInfo::new("m", "M", "V"), usage), None);
    let mut model = priced();
    model.prices.as_mut().unwrap().cache_read = None;
    assert_eq!(cost(&model, usage), None, "an unknown part makes the whole unknown");
    assert!(cost(&model, Usage::new(10, 1)).is_some());
}

proptest! {
    #[test]
    fn core_25_no_id_makes_the_lookup_panic(id in "\\PC{0,40}") {
        let catalogue = Catalogue::builtin();
        prop_assert!(catalogue.context_window(&id) > 0);
    }

    #[test]
    fn core_25_every_known_id_is_found_behind_any_path(
        front in "[a-z.]{0,8}/", at in 0_usize..40, date in "20[0-9]{6}",
    ) {
        let catalogue = Catalogue::builtin();
        let model = catalogue.models().nth(at).unwrap();
        let id = format!("{front}{}-{date}", model.id);
        prop_assert_eq!(catalogue.get(&id), Some(model));
    }
}

#[test]
fn failed_attempts_cost_what_their_model_costs() {
    use crate::event::ModelAsked;

    let (own, other) = ("claude-sonnet-5-5", "claude-haiku-4-5");
    let usage = Usage::new(1_000, 1_000);
    let price = |model| Catalogue::builtin().cost(model, usage).unwrap();
    assert!((price(own) - price(other)).abs() > f64::EPSILON);
    let mut cost = CostSum::new(own);
    cost.add(usage);
    let failed = ModelAsked { model: other.to_owned(), usage: Some(usage), error: None };
    cost.add_event(&failed.into());
    let sum = price(own) + price(other);
    assert!((cost.dollars().unwrap() - sum).abs() < 1e-12, "{:?}", cost.dollars());
}
