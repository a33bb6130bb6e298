//! Models defined by a project: matched by a pattern, priced by tiers.

use std::collections::{BTreeMap, BTreeSet};

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::payload::Json;
use crate::record::merge::Metadata;
use crate::record::price::kind::{Kind, Prices};
use crate::record::price::{ModelCall, Priced};
use crate::record::usage::{Cost, TOTAL, Usage};
use crate::time::Timestamp;

/// The maximum length of a pattern.
const MAX_PATTERN_CHARS: usize = 500;
/// The maximum length of a model name.
const MAX_NAME_CHARS: usize = 500;
/// The maximum memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The maximum number of tiers of a model.
const MAX_TIERS: usize = 50;

/// The unit of usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ModelUnit {
    Characters,
    #[default]
    Tokens,
    Milliseconds,
    Seconds,
    Images,
    Requests,
}

impl ModelUnit {
    pub const ALL: [Self; 6] = [
        Self::Characters,
        Self::Tokens,
        Self::Milliseconds,
        Self::Seconds,
        Self::Images,
        Self::Requests,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Characters => "CHARACTERS",
            Self::Tokens => "TOKENS",
            Self::Milliseconds => "MILLISECONDS",
            Self::Seconds => "SECONDS",
            Self::Images => "IMAGES",
            Self::Requests => "REQUESTS",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == name)
    }
}

/// A model definition, by a project or built in.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelDefinition {
    pub name: String,
    /// A regular expression over the model name of a call.
    pub pattern: String,
    /// Valid for calls from then on; for all when `None`.
    pub start: Option<Timestamp>,
    pub unit: ModelUnit,
    pub tiers: Vec<PricingTier>,
    /// The client's tokenizer name; not interpreted.
    pub tokenizer: Option<String>,
    /// The client's tokenizer settings; not interpreted.
    pub tokenizer_config: Option<Json>,
}

/// Prices with conditions. Stored as a document in the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PricingTier {
    pub id: String,
    /// Unique in the model.
    pub name: String,
    /// Whether it applies when no other does.
    pub is_default: bool,
    /// The lowest matching one applies; unique in the model, 0 for the default.
    pub priority: i64,
    /// All must be met; empty for the default.
    pub conditions: Vec<TierCondition>,
    /// Dollars per unit, by usage type.
    pub prices: BTreeMap<String, f64>,
}

impl PricingTier {
    /// Creates the only tier of a model with unconditional prices.
    pub fn standard(id: String, prices: BTreeMap<String, f64>) -> Self {
        let name = "Standard".to_owned();
        Self { id, name, is_default: true, priority: 0, conditions: Vec::new(), prices }
    }
}

/// A condition of a tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TierCondition {
    /// The sum of units over all matching usage types.
    Usage {
        /// A regular expression over usage types.
        pattern: String,
        operator: Comparison,
        value: f64,
        is_case_sensitive: bool,
    },
    /// A parameter or a metadata key has one of some values.
    Attribute { source: AttributeSource, key: String, values: Vec<String> },
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    Gt,
    Gte,
    Lt,
    Lte,
    Eq,
    Neq,
}

/// Where a condition looks up a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttributeSource {
    /// In the parameters of the call.
    ModelParameters,
    /// In the metadata of the observation.
    Metadata,
}

/// Validation error of a definition, with its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ModelDefinitionError {
    pub field: &'static str,
    pub problem: String,
}

/// A compiled definition.
#[derive(Clone, Debug)]
pub struct OwnModel {
    pub(super) id: String,
    pattern: Regex,
    start: Option<Timestamp>,
    /// By priority, the default last.
    tiers: Vec<OwnTier>,
}

#[derive(Clone, Debug)]
struct OwnTier {
    name: String,
    conditions: Vec<OwnCondition>,
    exact: BTreeMap<String, Money>,
    by_kind: Prices,
}

#[derive(Clone, Debug)]
enum OwnCondition {
    Usage { pattern: Regex, operator: Comparison, value: f64 },
    Attribute { source: AttributeSource, key: String, values: Vec<String> },
}

