use std::collections::HashMap;

use maud::{Markup, html};
use ratchet_core::record::observation::{Level, Observation};
use ratchet_core::record::score::{Score, ScoreTarget};

use super::arguments::{self, Arguments};
use super::run::TraceRun;
use super::{link, name};
use crate::components::badge::{self, Decider};
use crate::components::figure;
use crate::components::icon::{Icon, icon};
use crate::components::strip::{self, StripBar};
use crate::components::tree::{self, Failure, TreeLine};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::timeline::{TimeFrame, WHOLE, lanes};
use crate::trace_tree::{TreeRow, row_of};
use crate::web::Web;

/// Tree lines per chunk: the page has those around the selected observation, a script fetches the rest.
const CHUNK: usize = 250;
/// Maximum number of errors or search results to navigate.
const MAX_ERRORS: usize = 2_000;
/// Maximum number of lines that are collapsed at once.
const MAX_BRANCHES: usize = 5_000;
const MAX_NAME: usize = 120;
/// Scores shown per line.
const MAX_SCORES: usize = 2;

/// Timeline strip.
pub(super) fn strip(ctx: &RequestContext, run: &TraceRun, selected: Option<usize>) -> Markup {
    let frame = TimeFrame::of(&run.tree.steps);
    let to_trace = link(ctx, &run.trace.id);
    let bars: Vec<StripBar> = lanes(frame, &run.tree.steps, &run.tree.rows)
        .into_iter()
        .map(|bar| {
            let step = &run.tree.steps[bar.step];
            let id = step.id.to_string();
            let lasted = step.latency().map(figure::duration).unwrap_or_default();
            StripBar {
                link: to_trace.clone().with("observation", id.as_str()).to_string(),
                id,
                title: format!("{} {lasted}", step_name(step)),
                class: colour(step),
                lane: bar.lane,
                span: (bar.from, bar.to),
                is_selected: selected == Some(bar.step),
            }
        })
        .collect();
    html! { @if !bars.is_empty() { (strip::strip(&bars, frame.length)) } }
}

/// Observation tree: the chunk of the selected line, and placeholders for the others.
pub(super) async fn tree(
    web: &Web,
    ctx: &RequestContext,
    run: &TraceRun,
    selected: Option<usize>,
) -> PageResult<Markup> {
    let total = run.tree.rows.len() + 1;
    let chosen = selected.and_then(|step| row_of(&run.tree.steps, &run.tree.rows, step));
    let chosen = chosen.map_or(0, |row| row + 1);
    let here = chosen / CHUNK;
    let failed = |row: &&TreeRow| run.tree.steps[row.step].level == Level::Error;
    let errors: Vec<String> = (1usize..)
        .zip(&run.tree.rows)
        .filter(|(_, row)| failed(row))
        .take(MAX_ERRORS)
        .map(|(number, _)| number.to_string())
        .collect();
    let shown = (here * CHUNK, total.min((here + 1) * CHUNK));
    let arguments = arguments::read(web, ctx, run, shown).await?;
    let lines = Lines::new(ctx, run, (Some(chosen), arguments));
    Ok(html! {
        (tools(run, errors.len()))
        div.tree #tree role="tree" aria-label="Observations" data-total=(total) data-chunk=(CHUNK)
            data-errors=(errors.join(",")) data-branches=(branches(run)) {
            @for chunk in 0..total.div_ceil(CHUNK) {
                @let (from, to) = (chunk * CHUNK, total.min((chunk + 1) * CHUNK));
                div.chunk data-from=(from) data-to=(to) {
                    @if chunk == here { (tree::lines(&lines.range(from, to))) }
                }
            }
        }
        @if total > CHUNK { (pager(ctx, run, here)) }
        @if run.tree.is_cut {
            p.muted { "Not all observations are shown. "
                a href=(ctx.to(&["observations"]).with("q", format!("trace:{}", run.trace.id))) { "Show all as list" } }
        }
    })
}

