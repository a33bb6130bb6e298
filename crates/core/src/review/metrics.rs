use serde::{Deserialize, Serialize};

use super::estimate::{self, CategoryFigures, Figure, JudgeFigures, NotEstimable, ReviewedStratum};
use super::phase_rules::{self, RuleState};
use crate::catalog::agent::AgentTargets;
use crate::review::category::Category;
use crate::stats::interval::{Estimate, Interval, float, share};

/// The metric of rules about new patterns of failures.
const NEW_PATTERNS: &str = "new_failure_patterns";

/// The weekly metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricName {
    AgentAccuracy,
    JudgeAccuracy,
    UserSatisfaction,
    TracesReviewed,
    DatasetGrowth,
}

impl MetricName {
    pub const ALL: [Self; 5] = [
        Self::AgentAccuracy,
        Self::JudgeAccuracy,
        Self::UserSatisfaction,
        Self::TracesReviewed,
        Self::DatasetGrowth,
    ];

    /// Returns the JSON name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentAccuracy => "agent_accuracy",
            Self::JudgeAccuracy => "judge_accuracy",
            Self::UserSatisfaction => "user_satisfaction",
            Self::TracesReviewed => "traces_reviewed",
            Self::DatasetGrowth => "dataset_growth",
        }
    }

    /// Returns the title on pages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::AgentAccuracy => "Agent accuracy",
            Self::JudgeAccuracy => "Judge accuracy",
            Self::UserSatisfaction => "User satisfaction",
            Self::TracesReviewed => "Traces reviewed",
            Self::DatasetGrowth => "Dataset growth",
        }
    }

    /// Returns the target: a share or a count per week. A dataset grows if it gets an item.
    pub fn target(self, targets: &AgentTargets) -> f64 {
        match self {
            Self::AgentAccuracy => targets.agent_accuracy,
            Self::JudgeAccuracy => targets.judge_accuracy,
            Self::UserSatisfaction => targets.user_satisfaction,
            Self::TracesReviewed => f64::from(targets.traces_reviewed),
            Self::DatasetGrowth => 1.0,
        }
    }

    /// Returns whether the metric is a count and not a share.
    pub const fn is_count(self) -> bool {
        matches!(self, Self::TracesReviewed | Self::DatasetGrowth)
    }
}

/// A metric against its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    #[serde(rename = "met")]
    Met,
    #[serde(rename = "not met")]
    NotMet,
    /// The interval contains the target, or there is none.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

impl Standing {
    /// Decides by the bounds of the interval, not by the estimate.
    pub fn of(interval: Option<Interval>, target: f64) -> Self {
        match interval {
            Some(interval) if interval.lower >= target => Self::Met,
            Some(interval) if interval.upper < target => Self::NotMet,
            _ => Self::CannotTell,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// The facts of a week that metrics are computed from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeekFacts {
    /// Traces of the week.
    pub traces: u64,
    /// Categories of the week with the reviews that count for estimates.
    pub strata: Vec<ReviewedStratum>,
    /// How the reviews of `strata` were selected.
    pub basis: Basis,
    /// Traces in the sample.
    pub drawn: u64,
    /// Those of them that are reviewed.
    pub drawn_reviewed: u64,
    /// Every reviewed trace, drawn or chosen.
    pub reviewed: Vec<ReviewedTrace>,
    /// Ids of those that are wrong.
    pub failed: Vec<String>,
    /// Patterns of failures that no review of earlier weeks has shown; `None` if there are none to
    /// compare with.
    pub new_patterns: Option<Vec<String>>,
    pub thumbs_up: u64,
    pub thumbs_down: u64,
    /// Items added to global datasets.
    pub items_added: u64,
    pub targets: AgentTargets,
}

/// How the reviewed traces of an estimate were selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// At random.
    Drawn,
    /// By people: the estimate assumes that they are typical of their category.
    #[default]
    Chosen,
}

/// A reviewed trace and the judge's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewedTrace {
    pub correct: bool,
    pub judged_good: Option<bool>,
}

/// An unweighted value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawValue {
    /// `None` without data.
    pub value: Option<f64>,
    pub n: u64,
}

