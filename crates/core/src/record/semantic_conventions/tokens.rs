//! Token usage of a model call; no token is counted twice.
//!
//! Most instrumentations include cached tokens in the input and reasoning tokens in the output, as
//! OpenTelemetry specifies, whatever the provider. Claude Code and Vercel's older providers for
//! Anthropic and Bedrock pass on counts without cached tokens. Others do so without indication;
//! then the numbers decide: more cached tokens than input, or a total that includes both.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::record::semantic_conventions::attributes::Claims;
use crate::record::semantic_conventions::genkit;
use crate::record::semantic_conventions::json::{Typed, json};
use crate::record::semantic_conventions::table::{Dialect, Target};
use crate::record::span::AttributeValue;
use crate::record::usage::{TOTAL, Usage, whole};

/// Whether the input count includes cached tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// The input includes cached tokens.
    Within,
    /// Cached tokens are in addition to the input.
    Apart,
}

/// The counts as sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) input: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) input_audio: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) reasoning: Option<u64>,
    pub(super) output_audio: Option<u64>,
    pub(super) total: Option<u64>,
}

impl Counts {
    /// Returns the usage with disjoint types.
    pub(super) fn usage(self, counting: Counting) -> Option<Usage> {
        let or_zero = Option::unwrap_or_default;
        let (input, output): (u64, u64) = (or_zero(self.input), or_zero(self.output));
        let cached = or_zero(self.cache_read).saturating_add(or_zero(self.cache_write));
        let reasoning = or_zero(self.reasoning);
        let adds_up = |parts: [u64; 3]| self.total == Some(sum(parts));
        let is_sum_of_both = adds_up([input, output, cached.saturating_add(reasoning)]);
        let is_cached_apart = counting == Counting::Apart
            || cached > input
            || (cached > 0 && (adds_up([input, output, cached]) || is_sum_of_both));
        let is_reasoning_apart = reasoning > output
            || (reasoning > 0 && (adds_up([input, output, reasoning]) || is_sum_of_both));
        let fresh = if is_cached_apart { input } else { input - cached };
        let written = if is_reasoning_apart { output } else { output - reasoning };
        let input_audio = self.input_audio.map(|audio| audio.min(fresh));
        let output_audio = self.output_audio.map(|audio| audio.min(written));
        let kinds = [
            ("input", self.input.map(|_| fresh - or_zero(input_audio))),
            ("input_cached_tokens", self.cache_read),
            ("input_cache_creation", self.cache_write),
            ("input_audio_tokens", input_audio),
            ("output", self.output.map(|_| written - or_zero(output_audio))),
            ("output_reasoning_tokens", self.reasoning),
            ("output_audio_tokens", output_audio),
        ];
        usage(kinds, self.total)
    }
}

fn sum(counts: [u64; 3]) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// Zeros are dropped, except for input and output. The total is the one sent, unless its parts add
/// up to more.
fn usage(kinds: [(&str, Option<u64>); 7], total: Option<u64>) -> Option<Usage> {
    let is_worth_saying = |kind: &str, units| units > 0 || ["input", "output"].contains(&kind);
    let mut units = BTreeMap::new();
    for (kind, sent) in kinds {
        if let Some(sent) = sent.filter(|sent| is_worth_saying(kind, *sent)) {
            units.insert(kind.to_owned(), sent);
        }
    }
    let summed = units.values().fold(0u64, |sum, units| sum.saturating_add(*units));
    let total = total.map_or(summed, |total| total.max(summed));
    if units.is_empty() && total == 0 {
        return None;
    }
    units.insert(TOTAL.to_owned(), total);
    Some(Usage::new(units))
}

