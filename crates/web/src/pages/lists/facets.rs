use std::collections::BTreeMap;
use std::time::Duration;

use ratchet_store::aggregate::{AggregateDimension, AggregateQuery, Step};
use ratchet_store::facets::{FacetQuery, Facets};
use ratchet_store::query::{
    Condition, ObservationColumn, SessionColumn, TallyQuery, Test, TraceColumn,
};
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{StoreError, StoreResult};

use super::state::ListQuery;
use super::{observation_row, session_row, trace_row};
use crate::filter::{ListKind, RecordField};

/// Words that a menu offers.
const OFFERED: usize = 20;
/// Matching records whose own values are counted: the newest.
const COUNTED: u64 = 5_000;
/// Matching records whose parts are read for their values: the newest.
const COUNTED_WITH_PARTS: u64 = 500;
/// Without menus a page is still a page.
const TIME: Duration = Duration::from_millis(250);

/// Values of a field among the matching records, most frequent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facet {
    pub(super) field: RecordField,
    pub(super) title: &'static str,
    /// Each value and how many records have it.
    pub(super) words: Vec<(String, u64)>,
    pub(super) basis: FacetBasis,
}

/// What the values of a facet are counted among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FacetBasis {
    /// All matching records.
    All,
    /// So many of the newest ones.
    Newest(u64),
    /// Hourly sums: whole hours, in which rare values are counted together.
    Hours,
}

/// Rows that a text search found: facets are counted among them.
pub(super) struct SearchedRows {
    pub(super) ids: Vec<String>,
    /// Whether the search goes on.
    pub(super) is_cut: bool,
}

/// What there is to choose from, within the filter. Comes from hourly sums or the newest matching
/// records, so it costs the same at any size.
pub(super) async fn facets(
    telemetry: &Telemetry,
    ask: &ListQuery,
    (on, searched): (ListKind, Option<&SearchedRows>),
) -> StoreResult<Vec<Facet>> {
    let mut facets = match on {
        ListKind::Traces => of_traces(telemetry, ask, searched).await?,
        ListKind::Observations => of_observations(telemetry, ask, searched).await?,
        ListKind::Sessions => of_sessions(telemetry, ask, searched).await?,
    };
    facets.retain(|facet| !facet.words.is_empty());
    Ok(facets)
}

async fn of_traces(
    telemetry: &Telemetry,
    ask: &ListQuery,
    searched: Option<&SearchedRows>,
) -> StoreResult<Vec<Facet>> {
    let own = [
        (RecordField::Name, TraceColumn::Name),
        (RecordField::User, TraceColumn::User),
        (RecordField::Tags, TraceColumn::Tags),
        (RecordField::Agent, TraceColumn::Agent),
        (RecordField::Release, TraceColumn::Release),
    ];
    let (fields, columns) = own.into_iter().unzip();
    let narrowed = |at_most| among(trace_row::tally(ask, at_most), TraceColumn::Id, searched);
    let query = within(narrowed(COUNTED), columns);
    let mut facets = named(fields, telemetry.trace_facets(query).await, searched)?;
    let query = within(narrowed(COUNTED_WITH_PARTS), vec![TraceColumn::Models]);
    let found = telemetry.trace_facets(query).await;
    facets.extend(named(vec![RecordField::Model], found, searched)?);
    Ok(facets)
}

async fn of_observations(
    telemetry: &Telemetry,
    ask: &ListQuery,
    searched: Option<&SearchedRows>,
) -> StoreResult<Vec<Facet>> {
    if ask.agent.is_none() && ask.filter.terms.is_empty() {
        return of_sums(telemetry, ask).await;
    }
    let own = [
        (RecordField::Name, ObservationColumn::Name),
        (RecordField::Kind, ObservationColumn::Kind),
        (RecordField::Model, ObservationColumn::Model),
        (RecordField::Level, ObservationColumn::Level),
    ];
    let (fields, columns) = own.into_iter().unzip();
    let tally = observation_row::tally(ask, COUNTED);
    let query = within(among(tally, ObservationColumn::Id, searched), columns);
    named(fields, telemetry.observation_facets(query).await, searched)
}

