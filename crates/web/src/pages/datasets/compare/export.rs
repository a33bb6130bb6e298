use axum::extract::{Path, State};
use axum::response::Response;
use ratchet_core::catalog::run_comparison::ItemChange;
use ratchet_core::money::Money;
use ratchet_store::StoreResult;

use super::overview::role;
use super::{CHANGES, Compared, ROWS};
use crate::page_error::PageResult;
use crate::pages::lists::CellValue;
use crate::pages::table_export::{self, TableRows};
use crate::request_context::RequestContext;
use crate::web::Web;

/// `GET …/datasets/{name}/compare/export`: the items that the page lists, a line for each run and
/// trial.
pub(in super::super) async fn export(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Response> {
    let compared = Compared::read(&web, &ctx, name).await?;
    let rows = compared.rows();
    let shown = compared.shown(&rows, &ctx).into_iter();
    let items: Vec<_> = shown.map(|row| (row.item.to_owned(), row.change)).collect();
    let rows = ComparisonRows { web, ctx: ctx.clone(), compared, items: items.into_iter() };
    table_export::file(&ctx, "run-comparison", rows)
}

/// The items of a comparison, whose outputs are read slice by slice.
struct ComparisonRows {
    web: Web,
    ctx: RequestContext,
    compared: Compared,
    items: std::vec::IntoIter<(String, ItemChange)>,
}

impl TableRows for ComparisonRows {
    const COLUMNS: &'static [&'static str] = &[
        "item",
        "change",
        "role",
        "run",
        "score",
        "value",
        "person",
        "output",
        "expected_output",
        "latency_ms",
        "cost_usd",
        "fault",
        "trace",
    ];

    async fn next(&mut self) -> StoreResult<Option<Vec<Vec<CellValue>>>> {
        let slice: Vec<(String, ItemChange)> = self.items.by_ref().take(ROWS).collect();
        if slice.is_empty() {
            return Ok(None);
        }
        let ids: Vec<String> = slice.iter().map(|(item, _)| item.clone()).collect();
        self.compared.read_texts(&self.web, &self.ctx, &ids).await?;
        let of_item = |(item, change): &(String, ItemChange)| lines(&self.compared, item, *change);
        Ok(Some(slice.iter().flat_map(of_item).collect()))
    }
}

fn lines(compared: &Compared, item: &str, change: ItemChange) -> Vec<Vec<CellValue>> {
    let word = CHANGES.into_iter().find(|(known, ..)| *known == change).map(|(_, word, _)| word);
    let text = |text: &str| CellValue::Text(Some(text.to_owned()));
    let mut lines = Vec::new();
    for (at, run) in compared.runs.iter().enumerate() {
        let Some(result) = run.shown.get(item) else { continue };
        for trial in &result.trials {
            lines.push(vec![
                text(item),
                text(word.unwrap_or_default()),
                text(&role(at)),
                text(&run.run.name),
                text(&compared.score),
                CellValue::Number(trial.scores.judged.get(&compared.score).copied()),
                CellValue::Number(trial.scores.correction(&compared.score)),
                text(&trial.output),
                CellValue::Text(result.expected.clone()),
                CellValue::Number(trial.latency_nanos.map(milliseconds)),
                CellValue::Number(trial.cost.map(Money::dollars)),
                CellValue::Text(trial.fault.clone()),
                text(&trial.trace.to_string()),
            ]);
        }
    }
    lines
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds far below 2^52")]
fn milliseconds(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}
