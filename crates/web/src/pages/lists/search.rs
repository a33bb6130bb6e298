use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Content;
use ratchet_core::time::Timestamp;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, TextQuery, TimeRange,
};
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{StoreError, StoreResult};

use super::row::ListedRow;
use super::state::{ListQuery, NEWEST};
use crate::filter::ListKind;

/// How long a page may look for a text.
const BUDGET: Duration = Duration::from_secs(2);
/// Rows that are looked at for what they do not contain, at a time.
const SLICE: u64 = 10;
/// Observations that are taken up at a time.
const HITS: u64 = 200;

/// What a search found, and how far it came.
#[derive(Debug)]
pub(super) struct Searched<R> {
    /// The rows, newest first.
    pub(super) rows: Vec<R>,
    /// Where to go on; `None` when everything was searched.
    pub(super) cursor: Option<String>,
    /// The start of the oldest observation looked at.
    pub(super) back_to: Option<Timestamp>,
    /// How many observations were looked at.
    pub(super) steps: u64,
}

/// Searches for the texts of a filter, within a time; `None` if it has none.
pub(super) async fn search<R: ListedRow>(
    telemetry: &Telemetry,
    ask: &ListQuery,
) -> StoreResult<Option<Searched<R>>> {
    let texts = Texts::of(ask);
    let Some(text) = texts.longest() else {
        let has_none = texts.unwanted.is_empty();
        return if has_none { Ok(None) } else { without(telemetry, ask, &texts).await.map(Some) };
    };
    let started = Instant::now();
    let from = ask.cursor.as_deref().map(Goes::parse).transpose()?;
    let mut cursor = from.as_ref().map(|goes| goes.cursor.clone());
    let mut found = Searched { rows: Vec::new(), cursor: None, back_to: None, steps: 0 };
    let (mut seen, mut ids) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let query = TextQuery {
            project: ask.project.clone(),
            range: ask.range,
            text: text.to_owned(),
            cursor: cursor.take(),
            limit: HITS,
            budget: BUDGET.saturating_sub(started.elapsed()),
        };
        let hits = telemetry.search(query).await?;
        found.steps += hits.rows_read;
        found.back_to = hits.searched_back_to.or(found.back_to);
        cursor = hits.cursor;
        let kept: Vec<_> = hits.rows.into_iter().filter(|hit| texts.are_in(hit)).collect();
        ids.extend(kept.iter().map(|hit| hit.id.clone()));
        for row in R::found(telemetry, ask, kept).await? {
            let is_new = seen.insert(row.facts().id);
            let above = from.as_ref().map(|goes| goes.back_to).filter(|_| is_new);
            let was_above = match above {
                Some(since) => was_found::<R>(telemetry, ask, &row, (since, &ids)).await?,
                None => false,
            };
            if is_new && !was_above && texts.lack(telemetry, ask, &row, &mut found).await? {
                found.rows.push(row);
            }
        }
        let is_over = cursor.is_none() || started.elapsed() >= BUDGET;
        if is_over || found.rows.len() as u64 >= ask.limit {
            let back_to = found.back_to.or(from.map(|goes| goes.back_to));
            let goes = cursor.zip(back_to).map(|(cursor, back_to)| Goes { back_to, cursor });
            found.cursor = goes.map(|goes| goes.to_string());
            return Ok(Some(found));
        }
    }
}

/// The rows that do not contain a text, where no other text is searched for: each is looked at, the
/// newest first.
async fn without<R: ListedRow>(
    telemetry: &Telemetry,
    ask: &ListQuery,
    texts: &Texts,
) -> StoreResult<Searched<R>> {
    let started = Instant::now();
    let mut slice = ListQuery {
        order: NEWEST,
        limit: SLICE.min(ask.limit),
        detail: Detail::Content,
        ..ask.clone()
    };
    let mut found = Searched { rows: Vec::new(), cursor: None, back_to: None, steps: 0 };
    loop {
        let page = R::read(telemetry, &slice).await?.page;
        for row in page.rows {
            if texts.lack(telemetry, ask, &row, &mut found).await? {
                found.rows.push(row);
            }
        }
        let is_full = found.rows.len() as u64 + slice.limit > ask.limit;
        if page.cursor.is_none() || is_full || started.elapsed() >= BUDGET {
            found.cursor = page.cursor;
            return Ok(found);
        }
        slice.cursor = page.cursor;
    }
}

/// Where a search goes on: after what, and how far back that was.
#[derive(Clone, Debug)]
struct Goes {
    back_to: Timestamp,
    cursor: String,
}

impl Goes {
    fn parse(text: &str) -> StoreResult<Self> {
        let not_ours = || StoreError::BadQuery("the cursor is not valid for this page".to_owned());
        let (nanos, cursor) = text.split_once('~').ok_or_else(not_ours)?;
        let nanos = nanos.parse().map_err(|_| not_ours())?;
        Ok(Self { back_to: Timestamp::from_nanos(nanos), cursor: cursor.to_owned() })
    }
}

