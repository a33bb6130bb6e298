use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::{Granularity, day};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::calibration::OVERALL;
use ratchet_core::quality::label::LabelOrigin;
use ratchet_core::record::score::{Score, ScoreSource};
use ratchet_core::review::session_sample::{self, Candidate, FIRST_SIZE, SIZE};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{Position, ScoreFilter, TimeWindow, TraceFilter};
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};
use tokio::sync::Mutex;

use super::judge_scores::{count, text};
use super::{ReviewError, labels, session_queue};
use crate::score::attach::session_of;
use crate::sink::{Sink, SinkError};
use crate::source::{Source, SourceResult};

const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
/// Sessions of which it is found out which agent ran: beyond, it would take too long.
const AGENTS_OF: usize = 300;

/// Settings of a sample.
#[derive(Clone, Copy, Debug)]
pub struct SamplePlan<'a> {
    /// The dataset that labels go into.
    pub dataset: &'a str,
    /// The rubric that people go by.
    pub rubric: &'a Rubric,
    /// Sessions scored in so many days.
    pub days: u16,
    /// `None` for the usual size: 50 in the first week of a dataset, then 10.
    pub size: Option<usize>,
}

/// Held while a sample is drawn, so that two people who ask at the same time get the same one. Only
/// one process can have a data folder open.
static DRAWING: Mutex<()> = Mutex::const_new(());

/// Returns this week's sample for labelling, creating it if there is none.
///
/// What was drawn stays drawn: how likely a session was to be drawn can only be known then.
///
/// # Errors
/// Fails if scores or labels cannot be reached.
pub async fn this_week(
    source: &Source,
    sink: &Sink,
    asking: SamplePlan<'_>,
    now: Timestamp,
) -> Result<Vec<(SessionId, LabelOrigin)>, ReviewError> {
    let _drawing = DRAWING.lock().await;
    let week = week(now);
    let mut asked = labels::asked(sink, asking.dataset).await?;
    let usual = if asked.is_empty() { FIRST_SIZE } else { SIZE };
    asked.retain(|(_, draw)| draw.week == week);
    if !asked.is_empty() {
        enqueue(sink, asking, &asked, now).await?;
        return Ok(asked);
    }
    let candidates = candidates(source, asking, now).await?;
    let seed = format!("{}/{week}", asking.dataset);
    let drawn = session_sample::draw(&candidates, asking.size.unwrap_or(usual), &seed);
    let drawn: Vec<_> = drawn
        .iter()
        .map(|drawn| (drawn.session.clone(), LabelOrigin::of(drawn, &week, &seed)))
        .collect();
    labels::ask(sink, asking.dataset, &drawn, now).await?;
    enqueue(sink, asking, &drawn, now).await?;
    Ok(drawn)
}

/// Adds the sample to the queue of its dataset. A Langfuse server has the sample as a dataset only.
async fn enqueue(
    sink: &Sink,
    asking: SamplePlan<'_>,
    drawn: &[(SessionId, LabelOrigin)],
    now: Timestamp,
) -> Result<(), ReviewError> {
    let Sink::Local(local) = sink else { return Ok(()) };
    if drawn.is_empty() {
        return Ok(());
    }
    let queue = session_queue::ensure(local, (asking.dataset, asking.rubric), now).await;
    let queue = queue.map_err(SinkError::from)?;
    let sessions = drawn.iter().map(|(session, _)| session.clone());
    session_queue::fill(local, &queue, sessions, now).await.map_err(SinkError::from)?;
    Ok(())
}

/// The week of a moment, by the Sunday it began on.
pub fn week(now: Timestamp) -> String {
    // Weeks of the calendar begin on Mondays, those of reports on Sundays.
    let monday = Granularity::Week.start_of(now.plus_nanos(DAY));
    day(monday.plus_nanos(-DAY))
}

/// Returns the sessions that a judge marked in the last days, with its newest overall mark.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn scored(
    source: &Source,
    asking: SamplePlan<'_>,
    now: Timestamp,
) -> SourceResult<BTreeMap<SessionId, f64>> {
    let from = now.plus_nanos(-DAY * i64::from(asking.days));
    let asked = ScoreFilter {
        between: TimeWindow { from: Some(from), to: None },
        ..ScoreFilter::default()
    };
    let mut newest: BTreeMap<SessionId, (u32, f64)> = BTreeMap::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.scores(&asked, &at).await?;
        for score in &slice.rows {
            let Some((session, mark)) = overall(score, asking.rubric) else { continue };
            let generation = count(score, "generation").unwrap_or(1);
            let known = newest.entry(session).or_insert((generation, mark));
            if generation > known.0 {
                *known = (generation, mark);
            }
        }
        next = slice.next;
    }
    Ok(newest.into_iter().map(|(session, (_, mark))| (session, mark)).collect())
}

/// Candidate sessions of a sample.
async fn candidates(
    source: &Source,
    asking: SamplePlan<'_>,
    now: Timestamp,
) -> SourceResult<Vec<Candidate>> {
    let scored = scored(source, asking, now).await?;
    let told_apart = scored.len() <= AGENTS_OF;
    let mut candidates = Vec::with_capacity(scored.len());
    for (session, mark) in scored {
        let agent = if told_apart { agent(source, &session).await? } else { None };
        candidates.push(Candidate { session, agent, overall: Some(mark) });
    }
    Ok(candidates)
}

fn overall(score: &Score, rubric: &Rubric) -> Option<(SessionId, f64)> {
    let by_rubric = text(score, "rubric").is_none_or(|name| name == rubric.name);
    let is_overall = score.name == OVERALL && score.source != ScoreSource::Annotation;
    if !is_overall || !by_rubric {
        return None;
    }
    Some((session_of(score)?, score.value.number()?))
}

/// The agent that ran in a session: of several, the first by name.
async fn agent(source: &Source, session: &SessionId) -> SourceResult<Option<String>> {
    let agents: BTreeSet<String> = match source {
        Source::Local(telemetry, project) => {
            let query = TraceQuery {
                project: project.clone(),
                range: TimeRange::default(),
                conditions: vec![Condition::equals(TraceColumn::Session, session.to_string())],
                order: (TraceOrder::Timestamp, Direction::Descending),
                paging: Paging::After { cursor: None, limit: 20 },
                detail: Detail::Row,
            };
            let page = telemetry.traces(query).await?;
            page.rows.into_iter().filter_map(|trace| trace.agent).collect()
        }
        Source::Remote(_) => {
            let asked = TraceFilter { session: Some(session.clone()), ..TraceFilter::default() };
            let slice = source.traces(&asked, &Position::Start).await?;
            slice.rows.into_iter().filter_map(|trace| trace.agent).collect()
        }
    };
    Ok(agents.into_iter().next())
}
