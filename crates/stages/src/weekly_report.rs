//! A week of scored sessions becomes a report: fetch, score, synthesize, suggest, report.
//!
//! The numbers come from the stored scores of any judge, so that a report can be made again
//! at any time with the same result.

/// The marks of sessions, from their scores.
mod session_scores;
/// What is recorded of these sessions.
mod session_facts;
/// Storage of reports.
mod report_store;
/// Scoring of the sessions of a time range.
mod session_scoring;
mod pipeline;
/// The file that suggestions are appended to.
pub(crate) mod learnings_file;
/// Reports as files.
mod report_files;

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::Week;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::calibration::Statistic;
use ratchet_core::quality::calibration::panel::{self, DriftAlert};
use ratchet_core::quality::report::{LeftOut, MAX_SHOWN, ReportScope, SessionCard, WeekReport};
use ratchet_core::quality::success_metrics::{SuccessFacts, SuccessMetric, success};
use ratchet_core::quality::suggestion::{self, Progress, Suggestion, Templates};
use ratchet_core::quality::synthesis::{CommonIssue, SessionMarks, Trend, WEEKS, synthesize};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{ClientError, TimeWindow};
use ratchet_store::StoreError;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::{ReportEffect, SavedReport, StoredSuggestion};

use self::session_facts::KnownReasons;
use self::session_scores::ScoredWeeks;
use crate::improve::{Advice, AdviceInput};
use crate::review;
use crate::review::{ReviewError, panel as panels};
use crate::score::JudgingCost;
use crate::sink::Sink;
use crate::source::session_title::session_title;
use crate::source::{Source, SourceError};

pub use crate::improve::SuggestionModel;
pub use pipeline::{PipelineError, WeekDelivery, WeeklyPipeline};
pub use report_files::REPORTS_FOLDER;
pub use report_store::ReportStore;
pub use session_scoring::{AT_ONCE, SessionScoring, WeekScored};

/// This week and the previous one.
const COMPARED_WEEKS: usize = 2;
/// Sessions of issues that are named, of all issues.
const MAX_OF_ISSUES: usize = 300;
/// Four weeks, in nanoseconds: what "a month" is to a count of suggestions.
const WEEK: i64 = 7 * 86_400 * 1_000_000_000;

/// Which week is reported on, and how.
#[derive(Clone, Debug)]
pub struct WeekRequest {
    pub week: Week,
    pub rubric: Rubric,
    /// The part of the project that the report is about.
    pub scope: ReportScope,
    /// What suggestions are made from where no model makes them.
    pub templates: Templates,
    /// The model that makes them.
    pub adviser: Option<SuggestionModel>,
    /// Why sessions have no score, by the run that scored the others.
    pub unscored: BTreeMap<SessionId, &'static str>,
    /// Name of the project.
    pub project: Option<String>,
}

