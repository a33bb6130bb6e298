//! Counts with their noun: `1 session`, `2 sessions`.

use std::fmt::Display;

/// Formats a count with its noun, given in the singular.
///
/// ```
/// use ratchet_core::counted::counted;
///
/// assert_eq!(counted(1, "observation"), "1 observation");
/// assert_eq!(counted(0, "model query"), "0 model queries");
/// ```
pub fn counted<N: Copy + PartialEq + From<u8> + Display>(count: N, noun: &str) -> String {
    format!("{count} {}", noun_of(count, noun))
}

/// Returns the noun in the form that follows a count.
pub fn noun_of<N: Copy + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) { noun.to_owned() } else { plural(noun) }
}

/// Returns a verb that follows a count: `is` or `are`, `waits` or `wait`.
pub fn verb_of<N: Copy + PartialEq + From<u8>>(
    count: N,
    [one, many]: [&'static str; 2],
) -> &'static str {
    if count == N::from(1) { one } else { many }
}

fn plural(noun: &str) -> String {
    if let Some(stem) = noun.strip_suffix("person") {
        return format!("{stem}people");
    }
    let is_vowel = |char: char| "aeiou".contains(char);
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_in_the_singular() {
        for (noun, many) in [
            ("trace", "traces"),
            ("tool call", "tool calls"),
            ("query", "queries"),
            ("day", "days"),
            ("person", "people"),
            ("match", "matches"),
            ("alias", "aliases"),
        ] {
            assert_eq!(counted(1_usize, noun), format!("1 {noun}"));
            assert_eq!(counted(0_u64, noun), format!("0 {many}"));
            assert_eq!(counted(11_u32, noun), format!("11 {many}"));
        }
        assert_eq!(verb_of(1, ["waits", "wait"]), "waits");
    }
}