impl OwnModel {
    /// Compiles a definition.
    ///
    /// # Errors
    /// Names the invalid field.
    pub fn new(id: String, definition: &ModelDefinition) -> Result<Self, ModelDefinitionError> {
        check_name(&definition.name)?;
        let pattern = compile("matchPattern", &definition.pattern, Case::Matters)?;
        check_tiers(&definition.tiers)?;
        let mut tiers: Vec<&PricingTier> = definition.tiers.iter().collect();
        tiers.sort_by_key(|tier| (tier.is_default, tier.priority));
        let tiers = tiers.into_iter().map(OwnTier::new).collect::<Result<_, _>>()?;
        Ok(Self { id, pattern, start: definition.start, tiers })
    }

    pub(super) fn is_match(&self, model: &str) -> bool {
        self.pattern.is_match(model)
    }

    pub(super) fn holds_at(&self, at: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= at)
    }

    /// Sorts definitions by precedence: the newest start first.
    pub(super) fn sort(models: &mut [Self]) {
        models.sort_by_key(|model| std::cmp::Reverse(model.start));
    }

    pub(super) fn priced(&self, call: ModelCall<'_>) -> Option<Priced<'_>> {
        let tier = self.tiers.iter().find(|tier| tier.applies(call))?;
        Some(Priced { cost: tier.cost(call.usage)?, tier: &tier.name })
    }

    /// Returns the unit price of the default tier.
    pub(super) fn listed(&self, kind: &str) -> Option<Money> {
        self.tiers.last()?.exact.get(kind).copied()
    }
}

impl OwnTier {
    fn new(tier: &PricingTier) -> Result<Self, ModelDefinitionError> {
        let conditions = tier.conditions.iter().map(OwnCondition::new).collect::<Result<_, _>>()?;
        let mut exact = BTreeMap::new();
        let mut by_kind = Prices::default();
        for (kind, dollars) in &tier.prices {
            let price = Money::from_dollars(*dollars).ok_or_else(|| {
                tiers_fault(format!("{dollars} is not a price in dollars, for {kind}"))
            })?;
            exact.insert(kind.clone(), price);
            if let Some(kind) = Kind::of_usage(kind) {
                by_kind.set(kind, price);
            }
        }
        by_kind.fill();
        Ok(Self { name: tier.name.clone(), conditions, exact, by_kind })
    }

    fn applies(&self, call: ModelCall<'_>) -> bool {
        self.conditions.iter().all(|condition| condition.is_met(call))
    }

    /// A type without a price in the tier is billed as its fallback type.
    fn cost(&self, usage: &Usage) -> Option<Cost> {
        let units = usage.kinds();
        let is_flat = self.exact.len() == 1;
        if let Some(price) = self.exact.get(TOTAL).filter(|_| is_flat) {
            let total = price.times(*units.get(TOTAL)?);
            return Some(Cost::new(BTreeMap::from([(TOTAL.to_owned(), total)])));
        }
        let mut costs = BTreeMap::new();
        for (name, units) in units.iter().filter(|(name, _)| name.as_str() != TOTAL) {
            let kind = Kind::of_usage(name);
            let by_kind = || self.by_kind.get(kind?);
            match self.exact.get(name).copied().or_else(by_kind) {
                Some(price) => drop(costs.insert(name.clone(), price.times(*units))),
                // A counter that is never billed, or zero units of a type without a price.
                None if kind.is_none() || *units == 0 => {}
                None => return None,
            }
        }
        (!costs.is_empty()).then(|| Cost::new(costs))
    }
}

impl OwnCondition {
    fn new(condition: &TierCondition) -> Result<Self, ModelDefinitionError> {
        match condition {
            TierCondition::Usage { pattern, operator, value, is_case_sensitive } => {
                let case = if *is_case_sensitive { Case::Matters } else { Case::Ignored };
                let pattern = compile("pricingTiers", pattern, case)?;
                Ok(Self::Usage { pattern, operator: *operator, value: *value })
            }
            TierCondition::Attribute { values, .. } if values.is_empty() => {
                Err(tiers_fault("a condition needs at least one value".to_owned()))
            }
            TierCondition::Attribute { source, key, values } => {
                let (key, values) = (key.clone(), values.clone());
                Ok(Self::Attribute { source: *source, key, values })
            }
        }
    }

