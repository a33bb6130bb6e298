use axum::http::Method;
use ratchet_core::record::score::{DataType, ScoreSource};

use super::{operation, pages, read, words};
use crate::mcp::tool::{ArgumentLocation, ToolAccess, ToolDefinition, ToolParameter};

pub(super) fn tools() -> Vec<ToolDefinition> {
    let score = || {
        let id = ToolParameter::text("scoreId", "ID of the score");
        vec![id.required().at(ArgumentLocation::Path)]
    };
    let config = ToolParameter::text("configId", "ID of the score config");
    vec![
        list(),
        read("getScore", "Shows one score.", "/api/public/v2/scores/{scoreId}", score()),
        create(),
        operation(
            "deleteScore",
            "Deletes one score.",
            (ToolAccess::Edit, Method::DELETE, "/api/public/scores/{scoreId}"),
            score(),
        ),
        read(
            "listScoreConfigs",
            "Lists the score configs: names, types and ranges of scores.",
            "/api/public/score-configs",
            pages().into(),
        ),
        read(
            "getScoreConfig",
            "Shows one score config.",
            "/api/public/score-configs/{configId}",
            vec![config.required().at(ArgumentLocation::Path)],
        ),
    ]
}

fn list() -> ToolDefinition {
    let mut parameters = vec![
        ToolParameter::text("name", "name of the score"),
        ToolParameter::text("traceId", "on this trace"),
        ToolParameter::texts("observationId", "on these observations").at(ArgumentLocation::Commas),
        ToolParameter::text("sessionId", "on this session"),
        ToolParameter::text("datasetRunId", "on this dataset run"),
        ToolParameter::text("userId", "user of its trace"),
        ToolParameter::texts("traceTags", "all of these tags on its trace"),
        ToolParameter::texts("environment", "any of these environments"),
        ToolParameter::word("source", &words::<ScoreSource>()),
        ToolParameter::word("dataType", &words::<DataType>()),
        ToolParameter::text("configId", "ID of its score config"),
        ToolParameter::text("queueId", "ID of its annotation queue"),
        ToolParameter::word("operator", &["<", ">", "<=", ">=", "!=", "="]),
        ToolParameter::number("value", "value to compare with; takes an operator"),
        ToolParameter::texts("scoreIds", "these scores").at(ArgumentLocation::Commas),
        ToolParameter::time("fromTimestamp", "recorded at this time or later"),
        ToolParameter::time("toTimestamp", "recorded before this time"),
    ];
    parameters.extend(pages());
    read(
        "listScores",
        "Lists scores on traces, observations, sessions and dataset runs, newest first.",
        "/api/public/v2/scores",
        parameters,
    )
}

fn create() -> ToolDefinition {
    let parameters = vec![
        ToolParameter::text("name", "name of the score").required(),
        ToolParameter::any("value", "a number, or a text for categories; 1 or 0 for a boolean")
            .required(),
        ToolParameter::text("traceId", "the trace it is on"),
        ToolParameter::text("observationId", "the observation of that trace"),
        ToolParameter::text("sessionId", "the session it is on"),
        ToolParameter::text("datasetRunId", "the dataset run it is on"),
        ToolParameter::word("dataType", &words::<DataType>()),
        ToolParameter::text("comment", "why"),
        ToolParameter::text("configId", "ID of its score config"),
        ToolParameter::object("metadata", "any JSON"),
        ToolParameter::text("environment", "environment [default]"),
        ToolParameter::text("id", "ID of the score; a second one with it replaces the first"),
    ];
    let parameters = parameters.into_iter().map(|one| one.at(ArgumentLocation::Body)).collect();
    operation(
        "createScore",
        "Records a score on a trace, an observation, a session or a dataset run.",
        (ToolAccess::Record, Method::POST, "/api/public/scores"),
        parameters,
    )
}
