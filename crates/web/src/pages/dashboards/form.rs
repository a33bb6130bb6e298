//! The chart form, whose fields are query parameters.

use maud::{Markup, html};
use ratchet_core::catalog::dashboard::widget::{
    AggregationKind, ChartKind, ChartSettings, GroupBy, Metric, Widget, WidgetRecords,
};
use ratchet_core::catalog::filter::FilterCondition;
use ratchet_core::time::Timestamp;
use ratchet_stages::dashboards::view::Names;

use super::all::MAX_NAME;
use super::reading;
use crate::filter::saved::{Counted, in_words};
use crate::filter::{Filter, ListKind};
use crate::request_context::Params;

/// What a chart can count.
const VIEWS: [(WidgetRecords, &str); 4] = [
    (WidgetRecords::Observations, "observations"),
    (WidgetRecords::ScoresNumeric, "numeric scores"),
    (WidgetRecords::ScoresBoolean, "boolean scores"),
    (WidgetRecords::ScoresCategorical, "categorical scores"),
];

/// Chart types and their names in the URL.
const CHARTS: [(&str, ChartKind); 9] = [
    ("line", ChartKind::LineTimeSeries),
    ("area", ChartKind::AreaTimeSeries),
    ("bars", ChartKind::BarTimeSeries),
    ("lying", ChartKind::HorizontalBar),
    ("standing", ChartKind::VerticalBar),
    ("shares", ChartKind::Pie),
    ("number", ChartKind::Number),
    ("histogram", ChartKind::Histogram),
    ("table", ChartKind::PivotTable),
];

/// Maximum bytes of conditions that the filter language cannot express.
const MAX_OTHERS: usize = 20_000;

/// A chart that is being made.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    description: String,
    view: WidgetRecords,
    measure: String,
    agg: AggregationKind,
    by: [String; 2],
    /// Conditions, in the language of lists.
    q: String,
    /// Conditions that the filter language cannot express.
    others: Vec<FilterCondition>,
    chart: ChartKind,
    rows: Option<u32>,
    bins: Option<u32>,
}

const fn counted(view: WidgetRecords) -> Counted {
    match view {
        WidgetRecords::Observations => Counted::Observations,
        WidgetRecords::ScoresNumeric
        | WidgetRecords::ScoresBoolean
        | WidgetRecords::ScoresCategorical => Counted::Scores,
    }
}

impl Draft {
    /// Parses the fields. Invalid values are ignored.
    pub(super) fn read(params: &Params) -> Self {
        let text = |name: &str| params.get(name).unwrap_or_default().to_owned();
        let view = VIEWS.into_iter().find(|(view, _)| view.as_str() == text("view"));
        let view = view.map_or(WidgetRecords::Observations, |(view, _)| view);
        let names = Names::of(view.into());
        let measure = names.measures.iter().find(|(known, _)| *known == text("measure"));
        let measure = measure.map_or("count", |(known, _)| known).to_owned();
        let asked = AggregationKind::parse(&text("agg"));
        let agg = asked.filter(|agg| aggregations(&measure).contains(agg));
        let known = |name: &str| {
            let is_known = |text: &String| names.dimensions.contains(&text.as_str());
            Some(text(name)).filter(is_known).unwrap_or_default()
        };
        let number = |name: &str| params.get(name).and_then(|number| number.parse().ok());
        let others = params.get("others").filter(|others| others.len() <= MAX_OTHERS);
        let chart = CHARTS.into_iter().find(|(word, _)| *word == text("chart"));
        Self {
            name: text("name"),
            description: text("description"),
            view,
            agg: agg.unwrap_or(aggregations(&measure)[0]),
            measure,
            by: [known("by"), known("then")],
            q: text("q"),
            others: others.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default(),
            chart: chart.map_or(ChartKind::LineTimeSeries, |(_, chart)| chart),
            rows: number("rows"),
            bins: number("bins"),
        }
    }

    /// The fields of a chart that there is.
    pub(super) fn of(widget: &Widget) -> Self {
        let (filter, others) = Filter::from_stored(&widget.filters, counted(widget.view));
        let by = |at: usize| widget.dimensions.get(at).map(|one| one.field.clone());
        let first = widget.metrics.first();
        Self {
            name: widget.name.clone(),
            description: widget.description.clone(),
            view: widget.view,
            measure: first.map_or_else(|| "count".to_owned(), |metric| metric.measure.clone()),
            agg: first.map_or(AggregationKind::Count, |metric| metric.aggregation),
            by: [by(0).unwrap_or_default(), by(1).unwrap_or_default()],
            q: filter.to_string(),
            others,
            chart: widget.chart,
            rows: widget.settings.row_limit,
            bins: widget.settings.bins,
        }
    }

    /// A new chart.
    ///
    /// # Errors
    /// What is wrong with its conditions.
    pub(super) fn new_widget(&self, id: String, now: Timestamp) -> Result<Widget, String> {
        let mut widget = Widget {
            id,
            created_at: now,
            updated_at: now,
            name: String::new(),
            description: String::new(),
            view: self.view,
            dimensions: Vec::new(),
            metrics: Vec::new(),
            filters: Vec::new(),
            chart: self.chart,
            settings: ChartSettings::new(self.chart),
        };
        self.write(&mut widget)?;
        Ok(widget)
    }

