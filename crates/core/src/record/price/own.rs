//! Models as a project defines them: found by a pattern, priced by tiers.

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

/// How long a pattern may be.
const MAX_PATTERN_CHARS: usize = 500;
/// The longest name of a model.
const MAX_NAME_CHARS: usize = 500;
/// How much memory a pattern may take once compiled.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// How many tiers a model may have.
const MAX_TIERS: usize = 50;

/// What a unit of usage is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ModelUnit {
    Characters,
    /// Tokens.
    #[default]
    Tokens,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
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

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.as_str() == word)
    }
}

/// A model as a project defines it, or as the program does.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelDefinition {
    pub name: String,
    /// A regular expression over the name that a call states.
    pub pattern: String,
    /// Holds for calls from then on; for all when `None`.
    pub start: Option<Timestamp>,
    pub unit: ModelUnit,
    /// What units cost, and when.
    pub tiers: Vec<PricingTier>,
    /// Who cuts texts into tokens, a word of the client's.
    pub tokenizer: Option<String>,
    /// How, in the client's own form.
    pub tokenizer_config: Option<Json>,
}

/// Prices that hold under conditions. Kept as a document in the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PricingTier {
    pub id: String,
    /// What people call it; unique in the model.
    pub name: String,
    /// Whether it holds when no other does.
    pub is_default: bool,
    /// The least that fits counts; unique in the model, 0 for the default.
    pub priority: i64,
    /// All of them must be met; none for the default.
    pub conditions: Vec<TierCondition>,
    /// Dollars for a unit of each kind.
    pub prices: BTreeMap<String, f64>,
}

impl PricingTier {
    /// The only tier of a model whose prices hold always.
    pub fn standard(id: String, prices: BTreeMap<String, f64>) -> Self {
        let name = "Standard".to_owned();
        Self { id, name, is_default: true, priority: 0, conditions: Vec::new(), prices }
    }
}

/// A condition of a tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TierCondition {
    /// Units of all kinds whose name fits the pattern, together.
    Usage {
        /// A regular expression over names of kinds.
        pattern: String,
        /// How their sum must compare.
        operator: Comparison,
        value: f64,
        /// Whether the pattern tells upper from lower case.
        is_case_sensitive: bool,
    },
    /// A parameter or a metadata key has one of some values.
    Attribute {
        source: AttributeSource,
        key: String,
        /// One of these.
        values: Vec<String>,
    },
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    Gt,
    /// Greater or equal.
    Gte,
    Lt,
    /// Less or equal.
    Lte,
    Eq,
    /// Not equal.
    Neq,
}

/// Where a tier looks for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttributeSource {
    /// In the parameters of the call.
    ModelParameters,
    /// In the metadata of the observation.
    Metadata,
}

/// What is wrong with a definition, and in which of its fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ModelError {
    pub field: &'static str,
    pub problem: String,
}

/// A definition ready for use.
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
    /// Makes a definition ready for use.
    ///
    /// # Errors
    /// Names the field that makes no sense.
    pub fn new(id: String, definition: &ModelDefinition) -> Result<Self, ModelError> {
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

    /// Sorts definitions by which of them counts: the newest start first.
    pub(super) fn sort(models: &mut [Self]) {
        models.sort_by_key(|model| std::cmp::Reverse(model.start));
    }

    pub(super) fn priced(&self, call: ModelCall<'_>) -> Option<Priced<'_>> {
        let tier = self.tiers.iter().find(|tier| tier.applies(call))?;
        Some(Priced { cost: tier.cost(call.usage)?, tier: &tier.name })
    }

    /// What a unit costs where no condition is met.
    pub(super) fn listed(&self, kind: &str) -> Option<Money> {
        self.tiers.last()?.exact.get(kind).copied()
    }
}

impl OwnTier {
    fn new(tier: &PricingTier) -> Result<Self, ModelError> {
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

    /// Kinds that a tier names cost what it says; others what the kind they are billed as costs.
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
                // A counter that nobody bills, or nothing of a kind without a price.
                None if kind.is_none() || *units == 0 => {}
                None => return None,
            }
        }
        (!costs.is_empty()).then(|| Cost::new(costs))
    }
}

impl OwnCondition {
    fn new(condition: &TierCondition) -> Result<Self, ModelError> {
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

fn compile(field: &'static str, pattern: &str, case: Case) -> Result<Regex, ModelError> {
    if pattern.is_empty() || pattern.chars().count() > MAX_PATTERN_CHARS {
        let problem = format!("a pattern has 1 to {MAX_PATTERN_CHARS} characters");
        return Err(ModelError { field, problem });
    }
    let built = RegexBuilder::new(pattern)
        .case_insensitive(case == Case::Ignored)
        .size_limit(MAX_PATTERN_BYTES)
        .build();
    built.map_err(|why| ModelError { field, problem: format!("not a regular expression: {why}") })
}

fn check_name(name: &str) -> Result<(), ModelError> {
    if name.trim().is_empty() || name.chars().count() > MAX_NAME_CHARS {
        let problem = format!("must have 1 to {MAX_NAME_CHARS} characters");
        return Err(ModelError { field: "modelName", problem });
    }
    Ok(())
}

fn check_tiers(tiers: &[PricingTier]) -> Result<(), ModelError> {
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

fn tiers_fault(problem: String) -> ModelError {
    ModelError { field: "pricingTiers", problem }
}

#[cfg(test)]
mod tests;
