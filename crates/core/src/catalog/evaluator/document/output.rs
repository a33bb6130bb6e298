use serde::{Deserialize, Serialize};

/// The score that a judge gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputDefinition {
    pub data_type: OutputType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_allow_multiple_matches: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_reasoning_instructions: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_value_instructions: Option<String>,
}

/// The data type of a judge's score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum OutputType {
    Numeric,
    Boolean,
    Categorical,
}

impl OutputType {
    pub const ALL: [Self; 3] = [Self::Numeric, Self::Boolean, Self::Categorical];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Numeric => "NUMERIC",
            Self::Boolean => "BOOLEAN",
            Self::Categorical => "CATEGORICAL",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}
