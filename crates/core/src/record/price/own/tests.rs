use super::*;
use crate::record::price::PriceTable;

fn tier(name: &str, priority: i64, prices: &[(&str, f64)]) -> PricingTier {
    PricingTier {
        id: name.to_owned(),
        name: name.to_owned(),
        is_default: priority == 0,
        priority,
        conditions: Vec::new(),
        prices: prices.iter().map(|(kind, price)| ((*kind).to_owned(), *price)).collect(),
    }
}

fn definition(tiers: Vec<PricingTier>) -> ModelDefinition {
    ModelDefinition {
        name: "house".to_owned(),
        pattern: "(?i)^house(-.*)?$".to_owned(),
        start: None,
        unit: ModelUnit::Tokens,
        tiers,
        tokenizer: None,
        tokenizer_config: None,
    }
}

fn table(definitions: &[ModelDefinition]) -> PriceTable {
    let own = definitions.iter().enumerate();
    let own = own.map(|(at, model)| OwnModel::new(at.to_string(), model).unwrap()).collect();
    PriceTable::builtin().with_own(own)
}

fn cost(table: &PriceTable, model: &str, kinds: &[(&str, u64)], speed: &str) -> Option<f64> {
    let kinds = kinds.iter().map(|(kind, units)| ((*kind).to_owned(), *units));
    let usage = Usage::new(kinds.collect());
    let parameters = Json::from_value(&serde_json::json!({ "speed": speed }));
    let at = Timestamp::from_millis(1_000);
    let parameters = Some(&parameters);
    let call = ModelCall { model, usage: &usage, parameters, metadata: None, at };
    table.cost(call).map(|cost| cost.total().dollars())
}

#[test]
fn own_prices_win_over_the_table() {
    let mut own = definition(vec![tier("s", 0, &[("input", 0.5), ("output", 2.0)])]);
    own.pattern = "^gpt-4o$".to_owned();
    let table = table(&[own]);
    let usage = [("input", 2), ("output", 1), ("input_cached_tokens", 4), ("requests", 9)];
    assert_eq!(cost(&table, "gpt-4o", &usage, ""), Some(5.0), "cached input costs as input");
    assert_ne!(cost(&table, "gpt-4o-mini", &usage, ""), None, "others stay as they are");
    assert_eq!(cost(&table, "gpt-4o", &[("output_audio_tokens", 1)], ""), None);
    assert_eq!(table.list_price("gpt-4o", Timestamp::default()).unwrap().model, "0");
}

#[test]
fn the_first_tier_whose_conditions_are_met_counts() {
    let usage = |value| TierCondition::Usage {
        pattern: "^input".to_owned(),
        operator: Comparison::Gt,
        value,
        is_case_sensitive: true,
    };
    let fast = TierCondition::Attribute {
        source: AttributeSource::ModelParameters,
        key: "speed".to_owned(),
        values: vec!["fast".to_owned()],
    };
    let mut large = tier("large", 2, &[("input", 3.0)]);
    large.conditions = vec![usage(10.0)];
    let mut largest = tier("largest", 1, &[("input", 5.0)]);
    largest.conditions = vec![usage(100.0)];
    let mut quick = tier("quick", 3, &[("input", 7.0)]);
    quick.conditions = vec![fast, usage(1.0)];
    let table = table(&[definition(vec![tier("s", 0, &[("input", 1.0)]), quick, large, largest])]);
    let price = |units, speed| {
        let cost = cost(&table, "House-2", &[("input", units)], speed);
        cost.map(|cost| cost / f64::from(u32::try_from(units).unwrap()))
    };
    assert_eq!(price(10, "slow"), Some(1.0));
    assert_eq!(price(11, "slow"), Some(3.0));
    assert_eq!(price(101, "slow"), Some(5.0));
    assert_eq!(price(2, "fast"), Some(7.0));
    assert_eq!(price(1, "fast"), Some(1.0));
}

#[test]
fn the_newest_definition_that_has_begun_counts() {
    let at = |start, price| ModelDefinition {
        start,
        ..definition(vec![tier("s", 0, &[("total", price)])])
    };
    let table = table(&[
        at(None, 1.0),
        at(Some(Timestamp::from_millis(2_000)), 3.0),
        at(Some(Timestamp::from_millis(500)), 2.0),
    ]);
    assert_eq!(cost(&table, "house", &[("input", 3), ("output", 4)], ""), Some(14.0));
}

#[test]
fn definitions_that_make_no_sense_say_why() {
    let good = tier("s", 0, &[("input", 1.0)]);
    let other = |name: &str, priority| PricingTier {
        conditions: vec![TierCondition::Attribute {
            source: AttributeSource::Metadata,
            key: "k".to_owned(),
            values: vec!["v".to_owned()],
        }],
        ..tier(name, priority, &[("input", 1.0)])
    };
    for (tiers, problem) in [
        (vec![], "exactly one tier is the default"),
        (vec![good.clone(), good.clone()], "exactly one tier is the default"),
        (vec![good.clone(), other("s", 1)], "names of tiers are unique"),
        (vec![good.clone(), other("a", 1), other("b", 1)], "priorities of tiers are unique"),
        (vec![good.clone(), tier("a", 1, &[("input", 1.0)])], "only the default tier"),
        (vec![tier("s", 0, &[])], "at least one price"),
        (vec![tier("s", 0, &[("input", -1.0)])], "not a price"),
        (vec![tier("s", 0, &[("input", f64::NAN)])], "not a price"),
    ] {
        let refused = OwnModel::new(String::new(), &definition(tiers)).unwrap_err();
        assert!(refused.problem.contains(problem), "{refused}");
    }
    for pattern in ["", "(", r"(a{1000}){1000}", &"x".repeat(501)] {
        let model =
            ModelDefinition { pattern: pattern.to_owned(), ..definition(vec![good.clone()]) };
        assert_eq!(OwnModel::new(String::new(), &model).unwrap_err().field, "matchPattern");
    }
}

#[test]
fn every_model_of_the_table_has_a_definition_that_makes_sense() {
    for model in PriceTable::builtin().definitions() {
        let own = OwnModel::new(model.name.clone(), &model).unwrap();
        assert!(own.is_match(&model.name), "{}", model.name);
    }
}
