use ratchet_core::calendar::{Week, Zone};
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::review::alerts::{self, AlertChange, AlertSource, ObservedState};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{AlertEffect, NewAlert, NewNotice, StoredDraw};
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use super::known_agents::KnownAgents;
use super::rebalancing::{self, RebalanceQuery};
use super::review_site::{ReviewSite, ReviewSiteResult};
use super::weekly_metrics::{self, MetricsFilter};

/// Drawn weeks that are looked at: older ones change no more.
const WEEKS: u64 = 4;

/// Whom alerts are for.
#[derive(Clone, Copy, Debug)]
pub struct AlertTarget<'a> {
    /// The project whose receivers are notified.
    pub project: &'a ProjectId,
    /// Public URL of this server, without a slash at the end.
    pub server: &'a str,
    pub zone: &'a Zone,
}

/// Looks for changes of state of every agent with samples and tells receivers of them, once per
/// change. Returns the titles of the notifications.
///
/// # Errors
/// Fails if metrics cannot be read, or if the changes cannot be stored.
pub async fn check(
    site: &ReviewSite,
    target: AlertTarget<'_>,
    now: Timestamp,
) -> ReviewSiteResult<Vec<String>> {
    let weeks = site.catalog.drawn_weeks(site.project.clone(), WEEKS).await?;
    let known = KnownAgents::read(site).await?;
    let mut draws: Vec<StoredDraw> = Vec::new();
    for week in weeks {
        for draw in site.catalog.draws(site.project.clone(), week).await? {
            let agent = draw.agent.as_deref().map(|name| known.name_of(name));
            draws.push(StoredDraw { agent, ..draw });
        }
    }
    let mut agents: Vec<Option<String>> = draws.iter().map(|draw| draw.agent.clone()).collect();
    agents.sort();
    agents.dedup();
    let mut titles = Vec::new();
    for agent in agents {
        let of_agent = draws.iter().filter(|draw| draw.agent == agent).collect();
        titles.extend(check_agent(site, target, (&agent, of_agent), now).await?);
    }
    Ok(titles)
}

async fn check_agent(
    site: &ReviewSite,
    target: AlertTarget<'_>,
    (agent, draws): (&Option<String>, Vec<&StoredDraw>),
    now: Timestamp,
) -> ReviewSiteResult<Option<String>> {
    let (known, latest) = site.catalog.alert_states(site.project.clone(), agent.clone()).await?;
    let (week, seen) = observe(site, target.zone, (agent, draws, latest), now).await?;
    let changes = alerts::changes(&known, &seen);
    if changes.is_empty() {
        return Ok(None);
    }
    let notice = notice(target, (agent.as_deref(), &week), &changes, now);
    let title = notice.as_ref().map(|(title, _)| title.clone());
    let notice = notice.map(|(_, notice)| (target.project.clone(), notice));
    let new = NewAlert { agent: agent.clone(), week, changes, notice };
    let effect = site.catalog.save_alert(site.project.clone(), new, now).await?;
    Ok(title.filter(|_| effect == AlertEffect::Stored))
}

/// The states of an agent, and the week of its metrics: the newest one whose sample is reviewed in
/// full, unless a later one was sent already.
async fn observe(
    site: &ReviewSite,
    zone: &Zone,
    (agent, draws, latest): (&Option<String>, Vec<&StoredDraw>, Option<String>),
    now: Timestamp,
) -> ReviewSiteResult<(String, Vec<ObservedState>)> {
    let filter = MetricsFilter { agent: agent.clone(), ..MetricsFilter::default() };
    let (mut seen, mut of_week) = (Vec::new(), None);
    for draw in draws {
        let Ok(week) = Week::parse(&draw.week, zone) else { continue };
        let metrics = weekly_metrics::metrics(site, &week, &filter).await?;
        seen.push(alerts::review(&metrics, draw.drawn_at, now));
        let is_older = latest.as_ref().is_some_and(|latest| draw.week < *latest);
        if of_week.is_none() && !metrics.provisional && !is_older {
            seen.extend(alerts::observed(&metrics));
            of_week = Some(draw.week.clone());
        }
    }
    let query = RebalanceQuery { agent: agent.as_deref(), half_width: None, now };
    if agent.is_some() {
        let proposal = rebalancing::propose(site, query).await?;
        seen.extend(alerts::split(&proposal, &quarter(now)));
    }
    Ok((of_week.or(latest).unwrap_or_default(), seen))
}

/// Such as `2026-Q4`.
fn quarter(now: Timestamp) -> String {
    let day = now.to_string();
    let month: u32 = day.get(5..7).and_then(|month| month.parse().ok()).unwrap_or(1);
    format!("{}-Q{}", day.get(..4).unwrap_or_default(), (month.max(1) - 1) / 3 + 1)
}

/// The title and the notification of changes, if any is news.
fn notice(
    target: AlertTarget<'_>,
    (agent, week): (Option<&str>, &str),
    changes: &[AlertChange],
    now: Timestamp,
) -> Option<(String, NewNotice)> {
    let kind = NotificationKind::ReviewAlert;
    let (project, server) = (target.project.as_str(), target.server);
    let source = AlertSource { project, agent, week, server };
    let message = alerts::message(kind.as_str(), source, changes)?;
    // Each change is stored once, in the transaction that enqueues this: the id need not tell them
    // apart again.
    let id = format!("review-alert-{}", Uuid::new_v4());
    let payload = message.payload(now).to_string();
    Some((message.title, NewNotice { id, kind, session: None, is_minor: false, message: payload }))
}
