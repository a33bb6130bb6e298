use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use crate::project::ProjectId;

/// A parameter or a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    /// An integer, a boolean or a time.
    Whole(i64),
    Real(f64),
    Text(String),
}

/// A type that a column can be read as.
pub(crate) trait FromColumn: Sized {
    /// Converts a column, or returns `None` if it has another type.
    fn from_column(value: Value) -> Option<Self>;
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Whole(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl FromColumn for String {
    fn from_column(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text) } else { None }
    }
}

impl FromColumn for i64 {
    fn from_column(value: Value) -> Option<Self> {
        if let Value::Whole(number) = value { Some(number) } else { None }
    }
}

impl FromColumn for u32 {
    fn from_column(value: Value) -> Option<Self> {
        i64::from_column(value)?.try_into().ok()
    }
}

impl FromColumn for u64 {
    fn from_column(value: Value) -> Option<Self> {
        i64::from_column(value)?.try_into().ok()
    }
}

impl FromColumn for bool {
    fn from_column(value: Value) -> Option<Self> {
        Some(i64::from_column(value)? != 0)
    }
}

impl FromColumn for f64 {
    fn from_column(value: Value) -> Option<Self> {
        if let Value::Real(number) = value { Some(number) } else { None }
    }
}

impl FromColumn for Timestamp {
    fn from_column(value: Value) -> Option<Self> {
        i64::from_column(value).map(Self::from_nanos)
    }
}

impl FromColumn for Json {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl FromColumn for ProjectId {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?).ok()
    }
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn from_column(value: Value) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::from_column(value).map(Some) }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Whole(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Whole(truth.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        Self::Whole(time.nanos())
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        Self::Text(json.as_str().to_owned())
    }
}

impl From<&ProjectId> for Value {
    fn from(project: &ProjectId) -> Self {
        Self::Text(project.as_str().to_owned())
    }
}

impl<T> From<Option<T>> for Value
where
    Self: From<T>,
{
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::from)
    }
}
