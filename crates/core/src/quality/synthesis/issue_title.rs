//! Titles of issues that the offline judge found: a phrase of its rationale is one of its signals.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::judge::offline::{Signal, SignalSet};

const SHIPPED: &str = include_str!("../../../offline/issues.toml");

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    // A test validates the file.
    parse(SHIPPED).unwrap_or_default()
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    issue: Vec<Titles>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Titles {
    signal: Signal,
    title: String,
    #[serde(default)]
    of_tool: Option<String>,
}

/// The titles of a signal, and how its rationale reads.
struct Rule {
    titles: Titles,
    phrases: Vec<Regex>,
}

/// A signal in a rationale. Signals of the same place and tool are the same issue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FoundSignal {
    /// The place in the file: causes come before what follows from them.
    pub(super) place: usize,
    pub(super) tool: Option<String>,
}

impl FoundSignal {
    /// Recognises the signal of a phrase; `None` for phrases of other judges.
    pub(super) fn of(phrase: &str) -> Option<Self> {
        RULES.iter().enumerate().find_map(|(place, rule)| {
            let found = rule.phrases.iter().find_map(|regex| regex.captures(phrase))?;
            let tool = found.name("tool").map(|tool| tool.as_str().to_owned());
            let tool = tool.filter(|_| rule.titles.of_tool.is_some());
            Some(Self { place, tool })
        })
    }

    /// The signal, as its detector names it.
    pub(super) fn signal(&self) -> Option<Signal> {
        RULES.get(self.place).map(|rule| rule.titles.signal)
    }

    pub(super) fn title(&self) -> String {
        let Some(Titles { title, of_tool, .. }) = RULES.get(self.place).map(|rule| &rule.titles)
        else {
            return String::new();
        };
        match (of_tool, &self.tool) {
            (Some(of_tool), Some(tool)) => of_tool.replace("{tool}", tool),
            _ => title.clone(),
        }
    }
}

fn parse(text: &str) -> Result<Vec<Rule>, String> {
    let file: File = toml::from_str(text).map_err(|why| why.to_string())?;
    let rule = |titles: Titles| {
        let texts = SignalSet::shipped().texts().filter(|(signal, ..)| *signal == titles.signal);
        let phrases: Result<Vec<Regex>, _> = texts.map(|(_, text, _)| regex(text)).collect();
        Ok(Rule { phrases: phrases.map_err(|why| why.to_string())?, titles })
    };
    file.issue.into_iter().map(rule).collect()
}

/// The rationale of a signal with any counts, and the tool in parentheses where one is named.
fn regex(text: &str) -> Result<Regex, regex::Error> {
    let text = regex::escape(text);
    // 100% of them are "all of" them.
    let text = text.replace(r"\{p\}% of", r"(?:\d+%|all) of");
    let text = text.replace(r"\{n\}", r"\d+").replace(r"\{p\}", r"\d+");
    Regex::new(&format!("^(?i:{text})(?: \\((?:mostly )?`(?<tool>[^`]+)`\\))?$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_ships_has_its_shape() {
        let rules = parse(SHIPPED).unwrap();
        for rule in &rules {
            let signal = rule.titles.signal;
            assert!(!rule.phrases.is_empty(), "{signal:?} is no signal of signals.toml");
            let same = rules.iter().filter(|other| other.titles.signal == signal).count();
            assert_eq!(same, 1, "{signal:?}");
        }
    }

    /// All titles, as a reader sees them.
    #[test]
    fn every_signal_that_is_a_problem_has_a_title() {
        let mut lines: Vec<String> = Vec::new();
        for (signal, text, _) in SignalSet::shipped().texts() {
            let counted = text.replace("{n}", "3").replace("{p}", "90");
            let titles = [counted.clone(), format!("{counted} (mostly `find_order`)")]
                .map(|phrase| FoundSignal::of(&phrase).map(|found| found.title()));
            let [plain, of_tool] = titles.map(Option::unwrap_or_default);
            let of_tool = if of_tool == plain { String::new() } else { format!(" | {of_tool}") };
            lines.push(format!("{}: {plain}{of_tool}", signal.name()));
        }
        lines.dedup();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn what_other_judges_write_has_no_signal() {
        assert_eq!(FoundSignal::of("The tests failed because of a typo"), None);
        assert_eq!(FoundSignal::of("3 tool calls failed in the second turn"), None);
        let longest = FoundSignal::of("It took longer than all of its peers").unwrap();
        assert_eq!(Some(longest), FoundSignal::of("It took longer than 80% of its peers"));
        let found = FoundSignal::of("3 tool calls failed").unwrap();
        assert_eq!((found.title().as_str(), found.tool), ("Tool calls fail", None));
    }
}