/// Counts, search and folding.
fn tools(run: &TraceRun, errors: usize) -> Markup {
    html! {
        div.tree-tools {
            span.muted { (figure::counted(run.tree.steps.len() as u64, "observation")) }
            @if errors > 0 {
                button.quiet.bad type="button" data-next-error aria-keyshortcuts="e" {
                    (icon(Icon::Error)) (figure::counted(errors as u64, "error")) kbd { "e" }
                }
            }
            @if run.tree.rows.len() > 1 {
                form.tree-find role="search" data-tree-find {
                    input type="search" name="text" placeholder="Search tree" aria-label="Search tree by name, argument, model or type"
                        autocomplete="off" maxlength="100" title="Enter: next match, Shift+Enter: previous";
                    output.muted {}
                }
                button.quiet type="button" data-fold-all aria-pressed="false" { "Collapse" }
            }
        }
    }
}

/// Lines below the trace that can be collapsed, with the number of lines below each: `1:6,8:2`.
fn branches(run: &TraceRun) -> String {
    let rows = (1usize..).zip(&run.tree.rows);
    let tops = rows.filter(|(_, row)| row.below > 0 && row.depth <= 1).take(MAX_BRANCHES);
    // A single root is left open: what is below it is the trace.
    let is_only = |row: &TreeRow| row.depth == 0 && row.siblings == 1;
    let shown = tops.filter(|(_, row)| !is_only(row));
    shown.map(|(number, row)| format!("{number}:{}", row.below)).collect::<Vec<_>>().join(",")
}

/// Numbers of the lines that contain a text in their name, argument, model, type or id.
pub(super) async fn matching_lines(
    web: &Web,
    ctx: &RequestContext,
    run: &TraceRun,
    text: &str,
) -> PageResult<String> {
    let text = text.to_lowercase();
    let by_argument = arguments::containing(web, ctx, run, &text).await?;
    let matches = |row: &TreeRow| {
        let step = &run.tree.steps[row.step];
        let id = step.id.to_string();
        let texts = [step.name.as_deref(), step.model.as_deref(), step.status_message.as_deref()];
        let texts = texts.into_iter().flatten().chain([badge::kind_name(step.kind), &id]);
        by_argument.contains(&step.id)
            || texts.into_iter().any(|known| known.to_lowercase().contains(&text))
    };
    let found = (1usize..).zip(&run.tree.rows).filter(|(_, row)| matches(row)).take(MAX_ERRORS);
    Ok(found.map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(","))
}

/// Pager for browsers without JavaScript.
fn pager(ctx: &RequestContext, run: &TraceRun, here: usize) -> Markup {
    let first_of = |chunk: usize| {
        let row = run.tree.rows.get((chunk * CHUNK).saturating_sub(1))?;
        let id = run.tree.steps[row.step].id.to_string();
        Some(link(ctx, &run.trace.id).with("observation", id))
    };
    html! {
        nav.pager.no-script aria-label="More observations" {
            @if let Some(link) = here.checked_sub(1).and_then(first_of) { a.button href=(link) { "Earlier observations" } }
            @if let Some(link) = first_of(here + 1) { a.button href=(link) { "Later observations" } }
        }
    }
}

/// A range of lines as a fragment.
pub(super) async fn some_lines(
    web: &Web,
    ctx: &RequestContext,
    run: &TraceRun,
    (from, to): (usize, usize),
) -> PageResult<Markup> {
    let to = to.min(from.saturating_add(CHUNK));
    let arguments = arguments::read(web, ctx, run, (from, to)).await?;
    Ok(tree::lines(&Lines::new(ctx, run, (None, arguments)).range(from, to)))
}

/// Tree lines by number; 0 is the trace itself.
struct Lines<'a> {
    ctx: &'a RequestContext,
    run: &'a TraceRun,
    frame: TimeFrame,
    chosen: Option<usize>,
    arguments: Arguments,
    scores: HashMap<String, Vec<&'a Score>>,
}

