use ratchet_core::record::score::config::Category;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::maybe::Maybe;
use super::time::Time;
use super::word::DataTypeWord;

/// A score config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreConfigView {
    /// Its id.
    pub id: String,
    /// The name that its scores get.
    pub name: String,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// Which project it is in.
    pub project_id: String,
    /// How its values are to be read.
    pub data_type: DataTypeWord,
    /// Whether it takes no more scores.
    pub is_archived: bool,
    /// The least number.
    #[serde(default)]
    pub min_value: Option<f64>,
    /// The greatest number.
    #[serde(default)]
    pub max_value: Option<f64>,
    /// The labels with their numbers.
    #[serde(default)]
    pub categories: Option<Vec<ConfigCategory>>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
}

/// A label and its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigCategory {
    /// What is averaged.
    pub value: f64,
    /// What people choose.
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

/// A score config to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateScoreConfig {
    /// The name that its scores get.
    pub name: String,
    /// How its values are to be read.
    pub data_type: DataTypeWord,
    /// The labels with their numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<ConfigCategory>>,
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_value: Option<f64>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_value: Option<f64>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What changes about a score config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateScoreConfig {
    /// Whether it takes no more scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_archived: Option<bool>,
    /// The name that its scores get from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The labels with their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<ConfigCategory>>,
    /// The least number; null takes the bound away.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<f64>)]
    pub min_value: Maybe<f64>,
    /// The greatest number; null takes the bound away.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<f64>)]
    pub max_value: Maybe<f64>,
    /// What it is for; null takes it away.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub description: Maybe<String>,
}