/// What came of a week.
#[derive(Clone, Debug, PartialEq)]
pub struct WeekDone {
    pub report: WeekReport,
    /// What that changed, and its suggestions as they are tracked.
    pub saved: SavedReport,
    /// What asking for suggestions cost.
    pub advice_cost: JudgingCost,
    /// Whether no model was asked for suggestions because that could have exceeded the budget.
    pub is_advice_cut: bool,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum WeekError {
    #[error("cannot read scores: {0}")]
    Source(#[from] SourceError),
    #[error(transparent)]
    Labels(#[from] ReviewError),
    /// The report cannot be saved.
    #[error("cannot keep the report: {0}")]
    Store(#[from] StoreError),
    /// The server that stores reports is unreachable.
    #[error("cannot keep the report: {0}")]
    Server(#[from] ClientError),
    /// The report cannot be written as JSON.
    #[error("cannot write the report as JSON")]
    Json(#[from] serde_json::Error),
}

/// Reports on a week from the scores that are there, and keeps the report.
///
/// Running it twice changes nothing the second time.
///
/// # Errors
/// Fails if scores cannot be read or the report cannot be saved.
pub async fn report(
    (source, sink): (&Source, &Sink),
    archive: ReportStore<'_>,
    request: &WeekRequest,
    now: Timestamp,
) -> Result<WeekDone, WeekError> {
    let mut scored = session_scores::read(source, &request.week, &request.rubric).await?;
    let left_out = tell_apart(source, &mut scored, request).await?;
    let weeks = scored.marks;
    let rubric = request.rubric.clone();
    // Thousands of sessions are rearranged thousands of times.
    let (synthesis, weeks) = run_blocking(move || {
        let dimensions = rubric.dimensions.iter().map(|dimension| dimension.name.as_str());
        (synthesize(&dimensions.collect::<Vec<_>>(), &weeks), weeks)
    })
    .await?;
    let (week, last_day) = request.week.days();
    let known = archive.report(&week).await?;
    let shown = AdviceInput {
        synthesis: &synthesis,
        marks: weeks.last().map(Vec::as_slice).unwrap_or_default(),
        templates: &request.templates,
        known: known.as_ref(),
    };
    let Advice { mut suggestions, origin, cost, is_over_budget } =
        crate::improve::advise(request.adviser.as_ref(), shown).await;
    let tracked = archive.suggestions().await?;
    let earlier = tracked.iter().map(|kept| &kept.suggestion);
    suggestion::keep_keys(&mut suggestions, &origin, &earlier);
    let facts = SuccessFacts {
        sessions: synthesis.sessions,
        correlation: review::correlation(source, sink, &request.rubric).await?,
        done: done_before(&tracked, request.week.end()),
        made: made(&tracked, &suggestions),
        weeks: weeks_tracked(&tracked, request.week.end()),
        trend: synthesis.overall.trend.clone(),
    };
    let mut report = WeekReport {
        week,
        last_day,
        project: request.project.clone(),
        zone: request.week.zone().to_string(),
        rubric: request.rubric.name.clone(),
        synthesis,
        success: success(&facts),
        drift: drift(sink, &request.week).await?,
        suggestions,
        advice: origin,
        source: match archive {
            // The server has both the sessions and the report.
            ReportStore::Server(_) => None,
            ReportStore::Catalog { .. } => source.url(),
        },
        scope: request.scope.clone(),
        sessions: BTreeMap::new(),
        left_out,
    };
    report.sessions = cards(source, &report, weeks.last().map(Vec::as_slice)).await?;
    let saved = match report.scope.is_all() {
        true => archive.keep(&report, now).await?,
        // The report of a week is that of the whole project.
        false => SavedReport { effect: ReportEffect::Same, suggestions: Vec::new() },
    };
    Ok(WeekDone { report, saved, advice_cost: cost, is_advice_cut: is_over_budget })
}

/// Adds to marks what is recorded of their sessions, and leaves only those of the scope. Returns what
/// else was recorded in the week.
async fn tell_apart(
    source: &Source,
    scored: &mut ScoredWeeks,
    request: &WeekRequest,
) -> Result<Vec<LeftOut>, WeekError> {
    let WeekRequest { week, scope, unscored, .. } = request;
    let weeks = scored.marks.as_mut_slice();
    // Without a scope only the weeks that are compared need to be distinguished.
    let count = if scope.is_all() { COMPARED_WEEKS } else { weeks.len() };
    let since = looked_at(week).iter().rev().take(count).map(Week::start).min();
    let between = TimeWindow { from: since, to: Some(week.end()) };
    let recordings = session_facts::read(source, between).await?;
    let first = weeks.len().saturating_sub(count);
    recordings.fill(weeks.get_mut(first..).unwrap_or_default(), week.zone());
    if !scope.is_all() {
        weeks.iter_mut().for_each(|week| week.retain(|marks| scope.holds(&marks.facts)));
    }
    let marks = weeks.last().map(Vec::as_slice).unwrap_or_default();
    let by_other_rubrics = &scored.by_other_rubrics;
    Ok(recordings.left_out(week, marks, (scope, &KnownReasons { unscored, by_other_rubrics })))
}

/// What the report shows of the sessions that it names.
async fn cards(
    source: &Source,
    report: &WeekReport,
    marks: Option<&[SessionMarks]>,
) -> Result<BTreeMap<String, SessionCard>, WeekError> {
    let marks = marks.unwrap_or_default();
    let mut named: BTreeSet<&str> = report.shown_sessions().into_iter().collect();
    named.extend(sessions_of_issues(report, marks));
    let mut cards = BTreeMap::new();
    for marks in marks {
        let id = marks.session.to_string();
        if !named.contains(id.as_str()) {
            continue;
        }
        let facts = &marks.facts;
        let card = SessionCard {
            title: session_title(source, &marks.session).await?,
            agent: facts.agent.clone(),
            environment: facts.environment.to_string(),
            release: facts.release().map(str::to_owned),
            user: facts.user.clone(),
        };
        cards.insert(id, card);
    }
    Ok(cards)
}

/// Sessions of issues that a page may show: the first of each agent in each environment.
fn sessions_of_issues<'a>(report: &'a WeekReport, marks: &[SessionMarks]) -> Vec<&'a str> {
    let place = |marks: &SessionMarks| {
        let facts = &marks.facts;
        (marks.session.to_string(), (facts.agent.clone(), facts.environment.to_string()))
    };
    let places: BTreeMap<String, _> = marks.iter().map(place).collect();
    let first = |issue: &'a CommonIssue| {
        let mut counts = BTreeMap::new();
        let mut is_first = |session: &&'a String| {
            let count: &mut usize = counts.entry(places.get(*session)).or_default();
            *count += 1;
            *count <= MAX_SHOWN
        };
        let sessions: Vec<&'a str> =
            issue.sessions.iter().filter(|one| is_first(one)).map(String::as_str).collect();
        sessions
    };
    report.synthesis.issues.iter().flat_map(first).take(MAX_OF_ISSUES).collect()
}

/// Reads the success metrics of a project as of now, from its last report, its suggestions and how
/// closely people and the judge go together.
pub fn success_now(
    last: Option<&WeekReport>,
    tracked: &[StoredSuggestion],
    correlation: Statistic,
    now: Timestamp,
) -> Vec<SuccessMetric> {
    let unknown = || Trend::of(&[]);
    success(&SuccessFacts {
        sessions: last.map_or(0, |report| report.synthesis.sessions),
        correlation,
        done: done_before(tracked, now),
        made: tracked.len(),
        weeks: weeks_tracked(tracked, now),
        trend: last.map_or_else(unknown, |report| report.synthesis.overall.trend.clone()),
    })
}

/// Judges whose panels drifted, by the panel runs in a week or
/// the week after, in which it is reported.
async fn drift(sink: &Sink, week: &Week) -> Result<Vec<DriftAlert>, ReviewError> {
    let (first, last) = (week.days().0, week.after().days().0);
    Ok(panel::alerts(&panels::read(sink).await?, first.as_str()..=last.as_str()))
}

/// How many suggestions became done in the four weeks before a moment, and still are.
fn done_before(tracked: &[StoredSuggestion], moment: Timestamp) -> usize {
    let done_at = |kept: &StoredSuggestion| {
        let last = kept.steps.last().filter(|step| step.progress == Progress::Done)?;
        Some(last.at)
    };
    let from = moment.plus_nanos(-4 * WEEK);
    let in_time = |at: &Timestamp| (from..moment).contains(at);
    tracked.iter().filter_map(done_at).filter(in_time).count()
}

/// Full weeks from the first suggestion to a moment.
fn weeks_tracked(tracked: &[StoredSuggestion], moment: Timestamp) -> usize {
    let first = tracked.iter().map(|kept| kept.created_at).min();
    first.map_or(0, |first| usize::try_from(moment.since(first) / WEEK).unwrap_or(0))
}

/// How much advice there is, that of this week included.
fn made(tracked: &[StoredSuggestion], new: &[Suggestion]) -> usize {
    let known = tracked.iter().map(|kept| kept.suggestion.key.as_str());
    known.chain(new.iter().map(|one| one.key.as_str())).collect::<BTreeSet<_>>().len()
}

/// The weeks of a report, oldest first.
fn looked_at(week: &Week) -> Vec<Week> {
    let before = std::iter::successors(Some(week.clone()), |week| Some(week.before()));
    let mut weeks: Vec<Week> = before.take(WEEKS).collect();
    weeks.reverse();
    weeks
}
