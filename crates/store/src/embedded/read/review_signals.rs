use std::collections::VecDeque;

use ratchet_core::environment::{DEFAULT_ENVIRONMENT, Environment};
use ratchet_core::id::TraceId;
use ratchet_core::record::score::ScoreSource;
use ratchet_core::review::allocation::ReviewPlan;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::{TraceCandidate, WeekDraw, WeekSampler};
use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params, params_from_iter};

use crate::embedded::column::{Column, to_u64};
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::project::ProjectId;
use crate::review_signals::{
    AgentScope, CORRECTNESS, DrawQuery, QUALITY, ReviewedSignal, SignalQuery, THUMBS, WeekSignals,
};

/// Reviewed traces in a result: far more than people review in a week.
const MAX_REVIEWED: usize = 100_000;

/// The scores of a trace, oldest first.
const SCORES: &str = "SELECT s.name, s.number, s.source FROM score s INDEXED BY score_by_trace \
    WHERE s.project = ? AND s.trace = ? AND s.observation IS NULL AND s.number IS NOT NULL \
    ORDER BY s.timestamp, s.no";

/// The latest scores of a trace that count.
#[derive(Default)]
struct Signals {
    thumb: Option<bool>,
    quality: Option<f64>,
    correct: Option<bool>,
}

pub(in crate::embedded) fn agents(
    db: &Connection,
    query: &SignalQuery,
) -> rusqlite::Result<Vec<(Option<String>, u64)>> {
    let Some(project) = project_number(db, &query.project)? else { return Ok(Vec::new()) };
    let filter = filter(project, query);
    let sql = format!(
        "SELECT t.agent, count(*) FROM trace t INDEXED BY trace_by_time {} \
         GROUP BY t.agent ORDER BY 2 DESC, 1",
        filter.sql(),
    );
    let mut statement = db.prepare_cached(&sql)?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, to_u64(row.get(1)?)));
    statement.query_map(params_from_iter(filter.params.iter()), read)?.collect()
}

pub(in crate::embedded) fn signals(
    db: &Connection,
    query: &SignalQuery,
) -> rusqlite::Result<WeekSignals> {
    let mut found = WeekSignals::default();
    // A sampler without places only counts.
    let plan = ReviewPlan { capacity: 0, ..ReviewPlan::default() };
    let mut counter = WeekSampler::new(plan, "", "");
    each_trace(db, query, |trace, candidate, signals| {
        found.traces += 1;
        match candidate.thumb {
            Some(true) => found.thumbs_up += 1,
            Some(false) => found.thumbs_down += 1,
            None => {}
        }
        if let Some(correct) = signals.correct
            && found.reviewed.len() < MAX_REVIEWED
        {
            let (category, quality) = (candidate.category(), candidate.quality);
            found.reviewed.push(ReviewedSignal { trace, correct, category, quality });
        }
        counter.add(candidate);
    })?;
    found.cells = counter.finish().cells;
    Ok(found)
}

pub(in crate::embedded) fn draw(db: &Connection, query: &DrawQuery) -> rusqlite::Result<WeekDraw> {
    let spots = format!("{}/spot-checks", query.seed);
    let mut sampler = WeekSampler::new(query.plan, &query.seed, &spots);
    each_trace(db, &query.traces, |_, candidate, _| sampler.add(candidate))?;
    Ok(sampler.finish())
}

/// The newest traces of a category.
pub(in crate::embedded) fn of_category(
    db: &Connection,
    query: &SignalQuery,
    category: Category,
    limit: usize,
) -> rusqlite::Result<Vec<TraceId>> {
    let mut newest = VecDeque::new();
    each_trace(db, query, |trace, candidate, _| {
        if candidate.category() == category {
            newest.push_front(trace);
            newest.truncate(limit);
        }
    })?;
    Ok(newest.into())
}

