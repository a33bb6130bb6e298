use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use ratchet_core::record::field_table;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::trace::{Content, Trace};
use ratchet_remote::langfuse::wire::observation_v2::{FieldGroup, InContext, ObservationV2View};
use ratchet_remote::langfuse::wire::page::{SliceMeta, Sliced};
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::{LevelName, ObservationKindName};
use ratchet_stages::dashboards::filter::Filter;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, Test,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::observations;
use super::page_stream::{self, RowWriter};
use super::params::Params;
use super::prompt_ids::PromptIds;
use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiResult;

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 1_000;

/// A parsed request.
#[derive(Debug)]
struct ListRequest {
    query: ObservationQuery,
    limit: u64,
    groups: Vec<FieldGroup>,
    /// Metadata keys to return untruncated.
    expanded: Vec<String>,
}

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list))
}

/// `GET /api/public/v2/observations`: observations, newest first, with selected field groups.
#[utoipa::path(
    get,
    path = "/api/public/v2/observations",
    tag = "Observations",
    params(
        ("fields" = Option<String>, Query, description = "Comma-separated field groups."),
        ("expandMetadata" = Option<String>, Query, description = "Comma-separated metadata keys to return untruncated."),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 1000, description = "Page size."),
        ("cursor" = Option<String>, Query, description = "Cursor from the previous page."),
        ("parseIoAsJson" = Option<bool>, Query, description = "False: payloads are strings."),
        ("name" = Option<String>, Query, description = "Name."),
        ("userId" = Option<String>, Query, description = "User of its trace."),
        ("sessionId" = Option<String>, Query, description = "Session of its trace."),
        ("type" = Option<ObservationKindName>, Query, description = "Type of observation."),
        ("traceId" = Option<String>, Query, description = "Id of its trace."),
        ("level" = Option<LevelName>, Query, description = "Log level."),
        ("parentObservationId" = Option<String>, Query, description = "Id of the parent; empty for none."),
        ("isRootObservation" = Option<bool>, Query, description = "Whether it has no parent."),
        ("environment" = Option<Vec<String>>, Query, description = "Any of these environments."),
        ("fromStartTime" = Option<Time>, Query, description = "Started at this time or later."),
        ("toStartTime" = Option<Time>, Query, description = "Started before this time."),
        ("version" = Option<String>, Query, description = "The version of the code that ran."),
        ("filter" = Option<String>, Query, description = "Conditions, as a JSON array."),
    ),
    responses((status = 200, body = Sliced<ObservationV2View>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Response> {
    let ListRequest { query, limit, groups, expanded } =
        read_query(caller.project.clone(), params)?;
    let found = app.store.telemetry.observations(query).await?;
    let traces = traces_of(&app, &caller.project, &found.rows, &groups).await?;
    let prompts = PromptIds::of(&app, &caller.project, &found.rows).await?;
    let empty = Sliced { data: Vec::<()>::new(), meta: SliceMeta { limit, cursor: found.cursor } };
    let prices = app.store.prices(&caller.project);
    let (project, app_of_writer) = (caller.project, app.clone());
    let writer = ObservationWriter {
        app: app_of_writer,
        project,
        groups,
        expanded,
        traces,
        prices,
        prompts,
    };
    page_stream::respond(app, writer, found.rows, empty).await
}

/// Writes the observations of a list, with the fields that were requested.
struct ObservationWriter {
    app: App,
    project: ProjectId,
    groups: Vec<FieldGroup>,
    expanded: Vec<String>,
    traces: Traces,
    prices: Arc<PriceTable>,
    prompts: PromptIds,
}

impl RowWriter for ObservationWriter {
    type Row = Observation;

    fn shows_content(&self) -> bool {
        shows_content(&self.groups)
    }

    fn content(row: &Observation) -> Option<&Content> {
        row.content.as_ref()
    }

    async fn load(&self, row: Observation) -> ApiResult<Option<Observation>> {
        observations::load(&self.app, &self.project, row).await
    }

    fn write(&self, row: &Observation, text: &mut Vec<u8>) -> serde_json::Result<()> {
        let shown = InContext {
            project: self.project.as_str(),
            observation: row,
            trace: self.traces.get(&row.trace),
            prices: &observations::model_prices(row, &self.prices),
            prompt_id: self.prompts.get(row),
        };
        serde_json::to_writer(text, &ObservationV2View::new(shown, &self.groups, &self.expanded))
    }
}

fn shows_content(groups: &[FieldGroup]) -> bool {
    groups.contains(&FieldGroup::Io) || groups.contains(&FieldGroup::Metadata)
}

type Traces = BTreeMap<ratchet_core::id::TraceId, Trace>;

/// The traces of the observations, if their fields were requested.
async fn traces_of(
    app: &App,
    project: &ProjectId,
    rows: &[Observation],
    groups: &[FieldGroup],
) -> ApiResult<Traces> {
    let is_asked =
        groups.contains(&FieldGroup::Basic) || groups.contains(&FieldGroup::TraceContext);
    if !is_asked {
        return Ok(Traces::new());
    }
    let mut ids: Vec<_> = rows.iter().map(|row| row.trace.clone()).collect();
    ids.sort();
    ids.dedup();
    let found = app.store.telemetry.find_traces(project.clone(), ids).await?;
    Ok(found.into_iter().map(|trace| (trace.id.clone(), trace)).collect())
}

fn read_query(project: ProjectId, mut params: Params) -> ApiResult<ListRequest> {
    let mut groups = params.words("fields");
    if groups.is_empty() {
        groups = vec![FieldGroup::Core, FieldGroup::Basic];
    }
    let range = params.range("fromStartTime", "toStartTime");
    let simple = Filter { range, conditions: conditions(&mut params) };
    let filter = params.filter_over(&field_table::OBSERVATION, simple);
    params.refuse("parseIoAsJson", "true", "input and output are always texts; leave it out");
    let limit = params.whole("limit", 1..=MAX_LIMIT).unwrap_or(DEFAULT_LIMIT);
    let query = ObservationQuery {
        project,
        range: filter.range,
        trace: params.id("traceId").filter(|_| !filter.names(ObservationColumn::Trace)),
        conditions: filter.conditions,
        direction: Direction::Descending,
        paging: Paging::After { cursor: params.text("cursor"), limit },
        detail: if shows_content(&groups) { Detail::BoundedContent } else { Detail::Row },
    };
    let expanded = params.commas("expandMetadata");
    params.finish()?;
    Ok(ListRequest { query, limit, groups, expanded })
}

fn conditions(params: &mut Params) -> Vec<Condition<ObservationColumn>> {
    let mut conditions = observations::simple_conditions(params);
    if params.is_blank("parentObservationId") {
        // An empty value means: without a parent.
        conditions.push(Condition { column: ObservationColumn::Parent, test: Test::IsNull });
    }
    if let Some(session) = params.text("sessionId") {
        conditions.push(Condition::equals(ObservationColumn::TraceSession, session));
    }
    if let Some(is_root) = params.truth("isRootObservation") {
        conditions.push(Condition { column: ObservationColumn::Root, test: Test::Is(is_root) });
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ApiError;
    use crate::langfuse::params::tests::params;

    fn asked(query: &str) -> ListRequest {
        read_query(ProjectId::parse("p").unwrap(), params(query)).unwrap()
    }

    #[test]
    fn core_and_basic_are_shown_unless_told() {
        assert_eq!(asked("").groups, [FieldGroup::Core, FieldGroup::Basic]);
        assert_eq!(asked("").query.detail, Detail::Row);
        let some = asked("fields=usage,%20metadata&expandMetadata=a,%20b");
        assert_eq!(some.groups, [FieldGroup::Usage, FieldGroup::Metadata]);
        assert_eq!(some.query.detail, Detail::BoundedContent);
        assert_eq!(some.expanded, ["a", "b"]);
    }

    #[test]
    fn every_parameter_becomes_a_condition() {
        let asked = asked(
            "name=n&userId=u&sessionId=s&type=TOOL&traceId=t&level=ERROR&parentObservationId=p\
             &isRootObservation=false&environment=x&environment=y&version=v&limit=1000&cursor=c\
             &fromStartTime=2026-11-15T00:00:00Z&toStartTime=2026-11-16T00:00:00Z",
        );
        let columns: Vec<_> = asked.query.conditions.iter().map(|c| c.column).collect();
        let expected = [
            ObservationColumn::Name,
            ObservationColumn::TraceUser,
            ObservationColumn::Kind,
            ObservationColumn::Level,
            ObservationColumn::Parent,
            ObservationColumn::Version,
            ObservationColumn::Environment,
            ObservationColumn::TraceSession,
            ObservationColumn::Root,
        ];
        assert_eq!(columns, expected);
        assert!(asked.query.trace.is_some());
        assert!(asked.query.range.from.is_some() && asked.query.range.to.is_some());
        let paging = Paging::After { cursor: Some("c".to_owned()), limit: 1000 };
        assert_eq!(asked.query.paging, paging);
    }

    #[test]
    fn a_blank_parent_means_none() {
        let test = &asked("parentObservationId=").query.conditions[0];
        assert_eq!((test.column, &test.test), (ObservationColumn::Parent, &Test::IsNull));
    }

    #[test]
    fn nonsense_is_refused() {
        for (query, words) in [
            ("limit=1001", "limit: must be a whole number from 1 to 1000"),
            ("fields=price", "fields: price is not a known field group"),
            ("parseIoAsJson=true", "parseIoAsJson: input and output are always texts"),
            ("isRootObservation=maybe", "isRootObservation: must be true or false"),
        ] {
            let refused = read_query(ProjectId::parse("p").unwrap(), params(query)).unwrap_err();
            let ApiError::InvalidFields(issues) = refused else { panic!("{refused}") };
            assert!(issues[0].to_string().contains(words), "{}", issues[0]);
        }
        assert!(!asked("parseIoAsJson=false").groups.is_empty());
    }
}
