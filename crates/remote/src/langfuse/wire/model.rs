use std::collections::BTreeMap;

use ratchet_core::record::price::{
    AttributeSource, Comparison, ModelDefinition, ModelUnit, PricingTier, TierCondition,
};
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, raw};
use super::time::Time;
use super::word::{Spelled, Word};

/// What a unit is, as its word.
pub type ModelUnitWord = Word<ModelUnit>;

impl Spelled for ModelUnit {
    const WHAT: &'static str = "model usage unit";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// A model, what it is called and what it costs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub model_name: String,
    /// A regular expression over the name that a call states.
    pub match_pattern: String,
    /// Holds for calls from then on.
    pub start_date: Option<Time>,
    /// What a unit is.
    pub unit: ModelUnitWord,
    /// Dollars for a unit in, where nothing special applies.
    pub input_price: Option<f64>,
    /// Dollars for a unit out, where nothing special applies.
    pub output_price: Option<f64>,
    /// Dollars for any unit, where nothing special applies.
    pub total_price: Option<f64>,
    /// Who cuts texts into tokens.
    pub tokenizer_id: Option<String>,
    /// How.
    pub tokenizer_config: Option<Raw>,
    /// Whether it comes with the program.
    pub is_langfuse_managed: bool,
    /// Since when.
    pub created_at: Time,
    /// Dollars for a unit of each kind, where nothing special applies.
    pub prices: BTreeMap<String, UnitPrice>,
    /// All prices and their conditions.
    pub pricing_tiers: Vec<TierView>,
}

/// What a unit costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UnitPrice {
    /// Dollars.
    pub price: f64,
}

/// Prices that hold under conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TierView {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Whether it holds when no other does.
    pub is_default: bool,
    /// The least that fits counts.
    pub priority: i64,
    /// All of them must be met.
    pub conditions: Vec<TierConditionView>,
    /// Dollars for a unit of each kind.
    pub prices: BTreeMap<String, f64>,
}

/// Prices that are to hold under conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TierRequest {
    /// What people will call it; unique in the model.
    pub name: String,
    /// Whether it holds when no other does.
    pub is_default: bool,
    /// The least that fits counts; unique in the model, 0 for the default.
    pub priority: i64,
    /// All of them must be met; none for the default.
    pub conditions: Vec<TierConditionView>,
    /// Dollars for a unit of each kind.
    pub prices: BTreeMap<String, f64>,
}

/// A condition of a tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum TierConditionView {
    /// Units of all kinds whose name fits a pattern, together.
    Usage(UsageCondition),
    /// A parameter or a metadata key has one of some values.
    Attribute(AttributeCondition),
}

/// Units of all kinds whose name fits a pattern, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageCondition {
    /// A regular expression over names of kinds.
    pub usage_detail_pattern: String,
    /// How their sum must compare.
    pub operator: ComparisonWord,
    /// With what.
    pub value: f64,
    /// Whether the pattern tells upper from lower case.
    #[serde(default)]
    pub case_sensitive: bool,
}

/// A parameter or a metadata key has one of some values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttributeCondition {
    /// Where to look.
    pub source: AttributeSourceWord,
    /// Which key.
    pub key: String,
    /// Always `in`.
    #[serde(default)]
    #[schema(required = true)]
    pub operator: MembershipWord,
    /// One of these.
    pub values: Vec<String>,
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonWord {
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// Equal.
    Eq,
    /// Not equal.
    Neq,
}

/// Where a condition looks for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttributeSourceWord {
    /// In the parameters of the call.
    ModelParameters,
    /// In the metadata of the observation.
    Metadata,
}

/// Being one of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MembershipWord {
    /// One of the values.
    #[default]
    In,
}

/// A model to be made, or to be replaced.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// What it is called.
    pub model_name: String,
    /// A regular expression over the name that a call states.
    pub match_pattern: String,
    /// Holds for calls from then on; for all when left out.
    pub start_date: Option<Time>,
    /// What a unit is; tokens when left out.
    pub unit: Option<ModelUnitWord>,
    /// Dollars for a unit in.
    pub input_price: Option<f64>,
    /// Dollars for a unit out.
    pub output_price: Option<f64>,
    /// Dollars for any unit; stands alone.
    pub total_price: Option<f64>,
    /// All prices and their conditions, instead of the three above.
    pub pricing_tiers: Option<Vec<TierRequest>>,
    /// Who cuts texts into tokens.
    pub tokenizer_id: Option<String>,
    /// How.
    pub tokenizer_config: Option<Raw>,
}

