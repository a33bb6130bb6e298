//! Filter conditions as users define and store them: a column, an operator and a value, by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time::Timestamp;

/// A condition on one column. Whether the column exists depends on the records that are filtered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilterCondition {
    pub column: String,
    pub operator: Operator,
    #[serde(rename = "type")]
    pub kind: FilterKind,
    #[serde(default)]
    pub value: Value,
    /// For columns with keys, such as metadata.
    pub key: Option<String>,
}

/// A part of a condition, to say what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionPart {
    Column,
    Kind,
    Operator,
    Value,
    Key,
}

/// The type of a condition's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FilterKind {
    Datetime,
    String,
    Number,
    StringOptions,
    CategoryOptions,
    ArrayOptions,
    StringObject,
    NumberObject,
    BooleanObject,
    Boolean,
    Null,
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    #[serde(rename = "=")]
    Equal,
    #[serde(rename = "<>")]
    NotEqual,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = "contains")]
    Contains,
    #[serde(rename = "does not contain")]
    Lacks,
    #[serde(rename = "starts with")]
    StartsWith,
    #[serde(rename = "ends with")]
    EndsWith,
    #[serde(rename = "matches")]
    Matches,
    #[serde(rename = "any of")]
    AnyOf,
    #[serde(rename = "none of")]
    NoneOf,
    #[serde(rename = "all of")]
    AllOf,
    #[serde(rename = "is null")]
    IsNull,
    #[serde(rename = "is not null")]
    IsNotNull,
}

const ORDER: &[Operator] =
    &[Operator::Greater, Operator::Less, Operator::AtLeast, Operator::AtMost];
const NUMBERS: &[Operator] =
    &[Operator::Equal, Operator::Greater, Operator::Less, Operator::AtLeast, Operator::AtMost];
const TEXTS: &[Operator] = &[
    Operator::Equal,
    Operator::Contains,
    Operator::Lacks,
    Operator::StartsWith,
    Operator::EndsWith,
    Operator::Matches,
];
const OPTIONS: &[Operator] = &[Operator::AnyOf, Operator::NoneOf];
const ARRAYS: &[Operator] = &[Operator::AnyOf, Operator::NoneOf, Operator::AllOf];
const TRUTHS: &[Operator] = &[Operator::Equal, Operator::NotEqual];
const NULLS: &[Operator] = &[Operator::IsNull, Operator::IsNotNull];

impl FilterCondition {
    /// Checks the value and the key against the type.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let kind = self.kind.as_str();
        if !self.kind.operators().contains(&self.operator) {
            return Err(format!("a {kind} filter takes {}", self.kind.operator_names()));
        }
        if !self.kind.fits(&self.value) {
            return Err(format!("the value does not fit a {kind} filter"));
        }
        if self.kind.has_key() && self.key.as_deref().unwrap_or_default().is_empty() {
            return Err(format!("a {kind} filter needs a key"));
        }
        Ok(())
    }
}

impl FilterKind {
    pub const ALL: [Self; 11] = [
        Self::Datetime,
        Self::String,
        Self::Number,
        Self::StringOptions,
        Self::CategoryOptions,
        Self::ArrayOptions,
        Self::StringObject,
        Self::NumberObject,
        Self::BooleanObject,
        Self::Boolean,
        Self::Null,
    ];

    /// Returns the name in stored conditions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Datetime => "datetime",
            Self::String => "string",
            Self::Number => "number",
            Self::StringOptions => "stringOptions",
            Self::CategoryOptions => "categoryOptions",
            Self::ArrayOptions => "arrayOptions",
            Self::StringObject => "stringObject",
            Self::NumberObject => "numberObject",
            Self::BooleanObject => "booleanObject",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the operators that fit.
    pub const fn operators(self) -> &'static [Operator] {
        match self {
            Self::Datetime => ORDER,
            Self::String | Self::StringObject => TEXTS,
            Self::Number | Self::NumberObject => NUMBERS,
            Self::StringOptions | Self::CategoryOptions => OPTIONS,
            Self::ArrayOptions => ARRAYS,
            Self::Boolean | Self::BooleanObject => TRUTHS,
            Self::Null => NULLS,
        }
    }

    /// Returns the operator of a name, if it fits.
    pub fn operator(self, name: &str) -> Option<Operator> {
        self.operators().iter().copied().find(|operator| operator.as_str() == name)
    }

    /// Returns the names of the operators that fit, for messages.
    pub fn operator_names(self) -> String {
        self.operators().iter().map(|operator| operator.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether the condition is on one key of an object.
    pub const fn has_key(self) -> bool {
        match self {
            Self::StringObject
            | Self::NumberObject
            | Self::BooleanObject
            | Self::CategoryOptions => true,
            Self::Datetime
            | Self::String
            | Self::Number
            | Self::StringOptions
            | Self::ArrayOptions
            | Self::Boolean
            | Self::Null => false,
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::String | Self::StringObject => value.is_string(),
            Self::Number | Self::NumberObject => value.is_number(),
            Self::Boolean | Self::BooleanObject => value.is_boolean(),
            Self::Datetime => value.as_str().is_some_and(|text| Timestamp::parse(text).is_ok()),
            Self::StringOptions | Self::CategoryOptions | Self::ArrayOptions => {
                value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
            }
            Self::Null => true,
        }
    }
}

impl Operator {
    /// Returns the name in stored conditions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Greater => ">",
            Self::Less => "<",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Contains => "contains",
            Self::Lacks => "does not contain",
            Self::StartsWith => "starts with",
            Self::EndsWith => "ends with",
            Self::Matches => "matches",
            Self::AnyOf => "any of",
            Self::NoneOf => "none of",
            Self::AllOf => "all of",
            Self::IsNull => "is null",
            Self::IsNotNull => "is not null",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_those_of_the_stored_form() {
        for kind in FilterKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(FilterKind::parse(kind.as_str()), Some(kind));
            for operator in kind.operators() {
                assert_eq!(serde_json::to_value(operator).unwrap(), operator.as_str());
                assert_eq!(kind.operator(operator.as_str()), Some(*operator));
            }
        }
        assert_eq!(FilterKind::Null.operator("="), None);
    }

    #[track_caller]
    fn check(condition: Value, refusal: Option<&str>) {
        let condition: FilterCondition = serde_json::from_value(condition).unwrap();
        assert_eq!(condition.check().err().as_deref(), refusal);
    }

    #[test]
    fn values_and_keys_fit_their_type() {
        let of = |kind: &str, operator: &str, value: Value| json!({"column": "c", "type": kind, "operator": operator, "value": value});
        check(of("datetime", ">", json!("2026-01-01T00:00:00Z")), None);
        check(json!({"column": "c", "type": "null", "operator": "is null"}), None);
        check(
            of("datetime", ">", json!("yesterday")),
            Some("the value does not fit a datetime filter"),
        );
        check(
            of("string", ">", json!("x")),
            Some(
                "a string filter takes =, contains, does not contain, starts with, ends with, matches",
            ),
        );
        check(of("numberObject", "=", json!(1)), Some("a numberObject filter needs a key"));
        check(
            of("arrayOptions", "all of", json!(["a", 1])),
            Some("the value does not fit a arrayOptions filter"),
        );
    }
}
