//! Prompts, with the names and parameters of Langfuse's own MCP server.

use axum::http::Method;
use ratchet_core::catalog::prompt::{LATEST, PRODUCTION};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{operation, pages, read};
use crate::mcp::api::ToolError;
use crate::mcp::tool::{ArgumentLocation, ToolAccess, ToolDefinition, ToolParameter};

const ONE: &str = "/api/public/v2/prompts/{name}";
const ALL: &str = "/api/public/v2/prompts";

pub(super) fn tools() -> Vec<ToolDefinition> {
    vec![
        list(),
        read(
            "getPrompt",
            "Fetches a prompt by name, with its references to other prompts resolved: the version \
             with a label or a number, the newest by default.",
            ONE,
            which(),
        )
        .prepared(newest_by_default)
        .long(),
        read(
            "getPromptUnresolved",
            "Fetches a prompt as it was written, with the tags that refer to other prompts.",
            ONE,
            which(),
        )
        .fixed(&[(ArgumentLocation::Query, "resolve", "false")])
        .prepared(newest_by_default)
        .long(),
        create(
            "createTextPrompt",
            "Creates a text prompt, or the next version of one. Versions are never changed; use \
             updatePromptLabels to promote one.",
            ToolParameter::text("prompt", "the text; {{name}} is a variable"),
        )
        .fixed(&[(ArgumentLocation::Body, "type", "text")]),
        create(
            "createChatPrompt",
            "Creates a chat prompt, or the next version of one: a list of messages with role and \
             content. Versions are never changed; use updatePromptLabels to promote one.",
            ToolParameter::shaped("prompt", messages()),
        )
        .fixed(&[(ArgumentLocation::Body, "type", "chat")]),
        label(),
    ]
}

fn list() -> ToolDefinition {
    let mut parameters = vec![
        ToolParameter::text("name", "exact name"),
        ToolParameter::text("label", "label of any version, such as production"),
        ToolParameter::text("tag", "tag"),
        ToolParameter::time("fromUpdatedAt", "changed at this time or later"),
        ToolParameter::time("toUpdatedAt", "changed before this time"),
    ];
    parameters.extend(pages());
    read("listPrompts", "Lists prompts with their versions, labels and tags.", ALL, parameters)
}

fn which() -> Vec<ToolParameter> {
    vec![
        name(),
        ToolParameter::text("label", "label of the version [latest]; not with version"),
        ToolParameter::count("version", "number of the version; not with label"),
    ]
}

fn name() -> ToolParameter {
    ToolParameter::text("name", "name of the prompt").required().at(ArgumentLocation::Path)
}

fn create(name: &'static str, about: &'static str, prompt: ToolParameter) -> ToolDefinition {
    let parameters = vec![
        ToolParameter::text("name", "name of the prompt").required().at(ArgumentLocation::Body),
        prompt.required().at(ArgumentLocation::Body),
        ToolParameter::texts("labels", "labels of the new version; not production")
            .at(ArgumentLocation::Body),
        ToolParameter::object("config", "such as {\"model\": \"…\", \"temperature\": 0.7}")
            .at(ArgumentLocation::Body),
        ToolParameter::texts("tags", "tags of the prompt").at(ArgumentLocation::Body),
        ToolParameter::text("commitMessage", "what changed").at(ArgumentLocation::Body),
    ];
    operation(name, about, (ToolAccess::Edit, Method::POST, ALL), parameters)
        .prepared(promote_separately)
        .long()
}

fn label() -> ToolDefinition {
    let parameters = vec![
        name(),
        ToolParameter::count("version", "number of the version")
            .required()
            .at(ArgumentLocation::Path),
        ToolParameter::texts("newLabels", "labels to add; latest is set automatically")
            .required()
            .at(ArgumentLocation::Body),
    ];
    operation(
        "updatePromptLabels",
        "Adds labels to a version of a prompt. A label is on one version: it leaves the one that \
         had it. Applications use the version with the label production.",
        (ToolAccess::Edit, Method::PATCH, "/api/public/v2/prompts/{name}/versions/{version}"),
        parameters,
    )
}

fn messages() -> Value {
    let message = json!({
        "type": "object",
        "properties": {
            "role": {"type": "string", "description": "such as system, user or assistant"},
            "content": {"type": "string"},
        },
        "required": ["role", "content"],
    });
    json!({"type": "array", "minItems": 1, "items": message, "description": "the messages"})
}

/// As in Langfuse's MCP server; the REST API returns the production version by default.
#[expect(clippy::unnecessary_wraps, reason = "other tools refuse arguments")]
fn newest_by_default(arguments: &mut JsonObject) -> Result<(), ToolError> {
    let is_given = |name: &str| arguments.get(name).is_some_and(|value| !value.is_null());
    if !is_given("label") && !is_given("version") {
        arguments.insert("label".to_owned(), json!(LATEST));
    }
    Ok(())
}

/// As in Langfuse's MCP server: an agent promotes with a call of its own, which a person sees.
fn promote_separately(arguments: &mut JsonObject) -> Result<(), ToolError> {
    let labels = arguments.get("labels").and_then(Value::as_array);
    if labels.is_some_and(|labels| labels.iter().any(|label| label == PRODUCTION)) {
        return Err(ToolError(
            "the label production cannot be set while creating a version; use updatePromptLabels \
             if the user asks for promotion"
                .to_owned(),
        ));
    }
    Ok(())
}
