use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::Week;
use ratchet_core::improve::events::{EventKind, WeekEvent};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{AuditAction, AuditEntry, AuditObject, AuditQuery};

use super::failure_source::{AgentNames, READ_WEEKS, WeekRecords};
use crate::review::review_site::{ReviewSite, ReviewSiteResult};

/// Label moves and releases that are listed at most.
const MAX_LABEL_MOVES: u64 = 100;
const MAX_RELEASES: usize = 50;

/// Returns the label moves, deployments and new releases of a week.
pub(super) async fn recorded(
    site: &ReviewSite,
    week: &Week,
    (records, names): (&WeekRecords, &AgentNames),
) -> ReviewSiteResult<Vec<WeekEvent>> {
    let mut found = label_moves(site, week).await?;
    let agents: BTreeSet<&str> =
        records.refs.iter().map(|(_, trace)| names.of_trace(trace)).collect();
    for agent in agents {
        found.extend(deployments(site, week, agent).await?);
    }
    found.extend(releases(records, names));
    Ok(found)
}

async fn label_moves(site: &ReviewSite, week: &Week) -> ReviewSiteResult<Vec<WeekEvent>> {
    let query = AuditQuery {
        noun: Some(AuditObject::Prompt),
        from: Some(week.start()),
        to: Some(week.end()),
        ..AuditQuery::newest(Some(site.project.clone()), MAX_LABEL_MOVES)
    };
    let entries = site.catalog.audit(query).await?.rows.into_iter();
    let moves = entries.filter(|entry| entry.verb == AuditAction::Labelled);
    Ok(moves.map(|entry| label_move(&entry)).collect())
}

/// `Prompt support-bot: production at v4 (was production at v3)`.
fn label_move(entry: &AuditEntry) -> WeekEvent {
    let became = entry.became.as_deref().unwrap_or_default();
    let was = entry.was.as_ref().map(|was| format!(" (was {was})")).unwrap_or_default();
    let text = format!("Prompt {}: {became}{was}", entry.object);
    WeekEvent::new(entry.at, EventKind::PromptLabel, None, &text)
}

async fn deployments(
    site: &ReviewSite,
    week: &Week,
    agent: &str,
) -> ReviewSiteResult<Vec<WeekEvent>> {
    let history =
        site.catalog.serving_history(site.project.clone(), agent.to_owned()).await?.into_iter();
    let of_week =
        history.filter(|serving| week.start() <= serving.since && serving.since < week.end());
    let event = |serving: ratchet_store::catalog::Serving| {
        let version = serving.version.as_deref().unwrap_or("an unrecorded version");
        let text = format!("{version} serves in {}", serving.environment);
        WeekEvent::new(serving.since, EventKind::Deployment, Some(agent), &text)
    };
    Ok(of_week.map(event).collect())
}

/// Releases whose first trace is of the week, where the weeks before had traces of others.
fn releases(records: &WeekRecords, names: &AgentNames) -> Vec<WeekEvent> {
    // By agent and release: the first trace, and its week.
    let mut first: BTreeMap<(&str, &str), (Timestamp, usize)> = BTreeMap::new();
    for (weeks_ago, trace) in &records.refs {
        let Some(release) = trace.release.as_deref() else { continue };
        let found = (trace.timestamp, *weeks_ago);
        let earliest = first.entry((names.of_trace(trace), release)).or_insert(found);
        *earliest = (*earliest).min(found);
    }
    let known: BTreeSet<&str> = first
        .iter()
        .filter(|(_, (_, weeks_ago))| *weeks_ago > 0)
        .map(|((agent, _), _)| *agent)
        .collect();
    let is_new = |(agent, weeks_ago): (&str, usize)| weeks_ago == 0 && known.contains(agent);
    let new = first.iter().filter(|((agent, _), (_, weeks_ago))| is_new((agent, *weeks_ago)));
    let event = |((agent, release), (at, _)): (&(&str, &str), &(Timestamp, usize))| {
        // A release that served before that may be back.
        let text = format!("First trace of release {release} in {READ_WEEKS} weeks");
        WeekEvent::new(*at, EventKind::Release, Some(agent), &text)
    };
    new.map(event).take(MAX_RELEASES).collect()
}
