use std::sync::LazyLock;

use axum::http::Method;
use ratchet_remote::langfuse::wire::wire_name::WireEnum;
use rmcp::model::JsonObject;

use super::api::ToolError;
use super::bounds::{MAX_TEXT_BYTES, USUAL_TEXT_BYTES};
use super::operation::Operation;
use super::tool::{ArgumentLocation, Runs, ToolAccess, ToolDefinition, ToolParameter};

mod datasets;
mod feedback;
mod prompts;
mod scores;
mod sessions;
mod traces;

/// Rows of a page, as in the REST API.
const MAX_ROWS: u64 = 100;

static TOOLS: LazyLock<Vec<ToolDefinition>> = LazyLock::new(|| {
    let resources = [
        sessions::tools(),
        prompts::tools(),
        datasets::tools(),
        traces::tools(),
        scores::tools(),
        feedback::tools(),
    ];
    resources.into_iter().flatten().collect()
});

/// Every tool.
pub(super) fn all() -> &'static [ToolDefinition] {
    &TOOLS
}

pub(super) fn find(name: &str) -> Option<&'static ToolDefinition> {
    all().iter().find(|tool| tool.name == name)
}

/// A tool that reads with `GET`, with a limit on the length of values.
fn read(
    name: &'static str,
    about: &'static str,
    path: &'static str,
    mut parameters: Vec<ToolParameter>,
) -> ToolDefinition {
    let about_bytes = format!("cut values longer than this [{USUAL_TEXT_BYTES}]");
    let max_bytes = ToolParameter::at_most("maxBytes", MAX_TEXT_BYTES as u64, &about_bytes);
    parameters.push(max_bytes.at(ArgumentLocation::Tool));
    operation(name, about, (ToolAccess::Read, Method::GET, path), parameters)
}

fn operation(
    name: &'static str,
    about: &'static str,
    (access, method, path): (ToolAccess, Method, &'static str),
    parameters: Vec<ToolParameter>,
) -> ToolDefinition {
    let runs =
        Operation { method, path, fixed: &[], prepare: |_| Ok(()), text_bytes: USUAL_TEXT_BYTES };
    ToolDefinition { name, about, access, parameters, runs: Runs::Operation(runs) }
}

impl ToolDefinition {
    fn change(mut self, change: impl FnOnce(&mut Operation)) -> Self {
        if let Runs::Operation(operation) = &mut self.runs {
            change(operation);
        }
        self
    }

    /// With values that the client cannot choose.
    fn fixed(self, fixed: &'static [(ArgumentLocation, &'static str, &'static str)]) -> Self {
        self.change(|operation| operation.fixed = fixed)
    }

    fn prepared(self, prepare: fn(&mut JsonObject) -> Result<(), ToolError>) -> Self {
        self.change(|operation| operation.prepare = prepare)
    }

    /// With whole values, for what a model needs whole.
    fn long(self) -> Self {
        self.change(|operation| operation.text_bytes = MAX_TEXT_BYTES)
    }
}

/// The parameters of numbered pages.
fn pages() -> [ToolParameter; 2] {
    [
        ToolParameter::count("page", "number of the page [1]"),
        ToolParameter::at_most("limit", MAX_ROWS, "rows of a page [50]"),
    ]
}

fn words<T: WireEnum>() -> Vec<&'static str> {
    T::all().into_iter().map(T::wire_name).collect()
}
