//! What is recorded of sessions: agent, environment, releases, prompts, user and cost.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::quality::report::{LeftOut, ReportScope};
use ratchet_core::quality::synthesis::{RecordedFacts, SessionMarks};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{Position, TimeWindow, TraceRef, TraceRefFilter};
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, Test, TimeRange,
};

use super::session_scoring::MIN_TRACES;
use crate::score::select_sessions::MIN_OBSERVATIONS;
use crate::source::{Source, SourceResult};

/// Observations in a page, and pages at the most: beyond, prompt versions are not distinguished.
const PAGE: u64 = 1_000;
const MAX_PAGES: usize = 100;

/// Why sessions have no score, as far as it is known.
pub(super) struct KnownReasons<'a> {
    /// By the run that has just scored the others.
    pub(super) unscored: &'a BTreeMap<SessionId, &'static str>,
    pub(super) by_other_rubrics: &'a BTreeSet<SessionId>,
}

/// Prompt versions by prompt.
type Prompts = BTreeMap<String, BTreeSet<u64>>;

/// The sessions of a time range, and which session each trace belongs to.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    sessions: BTreeMap<SessionId, Recorded>,
    prompts: BTreeMap<SessionId, Prompts>,
    is_local: bool,
}

/// A session's traces in a time range.
#[derive(Clone, Debug, Default)]
struct Recorded {
    first: Option<TraceRef>,
    last_at: Timestamp,
    releases: BTreeSet<String>,
    tags: BTreeSet<String>,
    user: Option<String>,
    /// Known cost and observations, by trace: a server may list one several times.
    traces: BTreeMap<TraceId, (Option<Money>, Option<u64>)>,
}

/// Reads what is recorded of the sessions of a time range.
pub(super) async fn read(source: &Source, between: TimeWindow) -> SourceResult<Recordings> {
    let asked = TraceRefFilter { between, ..TraceRefFilter::default() };
    let mut sessions: BTreeMap<SessionId, Recorded> = BTreeMap::new();
    let mut traces = BTreeMap::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.trace_refs(&asked, &at).await?;
        for trace in slice.rows {
            let Some(session) = trace.session.clone() else { continue };
            traces.insert(trace.trace.clone(), session.clone());
            sessions.entry(session).or_default().add(trace);
        }
        next = slice.next;
    }
    let prompts = prompts(source, &traces, between).await?;
    let is_local = matches!(source, Source::Local(_, _));
    Ok(Recordings { sessions, prompts, is_local })
}

impl Recordings {
    /// Adds to the marks of sessions what is recorded of them.
    pub(super) fn fill(&self, weeks: &mut [Vec<SessionMarks>], zone: &Zone) {
        for marks in weeks.iter_mut().flatten() {
            marks.facts.day = day(zone, marks.facts.last_at);
            if let Some(recorded) = self.sessions.get(&marks.session) {
                let prompts = self.prompts.get(&marks.session).cloned().unwrap_or_default();
                marks.facts = recorded.facts(&marks.facts, prompts, self.is_local);
            }
        }
    }

