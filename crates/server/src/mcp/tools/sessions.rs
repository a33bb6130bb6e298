use crate::mcp::bounds::{MAX_TEXT_BYTES, USUAL_TEXT_BYTES};
use crate::mcp::session_arguments::MAX_ROWS;
use crate::mcp::tool::{ArgumentLocation, Runs, ToolAccess, ToolDefinition, ToolParameter};

/// Tools that combine several reads. They are the oldest, so that agents know their names.
pub(super) fn tools() -> Vec<ToolDefinition> {
    let days = || ToolParameter::count("days", "days to look back [7]");
    let limit = || ToolParameter::at_most("limit", MAX_ROWS, "maximum number of results [50]");
    let about = format!(
        "truncate inputs and outputs to this many bytes, in the middle [{USUAL_TEXT_BYTES}]"
    );
    let max_bytes = ToolParameter::at_most("max_bytes", MAX_TEXT_BYTES as u64, &about);
    let session = || ToolParameter::text("session_id", "ID of the session");
    vec![
        tool(
            "list_sessions",
            "Lists sessions, newest first: time, number of traces, errors, tokens, cost.",
            vec![days(), limit()],
        ),
        tool(
            "get_session",
            "Shows one session: its scores with their reasons, and its traces in order, numbered as \
             scores cite them. With `trace`, one trace with all its observations.",
            vec![
                session().required(),
                ToolParameter::count("trace", "only this trace, with its observations"),
                ToolParameter::count("from_trace", "traces from this number on [1]"),
                limit(),
                max_bytes,
            ],
        ),
        tool(
            "list_scores",
            "Lists scores, newest first, with rationale and source; filter by session or by name, such as overall_quality.",
            vec![session(), ToolParameter::text("name", "name of the score"), days(), limit()],
        ),
        tool(
            "get_report",
            "Shows a weekly report on the quality of sessions: means, trends, outliers, common \
             issues and suggestions. The newest unless `week` names another by its first day.",
            vec![ToolParameter::text("week", "such as 2026-11-08")],
        ),
    ]
}

fn tool(name: &'static str, about: &'static str, parameters: Vec<ToolParameter>) -> ToolDefinition {
    let parameters = parameters.into_iter().map(|one| one.at(ArgumentLocation::Tool)).collect();
    ToolDefinition { name, about, access: ToolAccess::Read, parameters, runs: Runs::Records }
}
