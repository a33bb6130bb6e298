use std::collections::BTreeMap;

use ratchet_agent::embedding::EmbeddingModel;
use ratchet_core::calendar::Week;
use ratchet_core::improve::code::CodeFile;
use ratchet_core::improve::events::{self, WeekEvent};
use ratchet_core::improve::group::GroupingContext;
use ratchet_core::improve::learned::{ConfirmedDiagnosis, DiagnosisModel};
use ratchet_core::improve::observed::ObservedTrace;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::proposal::{Proposal, ProposalInput, propose, sort};
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::improve::topic::TraceEmbeddings;
use ratchet_core::improve::traffic_events::traffic_events;

use super::backlog;
use super::failure_source::{AgentNames, AgentTraces, UNNAMED, WeekRecords, collect};
use super::traffic_sample::sample;
use super::week_events::recorded;
use crate::review::review_site::{ReviewSite, ReviewSiteResult};
use crate::review::weekly_metrics::{MetricsFilter, metrics};
use crate::source::Source;

/// What is not recorded and is read elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackInput<'a> {
    pub code: &'a [CodeFile],
    pub phrases: &'a FailurePhrases,
    /// Commits and incidents; those of other weeks are left out.
    pub events: &'a [WeekEvent],
    /// Diagnoses that people confirmed or corrected.
    pub labels: &'a [ConfirmedDiagnosis],
    /// Proposals of earlier reports, the newest of each id; without any those of the week before are
    /// computed.
    pub known: &'a [Proposal],
    /// The model for embeddings; TF-IDF without.
    pub embedder: Option<&'a EmbeddingModel>,
}

impl<'a> FeedbackInput<'a> {
    /// What rules and templates need, without labels and models.
    pub const fn new(
        code: &'a [CodeFile],
        phrases: &'a FailurePhrases,
        events: &'a [WeekEvent],
    ) -> Self {
        Self { code, phrases, events, labels: &[], known: &[], embedder: None }
    }
}

/// A week as it was read: plain data, without a way to a store.
#[derive(Clone, Debug)]
pub struct FeedbackWeek {
    pub report: FeedbackReport,
    pub(super) agents: BTreeMap<String, AgentTraces>,
    pub(super) code: Vec<CodeFile>,
    pub(super) phrases: FailurePhrases,
}

/// Creates the weekly document: reads traces, scores and draws, and writes nothing.
///
/// # Errors
/// Fails if traces, scores or draws cannot be read.
pub async fn report(
    from: (&Source, &ReviewSite),
    week: &Week,
    agent: Option<&str>,
    input: FeedbackInput<'_>,
) -> ReviewSiteResult<FeedbackReport> {
    Ok(read(from, week, agent, input).await?.report)
}

/// Creates the weekly document, with the traces that it was made from.
///
/// # Errors
/// Fails if traces, scores or draws cannot be read.
pub async fn read(
    (source, site): (&Source, &ReviewSite),
    week: &Week,
    agent: Option<&str>,
    input: FeedbackInput<'_>,
) -> ReviewSiteResult<FeedbackWeek> {
    let weights = weights(site, week).await?;
    let names = AgentNames::new(site.catalog.agents(site.project.clone()).await?);
    let records = WeekRecords::read(source, week).await?;
    let found = collect(source, (agent, &names), &records, &weights).await?;
    let mut report = FeedbackReport { week: week.days().0, ..FeedbackReport::default() };
    let learned = DiagnosisModel::fit(input.labels);
    let is_only = found.len() == 1;
    for (agent, of_agent) in &found {
        if of_agent.traffic == 0 {
            continue;
        }
        let (traces, traffic) = (&of_agent.traces, of_agent.traffic);
        let embeddings = embeddings(traces, input).await;
        let tracked = propose(ProposalInput {
            agent,
            traces,
            traffic,
            code: input.code,
            grouping: GroupingContext {
                phrases: input.phrases,
                learned: learned.as_ref(),
                embeddings: embeddings.as_ref(),
            },
            known: input.known,
        });
        report.proposals.extend(tracked.proposals);
        report.faded.extend(tracked.faded);
        report.counts.push(tracked.counts);
        report.left_out += of_agent.left_out;
        // Metrics select by name: traces without one have metrics only where nothing else has.
        if agent.as_str() != UNNAMED || is_only {
            let named = Some(agent.clone()).filter(|name| name != UNNAMED);
            let filter = MetricsFilter { agent: named, ..MetricsFilter::default() };
            report.metrics.push((agent.clone(), metrics(site, week, &filter).await?));
        }
        report.agents.push(agent.clone());
    }
    expect_gains(site, &mut report).await?;
    sort(&mut report.proposals);
    let read = (&records, &found, input);
    report.events = week_events((source, site), week, (agent, &names), read).await?;
    let (code, phrases) = (input.code.to_vec(), input.phrases.clone());
    Ok(FeedbackWeek { report, agents: found, code, phrases })
}

