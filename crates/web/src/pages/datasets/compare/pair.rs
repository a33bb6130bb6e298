use maud::{Markup, html};
use ratchet_core::catalog::run_comparison::ItemChange;
use ratchet_core::record::limit::elide;

use super::super::results::{RunResult, TrialOutcome};
use super::super::{item_texts, score_values};
use super::overview::{role, spent};
use super::{Compared, ComparedRun, ItemRow};
use crate::components::{badge, diff};
use crate::request_context::RequestContext;

/// Characters of a run's name.
const NAME: usize = 40;

/// One item in a row: what was asked and expected, and the outputs beside each other.
pub(super) fn draw(
    compared: &Compared,
    row: &ItemRow<'_>,
    item: Option<&item_texts::ItemTexts>,
    (ctx, is_named): (&RequestContext, bool),
) -> Markup {
    let columns = format!("pair runs-{}", compared.runs.len());
    html! {
        section class=(columns) data-item=(row.item) tabindex="-1" aria-current=[is_named.then_some("true")] {
            (head(compared, row, item, ctx))
            @for (at, run) in compared.runs.iter().enumerate() { (side(compared, (at, run), row, ctx)) }
        }
    }
}

fn head(
    compared: &Compared,
    row: &ItemRow<'_>,
    item: Option<&item_texts::ItemTexts>,
    ctx: &RequestContext,
) -> Markup {
    let to_item = ctx.to(&["datasets", &compared.dataset.name, "items", row.item]);
    let of_item = || compared.runs.iter().filter_map(|run| run.shown.get(row.item));
    let texts = [
        ("Input", item_texts::input_of(item)),
        ("Expected", item_texts::expected_of(of_item().next_back(), item)),
    ];
    let outputs: Vec<_> = of_item().filter_map(|of| of.newest()?.digest.as_ref()).collect();
    let is_same = outputs.len() > 1 && outputs.windows(2).all(|pair| pair[0] == pair[1]);
    html! {
        div.pair-head {
            h2 { a href=(to_item) { code { bdi { (row.item) } } } " " (change_badge(row.change)) }
            @if row.change == ItemChange::CorrectedOnce {
                p.muted { "Corrected in one run only. Score the other output too, and the item is compared again." }
            }
            @for (name, text) in texts {
                @if let Some(text) = text { p.side-head { (name) } p.pair-text { bdi { (text) } } }
            }
            @if is_same { p.muted { "Same output." } }
        }
    }
}

fn change_badge(change: ItemChange) -> Markup {
    html! {
        @match change {
            ItemChange::Regressed => { span.badge.bad { "Regressed" } },
            ItemChange::Fixed => { span.badge.good { "Fixed" } },
            ItemChange::CorrectedOnce => { span.badge.warn { "Corrected in one run only" } },
            ItemChange::ChangedUnscored => { (badge::tag("Changed, not scored")) },
            ItemChange::NotComparable => { (badge::tag("Not comparable")) },
            ItemChange::Unchanged => {},
        }
    }
}

/// One run's column of an item.
fn side(
    compared: &Compared,
    (at, run): (usize, &ComparedRun),
    row: &ItemRow<'_>,
    ctx: &RequestContext,
) -> Markup {
    let result = run.shown.get(row.item);
    let newest = result.and_then(RunResult::newest);
    let trials = result.map_or(0, |result| result.trials.len());
    let change = run.comparison.as_ref().and_then(|of| of.changes.get(row.item).copied());
    html! {
        div.pair-side data-side=(at) {
            p.side-head {
                b { (role(at)) } " " bdi { (elide(&run.run.name, NAME)) }
                @if compared.runs.len() > 2 { @if let Some(change) = change { " " (change_badge(change)) } }
                @if let Some(trial) = newest { " " (trace_link(trial, at, ctx)) " " (spent(trial.latency_nanos, trial.cost)) }
            }
            @match newest {
                None => { p.muted { "not run" } },
                Some(trial) => {
                    (output(compared, at, trial, row))
                    (judged(compared, trial, row, ctx))
                },
            }
            @if trials > 1 {
                details.more-trials {
                    summary { (trials - 1) @if trials == 2 { " more trial" } @else { " more trials" } }
                    @for trial in result.iter().flat_map(|result| result.trials.iter().skip(1)) {
                        p.side-head { (trace_link(trial, at, ctx)) " " (spent(trial.latency_nanos, trial.cost)) }
                        @match &trial.fault {
                            Some(fault) => { p.wrong { bdi { (fault) } } },
                            None => { pre.diff tabindex="0" { (trial.output) } },
                        }
                        (judged(compared, trial, row, ctx))
                    }
                }
            }
        }
    }
}

fn trace_link(trial: &TrialOutcome, at: usize, ctx: &RequestContext) -> Markup {
    html! { a href=(ctx.to(&["traces", &trial.trace.to_string()])) { "trace" span.sr { " of " (role(at)) } } }
}

/// The output, with what differs from the baseline's; the baseline's against the first candidate.
fn output(compared: &Compared, at: usize, trial: &TrialOutcome, row: &ItemRow<'_>) -> Markup {
    if let Some(fault) = &trial.fault {
        return html! { p.wrong { "Fault: " bdi { (fault) } } };
    }
    let other = compared.runs.get(if at == 0 { 1 } else { 0 });
    let other = other.and_then(|run| run.shown.get(row.item)?.newest());
    let is_marked = at > 0 || compared.runs.len() == 2;
    match other.filter(|_| is_marked) {
        Some(other) if at == 0 => {
            let [own, _] = diff::columns(&trial.output, &other.output);
            own
        }
        Some(other) => {
            let [_, own] = diff::columns(&other.output, &trial.output);
            own
        }
        None => html! { pre.diff tabindex="0" { (trial.output) } },
    }
}

/// What evaluators and people say of an output, and the buttons for the viewer's own word.
fn judged(
    compared: &Compared,
    trial: &TrialOutcome,
    row: &ItemRow<'_>,
    ctx: &RequestContext,
) -> Markup {
    let judged = trial.scores.judged.get(&compared.score).map(|value| compared.scale.share(*value));
    let person = trial.scores.correction(&compared.score);
    let word = |value: f64| if value >= 0.5 { "correct" } else { "incorrect" };
    let differs = judged.zip(person).is_some_and(|(judged, person)| word(judged) != word(person));
    html! {
        (score_values::badges(trial))
        @if differs {
            p.said { span.muted { (compared.score) " says " (judged.map_or("", word)) ". " }
                span.human { "A person says " (person.map_or("", word)) "." } }
        }
        @if ctx.viewer.can_change() && trial.digest.is_some() {
            form.correction method="post" data-correct
                 action=(ctx.here().without("done").with("item", row.item)) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="trace" value=(trial.trace.to_string());
                @for (value, words) in [("1", "Correct"), ("0", "Incorrect")] {
                    @let is_said = person.is_some_and(|said| (said >= 0.5) == (value == "1"));
                    button.quiet type="submit" name="correctness" value=(value) aria-pressed=(is_said.to_string()) { (words) }
                }
            }
        }
    }
}
