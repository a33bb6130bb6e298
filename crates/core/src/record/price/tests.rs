use super::*;

fn usage(kinds: &[(&str, u64)]) -> Usage {
    Usage::new(kinds.iter().map(|(kind, units)| ((*kind).to_owned(), *units)).collect())
}

fn dollars(
    table: &PriceTable,
    model: &str,
    kinds: &[(&str, u64)],
    parameters: &str,
) -> Option<f64> {
    let parameters = Json::parse(parameters);
    let (usage, at) = (usage(kinds), Timestamp::default());
    let call =
        ModelCall { parameters: parameters.as_ref(), metadata: None, model, usage: &usage, at };
    table.cost(call).map(|cost| cost.total().dollars())
}

/// Checks the total cost of a million units of each type.
#[track_caller]
fn check(model: &str, kinds: &[&str], expected: Option<f64>) {
    let kinds: Vec<_> = kinds.iter().map(|kind| (*kind, 1_000_000)).collect();
    assert_eq!(dollars(&PriceTable::builtin(), model, &kinds, "{}"), expected, "{model}");
}

#[test]
fn every_way_of_writing_a_model_finds_its_price() {
    let cases = [
        ("gpt-4o", 2.5, 10.0),
        ("GPT-4o", 2.5, 10.0),
        ("openai/gpt-4o-2024-05-13", 5.0, 15.0),
        ("gpt-4o-2024-11-20", 2.5, 10.0),
        ("azure/gpt-35-turbo", 0.5, 1.5),
        ("gpt-4-1106-vision-preview", 10.0, 30.0),
        ("ft:gpt-3.5-turbo-1106:acme::8abc", 3.0, 6.0),
        ("ft:davinci-002:acme:suffix:id", 12.0, 12.0),
        ("o3-pro-2025-06-10", 20.0, 80.0),
        ("gpt-4.1-nano", 0.1, 0.4),
        ("openai:gpt-5-mini-2025-08-07", 0.25, 2.0),
        ("gpt-5.5", 5.0, 30.0),
        ("gpt-5.6-luna", 0.2, 1.2),
        ("claude-3-opus@20240229", 15.0, 75.0),
        ("anthropic.claude-3-sonnet-20240229-v1:0", 3.0, 15.0),
        ("claude-3-5-sonnet-V2@20241022", 3.0, 15.0),
        ("anthropic/claude-3.5-haiku", 0.8, 4.0),
        ("claude-3-7-sonnet-latest", 3.0, 15.0),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 3.0, 15.0),
        ("bedrock/eu.anthropic.claude-opus-4-1-20250805-v1:0", 15.0, 75.0),
        ("global.anthropic.claude-haiku-4-5-20251001-v1:0", 1.0, 5.0),
        ("claude-4-5-haiku@20251001", 1.0, 5.0),
        ("claude-opus-4.5", 5.0, 25.0),
        ("claude-opus-5", 5.0, 25.0),
        ("claude-opus-5-5", 4.0, 20.0),
        ("claude-sonnet-5-5[1m]", 2.0, 10.0),
        ("us.anthropic.claude-haiku-5-5", 0.1, 0.5),
        ("anthropic.claude-mythos-5-2", 8.0, 40.0),
        ("google/gemini-2.5-pro", 1.25, 10.0),
        ("models/gemini-3.1-pro-preview-customtools", 2.0, 12.0),
        ("vertex_ai/gemini-2.0-flash@001", 0.1, 0.4),
        ("chat-bison@002", 0.25, 0.5),
    ];
    let table = PriceTable::builtin();
    for (model, input, output) in cases {
        let price = table
            .list_price(model, Timestamp::default())
            .unwrap_or_else(|| panic!("{model} has no price"));
        let per_million =
            |price: Option<Money>| price.map(|price| price.times(1_000_000).dollars());
        assert_eq!(per_million(price.input), Some(input), "{model}");
        assert_eq!(per_million(price.output), Some(output), "{model}");
    }
}

#[test]
fn an_unlisted_dated_model_costs_the_same_as_the_undated_one() {
    check("gpt-4o-2031-01-01", &["input"], Some(2.5));
    check("claude-opus-4-5@20310101", &["input"], Some(5.0));
}

#[test]
fn an_unknown_model_is_not_free() {
    check("llama-3.3-70b", &["input"], None);
    check("ollama/gpt-4o", &["input"], None);
    check("", &["input"], None);
    check(&"gpt-4o".repeat(1000), &["input"], None);
}

