//! The weekly documents of both weeks and their proposals, with what a person decided about the first.

use ratchet_core::calendar::Week;
use ratchet_core::improve::backlog::ProposalAction;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::time::Timestamp;
use ratchet_stages::improve::backlog;
use ratchet_stages::improve::feedback::{self, FeedbackInput};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::source::Source;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use super::timeline::{HOUR, Timeline};

/// Hours after a week's end: the review is done, and its document is published.
const PUBLISH: i64 = 24 + 18;

/// Stores the documents of both weeks. The first is published, and its first proposal accepted.
/// Returns the second.
pub(crate) async fn save(
    (store, project): (&Store, &ProjectId),
    timeline: &Timeline,
) -> anyhow::Result<FeedbackReport> {
    let Timeline { first, second, .. } = timeline;
    let earlier = report((store, project), first).await?;
    let at = |week: &Week| -> Timestamp { week.end().plus_nanos(PUBLISH * HOUR).min(timeline.end) };
    let now = at(first);
    let saved = backlog::save((&store.catalog, project), &earlier, now).await?;
    for agent in &earlier.agents {
        let which = (agent.clone(), earlier.week.clone());
        store.catalog.publish_feedback_report(project.clone(), which, now).await?;
    }
    let first_one = earlier.proposals.first().map(|proposal| proposal.id.clone());
    let tracked = saved.into_iter().flat_map(|saved| saved.proposals);
    for stored in tracked.filter(|stored| Some(&stored.content.key) == first_one.as_ref()) {
        let accept = ProposalAction::Accept;
        backlog::act((&store.catalog, project), &stored.id, accept, now).await?;
    }
    let latest = report((store, project), second).await?;
    backlog::save((&store.catalog, project), &latest, at(second)).await?;
    Ok(latest)
}

async fn report(
    (store, project): (&Store, &ProjectId),
    week: &Week,
) -> anyhow::Result<FeedbackReport> {
    let source = Source::Local(store.telemetry.clone(), project.clone());
    let site = ReviewSite::local(store, project);
    let phrases = FailurePhrases::shipped();
    let input = FeedbackInput::new(&[], phrases, &[]);
    Ok(Box::pin(feedback::report((&source, &site), week, None, input)).await?)
}
