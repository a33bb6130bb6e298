use ratchet_core::record::field_table::{
    FIELDS, FieldKind, NumberUnit, OBSERVATION, RecordField, TRACE,
};
use ratchet_store::query::TraceOrder;

use crate::components::table::Align;
use crate::filter::ListKind;
use crate::parquet::Kind;

/// A column of a list: a field that the table of its record lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) struct ListColumn(pub(in crate::pages) RecordField);

impl ListColumn {
    pub(super) const NAME: Self = Self(RecordField::Name);
    pub(super) const TIME: Self = Self(RecordField::Time);

    /// All columns of a list, in display order.
    pub(super) fn of(on: ListKind) -> impl Iterator<Item = Self> {
        let is_listed = move |field: &RecordField| match on {
            ListKind::Traces => TRACE.listed(*field).is_some(),
            ListKind::Observations => OBSERVATION.listed(*field).is_some(),
        };
        FIELDS.iter().map(|facts| facts.field).filter(is_listed).map(Self)
    }

    /// Default columns of a list.
    pub(super) fn defaults(on: ListKind) -> Vec<Self> {
        let fields = match on {
            ListKind::Traces => TRACE.default_columns,
            ListKind::Observations => OBSERVATION.default_columns,
        };
        fields.iter().copied().map(Self).collect()
    }

    /// The word in the address, and in exports.
    pub(super) fn word(self) -> &'static str {
        self.0.facts().column.unwrap_or_default()
    }

    pub(in crate::pages) fn title(self) -> &'static str {
        self.0.facts().label
    }

    pub(in crate::pages) fn align(self) -> Align {
        match self.0.facts().kind {
            FieldKind::Number(_) => Align::Number,
            FieldKind::Payload | FieldKind::Object => Align::Wide,
            _ if self.0 == RecordField::Status => Align::Wide,
            _ => Align::Text,
        }
    }

    /// What its cells are in an export.
    pub(super) fn kind(self) -> Kind {
        match self.0.facts().kind {
            FieldKind::Start | FieldKind::Time => Kind::Moment,
            FieldKind::Tags => Kind::Words,
            FieldKind::Number(NumberUnit::Count) => Kind::Whole,
            FieldKind::Number(_) => Kind::Number,
            _ => Kind::Text,
        }
    }

    /// Whether it takes what a record carries to show it.
    pub(super) fn is_content(self) -> bool {
        matches!(self.0.facts().kind, FieldKind::Payload | FieldKind::Object)
    }

    /// How the store orders a list by it.
    pub(super) fn order(self, on: ListKind) -> Option<TraceOrder> {
        match on {
            ListKind::Traces => TRACE.listed(self.0)?.order,
            ListKind::Observations => OBSERVATION.listed(self.0)?.order,
        }
    }

    /// Reads the word in the address.
    pub(super) fn parse(on: ListKind, word: &str) -> Option<Self> {
        Self::of(on).find(|column| column.word() == word)
    }
}
