//! Mutations of arbitrary bytes.

use crate::seeded_random::SeededRandom;

const NUMBERS: [&[u8]; 12] = [
    &[0],
    &[0xff],
    &[0x7f],
    &[0x80],
    &[0xff; 4],
    &[0xff; 8],
    &[0xff, 0xff, 0xff, 0x7f],
    &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    b"-1",
    b"18446744073709551616",
    b"1e999",
    &[0xed, 0xa0, 0x80],
];

/// A mutated copy of the input; `other` is another input to splice from.
pub(super) fn mutate(
    input: &[u8],
    other: &[u8],
    words: &[&str],
    chance: &mut SeededRandom,
) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let at = chance.below(bytes.len() + 1);
    let end = at + chance.below((bytes.len() - at).min(64) + 1);
    match chance.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        1 if at < bytes.len() => bytes[at] = u8::try_from(chance.below(256)).unwrap(),
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => insert(&mut bytes, at, NUMBERS[chance.below(NUMBERS.len())]),
        5 if !words.is_empty() => insert(&mut bytes, at, chance.pick(words).as_bytes()),
        6 => {
            let piece = bytes[at..end].repeat(1 + chance.below(200));
            insert(&mut bytes, at, &piece);
        }
        7 => {
            let from = chance.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend(&other[from..]);
        }
        _ => {
            let noise: Vec<u8> = (0..chance.below(16)).map(|_| byte(chance)).collect();
            insert(&mut bytes, at, &noise);
        }
    }
    bytes
}

fn byte(chance: &mut SeededRandom) -> u8 {
    u8::try_from(chance.below(256)).unwrap()
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
