use ratchet_core::catalog::filter::{ConditionPart, FilterCondition, FilterKind};
use serde::Deserialize;
use serde_json::Value;

use super::wire_name::{WireEnum, WireName};

/// A condition of the `filter` parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(expecting = "a condition such as {\"type\":…,\"column\":…,\"operator\":…,\"value\":…}")]
pub struct SentCondition {
    #[serde(rename = "type")]
    kind: WireName<FilterKind>,
    column: String,
    operator: String,
    #[serde(default)]
    value: Value,
    key: Option<String>,
}

impl WireEnum for FilterKind {
    const WHAT: &'static str = "filter type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl SentCondition {
    /// Converts to a condition.
    ///
    /// # Errors
    /// Fails if the operator does not fit the type.
    pub fn into_condition(self) -> Result<FilterCondition, (ConditionPart, String)> {
        let kind = self.kind.0;
        let Some(operator) = kind.operator(&self.operator) else {
            let (name, fit) = (kind.as_str(), kind.operator_names());
            let message = format!("{name} takes {fit}, not {}", self.operator);
            return Err((ConditionPart::Operator, message));
        };
        let Self { column, value, key, .. } = self;
        Ok(FilterCondition { column, operator, kind, value, key })
    }
}

/// Returns the field name of a part of a condition.
pub const fn part_name(part: ConditionPart) -> &'static str {
    match part {
        ConditionPart::Column => "column",
        ConditionPart::Kind => "type",
        ConditionPart::Operator => "operator",
        ConditionPart::Value => "value",
        ConditionPart::Key => "key",
    }
}
