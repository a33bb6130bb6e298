use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_store::aggregate::Sums;

use super::others::OTHERS;
use super::overview::OverviewData;
use super::split::observations;
use super::trace_latency::{PERCENTILES, read_seconds};
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::figure;
use crate::filter::{Filter, RecordField, Term};
use crate::request_context::{Link, RequestContext};
use crate::scope::Span;
use crate::sums::{KeySums, Timed, float, natural, whole_number};

/// Series beyond these are drawn as one.
pub(super) const SHOWN: usize = 5;
/// Characters of a key beside its line.
const LABEL_LEN: usize = 60;

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
            Self::Latency(percent) => format!("p{percent} model call latency"),
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

    /// What it is drawn of.
    fn of(self, shown: &OverviewData) -> &Timed {
        match self {
            Self::Latency(_) => &shown.calls,
            Self::Volume | Self::Errors | Self::Cost | Self::Tokens | Self::StepCost => &shown.now,
        }
    }

    /// Draws one line or bar for each key, the greatest in this measure first.
    fn draw(self, ctx: &RequestContext, shown: &OverviewData) -> Markup {
        let timed = self.of(shown);
        let ranked = self.ranked(timed);
        let (first, rest) = ranked.split_at(ranked.len().min(SHOWN));
        let word = |key: &KeySums| key.key.first().cloned().flatten();
        let hues = hues(&shown.now, first);
        let line = |(key, hue): (&&KeySums, usize)| Series {
            name: label(&shown.split.key_name(word(key).as_deref())),
            hue,
            values: self.values(&key.steps),
        };
        let mut series: Vec<Series> = first.iter().zip(hues).map(line).collect();
        let link = |key: &&KeySums| shown.split.steps_of(ctx, &word(key)?, self.filter(shown));
        let series_links = first.iter().map(link).collect();
        if !rest.is_empty() {
            let rest = Timed {
                course: timed.course.clone(),
                keys: rest.iter().map(|key| (*key).clone()).collect(),
            };
            series.push(Series {
                name: OTHERS.to_owned(),
                hue: SHOWN,
                values: self.values(&rest.all()),
            });
        }
        let before = shown.before.as_ref().filter(|_| shown.split.by.is_none());
        let before = before.filter(|_| !matches!(self, Self::Latency(_)));
        chart::over_time(&OverTime {
            title: self.title(),
            note: self.note(&timed.whole(), before.is_some()),
            steps: timed.course.names(),
            series,
            step_links: self.step_links(ctx, shown),
            series_links,
            before: before.map(|before| self.before(&before.all())).unwrap_or_default(),
            form: self.form(),
            read: self.read(),
            exact: self.exact(),
            ..OverTime::default()
        })
    }

    /// The keys by this measure, the greatest first; those without a value last.
    fn ranked(self, timed: &Timed) -> Vec<&KeySums> {
        let size = |key: &KeySums| self.value(&key.whole).unwrap_or(-1.0);
        let mut keys: Vec<&KeySums> = timed.keys.iter().collect();
        keys.sort_by(|one, other| size(other).total_cmp(&size(one)));
        keys
    }

    fn note(self, whole: &Sums, compares: bool) -> String {
        let records = match self {
            Self::Latency(_) => "model calls",
            Self::Volume | Self::Errors | Self::Cost | Self::Tokens | Self::StepCost => {
                "observations"
            }
        };
        format!(
            "n = {} {records}{}{}",
            figure::grouped(natural(whole.count)),
            self.approximate_part(whole.approximate_cost),
            if compares { ", dashed: previous period" } else { "" }
        )
    }

    /// What its observations pass: those that are counted, in the environments that are.
    fn filter(self, shown: &OverviewData) -> Filter {
        let own = match self {
            Self::Errors => Some(Term::word(RecordField::Level, "error")),
            Self::Latency(_) => Some(Term::word(RecordField::Kind, "generation")),
            Self::Volume | Self::Cost | Self::Tokens | Self::StepCost => None,
        };
        let mut filter = shown.filter();
        filter.terms.extend(own);
        filter
    }

    /// The observations of each step of time.
    fn step_links(self, ctx: &RequestContext, shown: &OverviewData) -> Vec<Link> {
        let list = observations(ctx, &self.filter(shown));
        let spans = self.of(shown).course.spans();
        spans.map(|(from, to)| list.clone().with("range", Span::Between(from, to).word())).collect()
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

pub(super) fn draw(ctx: &RequestContext, shown: &OverviewData) -> Markup {
    let [counts @ .., p50, p95, p99, cost] = Panel::ALL;
    html! {
        div.charts {
            @for panel in counts { (panel.draw(ctx, shown)) }
            (trace_latency(ctx, shown))
            @for panel in [p50, p95, p99, cost] { (panel.draw(ctx, shown)) }
        }
    }
}

/// Latency of whole traces: what users wait for, unlike that of a model call.
fn trace_latency(ctx: &RequestContext, shown: &OverviewData) -> Markup {
    let (found, course) = (&shown.traces, &shown.now.course);
    let lines = PERCENTILES.into_iter().zip(&found.steps).enumerate();
    let series = lines.map(|(hue, (percent, values))| Series {
        name: format!("p{percent}"),
        hue,
        values: values.clone(),
    });
    let list = ctx.to(&["traces"]).with("sort", "-latency_seconds");
    let filter = shown.filter();
    let list = if filter.terms.is_empty() { list } else { list.with("q", filter.to_string()) };
    let spans = course.spans();
    let link = |(from, to)| list.clone().with("range", Span::Between(from, to).word());
    chart::over_time(&OverTime {
        title: "Trace latency".to_owned(),
        note: format!(
            "n = {}{}, not grouped",
            figure::counted(found.count, "trace"),
            found.note(&ctx.time)
        ),
        steps: course.names(),
        series: series.collect(),
        step_links: spans.map(link).collect(),
        read: read_seconds,
        exact: |seconds| format!("{} ms", figure::digits(seconds * 1e3)),
        ..OverTime::default()
    })
}

/// Hues of the keys of a panel: that of their rank among all keys, so that a key keeps its hue from
/// panel to panel, unless another of the same panel has it.
fn hues(all: &Timed, keys: &[&KeySums]) -> Vec<usize> {
    let mut free: Vec<usize> = (0..SHOWN).collect();
    let rank = |key: &KeySums| all.keys.iter().position(|known| known.key == key.key);
    let mut hues: Vec<Option<usize>> = Vec::new();
    for key in keys {
        let own = rank(key).and_then(|rank| free.iter().position(|hue| *hue == rank));
        hues.push(own.map(|at| free.remove(at)));
    }
    let mut free = free.into_iter();
    hues.into_iter().map(|hue| hue.or_else(|| free.next()).unwrap_or_default()).collect()
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
