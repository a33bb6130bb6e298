use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;
use ratchet_store::aggregate::{Group, Step, Sums};

use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::figure;
use crate::sums::{float, step_name};

/// Series beyond these are drawn as one.
const SHOWN: usize = 5;
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
}

impl Panel {
    /// Every chart, in the order people ask.
    const ALL: [Self; 7] = [
        Self::Volume,
        Self::Errors,
        Self::Cost,
        Self::Tokens,
        Self::Latency(50),
        Self::Latency(95),
        Self::Latency(99),
    ];

    fn title(self) -> String {
        match self {
            Self::Volume => "Steps".to_owned(),
            Self::Errors => "Share that failed".to_owned(),
            Self::Cost => "Known cost".to_owned(),
            Self::Tokens => "Tokens".to_owned(),
            Self::Latency(percent) => format!("Latency, p{percent}"),
        }
    }

    /// Amounts stack; shares and percentiles must not.
    const fn form(self) -> Form {
        match self {
            Self::Volume | Self::Cost | Self::Tokens => Form::Bars,
            Self::Errors | Self::Latency(_) => Form::Lines,
        }
    }

    fn value(self, sums: &Sums) -> Option<f64> {
        match self {
            Self::Volume => Some(float(sums.count)),
            Self::Errors => (sums.count > 0).then(|| float(sums.errors) / float(sums.count)),
            Self::Cost => Some(sums.cost.dollars()),
            Self::Tokens => Some(float(sums.total_tokens)),
            Self::Latency(percent) => sums.latency.percentile(percent).map(float),
        }
    }

    fn read(self) -> fn(f64) -> String {
        match self {
            Self::Volume | Self::Tokens => |value| figure::count(whole(value)),
            Self::Errors => figure::percent,
            Self::Cost => |value| figure::money(Money::from_dollars(value).unwrap_or_default()),
            Self::Latency(_) => |value| figure::duration(i64::try_from(whole(value)).unwrap_or(0)),
        }
    }

    /// Draws one line or bar for each key; a key has the same hue in every panel.
    fn draw(self, keyed: &Keyed<'_>) -> Markup {
        let line = |(hue, (name, sums)): (usize, &(String, SumsByStep<'_>))| Series {
            name: label(name),
            hue,
            values: self.values(sums, keyed.steps.keys()),
        };
        let (shown, rest) = keyed.keys.split_at(keyed.keys.len().min(SHOWN));
        let mut series: Vec<Series> = shown.iter().enumerate().map(line).collect();
        if let (Form::Bars, false) = (self.form(), rest.is_empty()) {
            let rest: Vec<Series> = rest.iter().map(|key| line((SHOWN, key))).collect();
            series.push(Series { name: "others".to_owned(), hue: SHOWN, values: add(&rest) });
        }
        chart::over_time(&OverTime {
            title: self.title(),
            steps: keyed.steps.values().cloned().collect(),
            series,
            form: self.form(),
            read: self.read(),
        })
    }

    fn values<'a>(
        self,
        sums: &SumsByStep<'_>,
        steps: impl Iterator<Item = &'a Option<Timestamp>>,
    ) -> Vec<Option<f64>> {
        steps.map(|step| self.value(sums.get(step)?)).collect()
    }
}

/// The sums of one key, found by their step of time: a project may have thousands of keys.
type SumsByStep<'a> = BTreeMap<Option<Timestamp>, &'a Sums>;

/// The groups by key, the busiest key first, and the steps of time there are.
struct Keyed<'a> {
    steps: BTreeMap<Option<Timestamp>, String>,
    keys: Vec<(String, SumsByStep<'a>)>,
}

impl<'a> Keyed<'a> {
    fn new(course: &'a [Group], step: Step) -> Self {
        let mut steps = BTreeMap::new();
        let mut keys: BTreeMap<String, SumsByStep<'_>> = BTreeMap::new();
        for group in course {
            steps.entry(group.at).or_insert_with(|| step_name(group, step));
            keys.entry(name(group)).or_default().insert(group.at, &group.sums);
        }
        let mut keys: Vec<(String, SumsByStep<'_>)> = keys.into_iter().collect();
        keys.sort_by_key(|(_, sums)| -sums.values().map(|sums| sums.count).sum::<i64>());
        Self { steps, keys }
    }
}

/// Draws every panel.
pub(super) fn draw(course: &[Group], step: Step) -> Markup {
    let keyed = Keyed::new(course, step);
    html! { @for panel in Panel::ALL { (panel.draw(&keyed)) } }
}

fn name(group: &Group) -> String {
    match group.key.first() {
        None => "all".to_owned(),
        Some(None) => "none".to_owned(),
        Some(Some(key)) => key.clone(),
    }
}

fn label(name: &str) -> String {
    if name.chars().count() <= LABEL_LEN {
        return name.to_owned();
    }
    name.chars().take(LABEL_LEN - 1).chain(['…']).collect()
}

fn add(series: &[Series]) -> Vec<Option<f64>> {
    let steps = series.first().map_or(0, |series| series.values.len());
    let at =
        |step: usize| series.iter().filter_map(move |series| series.values.get(step).copied()?);
    (0..steps).map(|step| at(step).reduce(|sum, value| sum + value)).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "drawn, rounded")]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(day: i64, key: &str, count: i64) -> Group {
        let at = Some(Timestamp::from_millis(day * 86_400_000));
        let sums = Sums { count, ..Sums::default() };
        Group { at, key: vec![Some(key.to_owned())], sums }
    }

    #[test]
    fn what_is_beyond_the_greatest_is_drawn_as_one() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let course: Vec<Group> =
            names.iter().zip(1..).map(|(name, count)| group(1, name, count)).collect();
        let drawn = draw(&course, Step::Day).into_string();
        assert!(drawn.contains(">others<"), "{drawn}");
        assert!(!drawn.contains("scope=\"col\">a<"), "{drawn}");
    }

    #[test]
    fn a_day_without_a_key_leaves_a_gap() {
        let course = [group(1, "a", 3), group(2, "b", 4)];
        let sums = SumsByStep::from([(course[0].at, &course[0].sums)]);
        let values = Panel::Volume.values(&sums, [course[0].at, course[1].at].iter());
        assert_eq!(values, [Some(3.0), None]);
    }
}
