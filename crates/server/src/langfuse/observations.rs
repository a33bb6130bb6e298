use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ratchet_core::money::Money;
use ratchet_core::record::field_table;
use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::trace::Content;
use ratchet_remote::langfuse::wire::observation::{ModelPrices, ObservationView};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::{LevelName, ObservationKindName, WireEnum};
use ratchet_stages::dashboards::filter::Filter;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, PageNumber, Paging, Test,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::page_stream::{self, RowWriter};
use super::params::{PageParams, Params, meta};
use super::path::PathId;
use super::prompt_ids::PromptIds;
use super::{response, review_scope};
use crate::app::App;
use crate::auth::{QueueReader, Reader};
use crate::error::ApiResult;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(show))
}

/// `GET /api/public/observations`: observations, newest first.
#[utoipa::path(
    get,
    path = "/api/public/observations",
    tag = "Observations",
    params(
        PageParams,
        ("name" = Option<String>, Query, description = "Name."),
        ("userId" = Option<String>, Query, description = "User of its trace."),
        ("type" = Option<ObservationKindName>, Query, description = "Type of observation."),
        ("traceId" = Option<String>, Query, description = "Id of its trace."),
        ("level" = Option<LevelName>, Query, description = "Log level."),
        ("parentObservationId" = Option<String>, Query, description = "Id of the parent."),
        ("environment" = Option<Vec<String>>, Query, description = "Any of these environments."),
        ("fromStartTime" = Option<Time>, Query, description = "Started at this time or later."),
        ("toStartTime" = Option<Time>, Query, description = "Started before this time."),
        ("version" = Option<String>, Query, description = "The version of the code that ran."),
        ("filter" = Option<String>, Query, description = "Conditions, as a JSON array."),
    ),
    responses((status = 200, body = Paged<ObservationView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Response> {
    let project = caller.project.clone();
    let prices = app.store.prices(&project);
    let (query, page) = read_query(caller.project, params)?;
    let found = app.store.telemetry.observations(query).await?;
    let prompts = PromptIds::of(&app, &project, &found.rows).await?;
    let empty = Paged { data: Vec::<()>::new(), meta: meta(page, found.total) };
    let writer = ObservationWriter { app: app.clone(), project, prices, prompts };
    page_stream::respond(app, writer, found.rows, empty).await
}

/// Writes the observations of a list.
struct ObservationWriter {
    app: App,
    project: ProjectId,
    prices: Arc<PriceTable>,
    prompts: PromptIds,
}

impl RowWriter for ObservationWriter {
    type Row = Observation;

    fn shows_content(&self) -> bool {
        true
    }

    fn content(row: &Observation) -> Option<&Content> {
        row.content.as_ref()
    }

    async fn load(&self, row: Observation) -> ApiResult<Option<Observation>> {
        load(&self.app, &self.project, row).await
    }

    fn write(&self, row: &Observation, text: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(text, &view(row, &self.prices, &self.prompts))
    }
}

/// Reads an observation of a list again, with its content; `None` if it was deleted meanwhile.
pub(super) async fn load(
    app: &App,
    project: &ProjectId,
    row: Observation,
) -> ApiResult<Option<Observation>> {
    let telemetry = &app.store.telemetry;
    let found = telemetry.observations_of_trace(project.clone(), row.trace, vec![row.id]).await?;
    Ok(found.into_iter().next())
}

/// `GET /api/public/observations/{id}`: one observation.
#[utoipa::path(
    get,
    path = "/api/public/observations/{*id}",
    tag = "Observations",
    params(("id" = String, Path, description = "The observation's id.")),
    responses((status = 200, body = ObservationView))
)]
pub(super) async fn show(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathId(id): PathId<Observation>,
) -> ApiResult<Json<ObservationView>> {
    if !review_scope::has_observation(&app, &caller, &id).await? {
        return Err(response::not_found("Observation"));
    }
    let prices = app.store.prices(&caller.project);
    let observation = app.store.telemetry.observation(caller.project.clone(), id.clone()).await?;
    let observation = observation.ok_or_else(|| response::not_found("Observation"))?;
    let seen = std::slice::from_ref(&observation);
    let prompts = PromptIds::of(&app, &caller.project, seen).await?;
    Ok(Json(view(&observation, &prices, &prompts)))
}

/// The response form of an observation, with model prices and prompt version.
pub(super) fn view(
    observation: &Observation,
    prices: &PriceTable,
    prompts: &PromptIds,
) -> ObservationView {
    let view = ObservationView::new(observation, model_prices(observation, prices));
    ObservationView { prompt_id: prompts.get(observation).map(str::to_owned), ..view }
}

/// The prices of an observation's model, if known.
pub(super) fn model_prices(observation: &Observation, prices: &PriceTable) -> ModelPrices {
    let listed =
        observation.model.as_deref().and_then(|model| prices.list_price(model, observation.start));
    let prices = listed.map(|listed| ModelPrices {
        model_id: Some(listed.model.to_owned()),
        input_price: listed.input.map(Money::dollars),
        output_price: listed.output.map(Money::dollars),
        total_price: listed.total.map(Money::dollars),
    });
    prices.unwrap_or_default()
}

fn read_query(project: ProjectId, mut params: Params) -> ApiResult<(ObservationQuery, PageNumber)> {
    let page = params.page();
    let simple = Filter {
        range: params.range("fromStartTime", "toStartTime"),
        conditions: simple_conditions(&mut params),
    };
    let filter = params.filter_over(&field_table::OBSERVATION, simple);
    let trace = params.id("traceId").filter(|_| !filter.names(ObservationColumn::Trace));
    let query = ObservationQuery {
        project,
        range: filter.range,
        trace,
        conditions: filter.conditions,
        direction: Direction::Descending,
        paging: Paging::Numbered(page),
        detail: Detail::BoundedContent,
    };
    params.finish()?;
    Ok((query, page))
}

/// The conditions of the parameters that both versions share.
pub(super) fn simple_conditions(params: &mut Params) -> Vec<Condition<ObservationColumn>> {
    let kind = params.wire_enum::<ObservationKind>("type").map(|kind| kind.wire_name().to_owned());
    let level = params.wire_enum::<Level>("level").map(|level| level.wire_name().to_owned());
    let equal = [
        (ObservationColumn::Name, params.text("name")),
        (ObservationColumn::TraceUser, params.text("userId")),
        (ObservationColumn::Kind, kind),
        (ObservationColumn::Level, level),
        (ObservationColumn::Parent, params.text("parentObservationId")),
        (ObservationColumn::Version, params.text("version")),
    ];
    let equal =
        equal.into_iter().filter_map(|(column, text)| Some(Condition::equals(column, text?)));
    let mut conditions: Vec<_> = equal.collect();
    let environments = params.list("environment");
    if !environments.is_empty() {
        let test = Test::AnyOf(environments);
        conditions.push(Condition { column: ObservationColumn::Environment, test });
    }
    conditions
}
