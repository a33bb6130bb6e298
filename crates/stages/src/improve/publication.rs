use std::collections::BTreeMap;

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::proposal::Proposal;
use ratchet_core::improve::report::digest::{ProposalDigest, ReportDigest};
use ratchet_core::improve::report::{FeedbackReport, OpenReview};
use ratchet_core::message::Message;
use ratchet_core::quality::report::WeekReport;
use ratchet_core::time::Timestamp;
use ratchet_core::url_encoding::encoded;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Catalog, NewAnnouncement, NewNotice};
use ratchet_store::project::ProjectId;
use serde_json::json;

use super::backlog;
use super::failure_source::{AgentNames, UNNAMED};
use super::feedback::{self, FeedbackInput};
use super::settings::FeedbackSettings;
use super::trace_comments;
use crate::review::review_site::{ReviewSite, ReviewSiteResult};
use crate::review::weekly_metrics::{MetricsFilter, metrics};

/// Drawn weeks that are looked at: older ones are no longer news.
const WEEKS: u64 = 4;

/// Whom documents are published for.
#[derive(Clone, Copy, Debug)]
pub struct PublicationTarget<'a> {
    /// The project whose receivers are notified.
    pub project: &'a ProjectId,
    /// Public URL of this server, without a slash at the end.
    pub server: &'a str,
    pub zone: &'a Zone,
    /// Whether the traces are on a Langfuse server, which can get comments.
    pub is_remote: bool,
}

/// A published document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub agent: String,
    pub week: String,
    pub proposals: usize,
    /// Proposals that became tasks.
    pub tasks: usize,
}

/// An agent's latest week with a finished review, and its reviews that are not finished.
#[derive(Debug, Default)]
struct AgentWeeks {
    closed: Option<String>,
    open: Vec<OpenReview>,
}

/// Publishes each agent's document of its latest week whose review is closed, unless that was done
/// before.
///
/// # Errors
/// Fails if traces, scores or draws cannot be read, or if notifications cannot be stored.
pub async fn publish(
    site: &ReviewSite,
    target: PublicationTarget<'_>,
    settings: &FeedbackSettings,
    now: Timestamp,
) -> ReviewSiteResult<Vec<Published>> {
    let mut published = Vec::new();
    for (agent, weeks) in agents(site, target.zone).await? {
        let Some(day) = weeks.closed else { continue };
        let known = announced(&site.catalog, target.project, &report_subject(&agent, &day)).await?;
        let Ok(week) = Week::parse(&day, target.zone) else { continue };
        if known {
            continue;
        }
        let mut report = document(site, target, &week, (&agent, settings)).await?;
        report.open = weeks.open;
        let proposals = report.proposals.len();
        // First, so that a publication that was interrupted is finished by the next run.
        if report.agents.contains(&agent) {
            backlog::save((&site.catalog, target.project), &report, now).await?;
            let of_week = (agent.clone(), day.clone());
            site.catalog.publish_feedback_report(target.project.clone(), of_week, now).await?;
        }
        let announcements = announcements(target, settings, (&agent, &report), now);
        let new = site.catalog.announce(target.project.clone(), announcements, now).await?;
        // Another server may have published it meanwhile.
        if !new.is_empty() {
            let tasks = new.len() - 1;
            published.push(Published { agent, week: day, proposals, tasks });
        }
    }
    Ok(published)
}

/// The agents with samples, each with its latest closed week.
async fn agents(site: &ReviewSite, zone: &Zone) -> ReviewSiteResult<BTreeMap<String, AgentWeeks>> {
    let names = AgentNames::new(site.catalog.agents(site.project.clone()).await?);
    let mut agents: BTreeMap<String, AgentWeeks> = BTreeMap::new();
    // Newest first.
    for day in site.catalog.drawn_weeks(site.project.clone(), WEEKS).await? {
        let Ok(week) = Week::parse(&day, zone) else { continue };
        for draw in site.catalog.draws(site.project.clone(), day.clone()).await? {
            let agent = draw.agent.as_deref().map(|name| names.of(name).to_owned());
            let of_agent = agents.entry(agent.clone().unwrap_or_else(|| UNNAMED.to_owned()));
            let of_agent = of_agent.or_default();
            if of_agent.closed.is_some() {
                continue;
            }
            let filter = MetricsFilter { agent: agent.clone(), ..MetricsFilter::default() };
            let metrics = metrics(site, &week, &filter).await?;
            if metrics.provisional {
                let (reviewed, drawn) = (metrics.drawn_reviewed, metrics.drawn);
                of_agent.open.push(OpenReview { week: day.clone(), agent, reviewed, drawn });
            } else {
                of_agent.closed = Some(day.clone());
            }
        }
    }
    Ok(agents)
}

