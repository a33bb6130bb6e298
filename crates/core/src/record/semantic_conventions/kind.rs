use crate::record::observation::ObservationKind;
use crate::record::semantic_conventions::attributes::{Claims, text};
use crate::record::semantic_conventions::table::Target;
use crate::record::span::AttributeValue;

use ObservationKind as K;

/// Type names by convention. Precedence is as in the rules.
const TYPE_NAMES: &[(&str, &[(&str, ObservationKind)])] = &[
    (
        "openinference.span.kind",
        &[
            ("LLM", K::Generation),
            ("CHAIN", K::Chain),
            ("RETRIEVER", K::Retriever),
            ("EMBEDDING", K::Embedding),
            ("AGENT", K::Agent),
            ("TOOL", K::Tool),
            ("GUARDRAIL", K::Guardrail),
            ("EVALUATOR", K::Evaluator),
        ],
    ),
    (
        "gen_ai.operation.name",
        &[
            ("chat", K::Generation),
            ("completion", K::Generation),
            ("text_completion", K::Generation),
            ("generate_content", K::Generation),
            ("generate", K::Generation),
            ("embeddings", K::Embedding),
            ("retrieval", K::Retriever),
            ("invoke_agent", K::Agent),
            ("create_agent", K::Agent),
            ("agent_step", K::Agent),
            ("execute_tool", K::Tool),
        ],
    ),
    (
        "traceloop.span.kind",
        &[("workflow", K::Chain), ("task", K::Span), ("agent", K::Agent), ("tool", K::Tool)],
    ),
    (
        "llm.request.type",
        &[("chat", K::Generation), ("completion", K::Generation), ("embedding", K::Embedding)],
    ),
    (
        // MLflow writes attributes as JSON, quotation marks included.
        "mlflow.spanType",
        &[
            ("\"LLM\"", K::Generation),
            ("\"CHAT_MODEL\"", K::Generation),
            ("\"CHAIN\"", K::Chain),
            ("\"AGENT\"", K::Agent),
            ("\"TOOL\"", K::Tool),
            ("\"RETRIEVER\"", K::Retriever),
            ("\"EMBEDDING\"", K::Embedding),
            ("\"GUARDRAIL\"", K::Guardrail),
            ("\"EVALUATOR\"", K::Evaluator),
        ],
    ),
    (
        "genkit:metadata:subtype",
        &[
            ("model", K::Generation),
            ("embedder", K::Embedding),
            ("retriever", K::Retriever),
            ("tool", K::Tool),
            ("evaluator", K::Evaluator),
            ("flow", K::Chain),
            ("agent", K::Agent),
        ],
    ),
    (
        // The outer calls repeat the sums of these.
        "ai.operationId",
        &[
            ("ai.generateText.doGenerate", K::Generation),
            ("ai.streamText.doStream", K::Generation),
            ("ai.generateObject.doGenerate", K::Generation),
            ("ai.streamObject.doStream", K::Generation),
            ("ai.embed.doEmbed", K::Embedding),
            ("ai.embedMany.doEmbed", K::Embedding),
            ("ai.toolCall", K::Tool),
            ("ai.generateText", K::Span),
            ("ai.streamText", K::Span),
            ("ai.generateObject", K::Span),
            ("ai.streamObject", K::Span),
            ("ai.embed", K::Span),
            ("ai.embedMany", K::Span),
        ],
    ),
];

/// Types by span name alone.
const SPAN_NAMES: &[(&str, ObservationKind)] = &[
    ("llm_request", K::Generation),
    ("llm_node", K::Generation),
    ("function_tool", K::Tool),
    ("agent_turn", K::Agent),
    ("judge_evaluation", K::Evaluator),
    ("claude_code.interaction", K::Agent),
    ("claude_code.llm_request", K::Generation),
    ("claude_code.tool", K::Tool),
    // Part of the tool call around it, whose id it has.
    ("claude_code.tool.execution", K::Span),
];

/// The type of an observation, and whether it only sums up nested model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Classification {
    pub(super) kind: ObservationKind,
    pub(super) is_summary: bool,
}

