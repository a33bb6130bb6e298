//! Two runs over one dataset, item by item, with what flipped first.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::id::TraceId;
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Content;
use ratchet_core::stats::bounded;
use ratchet_store::experiment::{
    ExperimentItemQuery, ExperimentQuery, Outcome, StoredExperimentItem,
};
use ratchet_store::query::{
    Condition, Detail, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
};

use super::{PREVIEW, as_read, one};
use crate::components::{badge, diff, figure, whisker};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Maximum number of compared items of each run; the page shows if there are more.
pub(super) const ITEMS: u64 = 500;
/// Maximum number of scores in the chart.
const WHISKERS: usize = 12;
/// Scores of each run that are read.
const SCORES: u64 = 5_000;

/// Result of one item in a run.
#[derive(Clone, Debug)]
pub(super) struct RunResult {
    pub(super) trace: TraceId,
    pub(super) output: String,
    pub(super) scores: BTreeMap<String, f64>,
}

/// One item in both runs.
#[derive(Clone, Debug)]
struct Pair {
    item: String,
    before: Option<RunResult>,
    after: Option<RunResult>,
}

/// Which way an item went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flip {
    /// A score fell from good to bad.
    Broke,
    /// A score rose from bad to good.
    Mended,
    Stayed,
}

/// From which value on a score is good, by its name.
struct Lines(BTreeMap<String, f64>);

impl Lines {
    /// Half-way between no and yes for scores from 0 to 1; a scale that goes further has its middle
    /// further out.
    fn of(pairs: &[Pair]) -> Self {
        let tries = pairs.iter().flat_map(|pair| [&pair.before, &pair.after]).flatten();
        let mut ends: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (name, value) in tries.flat_map(|made| &made.scores) {
            let (least, greatest) = ends.entry(name.clone()).or_insert((0.0, 1.0));
            (*least, *greatest) = (least.min(*value), greatest.max(*value));
        }
        Self(
            ends.into_iter()
                .map(|(name, (least, most))| (name, f64::midpoint(least, most)))
                .collect(),
        )
    }

    fn is_good(&self, name: &str, value: f64) -> bool {
        self.0.get(name).is_none_or(|line| value >= *line)
    }

    /// Description of the thresholds.
    fn words(&self) -> String {
        let lines: Vec<String> =
            self.0.iter().map(|(name, line)| format!("{name} {}", figure::number(*line))).collect();
        lines.join(", ")
    }
}

impl Pair {
    /// What crossed the line between good and bad flipped. What broke counts more.
    fn flip(&self, lines: &Lines) -> Flip {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return Flip::Stayed };
        let both = before.scores.iter().filter_map(|(name, was)| {
            let is = after.scores.get(name)?;
            Some((lines.is_good(name, *was), lines.is_good(name, *is)))
        });
        let crossed = both.map(|(was, is)| match (was, is) {
            (true, false) => Flip::Broke,
            (false, true) => Flip::Mended,
            (true, true) | (false, false) => Flip::Stayed,
        });
        crossed.min().unwrap_or(Flip::Stayed)
    }
}

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let dataset = one::find(&web, &ctx, name).await?;
    let chosen = |side: &str| {
        let run = ctx.params.get(side).map(str::to_owned);
        run.ok_or_else(|| PageError::Bad(format!("{side}: choose a run")))
    };
    let before = tries(&web, &ctx, chosen("before")?).await?;
    let after = tries(&web, &ctx, chosen("after")?).await?;
    let mut pairs = pair(before, after);
    let lines = Lines::of(&pairs);
    pairs.sort_by_key(|pair| (pair.flip(&lines), pair.item.clone()));
    let mut page = one::begin(&dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name, "runs"])));
    page.title = "Compare runs".to_owned();
    page.summary = summary(&pairs, &lines);
    page.body = html! {
        (statistics(&pairs))
        div.runs-compared { @for pair in &pairs { (draw(pair, pair.flip(&lines), &ctx)) } }
    };
    Ok(page.show(&ctx))
}

fn summary(pairs: &[Pair], lines: &Lines) -> Markup {
    let count = |flip: Flip| pairs.iter().filter(|pair| pair.flip(lines) == flip).count() as u64;
    html! {
        (figure::grouped(pairs.len() as u64)) " items: "
        (figure::grouped(count(Flip::Broke))) " regressed, "
        (figure::grouped(count(Flip::Mended))) " fixed"
        @if pairs.len() as u64 >= ITEMS { " (first " (ITEMS) " items)" }
        "."
        @if !lines.0.is_empty() { " Pass threshold: " (lines.words()) "." }
    }
}

pub(super) async fn tries(
    web: &Web,
    ctx: &RequestContext,
    run: String,
) -> PageResult<BTreeMap<String, RunResult>> {
    let of = ExperimentQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        ids: vec![run],
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor: None, limit: ITEMS },
    };
    let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Content };
    let items = web.store.telemetry.experiment_items(query).await?.rows;
    let scores = scores(web, ctx, &items).await?;
    // Newest first: the last try of an item that was tried again is the one compared.
    let mut tries = BTreeMap::new();
    for item in items {
        let scores = scores.get(&item.trace).cloned().unwrap_or_default();
        let made = RunResult { output: output(&item), trace: item.trace, scores };
        tries.entry(item.item).or_insert(made);
    }
    Ok(tries)
}

fn output(item: &StoredExperimentItem) -> String {
    let content: Option<&Content> = match &item.outcome {
        Some(Outcome::Step(step)) => step.content.as_ref(),
        Some(Outcome::Run(run)) => run.content.as_ref(),
        None => None,
    };
    let output = content.and_then(|content| content.output.as_ref());
    output
        .map(|output| elide(&as_read(output.as_str()), PREVIEW * 4).into_owned())
        .unwrap_or_default()
}