    /// Counts the sessions of a week without marks, by reason, the most frequent first.
    pub(super) fn left_out(
        &self,
        week: &Week,
        marks: &[SessionMarks],
        (scope, known): (&ReportScope, &KnownReasons<'_>),
    ) -> Vec<LeftOut> {
        let scored: BTreeSet<&SessionId> = marks.iter().map(|marks| &marks.session).collect();
        let too_short =
            format!("shorter than {MIN_TRACES} traces and {MIN_OBSERVATIONS} observations");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (session, recorded) in &self.sessions {
            let is_of_week = (week.start()..week.end()).contains(&recorded.last_at);
            let prompts = self.prompts.get(session).cloned().unwrap_or_default();
            let facts = recorded.facts(&RecordedFacts::default(), prompts, self.is_local);
            if !is_of_week || scored.contains(session) || !scope.holds(&facts) {
                continue;
            }
            let reason = match known.unscored.get(session) {
                _ if recorded.is_short() => too_short.as_str(),
                Some(why) => why,
                None if known.by_other_rubrics.contains(session) => {
                    "with scores of other rubrics only"
                }
                None => "without a score",
            };
            *counts.entry(reason).or_default() += 1;
        }
        let left_out =
            |(reason, sessions): (&str, usize)| LeftOut { reason: reason.to_owned(), sessions };
        let mut left_out: Vec<LeftOut> = counts.into_iter().map(left_out).collect();
        left_out.sort_by_key(|one| std::cmp::Reverse(one.sessions));
        left_out
    }
}

fn day(zone: &Zone, moment: Timestamp) -> String {
    zone.civil(moment).map(|civil| civil.date().to_string()).unwrap_or_default()
}

/// The prompt versions that the model calls of some traces name, by session. Empty where there are
/// too many calls to look at: part of them would be misleading.
async fn prompts(
    source: &Source,
    traces: &BTreeMap<TraceId, SessionId>,
    between: TimeWindow,
) -> SourceResult<BTreeMap<SessionId, Prompts>> {
    let mut found: BTreeMap<SessionId, Prompts> = BTreeMap::new();
    // A Langfuse server cannot be asked for model calls with a prompt.
    let Source::Local(telemetry, project) = source else { return Ok(found) };
    let mut paging = Paging::After { cursor: None, limit: PAGE };
    for _ in 0..MAX_PAGES {
        let query = ObservationQuery {
            project: project.clone(),
            range: TimeRange { from: between.from, to: between.to },
            trace: None,
            conditions: vec![Condition {
                column: ObservationColumn::PromptVersion,
                test: Test::IsNotNull,
            }],
            direction: Direction::Descending,
            paging: paging.clone(),
            detail: Detail::Row,
        };
        let page = telemetry.observations(query).await?;
        for observation in page.rows {
            let session = traces.get(&observation.trace);
            if let (Some(session), Some(prompt)) = (session, observation.prompt) {
                let prompts = found.entry(session.clone()).or_default();
                prompts.entry(prompt.name).or_default().insert(prompt.version.into());
            }
        }
        let Some(cursor) = page.cursor else { return Ok(found) };
        paging = Paging::After { cursor: Some(cursor), limit: PAGE };
    }
    Ok(BTreeMap::new())
}

impl Recorded {
    fn add(&mut self, trace: TraceRef) {
        self.last_at = self.last_at.max(trace.timestamp);
        self.releases.extend(trace.release.clone().filter(|release| !release.is_empty()));
        self.tags.extend(trace.tags.iter().cloned());
        self.user = self.user.take().or_else(|| trace.user.clone());
        self.traces.insert(trace.trace.clone(), (trace.cost, trace.observations));
        let is_first = self
            .first
            .as_ref()
            .is_none_or(|known| (trace.timestamp, &trace.trace) < (known.timestamp, &known.trace));
        if is_first {
            self.first = Some(trace);
        }
    }

    /// Whether it is too short to be scored, as far as its observations are known.
    fn is_short(&self) -> bool {
        let observations: Option<u64> = self.traces.values().map(|(_, count)| *count).sum();
        let few = observations.is_none_or(|count| count < MIN_OBSERVATIONS);
        (self.traces.len() as u64) < MIN_TRACES && few
    }

    fn facts(&self, known: &RecordedFacts, prompts: Prompts, is_local: bool) -> RecordedFacts {
        let first = self.first.as_ref();
        let listed = first.and_then(|trace| trace.agent.clone());
        // The judge has seen whole traces; a server's list names only the trace.
        let agent = match is_local {
            true => listed.or_else(|| known.agent.clone()),
            false => known.agent.clone().or(listed),
        };
        let costs = self.traces.values().filter_map(|(cost, _)| *cost);
        RecordedFacts {
            agent,
            environment: first.map(|trace| trace.environment.clone()).unwrap_or_default(),
            releases: self.releases.clone(),
            prompts,
            user: self.user.clone(),
            tags: self.tags.clone(),
            last_at: known.last_at,
            day: known.day.clone(),
            cost: costs.reduce(|sum, cost| sum + cost),
        }
    }
}
