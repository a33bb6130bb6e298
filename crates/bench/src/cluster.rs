//! Clustering of failures, in this process: all of one agent and one tool, the worst case, because
//! failures of different tools are clustered apart.

use std::time::Instant;

use ratchet_core::improve::group::{GroupingContext, groups};
use ratchet_core::improve::observed::{ObservedToolCall, ObservedTrace};
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::signals::Signals;
use serde::Serialize;

/// Target time for the failures of a large week, on two cores.
pub(crate) const TARGET_SECONDS: f64 = 60.0;
/// Topics of the questions.
const TOPICS: usize = 40;
/// Words that only some questions have.
const FILLERS: usize = 4_000;

#[derive(Debug, Serialize)]
pub(crate) struct Clustering {
    pub(crate) failures: usize,
    pub(crate) groups: usize,
    pub(crate) seconds: f64,
}

/// Groups and diagnoses so many failures.
pub(crate) fn measure(failures: usize) -> Clustering {
    let traces: Vec<ObservedTrace> = (0..failures).map(failure).collect();
    let began = Instant::now();
    let found = groups(&traces, GroupingContext::offline(FailurePhrases::shipped()));
    Clustering { failures, groups: found.len(), seconds: began.elapsed().as_secs_f64() }
}

fn failure(nth: usize) -> ObservedTrace {
    let topic = nth % TOPICS;
    let word = |kind: &str, nth: usize| format!("{kind}{}", letters(nth));
    let filler = |step: usize| word("extra", nth.wrapping_mul(step) % FILLERS);
    let question = format!(
        "{} {} {} {} {} {}",
        word("topic", topic),
        word("matter", topic * 3 + nth / TOPICS % 3),
        word("detail", topic * 5 + nth / TOPICS % 5),
        filler(7_919),
        filler(104_729),
        filler(1_299_709)
    );
    ObservedTrace {
        id: format!("trace-{nth}"),
        session: Some(format!("session-{}", nth / 2)),
        question,
        answer: "It is 12.".to_owned(),
        tools: vec![ObservedToolCall {
            name: "lookup".to_owned(),
            output: format!("{{\"value\": {nth}}}"),
            failed: false,
        }],
        signals: Signals { correct: Some(false), ..Signals::default() },
        weight: 1.0,
        ..ObservedTrace::default()
    }
}

/// A number in letters: terms have no digits.
fn letters(mut number: usize) -> String {
    let mut text = String::new();
    loop {
        let letter = u8::try_from(number % 26).unwrap_or(0);
        text.push(char::from(b'a' + letter));
        number /= 26;
        if number == 0 {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_grouped() {
        let measured = measure(200);
        assert!(measured.failures == 200 && measured.groups >= 1, "{measured:?}");
    }
}