    fn is_met(&self, call: ModelCall<'_>) -> bool {
        match self {
            Self::Usage { pattern, operator, value } => {
                let fits = |(name, _): &(&String, &u64)| pattern.is_match(name);
                let sum = call.usage.kinds().iter().filter(fits).map(|(_, units)| *units);
                operator.holds(sum.fold(0u64, u64::saturating_add), *value)
            }
            Self::Attribute { source, key, values } => {
                let value = match source {
                    AttributeSource::ModelParameters => {
                        call.parameters.and_then(|all| of(all, key))
                    }
                    AttributeSource::Metadata => call.metadata.and_then(|all| text_of(all, key)),
                };
                value.is_some_and(|value| values.contains(&value))
            }
        }
    }
}

impl Comparison {
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    fn holds(self, units: u64, value: f64) -> bool {
        let units = units as f64;
        match self {
            Self::Gt => units > value,
            Self::Gte => units >= value,
            Self::Lt => units < value,
            Self::Lte => units <= value,
            Self::Eq => (units - value).abs() < f64::EPSILON,
            Self::Neq => (units - value).abs() >= f64::EPSILON,
        }
    }
}

fn of(object: &Json, key: &str) -> Option<String> {
    let object: serde_json::Map<_, _> = serde_json::from_str(object.as_str()).ok()?;
    Some(shown(object.get(key)?))
}

fn text_of(metadata: &Metadata, key: &str) -> Option<String> {
    Some(shown(&serde_json::from_str(metadata.get(key)?.as_str()).ok()?))
}

fn shown(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Matters,
    Ignored,
}

fn compile(field: &'static str, pattern: &str, case: Case) -> Result<Regex, ModelDefinitionError> {
    if pattern.is_empty() || pattern.chars().count() > MAX_PATTERN_CHARS {
        let problem = format!("a pattern has 1 to {MAX_PATTERN_CHARS} characters");
        return Err(ModelDefinitionError { field, problem });
    }
    let built = RegexBuilder::new(pattern)
        .case_insensitive(case == Case::Ignored)
        .size_limit(MAX_PATTERN_BYTES)
        .build();
    built.map_err(|why| ModelDefinitionError {
        field,
        problem: format!("not a regular expression: {why}"),
    })
}

fn check_name(name: &str) -> Result<(), ModelDefinitionError> {
    if name.trim().is_empty() || name.chars().count() > MAX_NAME_CHARS {
        let problem = format!("must have 1 to {MAX_NAME_CHARS} characters");
        return Err(ModelDefinitionError { field: "modelName", problem });
    }
    Ok(())
}

fn check_tiers(tiers: &[PricingTier]) -> Result<(), ModelDefinitionError> {
    let (names, priorities): (BTreeSet<_>, BTreeSet<_>) =
        tiers.iter().map(|tier| (tier.name.as_str(), tier.priority)).unzip();
    let defaults: Vec<_> = tiers.iter().filter(|tier| tier.is_default).collect();
    let problem = match defaults.as_slice() {
        _ if tiers.len() > MAX_TIERS => format!("at most {MAX_TIERS} tiers"),
        [default] if default.priority != 0 || !default.conditions.is_empty() => {
            "the default tier has priority 0 and no conditions".to_owned()
        }
        [_] if names.len() < tiers.len() => "names of tiers are unique".to_owned(),
        [_] if priorities.len() < tiers.len() => "priorities of tiers are unique".to_owned(),
        [_] if tiers.iter().any(|tier| !tier.is_default && tier.conditions.is_empty()) => {
            "only the default tier has no conditions".to_owned()
        }
        [_] if tiers.iter().any(|tier| tier.prices.is_empty()) => {
            "each tier has at least one price".to_owned()
        }
        [_] => return Ok(()),
        _ => "exactly one tier is the default".to_owned(),
    };
    Err(tiers_fault(problem))
}

fn tiers_fault(problem: String) -> ModelDefinitionError {
    ModelDefinitionError { field: "pricingTiers", problem }
}

#[cfg(test)]
mod tests;
