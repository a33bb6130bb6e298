use std::collections::BTreeMap;

use ratchet_core::calendar::Week;
use ratchet_core::improve::code::CodeFile;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::proposal::{ProposalInput, propose, sort};
use ratchet_core::improve::report::FeedbackReport;
use serde_json::Value;

use super::failure_source::{AgentNames, UNNAMED, collect};
use crate::review::review_site::{ReviewSite, ReviewSiteResult};
use crate::review::weekly_metrics::{MetricsFilter, metrics};
use crate::source::Source;

/// Creates the weekly document: reads traces, scores and draws, and writes nothing.
///
/// # Errors
/// Fails if traces, scores or draws cannot be read.
pub async fn report(
    (source, site): (&Source, &ReviewSite),
    week: &Week,
    agent: Option<&str>,
    (code, phrases): (&[CodeFile], &FailurePhrases),
) -> ReviewSiteResult<FeedbackReport> {
    let weights = weights(site, week).await?;
    let names = AgentNames::new(site.catalog.agents(site.project.clone()).await?);
    let found = collect(source, week, (agent, &names), &weights).await?;
    let mut report = FeedbackReport {
        week: week.days().0,
        agents: Vec::new(),
        proposals: Vec::new(),
        events: events(),
        left_out: 0,
        metrics: Vec::new(),
    };
    let is_only = found.len() == 1;
    for (agent, of_agent) in found {
        if of_agent.traffic == 0 {
            continue;
        }
        let (traces, traffic) = (&of_agent.traces, of_agent.traffic);
        report.proposals.extend(propose(ProposalInput {
            agent: &agent,
            traces,
            traffic,
            code,
            phrases,
        }));
        report.left_out += of_agent.left_out;
        // Metrics select by name: traces without one have metrics only where nothing else has.
        if agent != UNNAMED || is_only {
            let named = Some(agent.clone()).filter(|name| name != UNNAMED);
            let filter = MetricsFilter { agent: named, ..MetricsFilter::default() };
            report.metrics.push((agent.clone(), metrics(site, week, &filter).await?));
        }
        report.agents.push(agent);
    }
    sort(&mut report.proposals);
    Ok(report)
}

/// Events of the week: none are computed yet.
const fn events() -> Vec<Value> {
    Vec::new()
}

/// How many traces each drawn trace stands for.
async fn weights(site: &ReviewSite, week: &Week) -> ReviewSiteResult<BTreeMap<String, f64>> {
    let draws = site.catalog.draws(site.project.clone(), week.to_string()).await?;
    let drawn = draws.into_iter().flat_map(|draw| draw.traces);
    let weight = |probability: f64| if probability > 0.0 { 1.0 / probability } else { 1.0 };
    Ok(drawn.map(|drawn| (drawn.trace.clone(), drawn.probability().map_or(1.0, weight))).collect())
}
