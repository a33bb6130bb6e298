//! Baselines: what a stopwatch would say. A judge that is no better is not worth its rules.

use std::fmt::Write;

use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::judge::session_timeline::{self, TimelineAction};

use crate::labelled::Labelled;
use crate::report::{Judged, Marked, area, draws, overall};

/// The baselines of one session; fewer is better.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    messages: usize,
    chars: usize,
    errors: usize,
}

impl Counts {
    pub(crate) fn of(one: &Labelled, evidence: &Evidence) -> Self {
        let failed = session_timeline::of(evidence)
            .into_iter()
            .filter(|event| matches!(&event.act, TimelineAction::Calls(call) if call.failed()));
        Self {
            messages: one.messages.len(),
            chars: one.messages.iter().map(|message| message.to_string().len()).sum(),
            errors: failed.count(),
        }
    }
}

/// A name, and the count that is to be small.
type Baseline = (&'static str, fn(&Counts) -> usize);

/// Formats the baselines, and how much better the judge is on the same draws of tasks.
pub(crate) fn report(rubric: &Rubric, judged: &[Judged]) -> String {
    let mut text =
        "| baseline | AUC | the judge is better by | 95 % of tasks |\n|---|---|---|---|\n"
            .to_owned();
    let judge: Vec<Marked<'_>> = judged.iter().filter_map(|one| overall(rubric, one)).collect();
    let seen = || judged.iter().filter(|one| overall(rubric, one).is_some());
    let baselines: [Baseline; 3] = [
        ("fewer messages", |counts| counts.messages),
        ("shorter transcript", |counts| counts.chars),
        ("fewer tool errors", |counts| counts.errors),
    ];
    for (name, count) in baselines {
        let marked: Vec<Marked<'_>> = seen()
            .map(|one| Marked {
                task: &one.task,
                is_good: one.is_good,
                mark: -f64::from(u32::try_from(count(&one.counts)).unwrap_or(u32::MAX)),
            })
            .collect();
        let (own, base) = (area(&judge), area(&marked));
        let gain = own.zip(base).map(|(own, base)| own - base);
        let (low, high) = paired(&judge, &marked);
        let number =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
        // Writing to a text cannot fail.
        let _infallible = writeln!(
            text,
            "| {name} | {} | {} | {} to {} |",
            number(base),
            number(gain),
            number(low),
            number(high)
        );
    }
    text
}

/// Returns the 95% bootstrap interval of the difference of two AUCs on the same sessions.
fn paired(one: &[Marked<'_>], other: &[Marked<'_>]) -> (Option<f64>, Option<f64>) {
    let pick = |marked: &[Marked<'_>], drawn: &[usize]| -> Option<f64> {
        area(&drawn.iter().filter_map(|place| marked.get(*place).copied()).collect::<Vec<_>>())
    };
    let mut gains: Vec<f64> = draws(one)
        .iter()
        .filter_map(|drawn| Some(pick(one, drawn)? - pick(other, drawn)?))
        .collect();
    gains.sort_by(f64::total_cmp);
    let last = gains.len().saturating_sub(gains.len() / 40 + 1);
    (gains.get(gains.len() / 40).copied(), gains.get(last).copied())
}
