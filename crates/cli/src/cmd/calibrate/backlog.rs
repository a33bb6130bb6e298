use ratchet_core::calendar::{Week, Zone};
use ratchet_core::improve::backlog::{ProposalAction, ProposalContent};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::score::journal::Journal;

use super::Found;

/// Adds the drafts to the backlog as proposals for the judge; those that were applied are done.
pub(super) async fn track(target: &ScoringTarget, found: &Found) -> anyhow::Result<()> {
    // The backlog of a server is in its own data folder.
    if target.store().is_none() {
        return Ok(());
    }
    let (rubric, labels) = (&found.rubric.name, found.held.labelled());
    let criteria = found.drafts.drafts.iter();
    let criteria = criteria.map(|draft| ProposalContent::of_criterion(rubric, draft, labels));
    let is_applied = found.applied.is_some();
    let mut drafts: Vec<(ProposalContent, bool)> =
        criteria.map(|content| (content, is_applied)).collect();
    if let Some(signals) = &found.signals {
        let overrides = signals.drafts().iter();
        let overrides = overrides.map(|draft| ProposalContent::of_overrides(rubric, draft));
        drafts.extend(overrides.map(|content| (content, signals.is_saved())));
    }
    let Journal { catalog, project } = &target.journal;
    let now = Clock::System.now();
    let week = Week::of(now, &Zone::utc()).days().0;
    for (content, is_applied) in drafts {
        let tracked = catalog.track_proposals(project.clone(), week.clone(), vec![content], now);
        let done = [ProposalAction::Accept, ProposalAction::Done { note: None }];
        for stored in tracked.await?.iter().filter(|_| is_applied) {
            for action in done.clone() {
                // One that was rejected before stays so, with its reason.
                drop(
                    catalog
                        .act_on_proposal(project.clone(), stored.id.clone(), action, now)
                        .await?,
                );
            }
        }
    }
    Ok(())
}