/// An estimate, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimateView {
    pub value: Option<f64>,
    /// 95% confidence interval; that of a count is the count.
    pub interval: Option<[f64; 2]>,
    pub n: u64,
    /// Share of traffic that it stands for.
    pub represents: Option<f64>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A change since the week before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricChange {
    pub value: f64,
    pub interval: Option<[f64; 2]>,
    /// Whether it is more than sampling error.
    pub signal: bool,
}

/// A weekly metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeeklyMetric {
    pub name: MetricName,
    /// Of the reviewed sample as it is: biased, because reviewed traces are not typical.
    pub raw: RawValue,
    /// For all traffic.
    pub weighted: EstimateView,
    /// Beside the headline: with the judge's scores as predictions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction_powered: Option<EstimateView>,
    /// The week before.
    pub previous: Option<EstimateView>,
    pub change: Option<MetricChange>,
    pub target: f64,
    pub standing: Standing,
}

impl EstimateView {
    pub(super) fn of(figure: Result<Figure, NotEstimable>) -> Self {
        match figure {
            Ok(figure) => {
                let represents = Some(figure.represents);
                Self { represents, ..Self::from(figure.estimate) }
            }
            Err(why) => Self::unknown(&why),
        }
    }

    pub(super) fn unknown(why: &NotEstimable) -> Self {
        let reason = Some(why.to_string());
        Self { value: None, interval: None, n: 0, represents: None, reason }
    }

    /// A count has no sampling error.
    fn count(count: u64) -> Self {
        let value = float(count);
        let interval = Some([value, value]);
        Self { value: Some(value), interval, n: count, represents: Some(1.0), reason: None }
    }

    /// Returns it as an estimate.
    pub fn estimate(&self) -> Option<Estimate> {
        Some(Estimate { value: self.value?, interval: self.bounds(), n: self.n })
    }

    /// Returns the 95% confidence interval, where there is one.
    pub fn bounds(&self) -> Option<Interval> {
        self.interval.map(|[lower, upper]| Interval { lower, upper })
    }
}

impl From<Estimate> for EstimateView {
    fn from(estimate: Estimate) -> Self {
        Self {
            value: Some(estimate.value),
            interval: estimate.interval.map(|it| [it.lower, it.upper]),
            n: estimate.n,
            represents: None,
            reason: None,
        }
    }
}

impl WeekFacts {
    /// Returns whether the sample is not reviewed in full yet.
    pub const fn is_provisional(&self) -> bool {
        self.drawn_reviewed < self.drawn
    }

    /// Returns the metrics, compared with the week before.
    pub fn metrics(&self, before: Option<&Self>) -> Vec<WeeklyMetric> {
        MetricName::ALL.into_iter().map(|name| self.metric(name, before)).collect()
    }

    fn metric(&self, name: MetricName, before: Option<&Self>) -> WeeklyMetric {
        let weighted = self.weighted(name);
        let previous = before.map(|before| before.weighted(name));
        let predicted = (name == MetricName::AgentAccuracy)
            .then(|| self.covering(estimate::predicted_accuracy(&self.strata)));
        let target = name.target(&self.targets);
        let standing = Standing::of(weighted.bounds(), target);
        let change = previous.as_ref().and_then(|previous| change(previous, &weighted));
        WeeklyMetric {
            name,
            raw: self.raw(name),
            weighted,
            prediction_powered: predicted,
            previous,
            change,
            target,
            standing,
        }
    }

    fn raw(&self, name: MetricName) -> RawValue {
        let of = |yes: usize, n: usize| {
            let n = n as u64;
            RawValue { value: share(yes as u64, n).map(|share| share.value), n }
        };
        let count = |count: u64| RawValue { value: Some(float(count)), n: count };
        match name {
            MetricName::AgentAccuracy => {
                let correct = self.reviewed.iter().filter(|review| review.correct).count();
                of(correct, self.reviewed.len())
            }
            MetricName::JudgeAccuracy => {
                let judged = |one: &ReviewedTrace| Some(one.judged_good? == one.correct);
                let agreed: Vec<bool> = self.reviewed.iter().filter_map(judged).collect();
                of(agreed.iter().filter(|agreed| **agreed).count(), agreed.len())
            }
            MetricName::UserSatisfaction => {
                let n = self.thumbs_up + self.thumbs_down;
                RawValue { value: share(self.thumbs_up, n).map(|share| share.value), n }
            }
            MetricName::TracesReviewed => count(self.reviewed.len() as u64),
            MetricName::DatasetGrowth => count(self.items_added),
        }
    }

