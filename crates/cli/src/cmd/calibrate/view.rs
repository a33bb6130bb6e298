use ratchet_core::id::SessionId;
use ratchet_core::quality::calibration::advice;
use ratchet_core::quality::calibration::change::ScoreShift;
use ratchet_core::quality::calibration::drift::Drift;
use ratchet_core::quality::calibration::panel::PanelDrift;
use ratchet_core::quality::calibration::weighted::WeightedAgreement;
use ratchet_core::quality::calibration::{Agreement, DisagreedSession, Statistic, TARGET};
use ratchet_core::stats::interval::Estimate;
use ratchet_stages::review::trial::DraftTrial;
use serde_json::{Map, Value, json};

use super::{CalibrateArgs, Found};

pub(super) const APART: usize = 20;

/// All that was found, for programs.
pub(super) fn of(found: &Found, args: &CalibrateArgs) -> Value {
    let Found { rubric, held, calibration, .. } = found;
    let judges = held.judges();
    let judges = judges.iter().map(|(judge, sessions)| {
        let is_compared = held.judge.as_ref() == Some(judge);
        json!({
            "judge": judge.judge,
            "rubric_version": judge.rubric_version,
            "judge_version": judge.version,
            "sessions": sessions,
            "compared": is_compared,
        })
    });
    let drafts = found.drafts.drafts.iter().map(|draft| {
        json!({ "dimension": draft.dimension, "before": draft.before, "after": draft.after })
    });
    let dimensions = calibration.dimensions.iter();
    let dimensions: Map<String, Value> =
        dimensions.map(|one| (one.dimension.clone(), agreement(one, args.threshold))).collect();
    json!({
        "rubric": rubric.name,
        "rubric_version": rubric.version,
        "fingerprint": rubric.fingerprint(),
        "dataset": args.dataset,
        "labelled": held.labelled(),
        "people": held.people(),
        "judges": judges.collect::<Vec<_>>(),
        "sessions": calibration.sessions,
        "threshold": calibration.threshold,
        "target": {
            "correlation": TARGET,
            "standing": calibration.target.as_str(),
            "measured": statistic(calibration.correlation()),
            "weighted": calibration.is_weighted(),
        },
        "advice": advice::advice(calibration),
        "weighted": calibration.weighted.as_ref().map(weighted),
        "overall": agreement(&calibration.overall, args.threshold),
        "dimensions": dimensions,
        "apart": calibration.apart.iter().take(APART).map(|one| apart(one, found)).collect::<Vec<_>>(),
        "drafts": drafts.collect::<Vec<_>>(),
        "is_over_budget": found.is_over_budget(),
        "trial": found.trial.iter().flat_map(|trial| &trial.shifts).map(shift).collect::<Vec<_>>(),
        "tried": found.trial.as_ref().map(tried),
        "panel": found.sat.as_ref().map(|report| json!({
            "judged": report.sessions.len(),
            "failed": failed(&report.failed),
            "outcome": report.outcome.as_str(),
            "cost": report.tally.cost.dollars(),
            "approximate_cost": report.tally.approximate_cost.dollars(),
        })),
        "signal_overrides": found.signals.as_ref().map(super::signals::view),
        "drift": found.drift.iter().map(panel).collect::<Vec<_>>(),
        "success": found.success.as_ref().map(super::success::view),
        "applied": found.applied.as_ref().map(|applied| json!({
            "file": applied.file.display().to_string(),
            "rubric_version": applied.version,
            "rescored": applied.rescored,
            "affected": applied.affected,
        })),
    })
}

/// A number with its interval and n, or why there is none.
pub(super) fn statistic(statistic: Statistic) -> Value {
    match statistic {
        Ok(Estimate { value, interval: Some(interval), n }) => {
            json!({ "value": value, "interval": [interval.lower, interval.upper], "n": n })
        }
        Ok(Estimate { value, interval: None, n }) => json!({
            "value": value,
            "interval": null,
            "n": n,
            "reason": "no interval: too few or too similar values",
        }),
        Err(why) => json!({ "value": null, "undefined": why.as_str(), "reason": why.to_string() }),
    }
}

