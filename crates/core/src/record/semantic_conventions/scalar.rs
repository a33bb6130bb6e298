//! Numbers and booleans that an SDK wrote as text attributes.
//!
//! Langfuse SDKs before Python 5 and JavaScript 6 write metadata values as unquoted text, so that a
//! number and a text of the same digits look alike. A text is read as a number only if it is
//! exactly what the SDK's language prints for that number: `007`, `1.50` and ids with more digits
//! than a float can hold must have been text.

use crate::payload::Json;

/// The maximum length of a printed number.
const MAX_BYTES: usize = 32;

/// Parses a number or boolean printed by `JSON.stringify`.
pub(super) fn javascript(text: &str) -> Option<Json> {
    if text == "true" || text == "false" {
        return Json::parse(text);
    }
    number(text, |number| {
        let plain = (1e-6..1e21).contains(&number.abs());
        if number == 0.0 {
            "0".to_owned()
        } else if plain {
            number.to_string()
        } else {
            let (digits, exponent) = exponential(number);
            format!("{digits}e{exponent:+}")
        }
    })
}

/// Parses a float printed by Python's `json.dumps`. Python sends integers and booleans as typed
/// attributes, so such text was text.
pub(super) fn python(text: &str) -> Option<Json> {
    number(text, |number| {
        let plain = number == 0.0 || (1e-4..1e16).contains(&number.abs());
        if plain {
            let digits = number.to_string();
            if digits.contains('.') { digits } else { format!("{digits}.0") }
        } else {
            let (digits, exponent) = exponential(number);
            format!("{digits}e{exponent:+03}")
        }
    })
}

fn number(text: &str, write: impl Fn(f64) -> String) -> Option<Json> {
    let begins = text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit());
    if !begins || text.len() > MAX_BYTES {
        return None;
    }
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    (write(number) == text).then(|| Json::parse(text)).flatten()
}

/// Returns the shortest round-trip digits of a number, and its exponent.
fn exponential(number: f64) -> (String, i32) {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(read: fn(&str) -> Option<Json>, numbers: &[&str], texts: &[&str]) {
        for number in numbers {
            assert_eq!(read(number).unwrap().as_str(), *number);
        }
        for text in texts {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn what_javascript_writes_is_read_and_nothing_else() {
        check(
            javascript,
            &["0", "1", "-7", "0.5", "1200000", "1e+21", "1.5e-7", "0.000001", "true", "false"],
            &[
                "",
                "-",
                "-0",
                "007",
                "1.0",
                "1.50",
                "1e3",
                "4e10",
                "+1",
                " 1",
                "1 ",
                "NaN",
                "inf",
                "12345678901234567890",
                "9007199254740993",
                "True",
                "null",
                "1e21",
                "0x1",
            ],
        );
    }

    #[test]
    fn what_python_writes_for_a_float_is_read_and_nothing_else() {
        check(
            python,
            &["0.0", "-0.0", "0.5", "1.0", "0.0001", "1e-05", "1.5e+16", "123456789.25"],
            &["0", "1", "-7", "1.50", "1e-5", "1e16", "true", "True", "nan", "1.", ".5"],
        );
    }
}
