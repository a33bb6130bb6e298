use std::borrow::Cow;

/// Elides the middle of a text that is longer than `max_bytes`, and inserts how many bytes are
/// missing and how long the text was.
///
/// The result is at most `max_bytes` long, unless the inserted note alone is longer.
///
/// ```
/// use ratchet_core::record::limit::elide;
///
/// let text = "x".repeat(1000);
/// let short = elide(&text, 60);
/// assert_eq!(short, "xxxxxxxxxxxxx…[975 of 1000 bytes left out]…xxxxxxxxxxxx");
/// assert_eq!(elide("short", 60), "short");
/// ```
pub fn elide(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    // The longest possible note: everything elided.
    let kept = max_bytes.saturating_sub(mark(text.len(), text.len()).len());
    let head = text.get(..text.floor_char_boundary(kept.div_ceil(2))).unwrap_or("");
    let tail = text.get(text.ceil_char_boundary(text.len() - kept / 2)..).unwrap_or("");
    let missing = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}{}{tail}", mark(missing, text.len())))
}

fn mark(missing: usize, whole: usize) -> String {
    format!("…[{missing} of {whole} bytes left out]…")
}

/// Returns the nesting depth of a JSON text: 0 for a number, 1 for `{}`.
///
/// Works on any text, well-formed or not, without recursion; brackets in strings do not count.
///
/// ```
/// use ratchet_core::record::limit::depth;
///
/// assert_eq!(depth(r#"{"a": [1, "]["]}"#), 2);
/// ```
pub fn depth(json_text: &str) -> usize {
    let (mut open, mut deepest) = (0usize, 0);
    let mut bytes = json_text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_and_what_is_missing_make_up_the_text(text in "[a-zé日🦀]{0,200}", max in 0usize..300) {
            let short = elide(&text, max);
            prop_assert!(short.len() <= max.max(mark(text.len(), text.len()).len()));
            if let Some((head, rest)) = short.split_once("…[").filter(|_| short != text) {
                let (_, tail) = rest.split_once("left out]…").unwrap();
                let missing = text.len() - head.len() - tail.len();
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert_eq!(&*short, format!("{head}{}{tail}", mark(missing, text.len())));
            } else {
                prop_assert_eq!(&*short, &text);
            }
        }

        #[test]
        fn depth_never_panics(text in ".{0,100}") {
            prop_assert!(depth(&text) <= text.len());
        }
    }

    #[track_caller]
    fn check(json: &str, expected: usize) {
        assert_eq!(depth(json), expected, "{json}");
    }

    #[test]
    fn depth_counts_the_deepest_place() {
        check("7", 0);
        check("[]", 1);
        check(r#"[{"a":[]},{}]"#, 3);
        check(r#"{"a":{"b":1},"c":{"d":1}}"#, 2);
        check(&"[".repeat(100_000), 100_000);
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        check(r#"["[[[", "\"[[", "\\"]"#, 1);
        check(r#"{"\\":["}"]}"#, 2);
    }

    #[test]
    fn broken_json_has_a_depth_too() {
        check("]]][", 1);
        check(r#"["never closed [[["#, 1);
        check("\"\\", 0);
    }
}