/// Takes the usage of a model call: explicit, or from the counts of any convention.
pub(super) fn take(claims: &mut Claims, dialect: Dialect) -> Option<Usage> {
    if let Some(stated) = claims.take(Target::UsageDetails, stated) {
        return Some(stated);
    }
    if let Some(counts) = claims.take(Target::TokenUsage, mlflow) {
        return counts.usage(Counting::Within);
    }
    if let Some(counts) = genkit::counts(claims) {
        return counts.usage(Counting::Within);
    }
    let fresh = claims.take(Target::FreshTokens, count);
    let is_claude_code = dialect == Dialect::ClaudeCode;
    let is_apart = is_claude_code || fresh.is_some() || vercel_counts_apart(claims);
    let counting = if is_apart { Counting::Apart } else { Counting::Within };
    let provider = claims.peek(Target::Evidence, "ai.response.providerMetadata").map(provider);
    let provider = provider.unwrap_or_default();
    let counts = Counts {
        input: fresh.or_else(|| claims.take(Target::InputTokens, count)),
        cache_read: claims.take(Target::CacheReadTokens, count).or(provider.cache_read),
        cache_write: claims.take(Target::CacheWriteTokens, count).or(provider.cache_write),
        input_audio: claims.take(Target::InputAudioTokens, count),
        output: claims.take(Target::OutputTokens, count),
        reasoning: claims.take(Target::ReasoningTokens, count).or(provider.reasoning),
        output_audio: claims.take(Target::OutputAudioTokens, count),
        total: claims.take(Target::TotalTokens, count),
    };
    counts.usage(counting)
}

/// Takes the explicit usage of the observation only.
pub(super) fn take_stated(claims: &mut Claims) -> Option<Usage> {
    claims.take(Target::UsageDetails, stated)
}

/// Returns a count of any attribute type.
pub(super) fn count(value: &AttributeValue) -> Option<u64> {
    match value {
        AttributeValue::Int(number) => u64::try_from(*number).ok(),
        AttributeValue::Double(number) => whole(*number),
        AttributeValue::Text(text) => text.trim().parse().ok(),
        AttributeValue::Empty
        | AttributeValue::Bool(_)
        | AttributeValue::Bytes(_)
        | AttributeValue::List(_)
        | AttributeValue::Map(_) => None,
    }
}

fn stated(value: &AttributeValue) -> Option<Usage> {
    let usage = Usage::from_details(&object(value)?);
    (!usage.is_empty()).then_some(usage)
}

fn mlflow(value: &AttributeValue) -> Option<Counts> {
    let sent = object(value)?;
    let count = |key: &str| sent.get(key).and_then(Value::as_u64);
    let counts = Counts {
        input: count("input_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        output: count("output_tokens"),
        total: count("total_tokens"),
        ..Counts::default()
    };
    (counts != Counts::default()).then_some(counts)
}

/// Returns a JSON object, from text or attributes.
pub(super) fn object(value: &AttributeValue) -> Option<Map<String, Value>> {
    match value {
        AttributeValue::Text(text) => serde_json::from_str(text).ok(),
        AttributeValue::Map(_) => serde_json::from_str(json(&Typed(value)).as_str()).ok(),
        _ => None,
    }
}

/// Returns whether Vercel's provider passes on counts without cached tokens. Newer versions send
/// the number of uncached tokens, so that no guess is needed.
fn vercel_counts_apart(claims: &Claims) -> bool {
    let provider = claims.peek(Target::Evidence, "ai.model.provider").unwrap_or_default();
    provider.starts_with("anthropic") || provider.contains("bedrock")
}

/// Returns the token counts in the provider metadata of Vercel's SDK.
fn provider(metadata: &str) -> Counts {
    let mentions = |key| metadata.contains(key);
    if !["cachedPromptTokens", "reasoningTokens", "InputTokens"].into_iter().any(mentions) {
        return Counts::default();
    }
    let Ok(metadata) = serde_json::from_str::<Value>(metadata) else {
        return Counts::default();
    };
    let first = |paths: &[&str]| paths.iter().find_map(|path| metadata.pointer(path)?.as_u64());
    Counts {
        cache_read: first(&[
            "/openai/cachedPromptTokens",
            "/anthropic/cacheReadInputTokens",
            "/bedrock/usage/cacheReadInputTokens",
        ]),
        cache_write: first(&[
            "/anthropic/cacheCreationInputTokens",
            "/bedrock/usage/cacheWriteInputTokens",
        ]),
        reasoning: first(&["/openai/reasoningTokens"]),
        ..Counts::default()
    }
}
