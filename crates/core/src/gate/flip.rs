use serde::{Deserialize, Serialize};

use super::outcomes::{PairedItem, Pairing};

/// Minimum change of an item's mean that is listed.
const LEAST: f64 = 0.5 - 1e-9;

/// Which way an item went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlipKind {
    Regressed,
    Fixed,
}

/// An item whose mean changed by half or more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flip {
    pub item: String,
    pub kind: FlipKind,
    pub before: f64,
    pub after: f64,
    /// Trace of a trial in the baseline.
    pub baseline_trace: Option<String>,
    /// Trace of the worst trial in this run.
    pub trace: Option<String>,
    /// The two runs side by side on the server, with this item first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Returns the items that changed, regressions first, the greatest change first.
pub fn flips(pairing: &Pairing<'_>) -> Vec<Flip> {
    let mut flips: Vec<Flip> = pairing.pairs.iter().filter_map(flip).collect();
    let change = |flip: &Flip| flip.after - flip.before;
    flips.sort_by(|one, other| {
        change(one).total_cmp(&change(other)).then_with(|| one.item.cmp(&other.item))
    });
    let (regressed, mut fixed): (Vec<_>, Vec<_>) =
        flips.into_iter().partition(|flip| flip.kind == FlipKind::Regressed);
    fixed.reverse();
    regressed.into_iter().chain(fixed).collect()
}

fn flip(pair: &PairedItem<'_>) -> Option<Flip> {
    let (before, after) = (pair.before.mean(), pair.after.mean());
    if (after - before).abs() < LEAST {
        return None;
    }
    let worst = pair.after.trials.iter().min_by(|one, other| one.value.total_cmp(&other.value));
    let best = pair.before.trials.iter().max_by(|one, other| one.value.total_cmp(&other.value));
    Some(Flip {
        item: pair.after.item.clone(),
        kind: if after < before { FlipKind::Regressed } else { FlipKind::Fixed },
        before,
        after,
        baseline_trace: best.and_then(|trial| trial.trace.clone()),
        trace: worst.and_then(|trial| trial.trace.clone()),
        url: None,
    })
}
