use maud::{Markup, html};

use super::chart;

/// A number that people look at first: what it is, how much, and compared with what.
#[derive(Clone, Debug, Default)]
pub struct Stat {
    pub label: String,
    /// Value with its unit, or what is missing.
    pub value: Value,
    /// Comparison: `+12% vs. previous 7 days`.
    pub change: Option<String>,
    /// How it went over time; `None` where nothing is known.
    pub course: Vec<Option<f64>>,
    pub link: Option<String>,
}

#[derive(Clone, Debug)]
pub enum Value {
    Known {
        /// The number with its unit.
        text: String,
        /// Confidence interval: `± 5`, `0.71 to 0.80`.
        interval: Option<String>,
        /// Where it came from and of how many: `hourly sums, n = 1,204`.
        provenance: String,
    },
    /// Not known yet, and what is missing.
    CannotTell(String),
}

impl Default for Value {
    fn default() -> Self {
        Self::CannotTell("no data".to_owned())
    }
}

impl Value {
    /// A number without an interval.
    pub fn of(text: impl Into<String>, provenance: impl Into<String>) -> Self {
        Self::Known { text: text.into(), interval: None, provenance: provenance.into() }
    }
}

pub fn stat(stat: &Stat) -> Markup {
    let inside = html! {
        span.stat-label { (stat.label) }
        @match &stat.value {
            Value::Known { text, interval, provenance } => {
                span.stat-value title=(provenance) {
                    (text)
                    @if let Some(interval) = interval { small { (interval) } }
                }
            },
            Value::CannotTell(missing) => {
                span.stat-value.unknown { "Not enough data" }
                span.stat-change { (missing) }
            },
        }
        @if let Some(change) = &stat.change { span.stat-change { (change) } }
        @if stat.course.iter().flatten().count() > 1 { (chart::spark(&stat.course, &stat.label)) }
    };
    html! {
        @match &stat.link {
            Some(link) => { a.stat href=(link) { (inside) } },
            None => { div.stat { (inside) } },
        }
    }
}

pub fn row(stats: &[Stat]) -> Markup {
    html! { div.stats { @for one in stats { (stat(one)) } } }
}
