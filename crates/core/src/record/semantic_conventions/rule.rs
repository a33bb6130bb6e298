//! The rules: one table of attribute names by field, for all conventions.
//!
//! To add a convention, add its names to the rows below. Within a field the first name wins; the
//! others stay among the observation's `attributes`.

use crate::record::semantic_conventions::table::{RuleSource, Shape, Target};

use RuleSource::{By, ByClaudeCode, During, Together, Under};
use Shape::{Conversation, Encoded, Flattened, Gathered, Messages, Of, Reply};
use Target as T;

pub(super) const RULES: &[(Target, RuleSource)] = &[
    // ---- Type. The values are in `kind.rs`.
    (
        T::Kind,
        By(&[
            "langfuse.observation.type",
            "openinference.span.kind",
            "gen_ai.operation.name",
            "traceloop.span.kind",
            "llm.request.type",
            "mlflow.spanType",
            "genkit:metadata:subtype",
            "ai.operationId",
        ]),
    ),
    (T::Name, By(&["gen_ai.tool.name", "genkit:name", "logfire.msg", "ai.toolCall.name"])),
    (T::Function, By(&["ai.telemetry.functionId"])),
    (T::Agent, By(&["gen_ai.agent.name", "agent.name", "agent_name", "lk.agent_name"])),
    // ---- Input.
    (
        T::Input,
        By(&[
            "langfuse.observation.input",
            "genkit:input",
            "ai.prompt.messages",
            "ai.prompt",
            "ai.toolCall.args",
            "ai.value",
        ]),
    ),
    (T::Input, Together(Encoded, &["ai.values"])),
    (T::Input, During(Of("gen_ai.input.messages"), &["gen_ai.client.inference.operation.details"])),
    (
        T::Input,
        During(
            Messages,
            &[
                "gen_ai.system.message",
                "gen_ai.user.message",
                "gen_ai.assistant.message",
                "gen_ai.tool.message",
            ],
        ),
    ),
    (T::Input, During(Of("gen_ai.prompt"), &["gen_ai.content.prompt"])),
    (
        T::Input,
        By(&[
            "gcp.vertex.agent.llm_request",
            "gcp.vertex.agent.tool_call_args",
            "gcp.vertex.agent.data",
            "prompt",
            "lk.pii.chat_ctx",
            "lk.chat_ctx",
            "lk.pii.user_input",
            "lk.user_input",
            "lk.pii.function_tool.arguments",
            "lk.function_tool.arguments",
            "lk.pii.input_text",
            "lk.input_text",
            "mlflow.spanInputs",
            "traceloop.entity.input",
            "input.value",
            "input",
        ]),
    ),
    (T::Input, Together(Conversation, &["pydantic_ai.all_messages"])),
    (T::Input, By(&["tool_arguments"])),
    (T::Input, Under(Flattened, "gen_ai.prompt.")),
    (T::Input, Under(Flattened, "llm.input_messages.")),
    (T::Input, Together(Conversation, &["gen_ai.input.messages"])),
    (T::Input, By(&["gen_ai.tool.call.arguments", "gen_ai.prompt", "llm.input_messages"])),
    (T::Input, By(&["gen_ai.retrieval.query.text"])),
    (T::Input, ByClaudeCode(&["user_prompt"])),
    // Separate from the conversation, shown as its first message.
    (T::System, By(&["gen_ai.system_instructions"])),
    // ---- Output.
    (T::Output, By(&["langfuse.observation.output", "genkit:output"])),
    (
        T::Output,
        Together(Reply, &["ai.response.text", "ai.response.reasoning", "ai.response.toolCalls"]),
    ),
    (T::Output, Together(Reply, &["ai.result.text", "ai.result.toolCalls"])),
    (T::Output, By(&["ai.response.object", "ai.result.object", "ai.toolCall.result"])),
    (
        T::Output,
        During(Of("gen_ai.output.messages"), &["gen_ai.client.inference.operation.details"]),
    ),
    (T::Output, During(Messages, &["gen_ai.choice"])),
    (T::Output, During(Of("gen_ai.completion"), &["gen_ai.content.completion"])),
    (
        T::Output,
        By(&[
            "gcp.vertex.agent.llm_response",
            "gcp.vertex.agent.tool_response",
            "all_messages_events",
            "lk.pii.response.text",
            "lk.response.text",
            "lk.pii.response.function_calls",
            "lk.response.function_calls",
            "lk.pii.function_tool.output",
            "lk.function_tool.output",
            "lk.pii.user_transcript",
            "lk.user_transcript",
            "mlflow.spanOutputs",
            "traceloop.entity.output",
            "output.value",
            "output",
            "final_result",
            "tool_response",
        ]),
    ),
    (T::Output, Under(Flattened, "gen_ai.completion.")),
    (T::Output, Under(Flattened, "llm.output_messages.")),
    (
        T::Output,
        By(&[
            "gen_ai.output.messages",
            "gen_ai.tool.call.result",
            "gen_ai.retrieval.documents",
            "gen_ai.completion",
            "llm.output_messages",
            "ai.embedding",
        ]),
    ),
    (T::Output, Together(Encoded, &["ai.embeddings"])),
    // ---- Model call.
    (
        T::Model,
        By(&[
            "langfuse.observation.model.name",
            "gen_ai.response.model",
            "ai.model.id",
            "gen_ai.request.model",
            "llm.response.model",
            "llm.model_name",
            "embedding.model_name",
            "mlflow.llm.model",
            "model",
        ]),
    ),
    (
        T::Parameters,
        By(&[
            "langfuse.observation.model.parameters",
            "llm.invocation_parameters",
            "embedding.invocation_parameters",
            "model_config",
        ]),
    ),
    (T::Settings, Under(Gathered, "gen_ai.request.")),
    (T::Settings, Under(Gathered, "ai.settings.")),
    (
        T::ServiceTier,
        By(&[
            "gen_ai.openai.response.service_tier",
            "openai.response.service_tier",
            "gen_ai.openai.request.service_tier",
            "openai.request.service_tier",
        ]),
    ),
    (T::Speed, ByClaudeCode(&["speed"])),
    (T::PromptName, By(&["langfuse.observation.prompt.name", "langfuse.prompt.name"])),
    (T::PromptVersion, By(&["langfuse.observation.prompt.version", "langfuse.prompt.version"])),
    (T::PromptLink, By(&["ai.telemetry.metadata.langfusePrompt"])),
    (T::FirstTokenAt, By(&["langfuse.observation.completion_start_time"])),
    (T::FirstTokenMillis, By(&["ai.response.msToFirstChunk"])),
    (T::FirstTokenMillis, ByClaudeCode(&["ttft_ms"])),
    (
        T::FirstTokenSeconds,
        By(&[
            "gen_ai.response.time_to_first_chunk",
            "gen_ai.client.operation.time_to_first_chunk",
            "lk.response.ttft",
        ]),
    ),
    // ---- Tokens. Arithmetic is in `tokens.rs`.
    (T::UsageDetails, By(&["langfuse.observation.usage_details"])),
    (T::TokenUsage, By(&["mlflow.chat.tokenUsage"])),
    (
        T::InputTokens,
        By(&[
            "ai.usage.inputTokens",
            "ai.usage.promptTokens",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.token_count.prompt",
            "llm.usage.prompt_tokens",
            "ai.usage.tokens",
        ]),
    ),
    (T::InputTokens, ByClaudeCode(&["input_tokens"])),
    (T::FreshTokens, By(&["ai.usage.inputTokenDetails.noCacheTokens"])),
    (
        T::CacheReadTokens,
        By(&[
            "ai.usage.inputTokenDetails.cacheReadTokens",
            "ai.usage.cachedInputTokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.cached_input_tokens",
            "gen_ai.usage.input_tokens.cached",
            "gen_ai.usage.details.cache_read_input_tokens",
            "gen_ai.usage.details.cache_read_tokens",
            "gen_ai.usage.details.cached_tokens",
            "llm.token_count.prompt_details.cache_read",
            "llm.usage.cache_read_input_tokens",
        ]),
    ),
    (T::CacheReadTokens, ByClaudeCode(&["cache_read_tokens"])),
    (
        T::CacheWriteTokens,
        By(&[
            "ai.usage.inputTokenDetails.cacheWriteTokens",
            "gen_ai.usage.cache_creation.input_tokens",
            "gen_ai.usage.cache_creation_input_tokens",
            "gen_ai.usage.cache_write_input_tokens",
            "gen_ai.usage.details.cache_creation_input_tokens",
            "gen_ai.usage.details.cache_write_tokens",
            "llm.token_count.prompt_details.cache_write",
            "llm.usage.cache_creation_input_tokens",
        ]),
    ),
    (T::CacheWriteTokens, ByClaudeCode(&["cache_creation_tokens"])),
    (
        T::InputAudioTokens,
        By(&["gen_ai.usage.details.input_audio_tokens", "llm.token_count.prompt_details.audio"]),
    ),
    (
        T::OutputTokens,
        By(&[
            "ai.usage.outputTokens",
            "ai.usage.completionTokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.token_count.completion",
            "llm.usage.completion_tokens",
        ]),
    ),
    (T::OutputTokens, ByClaudeCode(&["output_tokens"])),
    (
        T::ReasoningTokens,
        By(&[
            "ai.usage.outputTokenDetails.reasoningTokens",
            "ai.usage.reasoningTokens",
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
            "llm.token_count.completion_details.reasoning",
            "llm.usage.reasoning_tokens",
        ]),
    ),
    (
        T::OutputAudioTokens,
        By(&[
            "gen_ai.usage.details.output_audio_tokens",
            "llm.token_count.completion_details.audio",
        ]),
    ),
    (
        T::TotalTokens,
        By(&[
            "ai.usage.totalTokens",
            "gen_ai.usage.total_tokens",
            "llm.token_count.total",
            "llm.usage.total_tokens",
        ]),
    ),
    // ---- Cost.
    (T::CostDetails, By(&["langfuse.observation.cost_details"])),
    (T::CostTotal, By(&["gen_ai.usage.cost", "llm.cost.total", "operation.cost"])),
    (T::CostInput, By(&["llm.cost.prompt"])),
    (T::CostOutput, By(&["llm.cost.completion"])),
    // ---- Level and status.
    (T::Level, By(&["langfuse.observation.level"])),
    (T::Severity, By(&["logfire.level_num"])),
    (T::StatusMessage, By(&["langfuse.observation.status_message"])),
    // ---- Environment, session, user and release.
    (
        T::Environment,
        By(&["langfuse.environment", "deployment.environment.name", "deployment.environment"]),
    ),
    (T::Version, By(&["langfuse.version"])),
    (T::Release, By(&["langfuse.release"])),
    (
        T::User,
        By(&[
            "langfuse.user.id",
            "user.id",
            "metadata.langfuse_user_id",
            "ai.telemetry.metadata.userId",
            "ai.settings.context.userId",
            "traceloop.association.properties.user_id",
            "enduser.id",
        ]),
    ),
    (
        T::Session,
        By(&[
            "langfuse.session.id",
            "session.id",
            "gen_ai.conversation.id",
            "metadata.langfuse_session_id",
            "ai.telemetry.metadata.sessionId",
            "ai.settings.context.sessionId",
            "traceloop.association.properties.session_id",
            "gcp.vertex.agent.session_id",
        ]),
    ),
    (
        T::Tags,
        By(&[
            "langfuse.trace.tags",
            "langfuse.tags",
            "metadata.langfuse_tags",
            "ai.telemetry.metadata.tags",
            "ai.settings.context.tags",
            "traceloop.association.properties.tags",
            "tag.tags",
        ]),
    ),
    // ---- Fields of the trace itself.
    (T::AsRoot, By(&["langfuse.internal.as_root"])),
    (T::AppRoot, By(&["langfuse.internal.is_app_root"])),
    (T::TraceName, By(&["langfuse.trace.name"])),
    (T::TracePublic, By(&["langfuse.trace.public"])),
    (T::TraceInput, By(&["langfuse.trace.input"])),
    (T::TraceOutput, By(&["langfuse.trace.output"])),
    (T::TraceMetadata, By(&["langfuse.trace.metadata"])),
    (T::TraceMetadata, Under(Gathered, "langfuse.trace.metadata.")),
    // ---- Client metadata.
    (T::Metadata, By(&["langfuse.observation.metadata", "langfuse.metadata", "metadata"])),
    (T::Metadata, Under(Gathered, "langfuse.observation.metadata.")),
    (T::Metadata, Under(Gathered, "langfuse.metadata.")),
    (T::Metadata, Under(Gathered, "ai.telemetry.metadata.")),
    // The runtime context of AI SDK 7.
    (T::Metadata, Under(Gathered, "ai.settings.context.")),
    // ---- Attributes that only influence others.
    (T::Evidence, By(&["gen_ai.tool.call.id", "ai.model.provider"])),
    (T::Evidence, By(&["ai.response.providerMetadata"])),
];
