//! Gates on the runs of the support desk: one passed, one blocked, one could not tell.

use ratchet_core::gate::decision::{GateRule, Look, Verdict};
use ratchet_core::time::Timestamp;
use ratchet_stages::gate::{self, GateContext, GateOrder, PRODUCTION};
use ratchet_store::Store;
use ratchet_store::catalog::GateQuery;
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;

use super::agents::{self, Release};
use super::catalog::{self, ACCURACY};
use super::timeline::Timeline;

/// Accuracy that the support desk must have.
const LEAST: f64 = 0.8;
/// Hours before a release goes out.
const BEFORE: i64 = 3;

/// A decision, for the closing message.
#[derive(Clone, Debug)]
pub(crate) struct DecidedGate {
    pub(crate) id: String,
    pub(crate) run: String,
    pub(crate) verdict: Verdict,
}

/// Decides on every release before it goes out, unless that was done before. The newest one is
/// first tried on too few items.
pub(crate) async fn decide(
    (store, project): (&Store, &ProjectId),
    timeline: &Timeline,
    web: &str,
) -> anyhow::Result<Vec<DecidedGate>> {
    let query = GateQuery {
        project: project.clone(),
        dataset: None,
        run: None,
        page: PageNumber { page: 1, limit: 1 },
    };
    if !store.catalog.gates(query).await?.rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut decided = Vec::new();
    for (run, now) in runs(timeline) {
        let context = GateContext { store, catalog: &store.catalog, project, server: web, now };
        let order = GateOrder {
            dataset: catalog::dataset().to_owned(),
            run,
            baseline: Some(PRODUCTION.to_owned()),
            score: Some(ACCURACY.to_owned()),
            rule: GateRule { min_accuracy: Some(LEAST), ..GateRule::default() },
            look: Look::Only,
            judged_again: Vec::new(),
        };
        let (stored, report) = gate::decide(context, order).await?;
        decided.push(DecidedGate { id: stored.id, run: report.run, verdict: report.verdict });
    }
    Ok(decided)
}

/// The runs, and when each was decided on.
fn runs(timeline: &Timeline) -> Vec<(String, Timestamp)> {
    let releases = agents::SUPPORT.releases;
    let at = |release: &Release| {
        timeline.at_hour(release.hour - BEFORE).max(timeline.start()).min(timeline.end)
    };
    let mut runs: Vec<_> =
        releases.iter().map(|it| (catalog::run_name(it.version), at(it))).collect();
    if let Some(newest) = releases.last() {
        let earlier = at(newest).plus_nanos(-super::timeline::HOUR);
        let quick = (catalog::quick_run_name(newest.version), earlier);
        runs.insert(runs.len().saturating_sub(1), quick);
    }
    runs
}
