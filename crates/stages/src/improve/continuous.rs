use std::collections::BTreeMap;

use ratchet_core::calendar::Week;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::proposal::{Proposal, Trend};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{NewAnnouncement, NewNotice};

use super::feedback::{self, FeedbackInput};
use super::publication::{Page, PublicationTarget, proposal_notice};
use super::settings::FeedbackSettings;
use crate::review::review_site::{ReviewSite, ReviewSiteResult};

/// Looks at the current week of every agent, and announces patterns of failures that reached the
/// threshold and are new or growing: each once a week, and an agent's not more often than its
/// cool-down. Returns their titles.
///
/// # Errors
/// Fails if traces, scores or draws cannot be read, or if notifications cannot be stored.
pub async fn check(
    site: &ReviewSite,
    target: PublicationTarget<'_>,
    settings: &FeedbackSettings,
    now: Timestamp,
) -> ReviewSiteResult<Vec<String>> {
    let Some(threshold) = settings.threshold else { return Ok(Vec::new()) };
    let week = Week::of(now, target.zone);
    let read = settings.read(&week).await;
    let phrases = FailurePhrases::shipped();
    let input = FeedbackInput::new(&read.code, phrases, &read.events);
    let report = Box::pin(feedback::report((site.source(), site), &week, None, input)).await?;
    let begin = format!("pattern/{}/", report.week);
    let known = site.catalog.announced(target.project.clone(), begin.clone()).await?;
    let mut news: BTreeMap<&str, Vec<&Proposal>> = BTreeMap::new();
    for proposal in &report.proposals {
        let is_news = matches!(proposal.trend, Trend::New | Trend::Growing | Trend::Back)
            && proposal.failures >= threshold
            && !known.contains_key(&format!("{begin}{}", proposal.id));
        if is_news {
            news.entry(&proposal.agent).or_default().push(proposal);
        }
    }
    let path = format!("/project/{}/reports", target.project);
    let page =
        Page { project: target.project.as_str(), url: format!("{}{path}", target.server), path };
    let mut titles = Vec::new();
    for (agent, proposals) in news {
        let pause = NewAnnouncement {
            subject: format!("patterns/{agent}"),
            again_after: Some(settings.cool_down),
            notice: None,
            jobs: Vec::new(),
        };
        let one = |proposal: &&Proposal| NewAnnouncement {
            subject: format!("{begin}{}", proposal.id),
            again_after: None,
            notice: Some(pattern_notice(&page, (proposal, &report.week), now)),
            jobs: Vec::new(),
        };
        let all = std::iter::once(pause).chain(proposals.iter().map(one)).collect();
        let new = site.catalog.announce(target.project.clone(), all, now).await?;
        let is_new = |one: &&&Proposal| new.contains(&format!("{begin}{}", one.id));
        titles.extend(proposals.iter().filter(is_new).map(|one| format!("{agent}: {}", one.title)));
    }
    Ok(titles)
}

/// The notification has the week in its id: the same pattern may be news again later.
fn pattern_notice(
    page: &Page<'_>,
    (proposal, week): (&Proposal, &str),
    now: Timestamp,
) -> NewNotice {
    let id = format!("pattern-{week}-{}", proposal.id);
    let kind = (NotificationKind::FailurePattern, id);
    proposal_notice(page, kind, (&proposal.into(), week), now)
}
