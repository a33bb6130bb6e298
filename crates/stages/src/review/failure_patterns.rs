use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::Week;
use ratchet_core::id::TraceId;
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::review::draw::DrawnTrace;
use ratchet_core::review::week_facts::{Cut, TraceAnswer};
use ratchet_remote::langfuse::client::{ObservationFilter, Position};
use ratchet_store::query::{Detail, Direction, ObservationQuery, Paging, TimeRange};
use ratchet_store::review_signals::AgentScope;

use super::review_site::{ReviewSite, ReviewSiteResult};
use crate::source::Source;

/// Weeks whose reviews say which patterns are known.
const WEEKS_BEFORE: usize = 8;
/// Failures that are read on a Langfuse server at most: each is a request.
const MAX_REMOTE: usize = 60;
/// Observations of a trace that are read.
const MAX_OBSERVATIONS: u64 = 500;
const NAME: usize = 60;

/// Returns the patterns of a week's reviewed failures that the reviews of the weeks before have not
/// shown; `None` if nothing was reviewed in those.
pub(super) async fn new_patterns(
    site: &ReviewSite,
    week: &Week,
    (agents, cut): (&AgentScope, &Cut),
    failed: &[String],
) -> ReviewSiteResult<Option<Vec<String>>> {
    let drawn = drawn_before(site, week, (agents, cut)).await?;
    let answers = site.answers(&drawn.iter().collect::<Vec<_>>()).await?;
    if answers.is_empty() {
        return Ok(None);
    }
    let mut left = if site.client().is_some() { MAX_REMOTE } else { usize::MAX };
    let now = patterns(site, ids(failed), &mut left).await?;
    if now.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let known = patterns(site, wrong(&answers), &mut left).await?;
    // What was not read may be a pattern that is known.
    Ok((left > 0).then(|| now.difference(&known).cloned().collect()))
}

fn ids(traces: &[String]) -> Vec<TraceId> {
    traces.iter().filter_map(|id| TraceId::parse(id).ok()).collect()
}

/// The traces that people call wrong.
fn wrong(answers: &BTreeMap<String, TraceAnswer>) -> Vec<TraceId> {
    let wrong = answers.iter().filter(|(_, answer)| !answer.correct);
    wrong.filter_map(|(id, _)| TraceId::parse(id).ok()).collect()
}

/// The samples of the weeks before.
async fn drawn_before(
    site: &ReviewSite,
    week: &Week,
    (agents, cut): (&AgentScope, &Cut),
) -> ReviewSiteResult<Vec<DrawnTrace>> {
    let mut drawn = Vec::new();
    let mut week = week.clone();
    for _ in 0..WEEKS_BEFORE {
        week = week.before();
        for draw in site.catalog.draws(site.project.clone(), week.to_string()).await? {
            if agents.has(draw.agent.as_deref()) {
                drawn.extend(draw.traces);
            }
        }
    }
    drawn.retain(|one: &DrawnTrace| cut.has(&one.environment, one.release.as_deref()));
    Ok(drawn)
}

async fn patterns(
    site: &ReviewSite,
    traces: Vec<TraceId>,
    left: &mut usize,
) -> ReviewSiteResult<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for id in traces {
        let Some(rest) = left.checked_sub(1) else { break };
        *left = rest;
        found.insert(pattern(&observations(site, id).await?));
    }
    Ok(found)
}

/// The observations of a trace, in order of time.
async fn observations(site: &ReviewSite, id: TraceId) -> ReviewSiteResult<Vec<Observation>> {
    let mut rows = match &site.source {
        Source::Local(telemetry, project) => {
            let query = ObservationQuery {
                project: project.clone(),
                range: TimeRange::default(),
                trace: Some(id),
                conditions: Vec::new(),
                direction: Direction::Ascending,
                paging: Paging::After { cursor: None, limit: MAX_OBSERVATIONS },
                detail: Detail::Row,
            };
            telemetry.observations(query).await?.rows
        }
        Source::Remote(_) => {
            let asked = ObservationFilter { trace: Some(id), ..ObservationFilter::default() };
            site.source.observations(&asked, &Position::Start).await?.rows
        }
    };
    rows.sort_by(|one, other| (one.start, &one.id).cmp(&(other.start, &other.id)));
    Ok(rows)
}

/// What a wrong answer has in common with others: the first call that failed, or the last tool that
/// was called before it.
fn pattern(observations: &[Observation]) -> String {
    let name =
        |one: &Observation| elide(one.name.as_deref().unwrap_or("unnamed"), NAME).into_owned();
    let is_tool =
        |one: &&Observation| matches!(one.kind, ObservationKind::Tool | ObservationKind::Retriever);
    // The root fails with whatever failed below it.
    let is_call = |one: &&Observation| is_tool(one) || one.parent.is_some();
    let failed = observations.iter().filter(is_call).find(|one| one.level == Level::Error);
    if let Some(failed) = failed {
        return format!("{} failed", name(failed));
    }
    match observations.iter().rev().find(is_tool) {
        Some(tool) => format!("wrong answer after {}", name(tool)),
        None => "wrong answer without a tool call".to_owned(),
    }
}
