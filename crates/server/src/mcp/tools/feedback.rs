use ratchet_stages::improve::tools::FeedbackTool;

use super::super::tool::{ArgumentLocation, Runs, ToolAccess, ToolDefinition, ToolParameter};

/// The seven tools of the feedback loop: all read.
pub(super) fn tools() -> Vec<ToolDefinition> {
    FeedbackTool::ALL.into_iter().map(definition).collect()
}

fn definition(tool: FeedbackTool) -> ToolDefinition {
    let week = ToolParameter::text(
        "week",
        "a day of the week, such as 2026-11-08; weeks start on Sunday [the last full week]",
    );
    let own = tool.parameters().iter().map(|parameter| {
        let shaped = ToolParameter::shaped(parameter.name, parameter.schema());
        if parameter.is_required { shaped.required() } else { shaped }
    });
    let parameters = own.chain([week]).map(|it| it.at(ArgumentLocation::Tool)).collect();
    ToolDefinition {
        name: tool.name(),
        about: tool.about(),
        access: ToolAccess::Read,
        parameters,
        runs: Runs::Feedback(tool),
    }
}