impl<'a> Lines<'a> {
    fn new(
        ctx: &'a RequestContext,
        run: &'a TraceRun,
        (chosen, arguments): (Option<usize>, Arguments),
    ) -> Self {
        let mut scores: HashMap<String, Vec<&Score>> = HashMap::new();
        for score in &run.scores {
            if let ScoreTarget::Observation(_, step) = &score.target {
                scores.entry(step.to_string()).or_default().push(score);
            }
        }
        Self { ctx, run, frame: TimeFrame::of(&run.tree.steps), chosen, arguments, scores }
    }

    fn range(&self, from: usize, to: usize) -> Vec<TreeLine> {
        let to = to.min(self.run.tree.rows.len() + 1);
        (from..to).map(|number| self.line(number)).collect()
    }

    fn line(&self, number: usize) -> TreeLine {
        match number.checked_sub(1).and_then(|row| self.run.tree.rows.get(row)) {
            Some(row) => self.step(number, row),
            None => self.whole(),
        }
    }

    fn whole(&self) -> TreeLine {
        let run = self.run;
        let tops = run.scores.iter().filter(|score| matches!(score.target, ScoreTarget::Trace(_)));
        TreeLine {
            number: 0,
            id: None,
            link: link(self.ctx, &run.trace.id).to_string(),
            glyph: html! { span.glyph { (icon(Icon::Trace)) span.sr { "trace" } } },
            name: name(&run.trace),
            detail: None,
            merged: 0,
            depth: 0,
            below: run.tree.rows.len(),
            among: (1, 1),
            mark: None,
            failure: if run.trace.summary.levels.error > 0 {
                Failure::Below
            } else {
                Failure::None
            },
            time: (0, WHOLE, "whole"),
            duration: (!run.tree.steps.is_empty()).then_some(self.frame.length),
            cost: run.trace.summary.cost,
            approximate_cost: run.trace.summary.approximate_cost,
            scores: few_scores(&tops.collect::<Vec<_>>()),
            is_selected: self.chosen == Some(0),
        }
    }

    fn step(&self, number: usize, row: &TreeRow) -> TreeLine {
        let step = &self.run.tree.steps[row.step];
        let (id, name) = (step.id.to_string(), step_name(step));
        let (from, to) = self.frame.position(step);
        let scores = self.scores.get(&id).map(|scores| few_scores(scores)).unwrap_or_default();
        TreeLine {
            number,
            link: link(self.ctx, &self.run.trace.id).with("observation", id.as_str()).to_string(),
            id: Some(id),
            glyph: badge::glyph(step.kind),
            detail: arguments::model(step, &name).or_else(|| self.arguments.get(&step.id).cloned()),
            merged: row.merged,
            name,
            depth: row.depth + 1,
            below: row.below,
            among: (row.position, row.siblings),
            mark: row.mark,
            failure: match (step.level, row.errors) {
                (Level::Error, _) => Failure::Itself,
                (_, 0) => Failure::None,
                _ => Failure::Below,
            },
            time: (from, to, colour(step)),
            duration: step.latency(),
            cost: row.cost,
            approximate_cost: row.approximate_cost,
            scores,
            is_selected: self.chosen == Some(number),
        }
    }
}

/// Short display name of an observation.
pub(super) fn step_name(step: &Observation) -> String {
    let name = step.name.as_deref().filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| badge::kind_name(step.kind));
    name.chars().take(MAX_NAME).collect()
}

fn colour(step: &Observation) -> &'static str {
    match step.level {
        Level::Error => "bad",
        _ => Decider::of_kind(step.kind).class(),
    }
}

fn few_scores(scores: &[&Score]) -> Markup {
    html! {
        @for score in scores.iter().take(MAX_SCORES) {
            span class={ "score-mark " (score_summary::decider(score).class()) }
                 title={ (score.name) ": " (score_summary::value(&score.value)) } {
                (score_summary::value(&score.value).chars().take(12).collect::<String>())
            }
        }
    }
}
