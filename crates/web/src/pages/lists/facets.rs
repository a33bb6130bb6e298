use std::collections::BTreeMap;

use ratchet_core::record::trace::Trace;
use ratchet_store::StoreResult;
use ratchet_store::aggregate::{AggregateQuery, Dimension, Step};
use ratchet_store::query::{Detail, Direction, TraceOrder};
use ratchet_store::telemetry::Telemetry;

use super::row::ListedRow as _;
use super::state::ListQuery;
use crate::filter::{Filter, ListKind, RecordField};

/// Words that a menu offers.
const OFFERED: usize = 20;
/// Traces that are looked at for what has no sums: the newest.
const SAMPLE: u64 = 300;

/// Values of a field, most frequent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facet {
    pub(super) field: RecordField,
    pub(super) title: &'static str,
    /// Each word and how often it is there.
    pub(super) words: Vec<(String, u64)>,
}

/// What there is to choose from. Comes from hourly sums and from the newest traces, so it costs
/// the same at any size.
pub(super) async fn facets(
    telemetry: &Telemetry,
    ask: &ListQuery,
    on: ListKind,
) -> StoreResult<Vec<Facet>> {
    let sums = of_sums(telemetry, ask).await?;
    let mut facets = match on {
        ListKind::Traces => {
            let mut facets = of_traces(telemetry, ask).await?;
            facets.extend(sums.into_iter().filter(|facet| facet.field == RecordField::Model));
            facets
        }
        ListKind::Observations => sums,
    };
    facets.retain(|facet| !facet.words.is_empty());
    Ok(facets)
}

async fn of_sums(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<Vec<Facet>> {
    let query = AggregateQuery {
        project: ask.project.clone(),
        range: ask.range,
        by: vec![Dimension::Environment, Dimension::Name, Dimension::Kind, Dimension::Model],
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let groups = telemetry.aggregate(query).await?.groups;
    let fields = [RecordField::Name, RecordField::Kind, RecordField::Model];
    let mut counts: [Counts; 3] = Default::default();
    for group in groups {
        let [environment, words @ ..] = group.key.as_slice() else { continue };
        if ask.environment.is_some() && ask.environment != *environment {
            continue;
        }
        for (counts, word) in counts.iter_mut().zip(words) {
            counts.add(word.as_deref(), u64::try_from(group.sums.count).unwrap_or_default());
        }
    }
    let facets = fields.into_iter().zip(counts).map(|(field, counts)| facet(field, counts));
    Ok(facets.collect())
}

async fn of_traces(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<Vec<Facet>> {
    let newest = ListQuery {
        filter: Filter::default(),
        order: (TraceOrder::Timestamp, Direction::Descending),
        cursor: None,
        limit: SAMPLE,
        detail: Detail::Row,
        ..ask.clone()
    };
    let (mut names, mut users, mut tags, mut agents) =
        (Counts::default(), Counts::default(), Counts::default(), Counts::default());
    for trace in Trace::read(telemetry, &newest).await?.page.rows {
        names.add(trace.name.as_deref(), 1);
        users.add(trace.user.as_deref(), 1);
        agents.add(trace.agent.as_deref(), 1);
        for tag in &trace.tags {
            tags.add(Some(tag), 1);
        }
    }
    Ok(vec![
        facet(RecordField::Name, names),
        facet(RecordField::User, users),
        facet(RecordField::Tags, tags),
        facet(RecordField::Agent, agents),
    ])
}

/// Name of the rollup group for rare values.
const RARE: &str = "(other)";

#[derive(Debug, Default)]
struct Counts(BTreeMap<String, u64>);

impl Counts {
    fn add(&mut self, word: Option<&str>, count: u64) {
        let Some(word) = word.filter(|word| !word.is_empty()) else { return };
        *self.0.entry(word.to_owned()).or_default() += count;
    }
}

fn facet(field: RecordField, counts: Counts) -> Facet {
    let title = field.facts().label;
    // Sums keep what is rare under one word that no observation bears.
    let is_real = |(word, _): &(String, u64)| word != RARE;
    let mut words: Vec<(String, u64)> = counts.0.into_iter().filter(is_real).collect();
    words.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
    words.truncate(OFFERED);
    if field == RecordField::Kind {
        words.iter_mut().for_each(|(word, _)| word.make_ascii_lowercase());
    }
    Facet { field, title, words }
}
