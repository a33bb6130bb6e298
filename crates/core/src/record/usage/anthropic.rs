use std::collections::BTreeMap;

use super::Usage;

/// Counts of Anthropic's Messages API, which Claude Code's transcripts, events and results repeat
/// under other names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnthropicCounts {
    /// Without cached tokens.
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    /// Tokens written to the cache, for any time.
    pub cache_written: Option<u64>,
    /// Those of them that are kept for an hour, which costs more.
    pub cache_written_1h: Option<u64>,
    pub output: Option<u64>,
    pub web_searches: Option<u64>,
}

impl AnthropicCounts {
    /// Returns the usage by type; `None` if nothing was counted. Zeros are left out, except of
    /// input and output.
    ///
    /// ```
    /// use ratchet_core::record::usage::AnthropicCounts;
    ///
    /// let (cache_written, cache_written_1h) = (Some(30), Some(10));
    /// let counts = AnthropicCounts { cache_written, cache_written_1h, ..Default::default() };
    /// let usage = counts.usage().unwrap();
    /// assert_eq!(usage.kinds()["input_cache_creation"], 20);
    /// assert_eq!(usage.kinds()["input_cache_creation_1h"], 10);
    /// ```
    pub fn usage(self) -> Option<Usage> {
        let some = |count: Option<u64>| count.filter(|count| *count > 0);
        let for_an_hour = some(self.cache_written_1h);
        let for_minutes =
            self.cache_written.map(|all| all.saturating_sub(for_an_hour.unwrap_or(0)));
        let kinds = [
            ("input", self.input),
            ("input_cached_tokens", some(self.cache_read)),
            ("input_cache_creation", some(for_minutes)),
            ("input_cache_creation_1h", for_an_hour),
            ("output", self.output),
            ("web_search_requests", some(self.web_searches)),
        ];
        let counts = kinds.into_iter().filter_map(|(kind, count)| Some((kind.to_owned(), count?)));
        let counts: BTreeMap<_, _> = counts.collect();
        (!counts.is_empty()).then(|| Usage::new(counts))
    }
}