/// The questions as vectors of a model. Without its answer TF-IDF does: the report comes in any case.
async fn embeddings(traces: &[ObservedTrace], input: FeedbackInput<'_>) -> Option<TraceEmbeddings> {
    let model = input.embedder?;
    let mut texts: Vec<String> =
        traces.iter().map(|trace| input.phrases.without_instructions(&trace.question)).collect();
    let asked = texts.clone();
    texts.sort_unstable();
    texts.dedup();
    match model.embed(&texts).await {
        Ok(vectors) => {
            let known: BTreeMap<&String, Vec<f64>> = texts.iter().zip(vectors).collect();
            let of = |(trace, text): (&ObservedTrace, &String)| {
                Some((trace.id.clone(), known.get(text)?.clone()))
            };
            Some(TraceEmbeddings(traces.iter().zip(&asked).filter_map(of).collect()))
        }
        Err(error) => {
            let error = error.without_reply();
            tracing::warn!(model = model.name(), %error, "no embeddings: topics are those of TF-IDF");
            None
        }
    }
}

/// Multiplies impacts by the share that earlier changes fixed, once it is known.
async fn expect_gains(site: &ReviewSite, report: &mut FeedbackReport) -> ReviewSiteResult<()> {
    let worth = backlog::value(&site.catalog, &site.project).await?;
    let Some(rate) = worth.fix_rate else { return Ok(()) };
    for proposal in &mut report.proposals {
        proposal.impact = proposal.impact.with_fix_rate(&rate);
        proposal.priority = proposal.impact.value / proposal.effort.number();
    }
    Ok(())
}

/// What happened in the week, by time, then what was computed from its traffic.
async fn week_events(
    (source, site): (&Source, &ReviewSite),
    week: &Week,
    (agent, names): (Option<&str>, &AgentNames),
    (records, read, input): (&WeekRecords, &BTreeMap<String, AgentTraces>, FeedbackInput<'_>),
) -> ReviewSiteResult<Vec<WeekEvent>> {
    let agent = agent.map(|agent| names.of(agent));
    let mut found = recorded(site, week, (records, names)).await?;
    let is_of_week = |event: &&WeekEvent| week.start() <= event.at && event.at < week.end();
    found.extend(input.events.iter().filter(is_of_week).cloned());
    let is_asked = |event: &WeekEvent| {
        let of = event.agent.as_deref().map(|name| names.of(name));
        of.is_none() || agent.is_none() || of == agent
    };
    found.retain(is_asked);
    let sampled = sample(source, (agent, names), records, read).await?;
    found.extend(traffic_events(week.start(), &sampled));
    events::sort(&mut found);
    Ok(found)
}

/// How many traces each drawn trace stands for.
async fn weights(site: &ReviewSite, week: &Week) -> ReviewSiteResult<BTreeMap<String, f64>> {
    let draws = site.catalog.draws(site.project.clone(), week.to_string()).await?;
    let drawn = draws.into_iter().flat_map(|draw| draw.traces);
    let weight = |probability: f64| if probability > 0.0 { 1.0 / probability } else { 1.0 };
    Ok(drawn.map(|drawn| (drawn.trace.clone(), drawn.probability().map_or(1.0, weight))).collect())
}
