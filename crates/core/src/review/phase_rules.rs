//! Rules for going back to offline experiments, read from a data file.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::stats::interval::Interval;

const SHIPPED: &str = include_str!("../../review/phase_rules.toml");

/// A rule about one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseRule {
    pub name: String,
    /// Name of the metric.
    pub metric: String,
    /// On when the metric is below.
    pub below: Option<f64>,
    /// On when a count is not less.
    pub at_least: Option<f64>,
    pub title: String,
    /// What to do next.
    pub action: String,
}

#[derive(Deserialize)]
struct RuleFile {
    rule: Vec<PhaseRule>,
}

static RULES: LazyLock<Vec<PhaseRule>> = LazyLock::new(|| {
    toml::from_str::<RuleFile>(SHIPPED).map_or_else(|_| Vec::new(), |file| file.rule)
});

/// Returns the shipped rules.
pub fn rules() -> &'static [PhaseRule] {
    &RULES
}

/// Whether a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleState {
    On,
    /// The estimate says so, its interval does not exclude the opposite.
    Possible,
    Off,
    /// The metric is not known.
    Unknown,
}

impl RuleState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Possible => "possible",
            Self::Off => "off",
            Self::Unknown => "unknown",
        }
    }
}

impl PhaseRule {
    /// Decides by the metric's value and interval.
    pub fn state(&self, value: Option<f64>, interval: Option<Interval>) -> RuleState {
        let Some(value) = value else { return RuleState::Unknown };
        if let Some(least) = self.at_least {
            return if value >= least { RuleState::On } else { RuleState::Off };
        }
        let Some(below) = self.below else { return RuleState::Unknown };
        match interval {
            Some(interval) if interval.upper < below => RuleState::On,
            _ if value < below => RuleState::Possible,
            _ => RuleState::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rules_are_complete() {
        let file: RuleFile = toml::from_str(SHIPPED).unwrap();
        assert_eq!(file.rule.len(), 6, "five of the method, and silent failures");
        for rule in file.rule {
            assert!(rule.below.is_some() != rule.at_least.is_some(), "{}", rule.name);
            assert!(rule.action.ends_with('.'), "{}", rule.name);
        }
    }

    #[test]
    fn a_rule_is_on_when_the_interval_says_so() {
        let rule = &rules()[0];
        let within = |lower, upper| Some(Interval { lower, upper });
        assert_eq!(rule.state(Some(0.6), within(0.5, 0.7)), RuleState::On);
        assert_eq!(rule.state(Some(0.75), within(0.6, 0.9)), RuleState::Possible);
        assert_eq!(rule.state(Some(0.9), within(0.7, 0.95)), RuleState::Off);
        assert_eq!(rule.state(None, None), RuleState::Unknown);
        let silent = &rules()[5];
        assert_eq!(silent.state(Some(1.0), None), RuleState::On);
        assert_eq!(silent.state(Some(0.0), None), RuleState::Off);
    }
}