    fn weighted(&self, name: MetricName) -> EstimateView {
        match name {
            MetricName::AgentAccuracy => self.covering(estimate::agent_accuracy(&self.strata)),
            MetricName::JudgeAccuracy => self.covering(estimate::judge_accuracy(&self.strata)),
            MetricName::UserSatisfaction => self.satisfaction(),
            MetricName::TracesReviewed => EstimateView::count(self.reviewed.len() as u64),
            MetricName::DatasetGrowth => EstimateView::count(self.items_added),
        }
    }

    /// Traffic of agents without a draw is not represented.
    fn covering(&self, figure: Result<Figure, NotEstimable>) -> EstimateView {
        let sampled: u64 = self.strata.iter().map(|stratum| stratum.population).sum();
        let covered = share(sampled.min(self.traces), self.traces).map_or(1.0, |share| share.value);
        EstimateView::of(
            figure.map(|figure| Figure { represents: figure.represents * covered, ..figure }),
        )
    }

    /// Every thumb is counted; the interval is for users like those who gave them.
    fn satisfaction(&self) -> EstimateView {
        let rated = self.thumbs_up + self.thumbs_down;
        let represents = share(rated, self.traces).map(|share| share.value);
        match share(self.thumbs_up, rated) {
            Some(estimate) => EstimateView { represents, ..estimate.into() },
            None => EstimateView {
                reason: Some("no thumbs in this week".to_owned()),
                ..EstimateView::unknown(&NotEstimable::NoTraces)
            },
        }
    }

    /// Returns the judge's figures.
    pub fn judge(&self) -> JudgeFigures {
        estimate::judge_figures(&self.strata)
    }

    /// Returns the figures of each category.
    pub fn categories(&self) -> Vec<CategoryFigures> {
        estimate::categories(&self.strata)
    }

    /// Returns the failures that neither users nor judge reported.
    pub fn silent_failures(&self) -> u64 {
        let silent = |figures: &&CategoryFigures| {
            matches!(figures.category, Category::W4 | Category::W6 | Category::U2 | Category::U3)
        };
        self.categories().iter().filter(silent).map(|figures| figures.failures).sum()
    }

    /// Returns the state of each rule for going back to offline experiments.
    pub fn signals(&self) -> Vec<PhaseSignal> {
        let signal = |rule: &phase_rules::PhaseRule| {
            let name = MetricName::ALL.into_iter().find(|name| name.as_str() == rule.metric);
            let (value, interval) = match (name, rule.metric.as_str()) {
                (Some(name), _) => {
                    let weighted = self.weighted(name);
                    (weighted.value, weighted.bounds())
                }
                (None, NEW_PATTERNS) => {
                    (self.new_patterns.as_ref().map(|all| float(all.len() as u64)), None)
                }
                (None, _) => (self.drawn_or_chosen().then(|| float(self.silent_failures())), None),
            };
            let found = match rule.metric.as_str() {
                NEW_PATTERNS => self.new_patterns.clone().unwrap_or_default(),
                _ => Vec::new(),
            };
            PhaseSignal {
                name: rule.name.clone(),
                title: rule.title.clone(),
                state: rule.state(value, interval),
                action: rule.action.clone(),
                found,
            }
        };
        phase_rules::rules().iter().map(signal).collect()
    }

    fn drawn_or_chosen(&self) -> bool {
        self.strata.iter().any(|stratum| !stratum.reviews.is_empty())
    }
}

/// A rule for going back to offline experiments, and whether it applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSignal {
    pub name: String,
    pub title: String,
    pub state: RuleState,
    /// What to do next.
    pub action: String,
    /// What it applies to, such as the new patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
}

fn change(previous: &EstimateView, now: &EstimateView) -> Option<MetricChange> {
    let change = estimate::change(&previous.estimate()?, &now.estimate()?)?;
    let interval = change.interval.map(|it| [it.lower, it.upper]);
    Some(MetricChange { value: change.value, interval, signal: estimate::is_signal(&change) })
}

#[cfg(test)]
mod tests;