    /// Writes the fields into a chart; what the form does not show stays.
    ///
    /// # Errors
    /// What is wrong with its conditions.
    pub(super) fn write(&self, widget: &mut Widget) -> Result<(), String> {
        let (filters, _) = self.filters()?;
        let view_is_other = widget.view != self.view;
        widget.name = self.name.trim().to_owned();
        widget.description = self.description.trim().to_owned();
        widget.view = self.view;
        let metric = Metric { measure: self.measure.clone(), aggregation: self.agg };
        let by = self.by.iter().filter(|name| !name.is_empty());
        let mut dimensions: Vec<_> = by.map(|name| GroupBy { field: name.clone() }).collect();
        // What the form has no field for is of the old view.
        let (more_metrics, more_dimensions) = match view_is_other {
            true => (Vec::new(), Vec::new()),
            false => (
                widget.metrics.drain(..).skip(1).collect(),
                widget.dimensions.drain(..).skip(2).collect::<Vec<_>>(),
            ),
        };
        dimensions.extend(more_dimensions);
        widget.metrics = std::iter::once(metric).chain(more_metrics).collect();
        widget.dimensions = dimensions;
        widget.filters = filters;
        if widget.chart != self.chart {
            (widget.chart, widget.settings) = (self.chart, ChartSettings::new(self.chart));
        }
        widget.settings.row_limit = self.rows;
        widget.settings.bins = self.bins.filter(|_| self.chart == ChartKind::Histogram);
        Ok(())
    }

    /// The conditions to keep, and what was not understood.
    fn filters(&self) -> Result<(Vec<FilterCondition>, Vec<String>), String> {
        let parsed = Filter::parse(ListKind::Observations, &self.q);
        let problems: Vec<String> =
            parsed.problems.into_iter().map(|problem| problem.message).collect();
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        let kept = parsed.filter.to_stored(counted(self.view));
        let kept = kept.map_err(|problems| problems.join("; "))?;
        Ok((kept.into_iter().chain(self.others.iter().cloned()).collect(), problems))
    }

    pub(super) fn fields(&self) -> Markup {
        let names = Names::of(self.view.into());
        let is_split = !matches!(self.chart, ChartKind::Number | ChartKind::Histogram);
        html! {
            label { "Name" input type="text" name="name" maxlength=(MAX_NAME) value=(self.name) placeholder="Cost by model"; }
            label { "Data"
                select name="view" {
                    @for (view, label) in VIEWS {
                        option value=(view.as_str()) selected[view == self.view] { (label) }
                    }
                }
            }
            label { "Measure"
                select name="measure" {
                    @for (measure, _) in &names.measures {
                        option value=(measure) selected[*measure == self.measure] {
                            (reading::measure(measure, self.view))
                        }
                    }
                }
            }
            label { "Aggregation"
                select name="agg" {
                    @for agg in aggregations(&self.measure) {
                        option value=(agg.as_str()) selected[*agg == self.agg] {
                            (reading::aggregation(*agg))
                        }
                    }
                }
            }
            label { "Chart type"
                select name="chart" {
                    @for (word, chart) in CHARTS {
                        option value=(word) selected[chart == self.chart] { (reading::chart(chart)) }
                    }
                }
            }
            @if is_split {
                (self.split("by", "Group by", 0, &names))
                @if !self.by[0].is_empty() || !self.by[1].is_empty() {
                    (self.split("then", "Then by", 1, &names))
                }
            }
            @if self.chart == ChartKind::Histogram {
                label { "Bins" input type="number" name="bins" min="1" max="100" value=[self.bins] placeholder="10"; }
            } @else if is_split && !self.chart.is_over_time() {
                label { "Limit" input type="number" name="rows" min="1" max="1000" value=[self.rows] placeholder="auto"; }
            }
            label.wide { "Filter"
                input type="text" name="q" value=(self.q) placeholder="model:gpt* level:error -env:test"
                    spellcheck="false" autocomplete="off";
            }
            @if !self.others.is_empty() {
                input type="hidden" name="others" value=(serde_json::to_string(&self.others).unwrap_or_default());
                p.muted.wide {
                    "Filters set with the API: "
                    @for other in &self.others { code { (in_words(other)) } " " }
                }
            }
            label.wide { "Description" input type="text" name="description" maxlength="5000" value=(self.description) placeholder="optional"; }
        }
    }

    fn split(&self, name: &str, label: &str, at: usize, names: &Names) -> Markup {
        html! {
            label { (label)
                select name=(name) {
                    option value="" selected[self.by[at].is_empty()] { "None" }
                    @for dimension in &names.dimensions {
                        option value=(dimension) selected[*dimension == self.by[at]] {
                            (reading::dimension(dimension))
                        }
                    }
                }
            }
        }
    }
}

/// What can be made of a measure; the first is what is usually meant.
fn aggregations(measure: &str) -> &'static [AggregationKind] {
    use AggregationKind as A;
    match measure {
        "count" => &[A::Count],
        "latency"
        | "streamingLatency"
        | "timeToFirstToken"
        | "value"
        | "tokensPerSecond"
        | "outputTokensPerSecond" => {
            &[A::Avg, A::P50, A::P75, A::P90, A::P95, A::P99, A::Min, A::Max, A::Sum, A::Count]
        }
        _ => &[A::Sum, A::Avg, A::P50, A::P75, A::P90, A::P95, A::P99, A::Min, A::Max, A::Count],
    }
}
