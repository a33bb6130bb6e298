use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_remote::langfuse::wire::observation_v2::FieldGroup;
use ratchet_remote::langfuse::wire::wire_name::WireEnum;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{MAX_ROWS, pages, read, words};
use crate::mcp::api::ToolError;
use crate::mcp::tool::{ArgumentLocation, ToolDefinition, ToolParameter};

/// Fields of an observation, by group, that are long: read only if the client names them.
const LONG: [(&str, FieldGroup); 3] =
    [("input", FieldGroup::Io), ("output", FieldGroup::Io), ("metadata", FieldGroup::Metadata)];

pub(super) fn tools() -> Vec<ToolDefinition> {
    vec![list_traces(), get_trace(), list_observations(), get_observation()]
}

fn list_traces() -> ToolDefinition {
    let mut parameters = vec![
        ToolParameter::text("name", "name of the trace"),
        ToolParameter::text("userId", "ID of the user"),
        ToolParameter::text("sessionId", "ID of the session"),
        ToolParameter::texts("tags", "has all of these tags"),
        ToolParameter::text("version", "version of the trace"),
        ToolParameter::text("release", "release of the application"),
        ToolParameter::texts("environment", "any of these environments"),
        ToolParameter::time("fromTimestamp", "started at this time or later"),
        ToolParameter::time("toTimestamp", "started before this time"),
        ToolParameter::text("orderBy", "a field and .asc or .desc, such as totalCost.desc"),
        filter(),
    ];
    parameters.extend(pages());
    read(
        "listTraces",
        "Lists traces, newest first: names, users, cost and latency. getTrace shows input, output \
         and scores of one, listObservations its observations.",
        "/api/public/traces",
        parameters,
    )
    .fixed(&[(ArgumentLocation::Query, "fields", "core,metrics")])
}

fn get_trace() -> ToolDefinition {
    let id =
        ToolParameter::text("traceId", "ID of the trace").required().at(ArgumentLocation::Path);
    read(
        "getTrace",
        "Shows one trace with input, output and scores; listObservations with its traceId shows \
         its observations.",
        "/api/public/traces/{traceId}",
        vec![id],
    )
    .fixed(&[(ArgumentLocation::Query, "fields", "core,io,scores,metrics")])
}

fn list_observations() -> ToolDefinition {
    let parameters = vec![
        fields(),
        ToolParameter::texts("expandMetadataKeys", "metadata keys to return whole")
            .sent_as("expandMetadata")
            .at(ArgumentLocation::Commas),
        ToolParameter::at_most("limit", MAX_ROWS, "rows of a page [50]"),
        ToolParameter::text("cursor", "cursor of the page before"),
        ToolParameter::word("type", &words::<ObservationKind>()),
        ToolParameter::text("name", "name of the observation"),
        ToolParameter::text("userId", "user of its trace"),
        ToolParameter::text("sessionId", "session of its trace"),
        ToolParameter::word("level", &words::<Level>()),
        ToolParameter::text("traceId", "ID of its trace"),
        ToolParameter::text("version", "version of the code that ran"),
        ToolParameter::text("parentObservationId", "ID of its parent"),
        ToolParameter::truth("isRootObservation", "whether it has no parent"),
        ToolParameter::text("environment", "environment"),
        ToolParameter::time("fromStartTime", "started at this time or later"),
        ToolParameter::time("toStartTime", "started before this time"),
        filter(),
    ];
    read(
        "listObservations",
        "Lists observations (model calls, tool calls, spans, events), newest first; with traceId, \
         those of one trace.",
        "/api/public/v2/observations",
        parameters,
    )
    .prepared(read_groups)
}

fn get_observation() -> ToolDefinition {
    let id = ToolParameter::text("observationId", "ID of the observation");
    read(
        "getObservation",
        "Shows one observation with input, output, metadata, usage and cost.",
        "/api/public/observations/{observationId}",
        vec![id.required().at(ArgumentLocation::Path), fields().at(ArgumentLocation::Tool)],
    )
}

fn fields() -> ToolParameter {
    let about = "fields to return, such as [\"name\", \"input\", \"totalCost\"]; [\"*\"] for all";
    ToolParameter::texts("fields", about).at(ArgumentLocation::Commas)
}

fn filter() -> ToolParameter {
    let condition = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "description": "string, number, datetime, stringOptions, arrayOptions, boolean, stringObject, …"},
            "column": {"type": "string"},
            "operator": {"type": "string", "description": "such as =, >, contains, any of"},
            "value": {},
            "key": {"type": "string", "description": "key of a metadata condition"},
        },
        "required": ["type", "column", "operator", "value"],
    });
    let about = "conditions that must all hold";
    let schema = json!({"type": "array", "items": condition, "description": about});
    ToolParameter::shaped("filter", schema).at(ArgumentLocation::JsonText)
}

/// The field groups that contain the wanted fields. The answer is reduced to the fields
/// afterwards.
#[expect(clippy::unnecessary_wraps, reason = "other tools refuse arguments")]
fn read_groups(arguments: &mut JsonObject) -> Result<(), ToolError> {
    let wanted = arguments.get("fields").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_all = wanted.iter().any(|field| field == "*");
    let is_wanted = |group: FieldGroup| {
        let mut long = LONG.iter().filter(|(_, of)| *of == group).peekable();
        long.peek().is_none()
            || is_all
            || long.any(|(name, _)| wanted.iter().any(|one| one == name))
    };
    let groups: Vec<_> = FieldGroup::all()
        .into_iter()
        .filter(|group| is_wanted(*group))
        .map(FieldGroup::wire_name)
        .collect();
    arguments.insert("fields".to_owned(), json!(groups));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: Value, io: bool, metadata: bool) {
        let mut arguments = JsonObject::from_iter([("fields".to_owned(), fields)]);
        read_groups(&mut arguments).unwrap();
        let groups = arguments["fields"].as_array().unwrap();
        let has = |name: &str| groups.iter().any(|group| group == name);
        assert_eq!((has("core"), has("io"), has("metadata")), (true, io, metadata), "{groups:?}");
    }

    #[test]
    fn long_fields_are_read_only_if_wanted() {
        check(Value::Null, false, false);
        check(json!(["name"]), false, false);
        check(json!(["name", "output"]), true, false);
        check(json!(["metadata"]), false, true);
        check(json!(["*"]), true, true);
    }
}
