//! Runs over one dataset, item by item, with what changed first.

/// The runs beside each other: quality, latency, cost.
mod overview;
/// One item in all runs.
mod pair;
/// A person's score where an evaluator was wrong.
mod correct;
/// The comparison as a file.
mod export;

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::catalog::review::CORRECTNESS;
use ratchet_core::catalog::run_comparison::{ItemChange, ItemRun, RunComparison, ScoreScale};
use ratchet_stages::gate::MAX_TRIALS;
use ratchet_store::StoreResult;
use ratchet_store::catalog::Dataset;
use ratchet_store::experiment::Experiment;
use ratchet_store::query::PageNumber;

use super::results::{self, RunDetail, RunResult};
use super::{item_texts, one, outcomes, run};
use crate::assets;
use crate::components::{empty, figure, table, toast};
use crate::page_error::{PageError, PageResult};
use crate::pages::table_export;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

pub(super) use correct::correct;
pub(super) use export::export;

/// The most runs that are compared with the baseline.
const CANDIDATES: usize = 3;
/// Items on a page.
const ROWS: usize = 50;
/// A run and what became of the items in it.
struct ComparedRun {
    run: Experiment,
    /// All items, without the texts of outputs.
    results: BTreeMap<String, RunResult>,
    /// Those that are shown, with texts.
    shown: BTreeMap<String, RunResult>,
    /// Against the baseline; `None` for the baseline itself.
    comparison: Option<RunComparison>,
}

/// Runs of a dataset, the baseline first.
struct Compared {
    dataset: Dataset,
    /// The score that decides.
    score: String,
    /// Scores that could decide.
    scores: Vec<String>,
    scale: ScoreScale,
    runs: Vec<ComparedRun>,
}

/// One item, and its way in each candidate.
struct ItemRow<'a> {
    item: &'a str,
    /// The first of what its candidates say, in the order to look at.
    change: ItemChange,
}

/// What the page says of items that went one way, and its word in the URL.
const CHANGES: [(ItemChange, &str, &str); 6] = [
    (ItemChange::Regressed, "regressed", "regressed"),
    (ItemChange::Fixed, "fixed", "fixed"),
    (ItemChange::Unchanged, "unchanged", "unchanged"),
    (ItemChange::CorrectedOnce, "corrected-once", "corrected in one run only"),
    (ItemChange::ChangedUnscored, "unscored", "changed without a score"),
    (ItemChange::NotComparable, "not-comparable", "not comparable"),
];

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let mut compared = Compared::read(&web, &ctx, name).await?;
    let at = PageNumber { page: ctx.params.page(), limit: ROWS as u64 };
    let first = usize::try_from(at.offset()).unwrap_or(usize::MAX);
    let ids = compared.shown_ids(&ctx);
    let drawn = ids.get(first..ids.len().min(first.saturating_add(ROWS))).unwrap_or_default();
    compared.read_texts(&web, &ctx, drawn).await?;
    let items = item_texts::items(&web, &ctx, &compared.dataset).await?;
    let rows = compared.rows();
    let wanted = ctx.params.get("item");
    let shown = compared.shown(&rows, &ctx);
    let total = shown.len() as u64;
    let dataset = &compared.dataset;
    let mut page = one::begin(dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name, "runs"])));
    page.title = "Compare runs".to_owned();
    page.summary = compared.summary(&rows);
    let file = Link::new(ctx.to(&["datasets", &dataset.name, "compare", "export"]).path());
    let file = ctx.here().pairs().fold(file, |to, (name, value)| to.and(name, value));
    page.action = table_export::export_menu(&file);
    page.body = html! {
        script type="module" src=(assets::address("compare.js")) {}
        @if ctx.params.get("done") == Some("corrected") { (toast::toast("Saved")) }
        (overview::overview(&compared, &ctx))
        (compared.chooser(&ctx))
        (changes(&rows, &ctx))
        @if shown.is_empty() { (empty::empty("No such items", &html! { p { a.button href=(ctx.here().without("show").without("page")) { "Show all items" } } })) }
        div.runs-compared data-compared {
            @for row in shown.iter().skip(first).take(ROWS) {
                (pair::draw(&compared, row, items.get(row.item), (&ctx, wanted == Some(row.item))))
            }
        }
        (table::numbers(&ctx.here().without("done"), at, total))
    };
    Ok(page.show(&ctx))
}

