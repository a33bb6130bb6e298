//! Which traces show what a sentence of a rationale says.

use std::sync::LazyLock;

use regex::Regex;

use super::Mark;
use super::issue_title::FoundSignal;

/// "trace 3", "turns 3 and 5", "traces 3, 4".
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:traces?|turns?)\s+(\d{1,6}(?:(?:\s*,\s*|\s+and\s+)\d{1,6})*)").ok()
});

/// Returns the traces that show what a sentence of the mark's rationale says: those of the signal
/// that it names, those that it mentions by number, or the only one that the mark cites. Empty where
/// the mark cites several and does not say which shows what.
pub(super) fn traces(mark: &Mark, sentence: &str) -> Vec<u32> {
    let signal = FoundSignal::of(sentence).and_then(|found| found.signal());
    if let Some(traces) = signal.and_then(|signal| mark.signals.get(&signal)) {
        return traces.clone();
    }
    let named = named(sentence);
    let cited: Vec<u32> =
        mark.evidence.iter().copied().filter(|trace| named.contains(trace)).collect();
    match (cited.is_empty(), mark.evidence.as_slice()) {
        (false, _) => cited,
        (true, [only]) => vec![*only],
        (true, _) => Vec::new(),
    }
}

/// The numbers of traces in a sentence.
fn named(sentence: &str) -> Vec<u32> {
    let lists = NAMED.iter().flat_map(|regex| regex.captures_iter(sentence));
    let numbers = lists.filter_map(|found| Some(found.get(1)?.as_str()));
    let numbers = numbers.flat_map(|list| list.split(|char: char| !char.is_ascii_digit()));
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::offline::Signal;

    #[track_caller]
    fn check(sentence: &str, expected: &[u32]) {
        let mark = Mark {
            evidence: vec![1, 3, 5],
            signals: [(Signal::ToolError, vec![3]), (Signal::UserCorrection, vec![5])].into(),
            ..Mark::default()
        };
        assert_eq!(traces(&mark, sentence), expected, "{sentence}");
    }

    #[test]
    fn a_sentence_leads_to_the_traces_that_show_what_it_says() {
        check("4 tool calls failed (`find_order`)", &[3]);
        check("The user corrected the agent once", &[5]);
        check("The refund was booked twice in traces 3 and 5", &[3, 5]);
        check("It gave up in turn 5, after 3 tries", &[5]);
        check("It made up trace 7 and gave up", &[]);
        check("The tone was rude", &[]);
        let mark = Mark { evidence: vec![4], ..Mark::default() };
        assert_eq!(traces(&mark, "The tone was rude"), [4]);
    }
}
