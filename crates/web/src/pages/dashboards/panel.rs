use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_store::aggregate::Sums;

use super::overview::OverviewData;
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::figure;
use crate::sums::{KeySums, float, natural, whole_number};

/// Series beyond these are drawn as one.
pub(super) const SHOWN: usize = 5;
/// Characters of a key beside its line.
const LABEL_LEN: usize = 18;

/// One chart of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Panel {
    Volume,
    Errors,
    Cost,
    Tokens,
    Latency(u8),
    StepCost,
}

impl Panel {
    /// All charts, in display order.
    const ALL: [Self; 8] = [
        Self::Volume,
        Self::Errors,
        Self::Cost,
        Self::Tokens,
        Self::Latency(50),
        Self::Latency(95),
        Self::Latency(99),
        Self::StepCost,
    ];

    fn title(self) -> String {
        match self {
            Self::Volume => "Observations".to_owned(),
            Self::Errors => "Error rate".to_owned(),
            Self::Cost => "Cost (USD)".to_owned(),
            Self::Tokens => "Tokens".to_owned(),
            Self::Latency(percent) => format!("p{percent} latency"),
            Self::StepCost => "Avg cost per priced observation".to_owned(),
        }
    }

    /// Amounts stack; shares and percentiles must not.
    const fn form(self) -> Form {
        match self {
            Self::Volume | Self::Cost | Self::Tokens => Form::Bars,
            Self::Errors | Self::Latency(_) | Self::StepCost => Form::Lines,
        }
    }

    fn value(self, sums: &Sums) -> Option<f64> {
        match self {
            Self::Volume => Some(float(sums.count)),
            Self::Errors => (sums.count > 0).then(|| float(sums.errors) / float(sums.count)),
            Self::Cost => Some(sums.cost.dollars()),
            Self::Tokens => Some(float(sums.total_tokens)),
            Self::Latency(percent) => sums.latency.percentile(percent).map(float),
            Self::StepCost => {
                (sums.costs_known > 0).then(|| sums.cost.dollars() / float(sums.costs_known))
            }
        }
    }

    fn read(self) -> fn(f64) -> String {
        match self {
            Self::Volume | Self::Tokens => |value| figure::count(whole_number(value)),
            Self::Errors => figure::percent,
            Self::Cost | Self::StepCost => figure::dollars,
            Self::Latency(_) => {
                |value| figure::duration(i64::try_from(whole_number(value)).unwrap_or(0))
            }
        }
    }

    fn exact(self) -> fn(f64) -> String {
        match self {
            Self::Volume | Self::Tokens => figure::digits,
            Self::Errors => |share| format!("{}%", figure::digits(share * 100.0)),
            Self::Cost | Self::StepCost => figure::exact_dollars,
            Self::Latency(_) => |nanos| format!("{} ms", figure::digits(nanos / 1e6)),
        }
    }

    /// Draws one line or bar for each key; a key has the same hue in every panel.
    fn draw(self, shown: &OverviewData) -> Markup {
        let keys = &shown.now.keys;
        let line = |(hue, key): (usize, &KeySums)| Series {
            name: label(&shown.split.key_name(key.key.first().and_then(Option::as_deref))),
            hue,
            values: self.values(&key.steps),
        };
        let (first, rest) = keys.split_at(keys.len().min(SHOWN));
        let mut series: Vec<Series> = first.iter().enumerate().map(line).collect();
        if let (Form::Bars, false) = (self.form(), rest.is_empty()) {
            let rest: Vec<Series> = rest.iter().map(|key| line((SHOWN, key))).collect();
            series.push(Series { name: "others".to_owned(), hue: SHOWN, values: add(&rest) });
        }
        let before = shown.before.as_ref().filter(|_| shown.split.by.is_none());
        let whole = shown.now.whole();
        let count = figure::grouped(natural(whole.count));
        chart::over_time(&OverTime {
            title: self.title(),
            note: format!(
                "n = {count} observations{}{}",
                self.approximate_part(whole.approximate_cost),
                if before.is_some() { ", dashed: previous period" } else { "" }
            ),
            steps: shown.now.course.names(),
            series,
            before: before.map(|before| self.before(&before.all())).unwrap_or_default(),
            form: self.form(),
            read: self.read(),
            exact: self.exact(),
            ..OverTime::default()
        })
    }

    /// How much of what is drawn is approximate, for the note below its title.
    fn approximate_part(self, approximate: Money) -> String {
        let is_exact = approximate == Money::default();
        match self {
            Self::Cost => figure::and_of_which(approximate),
            _ if is_exact => String::new(),
            Self::Tokens => ", partly estimated".to_owned(),
            Self::StepCost => ", partly approximate".to_owned(),
            Self::Volume | Self::Errors | Self::Latency(_) => String::new(),
        }
    }

    /// The time before. An amount of nothing is a zero there: the line goes on.
    fn before(self, steps: &[Option<Sums>]) -> Vec<Option<f64>> {
        let values = self.values(steps).into_iter();
        match self.form() {
            Form::Lines => values.collect(),
            Form::Bars | Form::Areas => values.map(|value| value.or(Some(0.0))).collect(),
        }
    }

    fn values(self, steps: &[Option<Sums>]) -> Vec<Option<f64>> {
        steps.iter().map(|sums| self.value(sums.as_ref()?)).collect()
    }
}

pub(super) fn draw(shown: &OverviewData) -> Markup {
    html! { div.charts { @for panel in Panel::ALL { (panel.draw(shown)) } } }
}

/// Shortened key for the label of a line.
pub(super) fn label(name: &str) -> String {
    if name.chars().count() <= LABEL_LEN {
        return name.to_owned();
    }
    name.chars().take(LABEL_LEN - 1).chain(['…']).collect()
}

/// Series on top of each other, step by step.
pub(super) fn add(series: &[Series]) -> Vec<Option<f64>> {
    let steps = series.first().map_or(0, |series| series.values.len());
    let at =
        |step: usize| series.iter().filter_map(move |series| series.values.get(step).copied()?);
    (0..steps).map(|step| at(step).reduce(|sum, value| sum + value)).collect()
}
