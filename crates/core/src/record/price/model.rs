use std::collections::BTreeMap;

use crate::record::price::ModelCall;
use crate::record::price::kind::{Kind, Prices};
use crate::record::price::own::{
    AttributeSource, Comparison, ModelDefinition, ModelUnit, PricingTier, TierCondition,
};
use crate::record::usage::Usage;

/// The name of the default tier.
const STANDARD: &str = "Standard";

#[derive(Clone, Debug)]
pub(super) struct PricedModel {
    pub(super) name: String,
    pub(super) standard: Prices,
    /// Conditional prices; the first match applies.
    pub(super) tiers: Vec<Tier>,
}

/// Prices with conditions, all of which must be met.
#[derive(Clone, Debug)]
pub(super) struct Tier {
    pub(super) name: String,
    /// The call's parameter must have one of these values.
    pub(super) parameters: BTreeMap<String, Vec<String>>,
    /// The total input must exceed this many tokens.
    pub(super) input_over: Option<u64>,
    pub(super) prices: Prices,
}

impl PricedModel {
    /// Converts to a definition as projects write it.
    pub(super) fn definition(&self) -> ModelDefinition {
        let standard = PricingTier {
            id: format!("{}:standard", self.name),
            name: STANDARD.to_owned(),
            is_default: true,
            priority: 0,
            conditions: Vec::new(),
            prices: self.standard.by_name(),
        };
        let others = self.tiers.iter().zip(1..).map(|(tier, priority)| PricingTier {
            id: format!("{}:{}", self.name, tier.name),
            name: tier.name.clone(),
            is_default: false,
            priority,
            conditions: tier.conditions(),
            prices: tier.prices.by_name(),
        });
        ModelDefinition {
            name: self.name.clone(),
            pattern: format!("(?i)^{}$", regex::escape(&self.name)),
            start: None,
            unit: ModelUnit::Tokens,
            tiers: std::iter::once(standard).chain(others).collect(),
            tokenizer: None,
            tokenizer_config: None,
        }
    }

    /// Returns the matching tier of a call and its prices.
    pub(super) fn prices(&self, call: ModelCall<'_>) -> (&str, &Prices) {
        if self.tiers.is_empty() {
            return (STANDARD, &self.standard);
        }
        let input = input_units(call.usage);
        let parameters = self.parameters(call);
        let applies = |tier: &&Tier| tier.applies(input, &parameters);
        let found = self.tiers.iter().find(applies);
        found.map_or((STANDARD, &self.standard), |tier| (&tier.name, &tier.prices))
    }

    /// Returns the call's parameters, parsed only if a tier depends on them.
    fn parameters(&self, call: ModelCall<'_>) -> serde_json::Map<String, serde_json::Value> {
        let text = call.parameters.map_or("", |json| json.as_str());
        let asked = |tier: &Tier| tier.parameters.keys().any(|key| text.contains(key.as_str()));
        if !self.tiers.iter().any(asked) {
            return serde_json::Map::new();
        }
        serde_json::from_str(text).unwrap_or_default()
    }
}

impl Tier {
    fn conditions(&self) -> Vec<TierCondition> {
        let parameter = |(key, values): (&String, &Vec<String>)| TierCondition::Attribute {
            source: AttributeSource::ModelParameters,
            key: key.clone(),
            values: values.clone(),
        };
        #[expect(clippy::cast_precision_loss, reason = "shown to people; token counts are small")]
        let over = |limit: u64| TierCondition::Usage {
            pattern: "input".to_owned(),
            operator: Comparison::Gt,
            value: limit as f64,
            is_case_sensitive: false,
        };
        self.parameters.iter().map(parameter).chain(self.input_over.map(over)).collect()
    }

    fn applies(&self, input: u64, sent: &serde_json::Map<String, serde_json::Value>) -> bool {
        let is_large_enough = self.input_over.is_none_or(|limit| input > limit);
        is_large_enough
            && self.parameters.iter().all(|(key, values)| {
                sent.get(key).is_some_and(|value| is_one_of(value, values.as_slice()))
            })
    }
}

fn is_one_of(value: &serde_json::Value, allowed: &[String]) -> bool {
    match value.as_str() {
        Some(text) => allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(text)),
        None => allowed.contains(&value.to_string()),
    }
}

fn input_units(usage: &Usage) -> u64 {
    let is_input = |name: &str| Kind::of_usage(name).is_some_and(Kind::is_input);
    let units = usage.kinds().iter().filter(|(name, _)| is_input(name)).map(|(_, units)| *units);
    units.fold(0, u64::saturating_add)
}