impl std::fmt::Display for Goes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}~{}", self.back_to.nanos(), self.cursor)
    }
}

/// Observations of a row that are read at a time, and all that are looked at to know whether an
/// earlier page had it.
const LOOKED_AT: u64 = 1_000;

/// Whether a trace or a session was found further up, by an observation before the cursor. Those that were found
/// since are not before it, though they may have begun at the same moment.
async fn was_found<R: ListedRow>(
    telemetry: &Telemetry,
    ask: &ListQuery,
    row: &R,
    (since, found): (Timestamp, &BTreeSet<ObservationId>),
) -> StoreResult<bool> {
    if R::ON == ListKind::Observations {
        return Ok(false);
    }
    let Some(of_row) = observations_of(ask, row) else { return Ok(false) };
    let range = ask.range.and(TimeRange { from: Some(since), to: None });
    let above = ObservationQuery { range, direction: Direction::Ascending, ..of_row };
    let above = telemetry.observations(above).await?.rows;
    let texts = Texts::of(ask);
    Ok(above.iter().any(|seen| !found.contains(&seen.id) && texts.are_in(seen)))
}

/// The observations of a row, whenever they began.
fn observations_of<R: ListedRow>(ask: &ListQuery, row: &R) -> Option<ObservationQuery> {
    let facts = row.facts();
    let (trace, conditions) = match (R::ON, facts.trace.as_deref().map(TraceId::parse)) {
        (ListKind::Traces, Some(Ok(trace))) => (Some(trace), Vec::new()),
        (ListKind::Observations, Some(Ok(trace))) => {
            (Some(trace), vec![Condition::equals(ObservationColumn::Id, facts.id)])
        }
        (ListKind::Sessions, _) => {
            (None, vec![Condition::equals(ObservationColumn::TraceSession, facts.id)])
        }
        (ListKind::Traces | ListKind::Observations, _) => return None,
    };
    Some(ObservationQuery {
        project: ask.project.clone(),
        range: TimeRange::default(),
        trace,
        conditions,
        direction: Direction::Descending,
        paging: Paging::After { cursor: None, limit: LOOKED_AT },
        detail: Detail::Content,
    })
}

/// The texts of a filter, in lower case.
struct Texts {
    wanted: Vec<String>,
    unwanted: Vec<String>,
}

impl Texts {
    fn of(ask: &ListQuery) -> Self {
        let of = |wanted: bool| {
            let texts = ask.filter.texts().filter(move |(_, is_wanted)| *is_wanted == wanted);
            texts.map(|(text, _)| text.to_lowercase()).collect()
        };
        Self { wanted: of(true), unwanted: of(false) }
    }

    /// The one to search for.
    fn longest(&self) -> Option<&str> {
        self.wanted.iter().map(String::as_str).max_by_key(|text| text.len())
    }

    /// Whether an observation has all that is wanted.
    fn are_in(&self, observation: &Observation) -> bool {
        self.wanted.iter().all(|text| contains(observation, text))
    }

    /// Whether nothing of a row has what is unwanted: neither the row nor any of its observations,
    /// which are counted as looked at.
    async fn lack<R: ListedRow>(
        &self,
        telemetry: &Telemetry,
        ask: &ListQuery,
        row: &R,
        found: &mut Searched<R>,
    ) -> StoreResult<bool> {
        if self.unwanted.is_empty() {
            return Ok(true);
        }
        if self.unwanted.iter().any(|text| row.texts().any(|own| has(own, text))) {
            return Ok(false);
        }
        let Some(mut query) = observations_of(ask, row) else { return Ok(true) };
        loop {
            let page = telemetry.observations(query.clone()).await?;
            found.steps += page.rows.len() as u64;
            let oldest = page.rows.iter().map(|seen| seen.start).min();
            found.back_to = found.back_to.into_iter().chain(oldest).min();
            let is_in = |text: &String| page.rows.iter().any(|seen| contains(seen, text));
            if self.unwanted.iter().any(is_in) {
                return Ok(false);
            }
            let Some(cursor) = page.cursor else { return Ok(true) };
            query.paging = Paging::After { cursor: Some(cursor), limit: LOOKED_AT };
        }
    }
}

/// Whether an observation holds a text, which is in lower case, anywhere.
fn contains(observation: &Observation, text: &str) -> bool {
    let names = [observation.name.as_deref(), observation.status_message.as_deref()];
    let content = observation.content.as_ref();
    names
        .into_iter()
        .flatten()
        .chain(content.into_iter().flat_map(texts_of))
        .any(|it| has(it, text))
}

/// The texts of payloads and metadata.
pub(super) fn texts_of(content: &Content) -> impl Iterator<Item = &str> {
    let payloads = [&content.input, &content.output].into_iter().flatten().map(Payload::as_str);
    payloads.chain(content.metadata.iter().flat_map(|(key, json)| [key.as_str(), json.as_str()]))
}

fn has(there: &str, text: &str) -> bool {
    there.to_lowercase().contains(text)
}
