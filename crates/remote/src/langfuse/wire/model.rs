use std::collections::BTreeMap;

use ratchet_core::record::price::{
    AttributeSource, Comparison, ModelDefinition, ModelUnit, PricingTier, TierCondition,
};
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, raw};
use super::time::Time;
use super::wire_name::{WireEnum, WireName};

/// The API name of a usage unit.
pub type ModelUnitName = WireName<ModelUnit>;

impl WireEnum for ModelUnit {
    const WHAT: &'static str = "model usage unit";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// A model with its prices.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// Unique id.
    pub id: String,
    /// Name.
    pub model_name: String,
    /// Regular expression for the model name of a call.
    pub match_pattern: String,
    /// Valid for calls from then on.
    pub start_date: Option<Time>,
    /// Usage unit.
    pub unit: ModelUnitName,
    /// Default price per input unit, in dollars.
    pub input_price: Option<f64>,
    /// Default price per output unit, in dollars.
    pub output_price: Option<f64>,
    /// Default price per unit, in dollars.
    pub total_price: Option<f64>,
    /// Tokenizer name.
    pub tokenizer_id: Option<String>,
    /// Tokenizer settings.
    pub tokenizer_config: Option<Raw>,
    /// Whether it is built in.
    pub is_langfuse_managed: bool,
    /// Creation time.
    pub created_at: Time,
    /// Default price per unit by usage type, in dollars.
    pub prices: BTreeMap<String, UnitPrice>,
    /// Pricing tiers.
    pub pricing_tiers: Vec<TierView>,
}

/// A unit price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UnitPrice {
    /// Price in dollars.
    pub price: f64,
}

/// A pricing tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TierView {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Whether it is the default tier.
    pub is_default: bool,
    /// Priority; the lowest matching one applies.
    pub priority: i64,
    /// Conditions, all of which must be met.
    pub conditions: Vec<TierConditionView>,
    /// Price per unit by usage type, in dollars.
    pub prices: BTreeMap<String, f64>,
}

/// A pricing tier in a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TierRequest {
    /// Display name; unique in the model.
    pub name: String,
    /// Whether it is the default tier.
    pub is_default: bool,
    /// Priority; the lowest matching one applies. Unique in the model, 0 for the default.
    pub priority: i64,
    /// Conditions, all of which must be met; empty for the default.
    pub conditions: Vec<TierConditionView>,
    /// Price per unit by usage type, in dollars.
    pub prices: BTreeMap<String, f64>,
}

/// A condition of a pricing tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum TierConditionView {
    /// The sum of units over all matching usage types.
    Usage(UsageCondition),
    /// A parameter or a metadata key has one of some values.
    Attribute(AttributeCondition),
}

/// The sum of units over all matching usage types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageCondition {
    /// Regular expression for usage types.
    pub usage_detail_pattern: String,
    /// Comparison operator.
    pub operator: ComparisonWord,
    /// Value to compare with.
    pub value: f64,
    /// Whether the pattern is case-sensitive.
    #[serde(default)]
    pub case_sensitive: bool,
}

/// A parameter or a metadata key has one of some values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttributeCondition {
    /// Source of the key.
    pub source: AttributeSourceWord,
    /// Key.
    pub key: String,
    /// Always `in`.
    #[serde(default)]
    #[schema(required = true)]
    pub operator: MembershipWord,
    /// Allowed values.
    pub values: Vec<String>,
}

/// A comparison operator.
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

/// The source of a condition's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttributeSourceWord {
    /// In the parameters of the call.
    ModelParameters,
    /// In the metadata of the observation.
    Metadata,
}

/// The membership operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MembershipWord {
    /// One of the values.
    #[default]
    In,
}

/// A request to create or replace a model.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// Name.
    pub model_name: String,
    /// Regular expression for the model name of a call.
    pub match_pattern: String,
    /// Valid for calls from then on; for all when omitted.
    pub start_date: Option<Time>,
    /// Usage unit; tokens when omitted.
    pub unit: Option<ModelUnitName>,
    /// Price per input unit, in dollars.
    pub input_price: Option<f64>,
    /// Price per output unit, in dollars.
    pub output_price: Option<f64>,
    /// Price per unit, in dollars; excludes the other two.
    pub total_price: Option<f64>,
    /// Pricing tiers; replaces the three fields above.
    pub pricing_tiers: Option<Vec<TierRequest>>,
    /// Tokenizer name.
    pub tokenizer_id: Option<String>,
    /// Tokenizer settings.
    pub tokenizer_config: Option<Raw>,
}

/// The origin of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelOrigin {
    /// Built in.
    Ratchet,
    Project,
}

impl ModelView {
    /// Converts a model definition.
    pub fn new(
        id: String,
        model: &ModelDefinition,
        by: ModelOrigin,
        created_at: Timestamp,
    ) -> Self {
        let default = model.tiers.iter().find(|tier| tier.is_default);
        let price = |kind: &str| default.and_then(|tier| tier.prices.get(kind)).copied();
        let prices = default.map(|tier| &tier.prices).into_iter().flatten();
        Self {
            id,
            model_name: model.name.clone(),
            match_pattern: model.pattern.clone(),
            start_date: model.start.map(Time),
            unit: WireName(model.unit),
            input_price: price("input"),
            output_price: price("output"),
            total_price: price("total"),
            tokenizer_id: model.tokenizer.clone(),
            tokenizer_config: model.tokenizer_config.as_ref().map(raw),
            is_langfuse_managed: by == ModelOrigin::Ratchet,
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
    /// Converts to a pricing tier.
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
