use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use crate::money::Money;

/// A billed usage type. Clients use many names for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Input,
    CacheRead,
    CacheWrite,
    CacheWriteHour,
    InputImage,
    InputAudio,
    CacheReadAudio,
    Output,
    Reasoning,
    OutputImage,
    OutputAudio,
    WebSearch,
    Total,
}

const COUNT: usize = Kind::Total as usize + 1;

/// One row of the table below.
struct Row {
    kind: Kind,
    /// The name in a price file.
    word: &'static str,
    /// The type whose price is used where a model lists none. `None`: the cost is unknown.
    otherwise: Option<Kind>,
    names: &'static [&'static str],
}

const ROWS: [Row; COUNT] = [
    Row {
        kind: Kind::Input,
        word: "input",
        otherwise: None,
        names: &[
            "input",
            "input_tokens",
            "input_text",
            "input_text_tokens",
            "input_modality_1",
            "prompt_tokens",
            "prompt_token_count",
            "promptTokenCount",
        ],
    },
    Row {
        kind: Kind::CacheRead,
        word: "cache_read",
        otherwise: Some(Kind::Input),
        names: &[
            "input_cached_tokens",
            "input_cache_read",
            "input_cached_text_tokens",
            "cache_read_input_tokens",
            "cached_content_token_count",
            "cachedContentTokenCount",
        ],
    },
    Row {
        kind: Kind::CacheWrite,
        word: "cache_write",
        otherwise: Some(Kind::Input),
        names: &[
            "input_cache_creation",
            "input_cache_creation_5m",
            "input_ephemeral_5m_input_tokens",
            "cache_creation_input_tokens",
            "cache_write_tokens",
        ],
    },
    Row {
        kind: Kind::CacheWriteHour,
        word: "cache_write_1h",
        otherwise: Some(Kind::CacheWrite),
        names: &["input_cache_creation_1h", "input_ephemeral_1h_input_tokens"],
    },
    Row {
        kind: Kind::InputImage,
        word: "input_image",
        otherwise: Some(Kind::Input),
        names: &["input_image", "input_image_tokens"],
    },
    Row {
        kind: Kind::InputAudio,
        word: "input_audio",
        otherwise: None,
        names: &["input_audio", "input_audio_tokens"],
    },
    Row {
        kind: Kind::CacheReadAudio,
        word: "cache_read_audio",
        otherwise: Some(Kind::InputAudio),
        names: &["input_cached_audio_tokens"],
    },
    Row {
        kind: Kind::Output,
        word: "output",
        otherwise: None,
        names: &[
            "output",
            "output_tokens",
            "output_text",
            "output_text_tokens",
            "output_modality_1",
            "output_accepted_prediction_tokens",
            "output_rejected_prediction_tokens",
            "completion_tokens",
            "candidates_token_count",
            "candidatesTokenCount",
        ],
    },
    Row {
        kind: Kind::Reasoning,
        word: "reasoning",
        otherwise: Some(Kind::Output),
        names: &[
            "output_reasoning_tokens",
            "output_reasoning",
            "reasoning_tokens",
            "thoughts_token_count",
            "thoughtsTokenCount",
        ],
    },
    Row {
        kind: Kind::OutputImage,
        word: "output_image",
        otherwise: None,
        names: &["output_image", "output_image_tokens"],
    },
    Row {
        kind: Kind::OutputAudio,
        word: "output_audio",
        otherwise: None,
        names: &["output_audio", "output_audio_tokens"],
    },
    Row {
        kind: Kind::WebSearch,
        word: "web_search",
        otherwise: None,
        names: &[
            "grounding_queries",
            "groundingQueries",
            "web_search_queries",
            "webSearchQueries",
            "web_search_requests",
        ],
    },
    Row { kind: Kind::Total, word: "total", otherwise: None, names: &["total"] },
];

static BY_NAME: LazyLock<HashMap<&'static str, Kind>> = LazyLock::new(|| {
    let named = |row: &'static Row| row.names.iter().map(|name| (*name, row.kind));
    ROWS.iter().flat_map(named).collect()
});

impl Kind {
    /// Parses a client's name for a usage type; `None` for counters that are never billed.
    pub(super) fn of_usage(name: &str) -> Option<Self> {
        BY_NAME.get(name).copied()
    }

    /// Parses a price file's name for a usage type, or any client's name for it.
    pub(super) fn of_price(word: &str) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.word == word);
        row.map(|row| row.kind).or_else(|| Self::of_usage(word))
    }

    /// Lists the names in price files, for error messages.
    pub(super) fn words() -> String {
        ROWS.map(|row| row.word).join(", ")
    }

    /// Returns whether the type is input.
    pub(super) fn is_input(self) -> bool {
        self.side() == Some(Side::Input)
    }

    /// Returns whether the type is input or output.
    const fn side(self) -> Option<Side> {
        match self {
            Self::Input
            | Self::CacheRead
            | Self::CacheWrite
            | Self::CacheWriteHour
            | Self::InputImage
            | Self::InputAudio
            | Self::CacheReadAudio => Some(Side::Input),
            Self::Output | Self::Reasoning | Self::OutputImage | Self::OutputAudio => {
                Some(Side::Output)
            }
            Self::WebSearch | Self::Total => None,
        }
    }
}

/// Input or output of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

/// Returns whether a usage type is input or output, by a client's name for it. An unknown name is
/// classified by its text.
pub(crate) fn side_of(name: &str) -> Option<Side> {
    match Kind::of_usage(name) {
        Some(kind) => kind.side(),
        None if name.contains("input") => Some(Side::Input),
        None if name.contains("output") => Some(Side::Output),
        None => None,
    }
}

/// Unit prices by usage type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prices([Option<Money>; COUNT]);

impl Prices {
    pub(super) fn get(&self, kind: Kind) -> Option<Money> {
        self.0[kind as usize]
    }

    /// Sets a price and returns the previous one.
    pub(super) fn set(&mut self, kind: Kind, price: Money) -> Option<Money> {
        self.0[kind as usize].replace(price)
    }

    /// Returns dollars by the most common client name of each type.
    pub(super) fn by_name(&self) -> BTreeMap<String, f64> {
        let named = |row: &Row| {
            let name = row.names.first().unwrap_or(&row.word);
            Some(((*name).to_owned(), self.get(row.kind)?.dollars()))
        };
        ROWS.iter().filter_map(named).collect()
    }

    /// Adds the prices of types that have none here.
    pub(super) fn inherit(&mut self, from: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(from.0) {
            *ours = ours.or(theirs);
        }
    }

    /// Sets missing prices from the fallback types. A fallback always precedes its type, so one
    /// pass is enough.
    pub(super) fn fill(&mut self) {
        for row in &ROWS {
            let otherwise = row.otherwise.and_then(|kind| self.get(kind));
            let price = &mut self.0[row.kind as usize];
            *price = price.or(otherwise);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        assert!(ROWS.iter().enumerate().all(|(at, row)| row.kind as usize == at));
    }

    #[test]
    fn a_fallback_type_precedes_its_type() {
        let leans_back =
            |row: &Row| row.otherwise.is_none_or(|kind| (kind as usize) < row.kind as usize);
        assert!(ROWS.iter().all(leans_back));
    }

    #[test]
    fn no_name_stands_for_two_kinds() {
        let names = ROWS.iter().map(|row| row.names.len()).sum::<usize>();
        assert_eq!(BY_NAME.len(), names);
    }
}
