//! Numbers of traces by day, and by day and model. The hourly rollup cannot have them, since a
//! trace may use a model many times: they are counted from the records, and then only for days
//! whose sums have changed (ADR 87).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratchet_core::calendar::Granularity;
use ratchet_core::time::Timestamp;
use ratchet_store::metrics::MetricsRow;
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;

use super::daily::{ListRequest, count};
use crate::app::App;
use crate::error::ApiResult;

/// Requests whose counts are kept.
const MAX_KEPT: usize = 64;
/// Counting that takes less is repeated for every request that finds new sums.
const CHEAP: Duration = Duration::from_millis(50);
/// Counts that took long are used for so many times as long, even if sums have changed since.
const MAX_AGE_FACTOR: u32 = 100;
/// After this time all days are counted again: a trace without observations changes no sums.
const MAX_AGE: Duration = Duration::from_secs(3_600);

/// Counts of the last requests.
#[derive(Debug, Default)]
pub(crate) struct DailyTraces(Mutex<VecDeque<(RequestKey, Arc<Counted>)>>);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct RequestKey {
    pub(super) project: ProjectId,
    pub(super) range: TimeRange,
    pub(super) environments: Vec<String>,
}

/// The counts of a request.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) days: BTreeMap<Option<Timestamp>, DayCounts>,
    /// Traces of the project at that time.
    recorded: u64,
    at: Instant,
    /// When the whole range was counted last.
    whole_at: Instant,
    took: Duration,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DayCounts {
    /// The sums of the day when it was counted.
    sums: Vec<MetricsRow>,
    pub(super) traces: u64,
    pub(super) by_model: BTreeMap<Option<String>, u64>,
}

impl Counted {
    /// The days whose sums differ from these, or that only one of the two has.
    fn changed(&self, sums: &Sums<'_>) -> BTreeSet<Option<Timestamp>> {
        let is_same = |day: &Option<Timestamp>| {
            let known = self.days.get(day).map(|day| day.sums.as_slice()).unwrap_or_default();
            let now = sums.get(day).map(Vec::as_slice).unwrap_or_default();
            known.iter().eq(now.iter().copied())
        };
        self.days.keys().chain(sums.keys()).filter(|day| !is_same(day)).copied().collect()
    }

    fn may_be_old(&self) -> bool {
        self.took > CHEAP && self.at.elapsed() < self.took * MAX_AGE_FACTOR
    }
}

/// Sums of observations by day.
type Sums<'a> = BTreeMap<Option<Timestamp>, Vec<&'a MetricsRow>>;

/// The counts that belong to sums of observations by day and model.
///
/// # Errors
/// Fails only when the database does.
pub(super) async fn counts(
    app: &App,
    asked: &ListRequest,
    rows: &[MetricsRow],
) -> ApiResult<Arc<Counted>> {
    let mut sums = Sums::new();
    rows.iter().for_each(|row| sums.entry(row.at).or_default().push(row));
    let recorded = asked.recorded_traces(app).await?;
    let key = asked.key();
    let known = app.daily_traces.get(&key).filter(|known| known.whole_at.elapsed() < MAX_AGE);
    let Some(known) = known else {
        let counted = count_days(app, asked, asked.range, &sums).await?;
        return Ok(app.daily_traces.keep(key, Counted { recorded, ..counted }));
    };
    let changed = known.changed(&sums);
    let is_current = changed.is_empty() && known.recorded == recorded;
    if is_current || known.may_be_old() {
        return Ok(known);
    }
    let range = range_of(&changed).map_or(asked.range, |days| asked.range.and(days));
    let counted = count_days(app, asked, range, &sums).await?;
    let is_counted = |day: &Option<Timestamp>| day.is_none_or(|day| contains_day(range, day));
    let kept = known.days.iter().filter(|(day, _)| !is_counted(day));
    let kept = kept.map(|(day, counts)| (*day, counts.clone()));
    let days = kept.chain(counted.days).collect();
    let whole_at = known.whole_at;
    Ok(app.daily_traces.keep(key, Counted { days, recorded, whole_at, ..counted }))
}

/// From the first changed day to the end of the last; `None` if none has changed.
fn range_of(days: &BTreeSet<Option<Timestamp>>) -> Option<TimeRange> {
    let (first, last) = (days.iter().flatten().next()?, days.iter().flatten().next_back()?);
    Some(TimeRange { from: Some(*first), to: Some(Granularity::Day.next(*last)) })
}

/// Whether the counts of a range cover a day, of which the request may want a part only.
fn contains_day(range: TimeRange, day: Timestamp) -> bool {
    let is_from = range.from.is_none_or(|from| Granularity::Day.start_of(from) <= day);
    is_from && range.to.is_none_or(|to| day < to)
}

async fn count_days(
    app: &App,
    asked: &ListRequest,
    range: TimeRange,
    sums: &Sums<'_>,
) -> ApiResult<Counted> {
    let started = Instant::now();
    let traces = app.store.telemetry.trace_metrics(asked.traces(range)).await?;
    let by_model = app.store.telemetry.observation_metrics(asked.traces_by_model(range)).await?;
    let mut days: BTreeMap<Option<Timestamp>, DayCounts> = BTreeMap::new();
    for row in &traces.rows {
        days.entry(row.at).or_default().traces = count(row, 0);
    }
    for row in &by_model.rows {
        let model = row.key.first().cloned().flatten();
        days.entry(row.at).or_default().by_model.insert(model, count(row, 0));
    }
    for (day, counts) in &mut days {
        let of_day = sums.get(day).into_iter().flatten().copied();
        counts.sums = of_day.cloned().collect();
    }
    let took = started.elapsed();
    Ok(Counted { days, recorded: 0, at: started, whole_at: started, took })
}

impl DailyTraces {
    fn get(&self, key: &RequestKey) -> Option<Arc<Counted>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == key).map(|(_, counted)| counted.clone())
    }

    fn keep(&self, key: RequestKey, counted: Counted) -> Arc<Counted> {
        let counted = Arc::new(counted);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        kept.push_front((key, counted.clone()));
        kept.truncate(MAX_KEPT);
        counted
    }
}
