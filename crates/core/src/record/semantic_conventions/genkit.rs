//! Genkit stores a model call's parameters and usage inside its input and output.

use serde_json::Value;

use crate::payload::Json;
use crate::record::semantic_conventions::attributes::{Claims, text};
use crate::record::semantic_conventions::table::Target;
use crate::record::semantic_conventions::tokens::Counts;

fn is_model_call(claims: &Claims) -> bool {
    let subtype =
        claims.candidates(Target::Kind).find(|(name, _)| *name == "genkit:metadata:subtype");
    subtype.and_then(|(_, value)| text(value)) == Some("model")
}

fn part(claims: &Claims, target: Target, attribute: &str, key: &str) -> Option<Value> {
    let whole = claims.peek(target, attribute).filter(|_| is_model_call(claims))?;
    let mut whole: serde_json::Map<String, Value> = serde_json::from_str(whole).ok()?;
    whole.remove(key)
}

/// Returns the model, which is the name of the action.
pub(super) fn model(claims: &Claims) -> Option<String> {
    let name = claims.peek(Target::Name, "genkit:name").filter(|_| is_model_call(claims))?;
    Some(name.to_owned())
}

/// Returns the parameters of a model call.
pub(super) fn parameters(claims: &Claims) -> Option<Json> {
    let config = part(claims, Target::Input, "genkit:input", "config")?;
    config.is_object().then(|| Json::from_value(&config))
}

/// Returns the token counts of a model call.
pub(super) fn counts(claims: &Claims) -> Option<Counts> {
    let usage = part(claims, Target::Output, "genkit:output", "usage")?;
    let count = |key: &str| usage.get(key)?.as_u64();
    let counts = Counts {
        input: count("inputTokens"),
        cache_read: count("cachedContentTokens"),
        output: count("outputTokens"),
        reasoning: count("thoughtsTokens"),
        total: count("totalTokens"),
        ..Counts::default()
    };
    (counts != Counts::default()).then_some(counts)
}