/// People's latest answers about traces.
pub(in crate::embedded) fn answers(
    db: &Connection,
    project: &ProjectId,
    traces: &[TraceId],
) -> rusqlite::Result<Vec<ReviewedSignal>> {
    let Some(project) = project_number(db, project)? else { return Ok(Vec::new()) };
    let mut scores = db.prepare_cached(SCORES)?;
    let mut answers = Vec::new();
    for trace in traces {
        let Signals { thumb, quality, correct } = signals_of(&mut scores, project, trace)?;
        let category = Category::of(thumb, quality);
        let answer = correct.map(|correct| ReviewedSignal {
            trace: trace.clone(),
            correct,
            category,
            quality,
        });
        answers.extend(answer);
    }
    Ok(answers)
}

fn filter(project: i64, query: &SignalQuery) -> Where {
    let mut filter = Where::default();
    filter.and("t.project = ?", [project.into()]);
    filter.within("t.timestamp", query.range);
    if !query.environments.is_empty() {
        let marks = vec!["?"; query.environments.len()].join(", ");
        let normal = |name: &String| Environment::normalise(name).as_str().to_owned();
        let names: Vec<Value> = query.environments.iter().map(|name| normal(name).into()).collect();
        let own = format!("coalesce(t.environment, '{DEFAULT_ENVIRONMENT}')");
        filter.and(format!("{own} IN ({marks})"), names);
    }
    if let Some(release) = &query.release {
        filter.and("t.release = ?", [release.clone().into()]);
    }
    match &query.agent {
        AgentScope::All => {}
        AgentScope::Unnamed => filter.and("t.agent IS NULL", []),
        AgentScope::Named(names) => {
            let marks = vec!["?"; names.len()].join(", ");
            let names: Vec<Value> = names.iter().map(|name| name.clone().into()).collect();
            filter.and(format!("t.agent IN ({marks})"), names);
        }
    }
    let internal = Environment::internal().join("', '");
    filter.and(format!("coalesce(t.environment, '') NOT IN ('{internal}')"), []);
    filter.and(
        "NOT EXISTS (SELECT 1 FROM experiment_item e \
         WHERE e.project = t.project AND e.trace = t.id)",
        [],
    );
    filter
}

/// Calls `each` for every matching trace, oldest first.
fn each_trace(
    db: &Connection,
    query: &SignalQuery,
    mut each: impl FnMut(TraceId, TraceCandidate, &Signals),
) -> rusqlite::Result<()> {
    let Some(project) = project_number(db, &query.project)? else { return Ok(()) };
    let filter = filter(project, query);
    let sql = format!(
        "SELECT t.id, t.environment, t.release FROM trace t INDEXED BY trace_by_time {} \
         ORDER BY t.timestamp",
        filter.sql(),
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut scores = db.prepare_cached(SCORES)?;
    let mut rows = statement.query(params_from_iter(filter.params.iter()))?;
    while let Some(row) = rows.next()? {
        let trace: TraceId = row.get::<_, Column<_>>(0)?.0;
        let signals = signals_of(&mut scores, project, &trace)?;
        let environment: Option<String> = row.get(1)?;
        let candidate = TraceCandidate {
            trace: trace.to_string(),
            thumb: signals.thumb,
            quality: signals.quality,
            environment: environment.unwrap_or_else(|| DEFAULT_ENVIRONMENT.to_owned()),
            release: row.get(2)?,
        };
        each(trace, candidate, &signals);
    }
    Ok(())
}

/// Later scores replace earlier ones. An evaluator's correctness is no person's, and a person's
/// quality is no judge's.
fn signals_of(
    scores: &mut Statement<'_>,
    project: i64,
    trace: &TraceId,
) -> rusqlite::Result<Signals> {
    let mut signals = Signals::default();
    let mut rows = scores.query(params![project, Column(trace)])?;
    while let Some(row) = rows.next()? {
        let number: f64 = row.get(1)?;
        let source = ScoreSource::parse(row.get_ref(2)?.as_str()?).unwrap_or_default();
        match row.get_ref(0)?.as_str()? {
            THUMBS => signals.thumb = Some(number >= 0.5),
            QUALITY if source != ScoreSource::Annotation => signals.quality = Some(number),
            CORRECTNESS if source != ScoreSource::Eval => signals.correct = Some(number >= 0.5),
            _ => {}
        }
    }
    Ok(signals)
}
