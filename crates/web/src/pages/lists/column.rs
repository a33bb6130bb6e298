use ratchet_core::record::field_table::{
    FIELDS, FieldKind, NumberUnit, OBSERVATION, RecordField, SESSION, TRACE,
};

use crate::components::table::Align;
use crate::filter::ListKind;
use crate::parquet::Kind;

/// A column of a list: a field that the table of its record lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) struct ListColumn(pub(in crate::pages) RecordField);

impl ListColumn {
    pub(super) const TIME: Self = Self(RecordField::Time);

    /// The column that is always shown, and first: it carries the link of the row.
    pub(super) const fn first(on: ListKind) -> Self {
        match on {
            ListKind::Traces | ListKind::Observations => Self(RecordField::Name),
            ListKind::Sessions => Self(RecordField::FirstMessage),
        }
    }

    /// All columns of a list, in display order.
    pub(super) fn of(on: ListKind) -> impl Iterator<Item = Self> {
        let is_listed = move |field: &RecordField| match on {
            ListKind::Traces => TRACE.listed(*field).is_some(),
            ListKind::Observations => OBSERVATION.listed(*field).is_some(),
            ListKind::Sessions => SESSION.listed(*field).is_some(),
        };
        FIELDS.iter().map(|facts| facts.field).filter(is_listed).map(Self)
    }

    /// Default columns of a list.
    pub(super) fn defaults(on: ListKind) -> Vec<Self> {
        let fields = match on {
            ListKind::Traces => TRACE.default_columns,
            ListKind::Observations => OBSERVATION.default_columns,
            ListKind::Sessions => SESSION.default_columns,
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

    /// Whether the store can order a list by it.
    pub(super) fn is_sortable(self, on: ListKind) -> bool {
        match on {
            ListKind::Traces => TRACE.listed(self.0).is_some_and(|found| found.order.is_some()),
            ListKind::Observations => {
                OBSERVATION.listed(self.0).is_some_and(|found| found.order.is_some())
            }
            ListKind::Sessions => SESSION.listed(self.0).is_some_and(|found| found.order.is_some()),
        }
    }

    /// Reads the word in the address.
    pub(super) fn parse(on: ListKind, word: &str) -> Option<Self> {
        Self::of(on).find(|column| column.word() == word)
    }
}
