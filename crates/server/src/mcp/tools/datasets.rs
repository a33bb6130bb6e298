use axum::http::Method;

use super::{operation, pages, read};
use crate::mcp::tool::{ArgumentLocation, Need, ToolAccess, ToolDefinition, ToolParameter};

const ITEMS: &str = "/api/public/dataset-items";
const ITEM: &str = "/api/public/dataset-items/{datasetItemId}";

pub(super) fn tools() -> Vec<ToolDefinition> {
    let mut all = vec![
        read(
            "listDatasets",
            "Lists datasets, newest first.",
            "/api/public/v2/datasets",
            pages().into(),
        ),
        read(
            "getDataset",
            "Shows a dataset, without its items.",
            "/api/public/v2/datasets/{datasetName}",
            dataset(ArgumentLocation::Path).into(),
        ),
        upsert(),
    ];
    all.extend(items());
    all.extend(runs());
    all
}

fn upsert() -> ToolDefinition {
    let parameters = vec![
        ToolParameter::text("name", "name of the dataset").required(),
        ToolParameter::text("description", "description"),
        ToolParameter::any("metadata", "any JSON"),
        ToolParameter::object("inputSchema", "JSON Schema that inputs must match"),
        ToolParameter::object("expectedOutputSchema", "JSON Schema of expected outputs"),
    ];
    let parameters = parameters.into_iter().map(|one| one.at(ArgumentLocation::Body)).collect();
    operation(
        "upsertDataset",
        "Creates a dataset, or changes the one of this name.",
        (ToolAccess::Edit, Method::POST, "/api/public/v2/datasets"),
        parameters,
    )
}

fn items() -> [ToolDefinition; 4] {
    let [id, name] = dataset(ArgumentLocation::Query);
    let mut of_list = vec![
        id,
        ToolParameter { need: Need::Optional, ..name },
        ToolParameter::text("sourceTraceId", "created from this trace"),
        ToolParameter::text("sourceObservationId", "created from this observation"),
        ToolParameter::time("version", "state at this time; takes a dataset"),
    ];
    of_list.extend(pages());
    let item = || {
        let id = ToolParameter::text("datasetItemId", "ID of the item");
        vec![id.required().at(ArgumentLocation::Path)]
    };
    let mut of_item: Vec<_> = dataset(ArgumentLocation::Body).into();
    let fields = [
        ToolParameter::any("input", "any JSON"),
        ToolParameter::any("expectedOutput", "any JSON"),
        ToolParameter::any("metadata", "any JSON"),
        ToolParameter::text("id", "ID of the item; a new one by default"),
        ToolParameter::text("sourceTraceId", "the trace it comes from"),
        ToolParameter::text("sourceObservationId", "the observation it comes from"),
        ToolParameter::word("status", &["ACTIVE", "ARCHIVED"]),
    ];
    of_item.extend(fields.into_iter().map(|one| one.at(ArgumentLocation::Body)));
    let edit = ToolAccess::Edit;
    [
        read(
            "listDatasetItems",
            "Lists items of a dataset, or of all, newest first.",
            ITEMS,
            of_list,
        ),
        read("getDatasetItem", "Shows one item of a dataset.", ITEM, item()),
        operation(
            "upsertDatasetItem",
            "Creates an item of a dataset, or a new version of the one with its ID.",
            (edit, Method::POST, ITEMS),
            of_item,
        ),
        operation(
            "deleteDatasetItem",
            "Deletes an item of a dataset, with its results in runs.",
            (edit, Method::DELETE, ITEM),
            item(),
        ),
    ]
}

fn runs() -> [ToolDefinition; 2] {
    let mut of_list: Vec<_> = dataset(ArgumentLocation::Path).into();
    of_list.extend(pages());
    let mut of_run: Vec<_> = dataset(ArgumentLocation::Path).into();
    of_run.push(
        ToolParameter::text("runName", "name of the run").required().at(ArgumentLocation::Path),
    );
    [
        read(
            "listDatasetRuns",
            "Lists the runs (experiments) of a dataset, newest first.",
            "/api/public/datasets/{datasetName}/runs",
            of_list,
        ),
        read(
            "getDatasetRun",
            "Shows a run of a dataset with its items.",
            "/api/public/datasets/{datasetName}/runs/{runName}",
            of_run,
        ),
    ]
}

/// A dataset by its id, as in Langfuse's MCP server, or by its name, as in the REST API.
fn dataset(location: ArgumentLocation) -> [ToolParameter; 2] {
    [
        ToolParameter::text("datasetId", "ID of the dataset").at(ArgumentLocation::Tool),
        ToolParameter::text("datasetName", "name of the dataset, instead of its ID")
            .unless("datasetId")
            .at(location),
    ]
}