/// Determines the type of a span. The explicit type is taken; all other attributes stay.
///
/// Older Langfuse SDKs call every observation a span; then its attributes reveal a model call.
pub(super) fn classify(
    claims: &mut Claims,
    span_name: &str,
    hides_generations: bool,
) -> Classification {
    let convention =
        claims.candidates(Target::Kind).find_map(|(name, value)| by_type_name(name, value));
    let stated = claims.take_named(Target::Kind, by_statement).map(|(_, kind)| kind);
    let is_hidden = hides_generations && stated == Some(K::Span) && is_model_call(claims);
    let stated = if is_hidden { Some(K::Generation) } else { stated };
    let kind = stated.or(convention).unwrap_or_else(|| by_attributes(claims, span_name));
    let operation = claims.peek(Target::Kind, "ai.operationId").unwrap_or_default();
    let is_outer_call = operation.starts_with("ai.") && convention == Some(K::Span);
    let is_summary = is_outer_call || kind == K::Agent || is_outer_embedding(claims, kind);
    Classification { kind, is_summary }
}

/// AI SDK 7 names an embedding and the model calls within alike; only the inner ones have token
/// counts.
fn is_outer_embedding(claims: &Claims, kind: ObservationKind) -> bool {
    let is_vercel = |name: &str| ["ai.value", "ai.values"].contains(&name);
    let counts = [Target::InputTokens, Target::UsageDetails];
    kind == K::Embedding
        && claims.peek(Target::Kind, "gen_ai.operation.name").is_some()
        && claims.candidates(Target::Input).any(|(name, _)| is_vercel(name))
        && !counts.into_iter().any(|target| claims.has(target))
}

fn is_model_call(claims: &Claims) -> bool {
    let targets = [Target::Model, Target::UsageDetails, Target::CostDetails, Target::PromptName];
    targets.into_iter().any(|target| claims.has(target))
}

fn by_statement(name: &str, value: &AttributeValue) -> Option<ObservationKind> {
    match name {
        "langfuse.observation.type" => ObservationKind::parse(text(value)?),
        "openinference.span.kind" => by_type_name(name, value),
        _ => None,
    }
}

fn by_type_name(name: &str, value: &AttributeValue) -> Option<ObservationKind> {
    let type_name = text(value)?;
    let (_, names) = TYPE_NAMES.iter().find(|(attribute, _)| *attribute == name)?;
    let meant = names.iter().find(|(known, _)| known.eq_ignore_ascii_case(type_name));
    meant.map(|(_, kind)| *kind)
}

/// Infers the type from other attributes.
fn by_attributes(claims: &Claims, span_name: &str) -> ObservationKind {
    let named = SPAN_NAMES.iter().find(|(name, _)| *name == span_name).map(|(_, kind)| *kind);
    if let Some(kind) = named.filter(|_| span_name.starts_with("claude_code.")) {
        return kind;
    }
    let is_tool = ["gen_ai.tool.name", "ai.toolCall.name"]
        .into_iter()
        .any(|name| claims.peek(Target::Name, name).is_some())
        || claims.peek(Target::Evidence, "gen_ai.tool.call.id").is_some();
    if is_tool {
        return K::Tool;
    }
    // Older agent runs of Pydantic AI are recognised by this attribute only.
    let is_agent_run = claims.peek(Target::Input, "pydantic_ai.all_messages").is_some()
        || claims.peek(Target::Output, "all_messages_events").is_some();
    if is_agent_run {
        return K::Agent;
    }
    if let Some(kind) = named {
        return kind;
    }
    if claims.has(Target::Model) { K::Generation } else { K::Span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::semantic_conventions::rule::RULES;
    use crate::record::semantic_conventions::table::RuleSource;

    #[test]
    fn every_attribute_with_type_names_is_in_the_rules() {
        let names = RULES.iter().find_map(|(target, source)| match source {
            RuleSource::By(names) if *target == Target::Kind => Some(*names),
            _ => None,
        });
        let attributes: Vec<_> = TYPE_NAMES.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names.unwrap().strip_prefix(&["langfuse.observation.type"]).unwrap(),
            attributes
        );
    }
}
