use ratchet_core::record::score::config::Category;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::maybe::Maybe;
use super::time::Time;
use super::wire_name::DataTypeName;

/// A score config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreConfigView {
    /// Unique id.
    pub id: String,
    /// Name of its scores.
    pub name: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Project id.
    pub project_id: String,
    /// Data type.
    pub data_type: DataTypeName,
    /// Whether it is archived and accepts no new scores.
    pub is_archived: bool,
    /// Minimum.
    #[serde(default)]
    pub min_value: Option<f64>,
    /// Maximum.
    #[serde(default)]
    pub max_value: Option<f64>,
    /// Labels with their numbers.
    #[serde(default)]
    pub categories: Option<Vec<ConfigCategory>>,
    /// Description.
    #[serde(default)]
    pub description: Option<String>,
}

/// A label and its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigCategory {
    /// Number of the label.
    pub value: f64,
    /// Label text.
    pub label: String,
}

impl From<Category> for ConfigCategory {
    fn from(Category { label, value }: Category) -> Self {
        Self { value, label }
    }
}

impl From<ConfigCategory> for Category {
    fn from(ConfigCategory { value, label }: ConfigCategory) -> Self {
        Self { label, value }
    }
}

/// A request to create a score config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateScoreConfig {
    /// Name of its scores.
    pub name: String,
    /// Data type.
    pub data_type: DataTypeName,
    /// Labels with their numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<ConfigCategory>>,
    /// Minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_value: Option<f64>,
    /// Maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_value: Option<f64>,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// An update of a score config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateScoreConfig {
    /// Whether it is archived and accepts no new scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_archived: Option<bool>,
    /// New name of its scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Labels with their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<ConfigCategory>>,
    /// Minimum; null removes it.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<f64>)]
    pub min_value: Maybe<f64>,
    /// Maximum; null removes it.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<f64>)]
    pub max_value: Maybe<f64>,
    /// Description; null clears it.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub description: Maybe<String>,
}
