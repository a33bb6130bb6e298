use ratchet_core::record::field_table::{
    FIELDS, FieldFacts, FieldKind, OBSERVATION, RecordField, SESSION, TRACE,
};

/// Which list is filtered: some words make sense on one of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Traces,
    Observations,
    Sessions,
}

impl ListKind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Observations => "observations",
            Self::Sessions => "sessions",
        }
    }

    /// Whether the list can be filtered by a field.
    pub(crate) fn has_filter(self, field: RecordField) -> bool {
        match self {
            Self::Traces => TRACE.filter(field).is_some(),
            Self::Observations => OBSERVATION.filter(field).is_some(),
            Self::Sessions => SESSION.filter(field).is_some(),
        }
    }

    /// The flags of the list, for `is:`.
    pub(super) fn flags(self) -> impl Iterator<Item = RecordField> {
        let flags = FIELDS.iter().filter(|facts| facts.kind == FieldKind::Boolean);
        flags.map(|facts| facts.field).filter(move |field| self.has_filter(*field))
    }
}

/// The name of a field in the filter language.
pub(crate) fn name(field: RecordField) -> &'static str {
    field.facts().filter.unwrap_or_default()
}

/// The field of a name in the filter language, unless it is a flag.
pub(super) fn by_name(name: &str) -> Option<&'static FieldFacts> {
    let mut fields = FIELDS.iter().filter(|facts| facts.kind != FieldKind::Boolean);
    fields.find(|facts| facts.filter == Some(name))
}

/// What one can ask by on a list, for people.
pub(crate) fn names(on: ListKind) -> String {
    let of = |is_number: bool| {
        let fields = FIELDS.iter().filter(move |facts| match facts.kind {
            FieldKind::Number(_) => is_number,
            FieldKind::Boolean => false,
            _ => !is_number,
        });
        let fields = fields.filter(move |facts| on.has_filter(facts.field));
        fields.filter_map(|facts| facts.filter)
    };
    let names: Vec<&str> = of(false).chain(of(true)).chain(["score.NAME", "is"]).collect();
    names.join(", ")
}
