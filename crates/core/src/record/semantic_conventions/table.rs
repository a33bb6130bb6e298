use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::record::semantic_conventions::rule::RULES;

/// The field that an attribute maps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    Kind,
    Name,
    Function,
    Agent,
    Input,
    System,
    Output,
    Model,
    Parameters,
    Settings,
    ServiceTier,
    Speed,
    PromptName,
    PromptVersion,
    PromptLink,
    FirstTokenAt,
    FirstTokenMillis,
    FirstTokenSeconds,
    UsageDetails,
    TokenUsage,
    InputTokens,
    FreshTokens,
    CacheReadTokens,
    CacheWriteTokens,
    InputAudioTokens,
    OutputTokens,
    ReasoningTokens,
    OutputAudioTokens,
    TotalTokens,
    CostDetails,
    CostTotal,
    CostInput,
    CostOutput,
    Level,
    Severity,
    StatusMessage,
    Environment,
    Version,
    Release,
    User,
    Session,
    Tags,
    AsRoot,
    AppRoot,
    TraceName,
    TracePublic,
    TraceInput,
    TraceOutput,
    TraceMetadata,
    Metadata,
    Evidence,
}

const TARGETS: usize = Target::Evidence as usize + 1;

/// A bit set of targets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Targets(u64);

const _: () = assert!(TARGETS <= u64::BITS as usize, "one bit for each target");

impl Targets {
    pub(super) fn insert(&mut self, target: Target) {
        self.0 |= 1 << target as u64;
    }

    pub(super) fn contains(self, target: Target) -> bool {
        self.0 & (1 << target as u64) != 0
    }
}

/// The convention whose generic names a span may use. Some names are too common to be used
/// elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Any,
    ClaudeCode,
}

/// The source of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuleSource {
    /// One of these attributes, the strongest first.
    By(&'static [&'static str]),
    /// One of these, but only in spans of Claude Code.
    ByClaudeCode(&'static [&'static str]),
    Together(Shape, &'static [&'static str]),
    /// All attributes with this prefix, together.
    Under(Shape, &'static str),
    /// All span events of these names, together.
    During(Shape, &'static [&'static str]),
}

/// How a source is converted to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    /// A list of messages, to which system instructions belong.
    Conversation,
    /// A flattened tree: `gen_ai.prompt.0.role`.
    Flattened,
    /// Text, reasoning and tool calls of an answer.
    Reply,
    /// Keys and values, named by the rest after the prefix.
    Gathered,
    /// A list of texts, each of them JSON.
    Encoded,
    /// One message per event.
    Messages,
    /// This attribute of the events.
    Of(&'static str),
}

/// The precedence of a source; the lesser is the stronger within a target.
pub(super) type Rank = u16;

/// A source and how to convert it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) target: Target,
    pub(super) shape: Shape,
    /// Event names; empty for attributes.
    pub(super) events: &'static [&'static str],
}

/// Lookup table of the rules.
pub(super) struct Table {
    by_name: FxHashMap<&'static str, Rank>,
    by_claude_code: FxHashMap<&'static str, Rank>,
    by_prefix: Vec<(&'static str, Rank)>,
    sources: Vec<Source>,
    ranges: [Range<Rank>; TARGETS],
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(RULES));

impl Table {
    fn new(rules: &'static [(Target, RuleSource)]) -> Self {
        let mut table = Self {
            by_name: FxHashMap::default(),
            by_claude_code: FxHashMap::default(),
            by_prefix: Vec::new(),
            sources: Vec::new(),
            ranges: std::array::from_fn(|_| 0..0),
        };
        // A target's sources must be adjacent, wherever its rules are.
        let mut rules: Vec<_> = rules.iter().collect();
        rules.sort_by_key(|(target, _)| *target as usize);
        for (target, source) in rules {
            table.add(*target, *source);
        }
        // The longest prefix counts: `ai.settings.context.…` is not a setting.
        table.by_prefix.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        table
    }