/// Who made a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeBy {
    /// It comes with the program.
    Ratchet,
    Project,
}

impl ModelView {
    /// Shows a model.
    pub fn new(id: String, model: &ModelDefinition, by: MadeBy, created_at: Timestamp) -> Self {
        let default = model.tiers.iter().find(|tier| tier.is_default);
        let price = |kind: &str| default.and_then(|tier| tier.prices.get(kind)).copied();
        let prices = default.map(|tier| &tier.prices).into_iter().flatten();
        Self {
            id,
            model_name: model.name.clone(),
            match_pattern: model.pattern.clone(),
            start_date: model.start.map(Time),
            unit: Word(model.unit),
            input_price: price("input"),
            output_price: price("output"),
            total_price: price("total"),
            tokenizer_id: model.tokenizer.clone(),
            tokenizer_config: model.tokenizer_config.as_ref().map(raw),
            is_langfuse_managed: by == MadeBy::Ratchet,
            created_at: created_at.into(),
            prices: prices
                .map(|(kind, price)| (kind.clone(), UnitPrice { price: *price }))
                .collect(),
            pricing_tiers: model.tiers.iter().map(TierView::new).collect(),
        }
    }
}

impl TierView {
    fn new(tier: &PricingTier) -> Self {
        Self {
            id: tier.id.clone(),
            name: tier.name.clone(),
            is_default: tier.is_default,
            priority: tier.priority,
            conditions: tier.conditions.iter().map(TierConditionView::from).collect(),
            prices: tier.prices.clone(),
        }
    }
}

impl TierRequest {
    /// The tier that is asked for.
    pub fn into_tier(self, id: String) -> PricingTier {
        let Self { name, is_default, priority, conditions, prices } = self;
        let conditions = conditions.into_iter().map(TierCondition::from).collect();
        PricingTier { id, name, is_default, priority, conditions, prices }
    }
}

const COMPARISONS: [(ComparisonWord, Comparison); 6] = [
    (ComparisonWord::Gt, Comparison::Gt),
    (ComparisonWord::Gte, Comparison::Gte),
    (ComparisonWord::Lt, Comparison::Lt),
    (ComparisonWord::Lte, Comparison::Lte),
    (ComparisonWord::Eq, Comparison::Eq),
    (ComparisonWord::Neq, Comparison::Neq),
];

impl From<ComparisonWord> for Comparison {
    fn from(word: ComparisonWord) -> Self {
        let found = COMPARISONS.into_iter().find(|(known, _)| *known == word);
        found.map_or(Self::Eq, |(_, comparison)| comparison)
    }
}

impl From<Comparison> for ComparisonWord {
    fn from(comparison: Comparison) -> Self {
        let found = COMPARISONS.into_iter().find(|(_, known)| *known == comparison);
        found.map_or(Self::Eq, |(word, _)| word)
    }
}

impl From<TierConditionView> for TierCondition {
    fn from(view: TierConditionView) -> Self {
        match view {
            TierConditionView::Usage(usage) => Self::Usage {
                pattern: usage.usage_detail_pattern,
                operator: usage.operator.into(),
                value: usage.value,
                is_case_sensitive: usage.case_sensitive,
            },
            TierConditionView::Attribute(attribute) => Self::Attribute {
                source: match attribute.source {
                    AttributeSourceWord::ModelParameters => AttributeSource::ModelParameters,
                    AttributeSourceWord::Metadata => AttributeSource::Metadata,
                },
                key: attribute.key,
                values: attribute.values,
            },
        }
    }
}

impl From<&TierCondition> for TierConditionView {
    fn from(condition: &TierCondition) -> Self {
        match condition {
            TierCondition::Usage { pattern, operator, value, is_case_sensitive } => {
                Self::Usage(UsageCondition {
                    usage_detail_pattern: pattern.clone(),
                    operator: (*operator).into(),
                    value: *value,
                    case_sensitive: *is_case_sensitive,
                })
            }
            TierCondition::Attribute { source, key, values } => {
                Self::Attribute(AttributeCondition {
                    source: match source {
                        AttributeSource::ModelParameters => AttributeSourceWord::ModelParameters,
                        AttributeSource::Metadata => AttributeSourceWord::Metadata,
                    },
                    key: key.clone(),
                    operator: MembershipWord::In,
                    values: values.clone(),
                })
            }
        }
    }
}