fn weighted(weighted: &WeightedAgreement) -> Value {
    json!({
        "sessions": weighted.sessions,
        "stands_for": weighted.stands_for,
        "population": weighted.population,
        "strata": weighted.strata.iter().map(|stratum| json!({
            "band": stratum.band.as_str(),
            "agent": stratum.agent,
            "population": stratum.population,
            "drawn": stratum.drawn,
            "labelled": stratum.labelled,
        })).collect::<Vec<_>>(),
        "pearson": statistic(weighted.pearson),
        "mae": statistic(weighted.error),
        "bias": statistic(weighted.bias),
        "within_threshold": statistic(weighted.within),
        "sensitivity": statistic(weighted.sensitivity),
        "specificity": statistic(weighted.specificity),
    })
}

fn agreement(one: &Agreement, threshold: f64) -> Value {
    let mut view = json!({
        "n": one.pairs.len(),
        "pearson": statistic(one.pearson),
        "spearman": statistic(one.spearman),
        "mae": statistic(one.error),
        "bias": statistic(one.bias),
        "limits": {
            "lower": statistic(one.limits.map(|(lower, _)| lower)),
            "upper": statistic(one.limits.map(|(_, upper)| upper)),
        },
        "sensitivity": statistic(one.sensitivity),
        "specificity": statistic(one.specificity),
        "krippendorff_alpha": statistic(one.people),
        "standing": one.standing.as_str(),
        "exceeds_threshold": one.exceeds(threshold),
    });
    if let (Some(grades), Some(object)) = (&one.grades, view.as_object_mut()) {
        object.insert("agreement".to_owned(), statistic(grades.agreement));
        object.insert("kappa".to_owned(), statistic(grades.kappa));
        object.insert("weighted_kappa".to_owned(), statistic(grades.weighted_kappa));
        object.insert("ac1".to_owned(), statistic(grades.ac1));
        let confusion = json!({
            "labels": grades.labels,
            "rows_people_columns_judge": grades.confusion.rows(),
        });
        object.insert("confusion".to_owned(), confusion);
    }
    view
}

fn apart(apart: &DisagreedSession, found: &Found) -> Value {
    let marks = apart
        .marks
        .iter()
        .map(|(name, pair)| (name.clone(), json!({ "judge": pair.judge, "human": pair.human })));
    json!({
        "session_id": apart.session.to_string(),
        "title": found.titles.get(&apart.session),
        "distance": apart.distance,
        "marks": marks.collect::<Map<_, _>>(),
        "why": found.held.why(&apart.session),
    })
}

fn tried(trial: &DraftTrial) -> Value {
    json!({
        "judge": trial.judge,
        "sessions": trial.of,
        "judged": trial.judged,
        "failed": failed(&trial.failed),
        "outcome": trial.outcome.as_str(),
        "cost": trial.cost.total.dollars(),
        "approximate_cost": trial.cost.approximate.dollars(),
    })
}

fn failed(failed: &[(SessionId, String)]) -> Vec<Value> {
    let one = |(session, why): &(SessionId, String)| json!({ "session_id": session.to_string(), "reason": why });
    failed.iter().map(one).collect()
}

fn shift(shift: &ScoreShift) -> Value {
    json!({
        "dimension": shift.dimension,
        "before": statistic(shift.before),
        "after": statistic(shift.after),
        "difference": statistic(shift.difference),
        "nearer": shift.nearer.as_str(),
    })
}

fn panel(panel: &PanelDrift) -> Value {
    let drift = |drift: &Drift| {
        json!({
            "dimension": drift.dimension,
            "change": drift.change.ok().map(|change| change.value),
            "n": drift.change.ok().map(|change| change.n),
            "higher": drift.higher,
            "lower": drift.lower,
            "p": drift.p,
            "detectable": drift.detectable,
            "bearing": drift.bearing.as_str(),
            "alert": drift.bearing.is_alarming(),
        })
    };
    json!({
        "judge": panel.who.judge,
        "rubric": panel.who.rubric,
        "fingerprint": panel.who.fingerprint,
        "judge_version": panel.version,
        "first_week": panel.first,
        "newest_week": panel.newest,
        "members": panel.members,
        "compared": panel.compared,
        "dimensions": panel.drifts.iter().map(drift).collect::<Vec<_>>(),
    })
}