/// "4 fixed, 0 regressed, 11 not comparable": each number leads to its items.
fn changes(rows: &[ItemRow<'_>], ctx: &RequestContext) -> Markup {
    let count = |change| rows.iter().filter(|row| row.change == change).count() as u64;
    let chosen = ctx.params.get("show");
    let here = || ctx.here().without("page").without("item").without("done");
    html! {
        nav.changes aria-label="Items by change" {
            a href=(here().without("show")) aria-current=[chosen.is_none().then_some("true")] {
                "all " (figure::grouped(rows.len() as u64))
            }
            @for (change, word, words) in CHANGES {
                a href=(here().with("show", word))
                  aria-current=[(chosen == Some(word)).then_some("true")] {
                    b { (figure::grouped(count(change))) } " " (words)
                }
            }
        }
    }
}

impl Compared {
    async fn read(web: &Web, ctx: &RequestContext, name: String) -> PageResult<Self> {
        let dataset = one::find(web, ctx, name).await?;
        let before = ctx.params.get("before");
        let before = before.ok_or_else(|| PageError::Bad("before: choose a run".to_owned()))?;
        let after: Vec<&str> = ctx.params.all("after").filter(|run| !run.is_empty()).collect();
        if after.is_empty() {
            return Err(PageError::Bad("after: choose a run".to_owned()));
        }
        if after.len() > CANDIDATES {
            return Err(PageError::Bad(format!("after: at most {CANDIDATES} runs")));
        }
        let mut runs = Vec::new();
        for named in std::iter::once(before).chain(after) {
            let run = run::find(web, ctx, &dataset, named.to_owned()).await?;
            let results = results::results(web, ctx, &run.id, (RunDetail::Outcomes, &[])).await?;
            runs.push(ComparedRun { run, results, shown: BTreeMap::new(), comparison: None });
        }
        let results = || runs.iter().map(|run| &run.results);
        let scores = outcomes::score_names(results());
        let asked = ctx.params.get("score").map(str::to_owned);
        let score = asked.or_else(|| scores.first().cloned()).unwrap_or(CORRECTNESS.to_owned());
        let scale = outcomes::scale_of(results(), &score);
        let mut compared = Self { dataset, score, scores, scale, runs };
        compared.compare();
        Ok(compared)
    }

    /// The ids of the items that the URL asks for, in their order.
    fn shown_ids(&self, ctx: &RequestContext) -> Vec<String> {
        let rows = self.rows();
        self.shown(&rows, ctx).iter().map(|row| row.item.to_owned()).collect()
    }

    /// Reads the outputs of some items, in the place of those that were read before.
    async fn read_texts(
        &mut self,
        web: &Web,
        ctx: &RequestContext,
        items: &[String],
    ) -> StoreResult<()> {
        for run in &mut self.runs {
            run.shown = match items.is_empty() {
                true => BTreeMap::new(),
                false => {
                    results::results(web, ctx, &run.run.id, (RunDetail::Outputs, items)).await?
                }
            };
        }
        Ok(())
    }

    /// Compares each candidate with the baseline.
    fn compare(&mut self) {
        let (score, scale) = (&self.score, self.scale);
        let items = self.runs.iter().map(|run| outcomes::item_runs(&run.results, score, scale));
        let items: Vec<Vec<ItemRun>> = items.collect();
        let Some((baseline, candidates)) = items.split_first() else { return };
        for (run, items) in self.runs.iter_mut().skip(1).zip(candidates) {
            run.comparison = Some(RunComparison::of(baseline, items));
        }
    }

    /// Whether the score is a share, so that its mean is an accuracy.
    fn is_share(&self) -> bool {
        outcomes::is_share(self.scale)
    }

    /// All items, those to look at first.
    fn rows(&self) -> Vec<ItemRow<'_>> {
        let mut found: BTreeMap<&str, ItemChange> = BTreeMap::new();
        for comparison in self.runs.iter().filter_map(|run| run.comparison.as_ref()) {
            for (item, change) in &comparison.changes {
                let known = found.entry(item).or_insert(*change);
                *known = (*known).min(*change);
            }
        }
        let mut rows: Vec<ItemRow<'_>> =
            found.into_iter().map(|(item, change)| ItemRow { item, change }).collect();
        rows.sort_by_key(|row| (row.change, row.item));
        rows
    }

    /// The items that the URL asks for; a named one first, whatever became of it.
    fn shown<'a>(&self, rows: &'a [ItemRow<'a>], ctx: &RequestContext) -> Vec<&'a ItemRow<'a>> {
        let wanted = CHANGES.into_iter().find(|(_, word, _)| ctx.params.get("show") == Some(word));
        let named = ctx.params.get("item");
        let is_named = |row: &&ItemRow<'_>| named == Some(row.item);
        let fits = |row: &&ItemRow<'_>| wanted.is_none_or(|(change, ..)| row.change == change);
        let first = rows.iter().filter(is_named);
        first.chain(rows.iter().filter(|row| fits(row) && !is_named(row))).collect()
    }

    fn summary(&self, rows: &[ItemRow<'_>]) -> Markup {
        let trials =
            |run: &ComparedRun| run.results.values().map(|of| of.trials.len()).sum::<usize>();
        let is_cut = self.runs.iter().any(|run| trials(run) >= MAX_TRIALS);
        html! {
            (figure::counted(rows.len() as u64, "item"))
            @if is_cut { " (newest " (figure::grouped(MAX_TRIALS as u64)) " trials of each run)" }
            ", compared by " bdi { (self.score) } "."
        }
    }

    /// Which score decides.
    fn chooser(&self, ctx: &RequestContext) -> Markup {
        let here = ctx.here().without("score").without("page").without("done");
        html! {
            @if self.scores.len() > 1 {
                form.inline-form method="get" action=(here.path()) {
                    @for (name, value) in here.pairs() { input type="hidden" name=(name) value=(value); }
                    label for="score" { "Compare by" }
                    select #score name="score" {
                        @for name in &self.scores {
                            option value=(name) selected[*name == self.score] { (name) }
                        }
                    }
                    button.button type="submit" { "Apply" }
                }
            }
        }
    }
}
