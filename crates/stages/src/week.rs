//! A week of scored sessions becomes a report: fetch, score, synthesize, suggest, report.
//!
//! The numbers come from the stored scores, whoever gave them, so that a report can be made again
//! at any time and says the same.

/// The marks of sessions, from their scores.
mod marks;

use std::collections::BTreeSet;

use ratchet_core::calendar::Week;
use ratchet_core::calibration::Statistic;
use ratchet_core::calibration::panel::{self, DriftAlert};
use ratchet_core::payload::Json;
use ratchet_core::report::WeekReport;
use ratchet_core::rubric::Rubric;
use ratchet_core::success::{SuccessFacts, SuccessMetric, success};
use ratchet_core::suggestion::{Progress, Suggestion, Templates, suggest};
use ratchet_core::synthesis::{Trend, WEEKS, synthesize};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Catalog, KeptSuggestion, NewReport, SavedReport};
use ratchet_store::project::ProjectId;

use crate::score::ScoringDesk;
use crate::sink::Sink;
use crate::source::{Source, SourceError};
use crate::trust::{self, TrustError, panel as panels};

/// Four weeks, in nanoseconds: what "a month" is to a count of suggestions.
const FOUR_WEEKS: i64 = 28 * 86_400 * 1_000_000_000;

/// Where a report is kept.
#[derive(Clone, Copy, Debug)]
pub struct Archive<'a> {
    /// In this catalog.
    pub catalog: &'a Catalog,
    /// In this project.
    pub project: &'a ProjectId,
}

/// Which week is reported on, and how.
#[derive(Clone, Debug)]
pub struct WeekRequest {
    /// Which week.
    pub week: Week,
    /// By which rubric.
    pub rubric: Rubric,
    /// What suggestions are made from.
    pub templates: Templates,
}

/// What came of a week.
#[derive(Clone, Debug, PartialEq)]
pub struct WeekDone {
    /// The report.
    pub report: WeekReport,
    /// What that changed, and its suggestions as they are tracked.
    pub saved: SavedReport,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum WeekError {
    /// Scores cannot be read.
    #[error("cannot read scores: {0}")]
    Source(#[from] SourceError),
    /// Labels cannot be read.
    #[error(transparent)]
    Labels(#[from] TrustError),
    /// The report cannot be kept.
    #[error("cannot keep the report: {0}")]
    Store(#[from] StoreError),
    /// The report cannot be written as JSON.
    #[error("cannot write the report as JSON")]
    Json(#[from] serde_json::Error),
}

/// Reports on a week from the scores that are there, and keeps the report.
///
/// Running it twice changes nothing the second time.
///
/// # Errors
/// Fails if scores cannot be read or the report cannot be kept.
pub async fn report(
    (source, sink): (&Source, &Sink),
    archive: Archive<'_>,
    request: &WeekRequest,
    now: Timestamp,
) -> Result<WeekDone, WeekError> {
    let weeks = marks::read(source, &request.week, &request.rubric).await?;
    let dimensions: Vec<&str> =
        request.rubric.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    let synthesis = synthesize(&dimensions, &weeks);
    let suggestions = suggest(&synthesis, &request.templates);
    let tracked = archive.catalog.suggestions(archive.project.clone()).await?;
    let facts = SuccessFacts {
        sessions: synthesis.sessions,
        correlation: trust::correlation(source, sink, &request.rubric).await?,
        done: done_before(&tracked, request.week.end()),
        made: made(&tracked, &suggestions),
        trend: synthesis.overall.trend.clone(),
    };
    let (week, last_day) = request.week.days();
    let report = WeekReport {
        week: week.clone(),
        last_day,
        zone: request.week.zone().to_string(),
        rubric: request.rubric.name.clone(),
        synthesis,
        success: success(&facts),
        drift: drift(sink, &request.week).await?,
        suggestions: suggestions.clone(),
    };
    let document = Json::from_value(&serde_json::to_value(&report)?);
    let new = NewReport { week, document, suggestions };
    let saved = archive.catalog.save_report(archive.project.clone(), new, now).await?;
    Ok(WeekDone { report, saved })
}

/// The same, for whoever has a desk to score at: the journal's catalog keeps the report.
///
/// # Errors
/// Fails if scores cannot be read or the report cannot be kept.
pub async fn report_at(
    desk: &ScoringDesk<'_>,
    request: &WeekRequest,
) -> Result<WeekDone, WeekError> {
    let archive = Archive { catalog: &desk.journal.catalog, project: &desk.journal.project };
    report((desk.source, desk.sink), archive, request, (desk.clock)()).await
}

/// Reads the success metrics of a project as of now, from its last report, its suggestions and how
/// closely people and the judge go together.
pub fn success_now(
    last: Option<&WeekReport>,
    tracked: &[KeptSuggestion],
    correlation: Statistic,
    now: Timestamp,
) -> Vec<SuccessMetric> {
    let unknown = || Trend::of(&[]);
    success(&SuccessFacts {
        sessions: last.map_or(0, |report| report.synthesis.sessions),
        correlation,
        done: done_before(tracked, now),
        made: tracked.len(),
        trend: last.map_or_else(unknown, |report| report.synthesis.overall.trend.clone()),
    })
}

/// Judges whose panels showed a change when they were asked for the report of a week: in it, or in
/// the week that it is told in.
async fn drift(sink: &Sink, week: &Week) -> Result<Vec<DriftAlert>, TrustError> {
    let (first, told) = (week.days().0, week.after().days().0);
    Ok(panel::alerts(&panels::read(sink).await?, first.as_str()..=told.as_str()))
}

/// How many suggestions became done in the four weeks before a moment, and still are.
fn done_before(tracked: &[KeptSuggestion], moment: Timestamp) -> usize {
    let done_at = |kept: &KeptSuggestion| {
        let last = kept.steps.last().filter(|step| step.progress == Progress::Done)?;
        Some(last.at)
    };
    let from = moment.plus_nanos(-FOUR_WEEKS);
    let in_time = |at: &Timestamp| (from..moment).contains(at);
    tracked.iter().filter_map(done_at).filter(in_time).count()
}

/// How much advice there is, that of this week included.
fn made(tracked: &[KeptSuggestion], new: &[Suggestion]) -> usize {
    let known = tracked.iter().map(|kept| kept.suggestion.key.as_str());
    known.chain(new.iter().map(|one| one.key.as_str())).collect::<BTreeSet<_>>().len()
}

/// The weeks that a report looks at, oldest first.
fn looked_at(week: &Week) -> Vec<Week> {
    let before = std::iter::successors(Some(week.clone()), |week| Some(week.before()));
    let mut weeks: Vec<Week> = before.take(WEEKS).collect();
    weeks.reverse();
    weeks
}
