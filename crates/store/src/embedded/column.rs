//! Conversion of enums and ids to and from columns.

use ratchet_core::environment::Environment;
use ratchet_core::id::{Id, StoredId};
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::time::Timestamp;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// Wraps a domain type for reading and writing as a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column<T>(pub(super) T);

impl<Of> ToSql for Column<&Id<Of>> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0.stored() {
            StoredId::Bytes(bytes) => ValueRef::Blob(bytes),
            StoredId::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl<Of> FromSql for Column<Id<Of>> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let id = match value {
            ValueRef::Blob(bytes) => Id::from_stored(bytes),
            ValueRef::Text(_) => Id::parse(value.as_str()?).ok(),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
        };
        id.map(Self).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Column<Timestamp> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.nanos().into())
    }
}

impl FromSql for Column<Timestamp> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(|nanos| Self(Timestamp::from_nanos(nanos)))
    }
}

impl ToSql for Column<ObservationKind> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((self.0 as u8).into())
    }
}

impl FromSql for Column<ObservationKind> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let kind = usize::try_from(value.as_i64()?).ok();
        let kind = kind.and_then(|number| ObservationKind::ALL.get(number));
        kind.map(|kind| Self(*kind)).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Column<Level> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((self.0 as u8).into())
    }
}

impl FromSql for Column<Level> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let level = usize::try_from(value.as_i64()?).ok().and_then(|number| Level::ALL.get(number));
        level.map(|level| Self(*level)).ok_or(FromSqlError::InvalidType)
    }
}

/// The default environment is stored as NULL.
impl ToSql for Column<&Environment> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.as_str().into())
    }
}

impl FromSql for Column<Environment> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(value.as_str_or_null()?.map_or_else(Environment::default, Environment::normalise)))
    }
}

/// Unwraps an optional column.
pub(super) fn column_value<T>(column: Option<Column<T>>) -> Option<T> {
    column.map(|column| column.0)
}

/// A count as an SQLite integer.
pub(super) fn to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count from an SQLite integer; damage reads as zero.
pub(super) fn to_u64(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
