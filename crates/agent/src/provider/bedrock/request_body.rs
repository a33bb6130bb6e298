use aws_sdk_bedrockruntime::operation::converse::builders::ConverseFluentBuilder;
use aws_sdk_bedrockruntime::operation::converse_stream::builders::ConverseStreamFluentBuilder;
use aws_sdk_bedrockruntime::types::{
    AnyToolChoice, AutoToolChoice, CachePointBlock, CachePointType, ContentBlock, ConversationRole,
    InferenceConfiguration, Message, SpecificToolChoice, SystemContentBlock, Tool, ToolChoice,
    ToolConfiguration, ToolInputSchema, ToolResultBlock, ToolResultContentBlock, ToolResultStatus,
    ToolSpecification, ToolUseBlock,
};
use serde_json::Value;

use super::document;
use crate::capabilities::StructuredOutput;
use crate::error::ModelError;
use crate::provider::ProviderRequest;
use crate::request::{CacheablePart, LlmRequest, ToolOutcome, ToolResult, Turn};
use crate::response::OUTPUT_TOOL;

/// Request parts for both the streaming and the plain operation.
pub(super) struct ConverseRequest {
    model: String,
    system: Vec<SystemContentBlock>,
    messages: Vec<Message>,
    tools: Option<ToolConfiguration>,
    inference: InferenceConfiguration,
}

impl ConverseRequest {
    pub(super) fn of(provider_request: ProviderRequest<'_>) -> Result<Self, ModelError> {
        let ProviderRequest { model, ask, capabilities } = provider_request;
        let schema_prompt = capabilities.schema_prompt(ask).map(CacheablePart::new);
        let mut system = Vec::new();
        for part in ask.system.iter().chain(&schema_prompt) {
            system.push(SystemContentBlock::Text(part.text.clone()));
            if part.ends_cache() {
                system.push(SystemContentBlock::CachePoint(cache_point()?));
            }
        }
        let messages = ask.turns.iter().map(message).collect::<Result<_, _>>()?;
        let limit = i32::try_from(ask.max_tokens).unwrap_or(i32::MAX);
        let inference = InferenceConfiguration::builder().max_tokens(limit);
        #[expect(clippy::cast_possible_truncation, reason = "a temperature needs few digits")]
        let temperature = capabilities.temperature(ask).map(|temperature| temperature as f32);
        let inference = inference.set_temperature(temperature).build();
        let tools = tools(ask, capabilities.structured_output)?;
        Ok(Self { model: model.to_owned(), system, messages, tools, inference })
    }

    pub(super) fn put(self, request: ConverseFluentBuilder) -> ConverseFluentBuilder {
        request
            .model_id(self.model)
            .set_system(Some(self.system).filter(|system| !system.is_empty()))
            .set_messages(Some(self.messages))
            .set_tool_config(self.tools)
            .inference_config(self.inference)
    }

    pub(super) fn put_streamed(
        self,
        request: ConverseStreamFluentBuilder,
    ) -> ConverseStreamFluentBuilder {
        request
            .model_id(self.model)
            .set_system(Some(self.system).filter(|system| !system.is_empty()))
            .set_messages(Some(self.messages))
            .set_tool_config(self.tools)
            .inference_config(self.inference)
    }
}

/// The SDK's builders check required fields at run time, which are always set here.
fn incomplete(error: impl std::error::Error) -> ModelError {
    ModelError::NotSetUp(error.to_string())
}

fn cache_point() -> Result<CachePointBlock, ModelError> {
    CachePointBlock::builder().r#type(CachePointType::Default).build().map_err(incomplete)
}

fn message(turn: &Turn) -> Result<Message, ModelError> {
    let mut content = Vec::new();
    match turn {
        Turn::User(parts) => {
            for part in parts {
                content.push(ContentBlock::Text(part.text.clone()));
                if part.ends_cache() {
                    content.push(ContentBlock::CachePoint(cache_point()?));
                }
            }
        }
        Turn::Model { text, calls } => {
            content.extend(
                Some(text).filter(|text| !text.is_empty()).cloned().map(ContentBlock::Text),
            );
            for call in calls {
                let input = document::from_json(&call.input);
                let block =
                    ToolUseBlock::builder().tool_use_id(&call.id).name(&call.name).input(input);
                content.push(ContentBlock::ToolUse(block.build().map_err(incomplete)?));
            }
        }
        Turn::Tools(results) => {
            for result in results {
                content.push(ContentBlock::ToolResult(tool_result(result)?));
            }
        }
    }
    let role = match turn {
        Turn::User(_) | Turn::Tools(_) => ConversationRole::User,
        Turn::Model { .. } => ConversationRole::Assistant,
    };
    Message::builder().role(role).set_content(Some(content)).build().map_err(incomplete)
}

fn tool_result(result: &ToolResult) -> Result<ToolResultBlock, ModelError> {
    let status = match result.outcome {
        ToolOutcome::Fine => ToolResultStatus::Success,
        ToolOutcome::Failed => ToolResultStatus::Error,
    };
    let text = ToolResultContentBlock::Text(result.text.clone());
    let block = ToolResultBlock::builder().tool_use_id(&result.id).content(text).status(status);
    block.build().map_err(incomplete)
}

fn tools(
    ask: &LlmRequest,
    structured_output: StructuredOutput,
) -> Result<Option<ToolConfiguration>, ModelError> {
    let mut tools = Vec::new();
    for spec in &ask.tools {
        tools.push(tool(&spec.name, &spec.description, &spec.input)?);
    }
    let has_others = !tools.is_empty();
    let mut choice = None;
    if let Some(schema) = ask.schema().filter(|_| structured_output != StructuredOutput::PromptOnly)
    {
        tools.push(tool(
            OUTPUT_TOOL,
            "Hands in the answer. Call it once, with all of it.",
            schema,
        )?);
        choice = Some(match (structured_output, has_others) {
            (StructuredOutput::Schema, false) => {
                let named = SpecificToolChoice::builder().name(OUTPUT_TOOL).build();
                ToolChoice::Tool(named.map_err(incomplete)?)
            }
            (StructuredOutput::Schema, true) => ToolChoice::Any(AnyToolChoice::builder().build()),
            (StructuredOutput::Tool | StructuredOutput::PromptOnly, _) => {
                ToolChoice::Auto(AutoToolChoice::builder().build())
            }
        });
    }
    if tools.is_empty() {
        return Ok(None);
    }
    let config = ToolConfiguration::builder().set_tools(Some(tools)).set_tool_choice(choice);
    config.build().map(Some).map_err(incomplete)
}

fn tool(name: &str, description: &str, schema: &Value) -> Result<Tool, ModelError> {
    let schema = ToolInputSchema::Json(document::from_json(schema));
    let spec =
        ToolSpecification::builder().name(name).description(description).input_schema(schema);
    spec.build().map(Tool::ToolSpec).map_err(incomplete)
}
