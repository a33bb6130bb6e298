use serde::{Deserialize, Serialize};

use super::category::Category;
use super::estimate::{CategoryFigures, NotEstimable};
use super::guide;
use super::metrics::{Basis, EstimateView, MetricName, PhaseSignal, WeekFacts, WeeklyMetric};
use crate::csv;
use crate::gate::explain::points;
use crate::stats::interval::Estimate;

/// What weekly metrics are about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsScope {
    /// First day of the week of the traces.
    pub week: String,
    /// Last day.
    pub last_day: String,
    pub zone: String,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub environment: Option<String>,
    #[serde(default)]
    pub release: Option<String>,
}

/// The metrics of a week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeeklyMetrics {
    #[serde(flatten)]
    pub scope: MetricsScope,
    /// Whether the sample is not reviewed in full yet.
    pub provisional: bool,
    pub basis: Basis,
    /// Traces of the week.
    pub traces: u64,
    /// Traces in the sample.
    pub drawn: u64,
    pub drawn_reviewed: u64,
    pub metrics: Vec<WeeklyMetric>,
    pub judge: JudgeView,
    pub categories: Vec<CategoryView>,
    pub signals: Vec<PhaseSignal>,
}

/// Figures of the judge on all judged traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeView {
    pub sensitivity: EstimateView,
    pub specificity: EstimateView,
    /// Agent accuracy by the judge's verdicts, corrected for its errors.
    pub corrected_accuracy: EstimateView,
}

/// A cell of the signal matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryView {
    pub category: Category,
    pub signals: String,
    pub title: String,
    pub population: u64,
    pub reviewed: u64,
    pub failures: u64,
    pub accuracy: EstimateView,
    /// Accuracy to plan with.
    pub expected: f64,
    /// Share of reviews that led to a dataset item or showed an error of the judge.
    pub yielded: Option<EstimateView>,
    pub teaches: String,
    pub action: String,
}

impl WeeklyMetrics {
    /// Computes the metrics of a week, compared with those of the week before.
    pub fn new(scope: MetricsScope, facts: &WeekFacts, before: Option<&WeekFacts>) -> Self {
        let judge = facts.judge();
        let value = |figure: Result<Estimate, NotEstimable>| match figure {
            Ok(estimate) => EstimateView::from(estimate),
            Err(why) => EstimateView::unknown(&why),
        };
        Self {
            scope,
            provisional: facts.is_provisional(),
            basis: facts.basis,
            traces: facts.traces,
            drawn: facts.drawn,
            drawn_reviewed: facts.drawn_reviewed,
            metrics: facts.metrics(before),
            judge: JudgeView {
                sensitivity: value(judge.sensitivity),
                specificity: value(judge.specificity),
                corrected_accuracy: value(judge.corrected_accuracy),
            },
            categories: facts.categories().into_iter().map(CategoryView::new).collect(),
            signals: facts.signals(),
        }
    }

    /// Returns the metrics as CSV: one line per metric, then the judge's figures.
    pub fn to_csv(&self) -> String {
        let mut text = csv::head(&CSV_COLUMNS);
        for metric in &self.metrics {
            let predicted = metric.prediction_powered.as_ref();
            let [lower, upper] = ends(Some(&metric.weighted));
            let [ppi_lower, ppi_upper] = ends(predicted);
            let change = metric.change;
            text += &line([
                Some(self.scope.week.clone()),
                Some(metric.name.as_str().to_owned()),
                number(metric.raw.value),
                Some(metric.raw.n.to_string()),
                number(metric.weighted.value),
                lower,
                upper,
                Some(metric.weighted.n.to_string()),
                number(metric.weighted.represents),
                number(predicted.and_then(|predicted| predicted.value)),
                ppi_lower,
                ppi_upper,
                number(predicted.and_then(|predicted| predicted.represents)),
                number(metric.previous.as_ref().and_then(|previous| previous.value)),
                number(change.map(|change| change.value)),
                change.map(|change| change.signal.to_string()),
                Some(metric.target.to_string()),
                Some(metric.standing.as_str().to_owned()),
            ]);
        }
        for (name, _, value) in self.judge.figures() {
            text += &self.judge_line(name, value);
        }
        text
    }