async fn of_sessions(
    telemetry: &Telemetry,
    ask: &ListQuery,
    searched: Option<&SearchedRows>,
) -> StoreResult<Vec<Facet>> {
    let of_traces = [
        (RecordField::Agent, SessionColumn::Agents),
        (RecordField::Release, SessionColumn::Releases),
        (RecordField::User, SessionColumn::Users),
        (RecordField::Tags, SessionColumn::Tags),
    ];
    let (fields, columns) = of_traces.into_iter().unzip();
    let tally = session_row::tally(ask, COUNTED_WITH_PARTS);
    let query = within(among(tally, SessionColumn::Id, searched), columns);
    named(fields, telemetry.session_facets(query).await, searched)
}

/// Narrowed to the rows of a text search.
fn among<C>(mut of: TallyQuery<C>, id: C, searched: Option<&SearchedRows>) -> TallyQuery<C> {
    if let Some(searched) = searched {
        of.conditions.push(Condition { column: id, test: Test::AnyOf(searched.ids.clone()) });
        // A trace or session may start before the time range of the observation that was found.
        of.range.from = None;
    }
    of
}

fn within<C>(of: TallyQuery<C>, columns: Vec<C>) -> FacetQuery<C> {
    FacetQuery { of, columns, time: TIME }
}

/// No facets if counting took too long.
fn named(
    fields: Vec<RecordField>,
    found: StoreResult<Facets>,
    searched: Option<&SearchedRows>,
) -> StoreResult<Vec<Facet>> {
    let found = match found {
        Err(StoreError::TooSlow) => return Ok(Vec::new()),
        found => found?,
    };
    let is_cut = found.is_cut || searched.is_some_and(|searched| searched.is_cut);
    let basis = if is_cut { FacetBasis::Newest(found.counted) } else { FacetBasis::All };
    let facets = fields.into_iter().zip(found.values);
    Ok(facets.map(|(field, counts)| facet(field, counts, basis)).collect())
}

/// Counts of all observations of the time range, from hourly sums.
async fn of_sums(telemetry: &Telemetry, ask: &ListQuery) -> StoreResult<Vec<Facet>> {
    let query = AggregateQuery {
        project: ask.project.clone(),
        range: ask.range,
        by: vec![
            AggregateDimension::Environment,
            AggregateDimension::Name,
            AggregateDimension::Kind,
            AggregateDimension::Model,
        ],
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let groups = telemetry.aggregate(query).await?.groups;
    let fields = [RecordField::Name, RecordField::Kind, RecordField::Model];
    let mut counts: [BTreeMap<String, u64>; 3] = Default::default();
    for group in groups {
        let [environment, words @ ..] = group.key.as_slice() else { continue };
        if ask.environment.is_some() && ask.environment != *environment {
            continue;
        }
        let count = u64::try_from(group.sums.count).unwrap_or_default();
        for (counts, word) in counts.iter_mut().zip(words) {
            *counts.entry(word.clone().unwrap_or_default()).or_default() += count;
        }
    }
    let facets = fields.into_iter().zip(counts);
    Ok(facets.map(|(field, counts)| facet(field, counts, FacetBasis::Hours)).collect())
}

/// Name of the rollup group for rare values.
const RARE: &str = "(other)";

fn facet(field: RecordField, counts: BTreeMap<String, u64>, basis: FacetBasis) -> Facet {
    let title = field.facts().label;
    // Sums keep what is rare under one word that no observation bears.
    let is_real = |(word, _): &(String, u64)| !word.is_empty() && word != RARE;
    let mut words: Vec<(String, u64)> = counts.into_iter().filter(is_real).collect();
    words.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
    words.truncate(OFFERED);
    if matches!(field, RecordField::Kind | RecordField::Level) {
        words.iter_mut().for_each(|(word, _)| word.make_ascii_lowercase());
    }
    Facet { field, title, words, basis }
}
