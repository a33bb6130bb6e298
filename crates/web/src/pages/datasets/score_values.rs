//! Scores of a run, as pages show them.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::stats::bounded;

use super::results::{RunResult, TrialOutcome};
use crate::components::badge::{self, Decider};
use crate::components::figure;
use crate::score_summary;

/// The values of one score in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct ScoreValues {
    pub(super) name: String,
    values: Vec<f64>,
    decider: Option<Decider>,
}

/// Values of each score of a run, most frequent first.
pub(super) fn by_score(results: &BTreeMap<String, RunResult>) -> Vec<ScoreValues> {
    let mut scores: BTreeMap<&String, ScoreValues> = BTreeMap::new();
    for result in results.values() {
        for (name, value) in &result.scores {
            let score = scores.entry(name).or_default();
            score.values.push(*value);
            score.decider = score.decider.or(result.deciders.get(name).copied());
        }
    }
    let named = scores.into_iter().map(|(name, score)| ScoreValues { name: name.clone(), ..score });
    let mut scores: Vec<ScoreValues> = named.collect();
    scores.sort_by_key(|score| std::cmp::Reverse(score.values.len()));
    scores
}

/// A mean with its interval, its n and who judged.
pub(super) fn mean(ScoreValues { values, decider, .. }: &ScoreValues) -> Markup {
    let Ok(estimate) = bounded::mean_of_scores(values) else {
        return html! { span.muted { "–" } };
    };
    let (value, half) = score_summary::mean(estimate);
    let class = decider.map_or("", Decider::class);
    html! {
        span class={ "score-mean " (class) } { (value) }
        " " small.muted {
            @if let Some(half) = half { (half) ", " } "n = " (figure::grouped(estimate.n))
            @if let Some(decider) = decider { ", " (decider.class()) }
        }
    }
}

/// Scores of a trial as badges, coloured by who judged; a person's after the evaluators'.
pub(super) fn badges(trial: &TrialOutcome) -> Markup {
    let scores = &trial.scores;
    let text = |name: &str, value: f64| format!("{name} {}", figure::number(value));
    html! {
        span.badges {
            @for (name, value) in &scores.judged {
                @match scores.deciders.get(name) {
                    Some(decider) => { (badge::decided(*decider, &text(name, *value))) },
                    None => { (badge::tag(&text(name, *value))) },
                }
            }
            @for (name, value) in &scores.people {
                (badge::decided(Decider::Human, &text(name, *value)))
            }
        }
    }
}
