use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Observation;
use ratchet_core::time::Timestamp;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, TextQuery, TimeRange,
};
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{StoreError, StoreResult};

use super::row::ListedRow;
use super::state::ListQuery;
use crate::filter::ListKind;

/// How long a page may look for a text.
const BUDGET: Duration = Duration::from_secs(2);
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

/// Searches for the texts of a filter, within a time; `None` if there is nothing to search for.
pub(super) async fn search<R: ListedRow>(
    telemetry: &Telemetry,
    ask: &ListQuery,
) -> StoreResult<Option<Searched<R>>> {
    let texts = Texts::of(ask);
    let Some(text) = texts.longest() else { return Ok(None) };
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
        let kept: Vec<_> = hits.rows.into_iter().filter(|hit| texts.hold_in(hit)).collect();
        ids.extend(kept.iter().map(|hit| hit.id.clone()));
        for row in R::found(telemetry, ask, kept).await? {
            let is_new = seen.insert(row.facts().id);
            let above = from.as_ref().map(|goes| goes.back_to).filter(|_| is_new);
            let was_above = match above {
                Some(since) => was_found::<R>(telemetry, ask, &row, (since, &ids)).await?,
                None => false,
            };
            if is_new && !was_above {
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

/// Observations of a trace that are looked at to know whether an earlier page had it.
const LOOKED_AT: u64 = 1_000;

/// Whether a trace or a session was found further up, by an observation before the cursor. Those that were found
/// since are not before it, though they may have begun at the same moment.
async fn was_found<R: ListedRow>(
    telemetry: &Telemetry,
    ask: &ListQuery,
    row: &R,
    (since, found): (Timestamp, &BTreeSet<ObservationId>),
) -> StoreResult<bool> {
    let facts = row.facts();
    let (trace, conditions) = match (R::ON, facts.trace.as_deref().map(TraceId::parse)) {
        (ListKind::Traces, Some(Ok(trace))) => (Some(trace), Vec::new()),
        (ListKind::Sessions, _) => {
            (None, vec![Condition::equals(ObservationColumn::TraceSession, facts.id)])
        }
        (ListKind::Traces | ListKind::Observations, _) => return Ok(false),
    };
    let above = ObservationQuery {
        project: ask.project.clone(),
        range: ask.range.and(TimeRange { from: Some(since), to: None }),
        trace,
        conditions,
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: LOOKED_AT },
        detail: Detail::Content,
    };
    let above = telemetry.observations(above).await?.rows;
    let texts = Texts::of(ask);
    Ok(above.iter().any(|seen| !found.contains(&seen.id) && texts.hold_in(seen)))
}

/// The texts of a filter, in lower case, and whether each is wanted.
struct Texts(Vec<(String, bool)>);

impl Texts {
    fn of(ask: &ListQuery) -> Self {
        let texts = ask.filter.texts();
        Self(texts.map(|(text, is_wanted)| (text.to_lowercase(), is_wanted)).collect())
    }

    /// The one to search for.
    fn longest(&self) -> Option<&str> {
        let wanted = self.0.iter().filter(|(_, is_wanted)| *is_wanted);
        wanted.map(|(text, _)| text.as_str()).max_by_key(|text| text.len())
    }

    fn hold_in(&self, observation: &Observation) -> bool {
        self.0.iter().all(|(text, is_wanted)| contains(observation, text) == *is_wanted)
    }
}

/// Whether an observation holds a text, which is in lower case, anywhere.
fn contains(observation: &Observation, text: &str) -> bool {
    let content = observation.content.as_ref();
    let payloads = content.into_iter().flat_map(|content| [&content.input, &content.output]);
    let payloads = payloads.flatten().map(Payload::as_str);
    let metadata = content.into_iter().flat_map(|content| &content.metadata);
    let metadata = metadata.flat_map(|(key, json)| [key.as_str(), json.as_str()]);
    let names = [observation.name.as_deref(), observation.status_message.as_deref()];
    let mut all = names.into_iter().flatten().chain(payloads).chain(metadata);
    all.any(|there| there.to_lowercase().contains(text))
}
