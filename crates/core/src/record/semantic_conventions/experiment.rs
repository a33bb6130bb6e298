//! Experiment items in span attributes.

use crate::catalog::experiment::{ExperimentItem, ExperimentMetadata, TimeSpan};
use crate::payload::{Json, Payload};
use crate::record::semantic_conventions::attributes::{Claims, text};
use crate::record::span::Span;
use crate::time::Timestamp;

const PREFIX: &str = "langfuse.experiment.";

/// Returns the experiment item that a span ran, if any.
///
/// All child spans have the same attributes; only the span that ran the item counts.
pub(super) fn read(claims: &Claims, span: &Span) -> Option<ExperimentItem> {
    let mut values = claims.unnamed().filter(|(name, _)| name.starts_with(PREFIX)).peekable();
    values.peek()?;
    let values: Vec<(&str, &str)> = values
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, text(value)?)))
        .collect();
    let value = |wanted: &str| {
        let found = values.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, text)| (*text).to_owned())
    };
    let is_item_span = match value("item.root_observation_id") {
        Some(root) => root == span.id.to_string(),
        None => span.parent.is_none(),
    };
    if !is_item_span {
        return None;
    }
    Some(ExperimentItem {
        experiment: ExperimentMetadata {
            id: value("id")?,
            name: value("name"),
            description: value("description"),
            metadata: value("metadata").map(json),
            dataset: value("dataset.id"),
        },
        item: value("item.id")?,
        version: value("item.version").and_then(|time| Timestamp::parse(&time).ok()),
        expected_output: value("item.expected_output").map(json),
        metadata: value("item.metadata").map(json),
        trace: span.trace.clone(),
        observation: Some(span.id.clone()),
        ran: Some(TimeSpan { start: span.start, end: span.end }),
        recorded_at: span.start,
    })
}

fn json(text: String) -> Json {
    Payload::Text(text.into()).to_json()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ObservationId, TraceId};
    use crate::record::semantic_conventions::table::Dialect;
    use crate::record::span::{AttributeValue, Attributes, SpanStatus};

    fn read_with(parent: Option<&str>, values: &[(&str, &str)]) -> Option<ExperimentItem> {
        let attribute = |(name, value): &(&str, &str)| {
            (format!("{PREFIX}{name}"), AttributeValue::Text((*value).to_owned()))
        };
        let attributes = Attributes(values.iter().map(attribute).collect());
        let span = Span {
            trace: TraceId::parse("run").unwrap(),
            id: ObservationId::parse("step").unwrap(),
            parent: parent.map(|id| ObservationId::parse(id).unwrap()),
            name: "task".to_owned(),
            start: Timestamp::from_millis(1),
            end: Timestamp::from_millis(2),
            attributes: Attributes(Vec::new()),
            events: Vec::new(),
            links: Vec::new(),
            status: SpanStatus::Ok,
        };
        read(&Claims::new(attributes, Dialect::Any), &span)
    }

    #[test]
    fn only_the_span_that_ran_the_item_counts() {
        let values = [("id", "e"), ("item.id", "i"), ("item.expected_output", "Rome")];
        let root = |id| [&values[..], &[("item.root_observation_id", id)]].concat();
        let item = read_with(Some("above"), &root("step")).unwrap();
        assert_eq!((item.experiment.id.as_str(), item.item.as_str()), ("e", "i"));
        assert_eq!(item.expected_output.unwrap().as_str(), "\"Rome\"");
        assert_eq!(read_with(Some("above"), &root("above")), None);
        assert!(read_with(None, &values).is_some(), "a root span needs no further word");
        assert_eq!(read_with(Some("above"), &values), None);
        assert_eq!(read_with(None, &[("id", "e")]), None);
        assert_eq!(read_with(None, &[]), None);
    }
}
