//! Compact encoding of usage and cost by kind. Nearly every model call has the same handful of
//! kinds, so each of those is one byte; a custom kind is stored as text.

use std::collections::BTreeMap;

use crate::varint;

/// Kinds with a number: their index here, from 1. Rows on disk contain these numbers, so kinds are
/// only ever appended.
const KINDS: [&str; 18] = [
    "input",
    "output",
    "total",
    "input_cached_tokens",
    "input_cache_creation",
    "output_reasoning_tokens",
    "input_audio_tokens",
    "output_audio_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "input_cache_read",
    "input_cache_creation_5m",
    "input_cache_creation_1h",
    "output_reasoning",
    "reasoning_tokens",
    "input_tokens",
    "output_tokens",
    "total_tokens",
];
/// Precedes a kind stored as text.
const TEXT_KIND: u8 = 0;

pub(super) fn encode<'a>(amounts: impl Iterator<Item = (&'a str, u64)>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32);
    for (kind, amount) in amounts {
        match KINDS.iter().position(|known| *known == kind) {
            Some(at) => bytes.push(u8::try_from(at + 1).unwrap_or(TEXT_KIND)),
            None => {
                bytes.push(TEXT_KIND);
                varint::write(&mut bytes, kind.len() as u64);
                bytes.extend_from_slice(kind.as_bytes());
            }
        }
        varint::write(&mut bytes, amount);
    }
    bytes
}

/// Decodes what [`encode`] wrote; stops at the first invalid byte.
pub(super) fn decode(mut bytes: &[u8]) -> BTreeMap<String, u64> {
    let mut amounts = BTreeMap::new();
    while let Some((kind, amount, rest)) = decode_one(bytes) {
        amounts.insert(kind.to_owned(), amount);
        bytes = rest;
    }
    amounts
}

fn decode_one(bytes: &[u8]) -> Option<(&str, u64, &[u8])> {
    let (number, rest) = bytes.split_first()?;
    let (kind, rest) = match *number {
        TEXT_KIND => {
            let (length, rest) = varint::read(rest)?;
            let (kind, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            (std::str::from_utf8(kind).ok()?, rest)
        }
        number => (*KINDS.get(usize::from(number) - 1)?, rest),
    };
    let (amount, rest) = varint::read(rest)?;
    Some((kind, amount, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn amounts_come_back(amounts in prop::collection::btree_map("[a-z_é]{0,12}|input|total", any::<u64>(), 0..8)) {
            let bytes = encode(amounts.iter().map(|(kind, amount)| (kind.as_str(), *amount)));
            prop_assert_eq!(decode(&bytes), amounts);
        }

        #[test]
        fn garbage_decodes_to_something(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            decode(&bytes);
        }
    }

    #[test]
    fn a_usual_call_takes_a_dozen_bytes() {
        let usual =
            [("input", 900), ("input_cached_tokens", 36_000), ("output", 80), ("total", 36_980)];
        assert_eq!(encode(usual.into_iter()).len(), 13);
    }
}