#[test]
fn clients_names_for_a_kind_cost_the_same() {
    for kind in ["input_cached_tokens", "cache_read_input_tokens", "input_cache_read"] {
        check("claude-sonnet-5", &[kind], Some(0.2));
    }
    for kind in ["input_cache_creation", "cache_creation_input_tokens", "input_cache_creation_5m"] {
        check("claude-sonnet-5", &[kind], Some(2.5));
    }
    check("claude-sonnet-5", &["input_cache_creation_1h"], Some(4.0));
}

#[test]
fn types_without_a_price_use_their_fallback() {
    check("gpt-5", &["output_reasoning_tokens"], Some(10.0));
    check("gpt-5-pro", &["input_cached_tokens"], Some(15.0));
    check("gpt-4o", &["input_cache_creation"], Some(2.5));
    check("gpt-5.6-sol", &["input_cache_creation_1h"], Some(12.5)); // input of this size selects a tier
    check("gpt-4o", &["input_image_tokens"], Some(2.5));
}

#[test]
fn audio_without_a_price_makes_the_cost_unknown() {
    check("gpt-4o-audio-preview", &["input_audio_tokens", "output_audio_tokens"], Some(300.0));
    check("gpt-4o", &["input", "input_audio_tokens"], None);
    let silent = [("input", 1_000_000), ("input_audio_tokens", 0)];
    assert_eq!(dollars(&PriceTable::builtin(), "gpt-4o", &silent, "{}"), Some(2.5));
}

#[test]
fn unbilled_counters_do_not_affect_the_cost() {
    check("gpt-4o", &["input", "retries"], Some(2.5));
}

#[test]
fn a_total_alone_says_nothing_of_what_it_cost() {
    check("gpt-4o", &["total"], None);
    check("gpt-4o", &[], None);
    check("text-embedding-3-small", &["input"], Some(0.02));
}

#[test]
fn no_tokens_cost_nothing() {
    let table = PriceTable::builtin();
    assert_eq!(dollars(&table, "gpt-4o", &[("input", 0), ("output", 0)], "{}"), Some(0.0));
}

#[test]
fn the_smallest_call_is_priced_to_the_picodollar() {
    let (table, usage) = (PriceTable::builtin(), usage(&[("input", 3), ("input_cache_read", 1)]));
    let (model, at) = ("gpt-5.6-luna", Timestamp::default());
    let call = ModelCall { model, usage: &usage, parameters: None, metadata: None, at };
    let cost = table.cost(call).unwrap();
    assert_eq!(cost.total().pico(), 3 * 200_000 + 20_000);
    assert_eq!(cost.kinds()["input_cache_read"].pico(), 20_000);
}

#[test]
fn a_whole_input_over_the_limit_costs_more() {
    let table = PriceTable::builtin();
    let sent = |input, cached| {
        let kinds = [("input", input), ("input_cached_tokens", cached), ("output", 1_000_000)];
        dollars(&table, "gemini-2.5-pro", &kinds, "{}")
    };
    assert_eq!(sent(200_000, 0), Some(0.25 + 10.0));
    assert_eq!(sent(0, 200_001), Some(0.25 * 0.200_001 + 15.0));
}