    /// A figure of the judge has no raw value, no target, and none of the week before.
    fn judge_line(&self, name: &str, value: &EstimateView) -> String {
        let [lower, upper] = ends(Some(value));
        let mut cells: [Option<String>; CSV_COLUMNS.len()] = Default::default();
        cells[0] = Some(self.scope.week.clone());
        cells[1] = Some(format!("judge_{name}"));
        cells[4] = number(value.value);
        (cells[5], cells[6]) = (lower, upper);
        cells[7] = Some(value.n.to_string());
        line(cells)
    }
}

const CSV_COLUMNS: [&str; 18] = [
    "week",
    "metric",
    "raw",
    "raw_n",
    "weighted",
    "lower",
    "upper",
    "n",
    "represents",
    "ppi",
    "ppi_lower",
    "ppi_upper",
    "ppi_represents",
    "previous",
    "change",
    "signal",
    "target",
    "standing",
];

fn number(value: Option<f64>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn ends(of: Option<&EstimateView>) -> [Option<String>; 2] {
    let ends = of.and_then(|of| of.interval);
    ends.map_or([None, None], |ends| ends.map(|end| Some(end.to_string())))
}

fn line(cells: [Option<String>; CSV_COLUMNS.len()]) -> String {
    let cells = cells.map(Option::unwrap_or_default);
    csv::line(&cells.iter().map(String::as_str).collect::<Vec<_>>())
}

impl JudgeView {
    /// Returns the figures with their names and titles.
    pub const fn figures(&self) -> [(&'static str, &'static str, &EstimateView); 3] {
        [
            ("sensitivity", "Sensitivity", &self.sensitivity),
            ("specificity", "Specificity", &self.specificity),
            ("corrected_accuracy", "Corrected accuracy", &self.corrected_accuracy),
        ]
    }
}

impl CategoryView {
    pub(super) fn new(figures: CategoryFigures) -> Self {
        let guide = guide::guide(figures.category);
        let text = |of: fn(&guide::CategoryGuide) -> &String| {
            guide.map(|guide| of(guide).clone()).unwrap_or_default()
        };
        Self {
            category: figures.category,
            signals: figures.category.signals().to_owned(),
            title: text(|guide| &guide.title),
            population: figures.population,
            reviewed: figures.reviewed,
            failures: figures.failures,
            accuracy: match figures.accuracy {
                Ok(estimate) => estimate.into(),
                Err(why) => EstimateView::unknown(&why),
            },
            expected: guide::expected(figures.category),
            yielded: figures.yielded.map(EstimateView::from),
            teaches: text(|guide| &guide.teaches),
            action: text(|guide| &guide.action),
        }
    }
}

/// Formats a metric's value: a percentage, or a count.
pub fn value_text(name: MetricName, value: f64) -> String {
    if name.is_count() { format!("{value:.0}") } else { format!("{:.1}%", value * 100.0) }
}

/// Formats a change with its sign: of counts as a number, of shares in points.
pub fn change_text(name: MetricName, change: f64) -> String {
    if name.is_count() { format!("{change:+.0}").replace('-', "−") } else { points(change) }
}

/// Formats an interval.
pub fn interval_text(name: MetricName, [lower, upper]: [f64; 2]) -> String {
    format!("{} to {}", value_text(name, lower), value_text(name, upper))
}

/// A month of agent and judge accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MonthAccuracy {
    /// Such as `2026-11`.
    pub month: String,
    pub agent_accuracy: EstimateView,
    pub judge_accuracy: EstimateView,
    pub reviewed: u64,
    /// Items of global datasets at the end of the month.
    pub dataset_size: u64,
}

impl MonthAccuracy {
    /// Computes a month from the facts of its weeks: each week's categories are strata of their
    /// own.
    pub fn new(month: String, weeks: &[WeekFacts], dataset_size: u64) -> Self {
        let strata: Vec<_> = weeks.iter().flat_map(|week| week.strata.clone()).collect();
        Self {
            month,
            agent_accuracy: EstimateView::of(super::estimate::agent_accuracy(&strata)),
            judge_accuracy: EstimateView::of(super::estimate::judge_accuracy(&strata)),
            reviewed: weeks.iter().map(|week| week.reviewed.len() as u64).sum(),
            dataset_size,
        }
    }
}