/// The numbers of the scores on some runs, by run and name.
async fn scores(
    web: &Web,
    ctx: &RequestContext,
    items: &[StoredExperimentItem],
) -> PageResult<BTreeMap<TraceId, BTreeMap<String, f64>>> {
    let traces = items.iter().map(|item| item.trace.to_string()).collect();
    let query = ScoreQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: vec![Condition { column: ScoreColumn::Trace, test: Test::AnyOf(traces) }],
        paging: Paging::After { cursor: None, limit: SCORES },
    };
    let mut numbers: BTreeMap<TraceId, BTreeMap<String, f64>> = BTreeMap::new();
    for score in web.store.telemetry.scores(query).await?.rows {
        let (Some(trace), Some(number)) = (trace_of(&score), score.value.number()) else {
            continue;
        };
        numbers.entry(trace).or_default().entry(score.name).or_insert(number);
    }
    Ok(numbers)
}

fn trace_of(score: &Score) -> Option<TraceId> {
    use ratchet_core::record::score::ScoreTarget;
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace.clone()),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}

fn pair(mut before: BTreeMap<String, RunResult>, after: BTreeMap<String, RunResult>) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (item, after) in after {
        let before = before.remove(&item);
        pairs.push(Pair { item, before, after: Some(after) });
    }
    let gone = before.into_iter();
    pairs.extend(gone.map(|(item, before)| Pair { item, before: Some(before), after: None }));
    pairs
}

/// One item in a row: what it is and what became of it, and both outputs beside each other.
fn draw(pair: &Pair, flip: Flip, ctx: &RequestContext) -> Markup {
    let both = pair.before.as_ref().zip(pair.after.as_ref());
    let outputs = match both {
        Some((before, after)) => diff::columns(&before.output, &after.output).map(Some),
        None => [&pair.before, &pair.after].map(|made| {
            made.as_ref().map(|made| html! { pre.diff tabindex="0" { (made.output) } })
        }),
    };
    let [before, after] = outputs;
    let sides = [("Baseline", &pair.before, before), ("Candidate", &pair.after, after)];
    html! {
        section.pair {
            div.pair-head {
                h2 {
                    code { bdi { (pair.item) } } " "
                    @match flip {
                        Flip::Broke => { span.badge.bad { "Regressed" } },
                        Flip::Mended => { span.badge.good { "Fixed" } },
                        Flip::Stayed => {},
                    }
                }
                @match both {
                    Some((before, after)) => {
                        (moved(&before.scores, &after.scores))
                        @if before.output == after.output { p.muted { "Same output." } }
                    },
                    None => { p.muted { "Only in one run." } },
                }
            }
            @for (name, made, output) in sides {
                div.pair-side {
                    p.side-head { (name)
                        @if let Some(made) = made {
                            " " a href=(ctx.to(&["traces", &made.trace.to_string()])) { "trace " span.sr { (name) } }
                        }
                    }
                    @match output { Some(output) => { (output) }, None => { p.muted { "not run" } } }
                }
            }
        }
    }
}

/// How far each score moved over the items that both runs have it of.
fn differences(pairs: &[Pair]) -> BTreeMap<&str, Vec<f64>> {
    let mut moved: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (before, after) in
        pairs.iter().filter_map(|pair| pair.before.as_ref().zip(pair.after.as_ref()))
    {
        for (name, was) in &before.scores {
            if let Some(is) = after.scores.get(name) {
                moved.entry(name).or_default().push(is - was);
            }
        }
    }
    moved
}

/// What moved, as sentences with whiskers.
fn statistics(pairs: &[Pair]) -> Markup {
    let moved = differences(pairs);
    html! {
        @if moved.is_empty() {
            p.muted { "No common scores: the runs cannot be compared." }
        } @else {
            div.whiskers {
                @for (name, values) in moved.iter().take(WHISKERS) {
                    @if let Ok(difference) = bounded::mean_of_differences(values) { (whisker::whisker(&elide(name, 60), &difference)) }
                }
            }
            @if moved.len() > WHISKERS { p.muted { "Only the first " (WHISKERS) " scores are shown." } }
        }
    }
}

fn moved(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> Markup {
    html! {
        p.badges {
            @for (name, was) in before {
                @let now = after.get(name).copied().map_or_else(|| "none".to_owned(), figure::number);
                (badge::tag(&format!("{name} {} → {now}", figure::number(*was))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[(&str, f64)], after: &[(&str, f64)], expected: Flip) {
        let made = |scores: &[(&str, f64)]| RunResult {
            trace: TraceId::parse("t").unwrap(),
            output: String::new(),
            scores: scores.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        };
        let (before, after) = (Some(made(before)), Some(made(after)));
        let pairs = [Pair { item: "i".to_owned(), before, after }];
        assert_eq!(pairs[0].flip(&Lines::of(&pairs)), expected);
    }

    #[test]
    fn what_crossed_the_line_flipped() {
        check(&[("correct", 1.0)], &[("correct", 0.0)], Flip::Broke);
        check(&[("correct", 0.0)], &[("correct", 1.0)], Flip::Mended);
        check(&[("quality", 0.6)], &[("quality", 0.9)], Flip::Stayed);
        check(&[("a", 1.0)], &[("b", 0.0)], Flip::Stayed);
        // Five stars fell to one.
        check(&[("stars", 5.0)], &[("stars", 1.0)], Flip::Broke);
        check(&[("stars", 5.0)], &[("stars", 4.0)], Flip::Stayed);
    }

    #[test]
    fn what_broke_counts_more_than_what_was_mended() {
        check(&[("a", 1.0), ("b", 0.0)], &[("a", 0.0), ("b", 1.0)], Flip::Broke);
    }
}