    fn add(&mut self, target: Target, source: RuleSource) {
        match source {
            RuleSource::By(names) => {
                for name in names {
                    let rank = self.add_source(target, Shape::Plain, &[]);
                    self.by_name.insert(name, rank);
                }
            }
            RuleSource::ByClaudeCode(names) => {
                for name in names {
                    let rank = self.add_source(target, Shape::Plain, &[]);
                    self.by_claude_code.insert(name, rank);
                }
            }
            RuleSource::Together(shape, names) => {
                let rank = self.add_source(target, shape, &[]);
                self.by_name.extend(names.iter().map(|name| (*name, rank)));
            }
            RuleSource::Under(shape, prefix) => {
                let rank = self.add_source(target, shape, &[]);
                self.by_prefix.push((prefix, rank));
            }
            RuleSource::During(shape, events) => {
                self.add_source(target, shape, events);
            }
        }
    }

    fn add_source(
        &mut self,
        target: Target,
        shape: Shape,
        events: &'static [&'static str],
    ) -> Rank {
        let rank = Rank::try_from(self.sources.len()).unwrap_or(Rank::MAX);
        self.sources.push(Source { target, shape, events });
        let range = &mut self.ranges[target as usize];
        let start = if range.start == range.end { rank } else { range.start };
        *range = start..rank + 1;
        rank
    }

    /// Returns the rank of an attribute, if it has a rule.
    pub(super) fn rank(&self, name: &str, dialect: Dialect) -> Option<Rank> {
        if let Some(rank) = self.by_name.get(name) {
            return Some(*rank);
        }
        if dialect == Dialect::ClaudeCode
            && let Some(rank) = self.by_claude_code.get(name)
        {
            return Some(*rank);
        }
        let begins = |(prefix, _): &&(&str, Rank)| name.starts_with(prefix);
        self.by_prefix.iter().find(begins).map(|(_, rank)| *rank)
    }

    /// Returns the ranks of a target, strongest first.
    pub(super) fn ranks(&self, target: Target) -> Range<Rank> {
        self.ranges[target as usize].clone()
    }

    pub(super) fn source_at(&self, rank: Rank) -> Option<&Source> {
        self.sources.get(usize::from(rank))
    }

    /// Returns the rest of a name after its prefix.
    pub(super) fn key<'a>(&self, rank: Rank, name: &'a str) -> &'a str {
        let ours = self.by_prefix.iter().find(|(_, other)| *other == rank);
        ours.and_then(|(prefix, _)| name.strip_prefix(prefix)).unwrap_or(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: RuleSource) -> Vec<&'static str> {
        match source {
            RuleSource::By(names)
            | RuleSource::ByClaudeCode(names)
            | RuleSource::Together(_, names) => names.to_vec(),
            RuleSource::Under(_, prefix) => vec![prefix],
            RuleSource::During(..) => Vec::new(),
        }
    }

    #[test]
    fn no_attribute_is_named_twice() {
        let mut all: Vec<_> = RULES.iter().flat_map(|(_, source)| names(*source)).collect();
        let before = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), before);
    }

    #[test]
    fn every_target_has_a_source_and_keeps_the_order_of_the_rules() {
        assert!(TABLE.ranges.iter().all(|range| !range.is_empty()));
        let rank = |name| TABLE.rank(name, Dialect::Any).unwrap();
        assert!(rank("langfuse.observation.input") < rank("input.value"));
        assert!(rank("input.value") < rank("gen_ai.input.messages"));
        assert!(rank("gen_ai.response.model") < rank("gen_ai.request.model"));
    }

    #[test]
    fn common_names_belong_to_claude_code_only_in_its_spans() {
        assert_eq!(TABLE.rank("input_tokens", Dialect::Any), None);
        assert!(TABLE.rank("input_tokens", Dialect::ClaudeCode).is_some());
    }

    #[test]
    fn a_name_of_its_own_beats_a_prefix_and_a_long_one_a_short_one() {
        assert_ne!(
            TABLE.rank("gen_ai.request.model", Dialect::Any),
            TABLE.rank("gen_ai.request.top_p", Dialect::Any)
        );
        let rank = TABLE.rank("ai.settings.mode", Dialect::Any).unwrap();
        assert_eq!(TABLE.key(rank, "ai.settings.mode"), "mode");
        let rank = TABLE.rank("ai.settings.context.tenant", Dialect::Any).unwrap();
        assert_eq!(TABLE.key(rank, "ai.settings.context.tenant"), "tenant");
    }
}
