use axum::Json;
use axum::extract::State;
use ratchet_core::issue::Issue;
use ratchet_core::record::score::{DataType, Score, ScoreSource};
use ratchet_remote::langfuse::wire::page::{SliceMeta, Sliced};
use ratchet_remote::langfuse::wire::score::v3::TypedScore;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::WireEnum;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Compare, Condition, ScoreColumn, ScoreQuery, ScoresOn, Test};

use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiResult;
use crate::langfuse::params::{CursorParams, Params, number};

/// A field group of a typed score, besides the core that is always included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Details,
    Subject,
    Annotation,
}

impl WireEnum for Group {
    const WHAT: &'static str = "field group";

    fn all() -> Vec<Self> {
        vec![Self::Details, Self::Subject, Self::Annotation]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Details => "details",
            Self::Subject => "subject",
            Self::Annotation => "annotation",
        }
    }
}

/// `GET /api/public/v3/scores`: scores on anything, newest first.
#[utoipa::path(
    get,
    path = "/api/public/v3/scores",
    tag = "Scores",
    params(
        CursorParams,
        ("fields" = Option<String>, Query, description = "Comma-separated field groups besides the core: details, subject, annotation."),
        ("id" = Option<String>, Query, description = "Comma-separated ids."),
        ("name" = Option<String>, Query, description = "Comma-separated names."),
        ("source" = Option<String>, Query, description = "Comma-separated sources."),
        ("dataType" = Option<String>, Query, description = "Comma-separated data types."),
        ("environment" = Option<String>, Query, description = "Comma-separated environments."),
        ("configId" = Option<String>, Query, description = "Comma-separated ids of score configs."),
        ("queueId" = Option<String>, Query, description = "Comma-separated ids of annotation queues."),
        ("authorUserId" = Option<String>, Query, description = "Comma-separated user ids."),
        ("value" = Option<String>, Query, description = "Comma-separated values; requires one dataType."),
        ("valueMin" = Option<f64>, Query, description = "Minimum value; requires dataType=NUMERIC."),
        ("valueMax" = Option<f64>, Query, description = "Maximum value; requires dataType=NUMERIC."),
        ("traceId" = Option<String>, Query, description = "Comma-separated ids of the traces it is on."),
        ("sessionId" = Option<String>, Query, description = "Comma-separated ids of the sessions it is on."),
        ("observationId" = Option<String>, Query, description = "Comma-separated ids of the observations it is on; requires traceId."),
        ("experimentId" = Option<String>, Query, description = "Comma-separated ids of the dataset runs it is on."),
        ("fromTimestamp" = Option<Time>, Query, description = "Recorded at this time or later."),
        ("toTimestamp" = Option<Time>, Query, description = "Recorded before this time."),
    ),
    responses((status = 200, body = Sliced<TypedScore>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Sliced<TypedScore>>> {
    let groups: Vec<Group> = params.words("fields");
    let (query, limit) = read_query(caller.project.clone(), params)?;
    let found = app.store.telemetry.scores(query).await?;
    let show = |score: &Score| {
        let mut view = TypedScore::new(score, caller.project.as_str());
        if groups.contains(&Group::Details) {
            view = view.with_details(score);
        }
        if groups.contains(&Group::Subject) {
            view = view.with_subject(score);
        }
        if groups.contains(&Group::Annotation) {
            view = view.with_annotation(score);
        }
        view
    };
    let meta = SliceMeta { limit, cursor: found.cursor };
    Ok(Json(Sliced { data: found.rows.iter().map(show).collect(), meta }))
}

fn read_query(project: ProjectId, mut params: Params) -> ApiResult<(ScoreQuery, u64)> {
    let (paging, limit) = params.slice();
    let mut conditions = any_of(&mut params);
    conditions.extend(values(&mut params));
    check_targets(&mut params);
    let range = params.range("fromTimestamp", "toTimestamp");
    params.finish()?;
    Ok((ScoreQuery { project, range, on: ScoresOn::Anything, conditions, paging }, limit))
}

fn any_of(params: &mut Params) -> Vec<Condition<ScoreColumn>> {
    let words = |words: Vec<&'static str>| words.into_iter().map(str::to_owned).collect();
    let sources = params.words("source").into_iter().map(ScoreSource::wire_name).collect();
    let data_types = params.words("dataType").into_iter().map(DataType::wire_name).collect();
    let lists = [
        (ScoreColumn::Trace, params.commas("traceId")),
        (ScoreColumn::Session, params.commas("sessionId")),
        (ScoreColumn::DatasetRun, params.commas("experimentId")),
        (ScoreColumn::Observation, params.commas("observationId")),
        (ScoreColumn::Id, params.commas("id")),
        (ScoreColumn::Name, params.commas("name")),
        (ScoreColumn::Source, words(sources)),
        (ScoreColumn::DataType, words(data_types)),
        (ScoreColumn::Environment, params.commas("environment")),
        (ScoreColumn::Config, params.commas("configId")),
        (ScoreColumn::Queue, params.commas("queueId")),
        (ScoreColumn::Author, params.commas("authorUserId")),
    ];
    let asked = lists.into_iter().filter(|(_, words)| !words.is_empty());
    asked.map(|(column, words)| Condition { column, test: Test::AnyOf(words) }).collect()
}

/// A score has one target, and an observation is identified with its trace.
fn check_targets(params: &mut Params) {
    let is_given = |name: &str| params.text(name).is_some();
    let targets = ["traceId", "sessionId", "experimentId"];
    let given: Vec<_> = targets.into_iter().filter(|name| is_given(name)).collect();
    let needs_trace = is_given("observationId") && !is_given("traceId");
    if let [_, second, ..] = given.as_slice() {
        let message = format!("cannot be combined: {} exclude one another", targets.join(", "));
        params.report([Issue::at(second, message)]);
    }
    if needs_trace {
        let message = "needs the traceId of its trace: observation ids are scoped to a trace";
        params.report([Issue::at("observationId", message)]);
    }
}

/// `value`, `valueMin` and `valueMax`, which depend on the requested data type.
fn values(params: &mut Params) -> Vec<Condition<ScoreColumn>> {
    let data_type = match params.commas("dataType").as_slice() {
        [one] => DataType::from_wire_name(one),
        _ => None,
    };
    let mut conditions = Vec::new();
    for (name, compare) in [("valueMin", Compare::AtLeast), ("valueMax", Compare::AtMost)] {
        let Some(bound) = params.number(name) else { continue };
        if data_type != Some(DataType::Numeric) {
            params.report([Issue::at(name, "needs dataType=NUMERIC, and no other data type")]);
        }
        let test = Test::Number(compare, bound);
        conditions.push(Condition { column: ScoreColumn::Number, test });
    }
    let values = params.commas("value");
    if !values.is_empty() {
        match exactly(data_type, values) {
            Ok(condition) => conditions.push(condition),
            Err(message) => params.report([Issue::at("value", message)]),
        }
    }
    conditions
}

fn exactly(
    data_type: Option<DataType>,
    values: Vec<String>,
) -> Result<Condition<ScoreColumn>, String> {
    match data_type {
        Some(DataType::Numeric) => {
            let numbers: Result<_, _> = values.iter().map(|value| number(value)).collect();
            Ok(Condition { column: ScoreColumn::Number, test: Test::AnyNumber(numbers?) })
        }
        Some(DataType::Boolean) => {
            let words: Result<_, _> = values.iter().map(|value| truth(value)).collect();
            Ok(Condition { column: ScoreColumn::Text, test: Test::AnyOf(words?) })
        }
        Some(DataType::Categorical) => {
            Ok(Condition { column: ScoreColumn::Text, test: Test::AnyOf(values) })
        }
        Some(DataType::Text | DataType::Correction) | None => {
            Err("needs one dataType out of NUMERIC, BOOLEAN, CATEGORICAL".to_owned())
        }
    }
}

/// The stored form of a boolean.
fn truth(text: &str) -> Result<String, String> {
    match text {
        "true" => Ok("True".to_owned()),
        "false" => Ok("False".to_owned()),
        _ => Err(format!("must be true or false, not {text}")),
    }
}
