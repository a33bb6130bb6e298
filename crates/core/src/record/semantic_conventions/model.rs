use std::collections::BTreeMap;

use crate::money::Money;
use crate::payload::Json;
use crate::record::field::Field;
use crate::record::observation::ObservationPatch;
use crate::record::semantic_conventions::ParsedSpan;
use crate::record::semantic_conventions::attributes::{Claims, text};
use crate::record::semantic_conventions::genkit;
use crate::record::semantic_conventions::json::{Fields, Typed, json};
use crate::record::semantic_conventions::kind::Classification;
use crate::record::semantic_conventions::observation_fields::{self, number};
use crate::record::semantic_conventions::table::{TABLE, Target};
use crate::record::semantic_conventions::tokens::{self, object};
use crate::record::span::AttributeValue;
use crate::record::usage::{Cost, TOTAL};

/// Sets model, parameters, usage and cost.
///
/// An agent's observation often repeats the sums of its model calls. Those calls are observations
/// too, so the sums stay in the metadata, unless they are explicit.
pub(super) fn extract(
    observation: &mut ObservationPatch,
    parsed: &mut ParsedSpan,
    class: Classification,
) {
    let stamp = parsed.stamp;
    observation.prompt = Field::if_some(observation_fields::prompt(parsed, class.kind), stamp);
    let claims = &mut parsed.claims;
    observation.model_parameters = Field::if_some(parameters(claims), stamp);
    if class.is_summary {
        let stated = claims.take_named(Target::Model, |name, value| {
            text(value).filter(|_| name.starts_with("langfuse.")).map(str::to_owned)
        });
        observation.model = Field::if_some(stated.map(|(_, model)| model), stamp);
        observation.usage = Field::if_some(tokens::take_stated(claims), stamp);
        observation.cost = Field::if_some(stated_cost(claims), stamp);
        return;
    }
    let usage = tokens::take(claims, parsed.dialect);
    let model = genkit::model(claims).or_else(|| claims.take_text(Target::Model));
    observation.model = Field::if_some(model, stamp);
    observation.usage = Field::if_some(usage, stamp);
    observation.cost = Field::if_some(stated_cost(claims).or_else(|| cost(claims)), stamp);
}

/// Returns the parameters as one attribute, or collected from several.
fn parameters(claims: &mut Claims) -> Option<Json> {
    let stated = claims.take(Target::Parameters, |value| match value {
        AttributeValue::Text(text) if text.trim_start().starts_with('{') => Json::parse(text),
        AttributeValue::Map(_) => Some(json(&Typed(value))),
        _ => None,
    });
    if let Some(stated) = stated.or_else(|| genkit::parameters(claims)) {
        return Some(stated);
    }
    let mut gathered = gathered(claims);
    // Prices may depend on these, so they count as parameters whatever their names.
    for (target, key) in [(Target::ServiceTier, "service_tier"), (Target::Speed, "speed")] {
        if !has(&gathered, key)
            && let Some(value) = claims.take_text(target)
        {
            gathered.push((key.to_owned(), AttributeValue::Text(value)));
        }
    }
    let fields = gathered.iter().map(|(key, value)| (key, Typed(value)));
    (!gathered.is_empty()).then(|| json(&Fields(fields)))
}

type Settings = Vec<(String, AttributeValue)>;

fn has(gathered: &Settings, key: &str) -> bool {
    gathered.iter().any(|(gathered, _)| gathered == key)
}

/// Collects parameters from one attribute each. Duplicates stay among the attributes.
fn gathered(claims: &mut Claims) -> Settings {
    let mut gathered = Settings::new();
    if !claims.has(Target::Settings) {
        return gathered;
    }
    for rank in TABLE.ranks(Target::Settings) {
        for (name, value) in claims.take_at(rank) {
            let key = TABLE.key(rank, &name);
            if has(&gathered, key) {
                claims.put_back(name, value);
            } else {
                gathered.push((key.to_owned(), value));
            }
        }
    }
    gathered
}

fn stated_cost(claims: &mut Claims) -> Option<Cost> {
    claims.take(Target::CostDetails, |value| Cost::from_details(&object(value)?))
}

/// Returns the cost, with its breakdown where available.
fn cost(claims: &mut Claims) -> Option<Cost> {
    let mut amounts = BTreeMap::new();
    let targets =
        [(Target::CostTotal, TOTAL), (Target::CostInput, "input"), (Target::CostOutput, "output")];
    for (target, kind) in targets {
        let amount = claims.take(target, |value| Money::from_dollars(number(value)?));
        amounts.extend(amount.map(|amount| (kind.to_owned(), amount)));
    }
    (!amounts.is_empty()).then(|| Cost::new(amounts))
}