#[test]
fn parameters_choose_the_tier() {
    let table = PriceTable::builtin();
    let input = [("input", 1_000_000)];
    let at = |parameters: &str| dollars(&table, "gpt-5", &input, parameters);
    assert_eq!(at(r#"{"service_tier":"flex"}"#), Some(0.625));
    assert_eq!(at(r#"{"service_tier":"Priority","temperature":1}"#), Some(2.5));
    assert_eq!(at(r#"{"service_tier":"default"}"#), Some(1.25));
    assert_eq!(at(r#"["service_tier"]"#), Some(1.25));
}

#[test]
fn all_conditions_of_a_tier_must_be_met() {
    let table = PriceTable::builtin();
    let at = |units, parameters: &str| dollars(&table, "gpt-5.4", &[("input", units)], parameters);
    assert_eq!(at(1_000_000, r#"{"service_tier":"flex"}"#), Some(2.5));
    assert_eq!(at(200_000, r#"{"service_tier":"flex"}"#), Some(0.25));
    assert_eq!(at(1_000_000, "{}"), Some(5.0));
}

#[test]
fn the_users_entries_win() {
    let own = r#"
        [[model]]
        name = "gpt-4o"
        price = { input = 1.0, output = 2.0 }

        [[model]]
        name = "llama"
        pattern = "^(groq/)?llama-.*-\\d+b$"
        price = { input = 0.5, output_tokens = 0.75 }
    "#;
    let table = PriceTable::builtin().with_overrides(PriceTable::parse(own).unwrap());
    let at = |model: &str| dollars(&table, model, &[("input", 1_000_000)], "{}");
    assert_eq!(at("openai/gpt-4o"), Some(1.0));
    assert_eq!(at("gpt-4o-2031-01-01"), Some(1.0), "undated, so the user's");
    assert_eq!(at("gpt-4o-2024-05-13"), Some(5.0), "listed by date, so not the user's");
    assert_eq!(at("Groq/LLAMA-3.3-70b"), Some(0.5));
    assert_eq!(at("claude-opus-5"), Some(5.0));
    assert_eq!(
        table.list_price("llama-3-8b", Timestamp::default()).map(|price| price.model),
        Some("llama")
    );
}

#[test]
fn a_tier_keeps_the_prices_it_does_not_list() {
    let own = r#"
        [[model]]
        name = "m"
        price = { input = 1.0, output = 2.0 }
        [[model.tier]]
        name = "batch"
        parameters = { batch = ["true"] }
        price = { input = 0.5 }
    "#;
    let table = PriceTable::parse(own).unwrap();
    let kinds = [("input", 1_000_000), ("output", 1_000_000)];
    assert_eq!(dollars(&table, "m", &kinds, r#"{"batch":true}"#), Some(2.5));
}

#[track_caller]
fn refused(toml: &str, expected: &str) {
    assert_eq!(PriceTable::parse(toml).unwrap_err().to_string(), expected);
}

#[test]
fn a_bad_file_says_where_and_why() {
    let model = |rest: &str| format!("\n[[model]]\nname = \"m\"\n{rest}");
    refused(
        &model("price = { ouput = 1.0 }"),
        "line 2 of the price file, model m, price.ouput: not a kind of unit; use one of input, \
         cache_read, cache_write, cache_write_1h, input_image, input_audio, cache_read_audio, \
         output, reasoning, output_image, output_audio, web_search, total",
    );
    refused(
        &model("price = { input = -1.0 }"),
        "line 2 of the price file, model m, price.input: -1 is not a price in dollars per million \
         units",
    );
    refused(
        &model("price = { total = 1.0, input = 1.0 }"),
        "line 2 of the price file, model m, price: `total` covers every unit, so it stands alone",
    );
    refused(
        &model("price = { input = 1.0 }\n[[model.tier]]\nname = \"t\"\nprice = { input = 2.0 }"),
        "line 2 of the price file, model m, tier t: needs `parameters` or `input_over`, or it \
         would always apply",
    );
    refused(
        &model("price = { input = 1.0 }\nprize = 2"),
        "line 5 of the price file: unknown field `prize`, expected one of `name`, `names`, \
         `pattern`, `price`, `tier`",
    );
    let twice =
        model("price = { input = 1.0 }\n[[model]]\nname = \"openai/M\"\nprice = { input = 2.0 }");
    refused(&twice, "line 5 of the price file, model openai/M, names: openai/M already names m");
}

#[test]
fn a_bad_pattern_is_refused() {
    let error =
        PriceTable::parse("[[model]]\nname = \"m\"\npattern = \"(\"\nprice = { input = 1.0 }");
    assert!(error.unwrap_err().to_string().contains("model m, pattern: regex parse error"));
}

#[test]
fn a_flood_of_names_does_not_grow_the_memory() {
    let table = PriceTable::builtin();
    for n in 0..REMEMBERED * 2 {
        assert!(table.list_price(&format!("model-{n}"), Timestamp::default()).is_none());
    }
    assert!(table.matches.0.read().unwrap().len() <= REMEMBERED);
    assert!(table.list_price("gpt-4o", Timestamp::default()).is_some());
}

#[test]
fn unclosed_braces_are_reported_without_a_stack_overflow() {
    let slips = "[[model]]\nname = \"a\"\nprice = {]]\n".repeat(10_000);
    let error = PriceTable::parse(&slips).unwrap_err().to_string();
    assert_eq!(error, "line 195 of the price file: 65 braces are open; is a closing one missing?");
}
