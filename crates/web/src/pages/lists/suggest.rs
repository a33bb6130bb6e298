//! What the filter field completes: names of fields, and values that the rows have.

use ratchet_core::record::field_table::{FIELDS, FieldKind};
use ratchet_core::record::observation::{Level, ObservationKind};
use serde_json::{Value, json};

use super::facets::{Facet, FacetBasis};
use crate::components::figure;
use crate::filter::{ListKind, RecordField, ScoreCondition, Term};

/// Bytes of a value that is offered.
const MAX_VALUE: usize = 200;

/// The fields of the filter language with the values that the list knows, as JSON for the script.
pub(super) fn suggestions(on: ListKind, facets: &[Facet], scores: &[String]) -> String {
    let is_flag = |kind: FieldKind| kind == FieldKind::Boolean;
    let known = FIELDS.iter().filter(|facts| on.has_filter(facts.field) && !is_flag(facts.kind));
    let fields = known.map(|facts| {
        let sign = if matches!(facts.kind, FieldKind::Number(_)) { ">" } else { ":" };
        let terms = terms(facts.field, facets);
        json!({ "name": facts.filter, "label": facts.label, "sign": sign, "terms": terms })
    });
    let scores = scores.iter().filter(|name| name.len() <= MAX_VALUE).map(|name| {
        let name = score_name(name);
        json!({ "name": name, "label": "Score", "sign": "" })
    });
    let flags = FIELDS.iter().filter(|facts| on.has_filter(facts.field) && is_flag(facts.kind));
    let flags: Vec<Value> = flags
        .filter_map(|facts| Some(json!({ "text": format!("is:{}", facts.filter?) })))
        .collect();
    let has_flags = !flags.is_empty();
    let is = json!({ "name": "is", "label": "Flag", "sign": ":", "terms": flags });
    let is = has_flags.then_some(is);
    Value::from_iter(fields.chain(scores).chain(is)).to_string()
}

/// The name of a score as a filter has it, quoted if it must be.
fn score_name(name: &str) -> String {
    let term = Term::score(name, ScoreCondition::Truth(true)).to_string();
    term.strip_suffix(":true").unwrap_or(&term).to_owned()
}

fn terms(field: RecordField, facets: &[Facet]) -> Vec<Value> {
    let term = |word: &str, count: Option<String>| json!({ "text": Term::word(field, word).to_string(), "count": count });
    if let Some(facet) = facets.iter().find(|facet| facet.field == field) {
        let short = facet.words.iter().filter(|(word, _)| word.len() <= MAX_VALUE);
        let count = |count: u64| match facet.basis {
            FacetBasis::Newest(_) => None,
            FacetBasis::Hours => Some(format!("≈{}", figure::grouped(count))),
            FacetBasis::All => Some(figure::grouped(count)),
        };
        return short.map(|(word, n)| term(word, count(*n))).collect();
    }
    let words: Vec<&str> = match field {
        RecordField::Level => Level::ALL.into_iter().map(Level::as_str).collect(),
        RecordField::Kind => {
            ObservationKind::ALL.into_iter().map(ObservationKind::as_str).collect()
        }
        _ => Vec::new(),
    };
    words.into_iter().map(|word| term(&word.to_ascii_lowercase(), None)).collect()
}