async fn document(
    site: &ReviewSite,
    target: PublicationTarget<'_>,
    week: &Week,
    (agent, settings): (&str, &FeedbackSettings),
) -> ReviewSiteResult<FeedbackReport> {
    let read = settings.read(week).await;
    let phrases = FailurePhrases::shipped();
    let input = FeedbackInput::new(&read.code, phrases, &read.events);
    let from = (site.source(), site);
    let mut report = Box::pin(feedback::report(from, week, Some(agent), input)).await?;
    report.quality = stored_quality(&site.catalog, target.project, week).await?;
    Ok(report)
}

/// Returns the section about the quality of sessions: the stored report of a week.
///
/// # Errors
/// Fails only when the database does.
pub async fn stored_quality(
    catalog: &Catalog,
    project: &ProjectId,
    week: &Week,
) -> StoreResult<Option<WeekReport>> {
    let kept = catalog.report(project.clone(), week.days().0).await?;
    Ok(kept.and_then(|kept| serde_json::from_str(kept.document.as_str()).ok()))
}

async fn announced(
    catalog: &Catalog,
    project: &ProjectId,
    subject: &str,
) -> ReviewSiteResult<bool> {
    let known = catalog.announced(project.clone(), subject.to_owned()).await?;
    Ok(known.contains_key(subject))
}

fn report_subject(agent: &str, week: &str) -> String {
    format!("report/{week}/{agent}")
}

/// The document first, then a task for each proposal that is worth one.
fn announcements(
    target: PublicationTarget<'_>,
    settings: &FeedbackSettings,
    (agent, report): (&str, &FeedbackReport),
    now: Timestamp,
) -> Vec<NewAnnouncement> {
    let scope = if agent == UNNAMED { String::new() } else { format!("&agent={}", encoded(agent)) };
    let path =
        format!("/project/{}/reports/{}?part=improvements{scope}", target.project, report.week);
    let page =
        Page { project: target.project.as_str(), url: format!("{}{path}", target.server), path };
    let subject = report_subject(agent, &report.week);
    let jobs = match settings.comments && target.is_remote {
        true => trace_comments::jobs(report, &page.url, now),
        false => Vec::new(),
    };
    let first = NewAnnouncement {
        again_after: None,
        notice: Some(report_notice(&page, (agent, report), now)),
        jobs,
        subject,
    };
    let is_significant = |one: &&Proposal| one.priority >= settings.task_priority;
    let task = |proposal: &Proposal| NewAnnouncement {
        subject: format!("task/{}", proposal.id),
        again_after: None,
        notice: Some({
            let kind = (NotificationKind::Proposal, format!("proposal-{}", proposal.id));
            proposal_notice(&page, kind, (&proposal.into(), &report.week), now)
        }),
        jobs: Vec::new(),
    };
    let tasks = report.proposals.iter().filter(is_significant).map(task);
    std::iter::once(first).chain(tasks).collect()
}

/// Where a document is shown.
pub(super) struct Page<'a> {
    pub(super) project: &'a str,
    pub(super) url: String,
    pub(super) path: String,
}

fn report_notice(
    page: &Page<'_>,
    (agent, report): (&str, &FeedbackReport),
    now: Timestamp,
) -> NewNotice {
    let digest = ReportDigest::new(report, Some(page.url.clone()));
    let (title, text) = (digest.title(), digest.headline());
    let data = json!({
        "project": page.project,
        "agent": agent,
        "week": report.week,
        "title": title,
        "text": text,
        "path": page.path,
        "url": page.url,
        "report": digest,
    });
    let id = format!("improvement-{}-{agent}", report.week);
    notice(NotificationKind::ImprovementReport, id, (title, text, data), now)
}

/// The notification of a proposal.
pub(super) fn proposal_notice(
    page: &Page<'_>,
    (kind, id): (NotificationKind, String),
    (proposal, week): (&ProposalDigest, &str),
    now: Timestamp,
) -> NewNotice {
    let title = format!("{}: {}", proposal.agent, proposal.title);
    let text = format!("{} {}", proposal.change, proposal.impact);
    let data = json!({
        "project": page.project,
        "agent": proposal.agent,
        "week": week,
        "title": title,
        "text": text,
        "path": page.path,
        "url": page.url,
        "proposal": proposal,
    });
    notice(kind, id, (title, text, data), now)
}

fn notice(
    kind: NotificationKind,
    id: String,
    (title, text, data): (String, String, serde_json::Value),
    now: Timestamp,
) -> NewNotice {
    let event = kind.as_str().to_owned();
    let message = Message { event, title, text, sections: Vec::new(), link: None, data };
    NewNotice {
        id,
        kind,
        session: None,
        is_minor: false,
        message: message.payload(now).to_string(),
    }
}
