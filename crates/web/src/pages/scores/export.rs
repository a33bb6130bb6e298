//! Scores as a file, newest first.

use axum::extract::State;
use axum::response::Response;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_store::StoreResult;
use ratchet_store::query::{Condition, Paging, ScoreColumn, ScoreQuery, ScoresOn};
use ratchet_store::telemetry::Telemetry;

use crate::page_error::PageResult;
use crate::pages::lists::CellValue;
use crate::pages::table_export::{self, TableRows};
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// Scores that are read at a time.
const SLICE: u64 = 500;

/// `GET …/list/scores/export`: the scores of the page's scope, of one name, source or other
/// conditions if the address has them.
pub(super) async fn export(State(web): State<Web>, ctx: RequestContext) -> PageResult<Response> {
    let equals = |column, word: Option<&str>| Some(Condition::equals(column, word?));
    let source = ctx.params.get("source").and_then(ScoreSource::parse);
    let conditions = [
        equals(ScoreColumn::Name, ctx.params.get("name")),
        equals(ScoreColumn::Source, source.map(ScoreSource::as_str)),
    ];
    let (range, filtered) = super::filtered::resolved(&ctx)?;
    let query = ScoreQuery {
        project: ctx.project_id(),
        range,
        on: ScoresOn::Anything,
        conditions: conditions.into_iter().flatten().chain(filtered).collect(),
        paging: Paging::After { cursor: None, limit: SLICE },
    };
    let telemetry = web.store.telemetry.clone();
    table_export::file(&ctx, "scores", ScoreRows { telemetry, query: Some(query) })
}

struct ScoreRows {
    telemetry: Telemetry,
    /// The next slice.
    query: Option<ScoreQuery>,
}

impl TableRows for ScoreRows {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "time",
        "name",
        "data_type",
        "value",
        "number",
        "source",
        "judge",
        "trace",
        "observation",
        "session",
        "dataset_run",
        "environment",
        "comment",
    ];

    async fn next(&mut self) -> StoreResult<Option<Vec<Vec<CellValue>>>> {
        let Some(query) = self.query.take() else { return Ok(None) };
        let page = self.telemetry.scores(query.clone()).await?;
        self.query = page.cursor.map(|cursor| {
            let paging = Paging::After { cursor: Some(cursor), limit: SLICE };
            ScoreQuery { paging, ..query }
        });
        Ok(Some(page.rows.iter().map(cells).collect()))
    }
}

fn cells(score: &Score) -> Vec<CellValue> {
    let text = |text: String| CellValue::Text(Some(text));
    let (mut trace, mut observation, mut session, mut run) = (None, None, None, None);
    match &score.target {
        ScoreTarget::Trace(id) => trace = Some(id.to_string()),
        ScoreTarget::Observation(of, id) => {
            (trace, observation) = (Some(of.to_string()), Some(id.to_string()));
        }
        ScoreTarget::Session(id) => session = Some(id.to_string()),
        ScoreTarget::DatasetRun(id) => run = Some(id.clone()),
    }
    vec![
        text(score.id.to_string()),
        CellValue::Time(score.timestamp),
        text(score.name.clone()),
        text(score.value.data_type().as_str().to_owned()),
        text(score_summary::value(&score.value)),
        CellValue::Number(score.value.number()),
        text(score.source.as_str().to_owned()),
        text(score_summary::judge_name(score)),
        CellValue::Text(trace),
        CellValue::Text(observation),
        CellValue::Text(session),
        CellValue::Text(run),
        text(score.environment.to_string()),
        CellValue::Text(score.comment.clone()),
    ]
}
