//! A chart as the fields of a form, which all stand in the address.

use maud::{Markup, html};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::{
    ChartConfig, ChartType, WidgetData, WidgetDimension, WidgetFilter, WidgetMetric, WidgetView,
};
use ratchet_remote::langfuse::wire::metrics::{AggregationWord, View};
use ratchet_remote::langfuse::wire::word::{Spelled, Word};
use ratchet_stages::dashboards::view::Names;
use ratchet_stages::dashboards::widget::is_over_time;

use super::all::MAX_NAME;
use super::reading;
use crate::filter::saved::{Counted, in_words};
use crate::filter::{Filter, On};
use crate::request_context::Params;

/// What a chart can count.
const VIEWS: [(WidgetData, &str); 4] = [
    (WidgetData::Observations, "observations"),
    (WidgetData::ScoresNumeric, "numeric scores"),
    (WidgetData::ScoresBoolean, "boolean scores"),
    (WidgetData::ScoresCategorical, "categorical scores"),
];

/// The ways to draw, and their words in the address.
const CHARTS: [(&str, ChartType); 9] = [
    ("line", ChartType::LineTimeSeries),
    ("area", ChartType::AreaTimeSeries),
    ("bars", ChartType::BarTimeSeries),
    ("lying", ChartType::HorizontalBar),
    ("standing", ChartType::VerticalBar),
    ("shares", ChartType::Pie),
    ("number", ChartType::Number),
    ("histogram", ChartType::Histogram),
    ("table", ChartType::PivotTable),
];

/// Bytes of conditions that the language has no words for.
const MAX_OTHERS: usize = 20_000;

/// A chart that is being made.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    description: String,
    view: WidgetData,
    measure: String,
    agg: AggregationWord,
    by: [String; 2],
    /// Conditions, in the language of lists.
    q: String,
    /// Conditions that the language has no words for.
    others: Vec<WidgetFilter>,
    chart: ChartType,
    rows: Option<u32>,
    bins: Option<u32>,
}

const fn counted(view: WidgetData) -> Counted {
    match view {
        WidgetData::Observations => Counted::Observations,
        WidgetData::ScoresNumeric | WidgetData::ScoresBoolean | WidgetData::ScoresCategorical => {
            Counted::Scores
        }
    }
}

fn view_word(view: WidgetData) -> &'static str {
    View::from(view).word()
}

impl Draft {
    /// Reads the fields. What makes no sense there is as if it was not said.
    pub(super) fn read(params: &Params) -> Self {
        let text = |name: &str| params.get(name).unwrap_or_default().to_owned();
        let view = VIEWS.into_iter().find(|(view, _)| view_word(*view) == text("view"));
        let view = view.map_or(WidgetData::Observations, |(view, _)| view);
        let names = Names::of(view.into());
        let measure = names.measures.iter().find(|(known, _)| *known == text("measure"));
        let measure = measure.map_or("count", |(known, _)| known).to_owned();
        let asked = AggregationWord::from_word(&text("agg"));
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
            chart: chart.map_or(ChartType::LineTimeSeries, |(_, chart)| chart),
            rows: number("rows"),
            bins: number("bins"),
        }
    }

    /// The fields of a chart that there is.
    pub(super) fn of(widget: &WidgetView) -> Self {
        let (filter, others) = Filter::of_kept(&widget.filters, counted(widget.view));
        let by = |at: usize| widget.dimensions.get(at).map(|one| one.field.clone());
        let first = widget.metrics.first();
        Self {
            name: widget.name.clone(),
            description: widget.description.clone(),
            view: widget.view,
            measure: first.map_or_else(|| "count".to_owned(), |metric| metric.measure.clone()),
            agg: first.map_or(AggregationWord::Count, |metric| metric.agg.0),
            by: [by(0).unwrap_or_default(), by(1).unwrap_or_default()],
            q: filter.to_string(),
            others,
            chart: widget.chart_type,
            rows: widget.chart_config.row_limit,
            bins: widget.chart_config.bins,
        }
    }

    /// A new chart.
    ///
    /// # Errors
    /// What is wrong with its conditions.
    pub(super) fn new_widget(&self, id: String, now: Timestamp) -> Result<WidgetView, String> {
        let mut widget = WidgetView {
            id,
            created_at: now.into(),
            updated_at: now.into(),
            name: String::new(),
            description: String::new(),
            view: self.view,
            dimensions: Vec::new(),
            metrics: Vec::new(),
            filters: Vec::new(),
            chart_type: self.chart,
            chart_config: plain(self.chart),
        };
        self.write(&mut widget)?;
        Ok(widget)
    }

    /// Writes the fields into a chart; what the form does not show stays.
    ///
    /// # Errors
    /// What is wrong with its conditions.
    pub(super) fn write(&self, widget: &mut WidgetView) -> Result<(), String> {
        let (filters, _) = self.filters()?;
        let view_is_other = widget.view != self.view;
        widget.name = self.name.trim().to_owned();
        widget.description = self.description.trim().to_owned();
        widget.view = self.view;
        let metric = WidgetMetric { measure: self.measure.clone(), agg: Word(self.agg) };
        let by = self.by.iter().filter(|name| !name.is_empty());
        let mut dimensions: Vec<_> =
            by.map(|name| WidgetDimension { field: name.clone() }).collect();
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
        if widget.chart_type != self.chart {
            (widget.chart_type, widget.chart_config) = (self.chart, plain(self.chart));
        }
        widget.chart_config.row_limit = self.rows;
        widget.chart_config.bins = self.bins.filter(|_| self.chart == ChartType::Histogram);
        Ok(())
    }

    /// The conditions to keep, and what was not understood.
    fn filters(&self) -> Result<(Vec<WidgetFilter>, Vec<String>), String> {
        let parsed = Filter::parse(On::Observations, &self.q);
        let problems: Vec<String> =
            parsed.problems.into_iter().map(|problem| problem.message).collect();
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        let kept = parsed.filter.to_kept(counted(self.view));
        let kept = kept.map_err(|problems| problems.join("; "))?;
        Ok((kept.into_iter().chain(self.others.iter().cloned()).collect(), problems))
    }

    pub(super) fn fields(&self) -> Markup {
        let names = Names::of(self.view.into());
        let is_split = !matches!(self.chart, ChartType::Number | ChartType::Histogram);
        html! {
            label { "Name" input type="text" name="name" maxlength=(MAX_NAME) value=(self.name) placeholder="Cost by model"; }
            label { "Data"
                select name="view" {
                    @for (view, label) in VIEWS {
                        option value=(view_word(view)) selected[view == self.view] { (label) }
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
                        option value=(agg.word()) selected[*agg == self.agg] {
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
            @if self.chart == ChartType::Histogram {
                label { "Bins" input type="number" name="bins" min="1" max="100" value=[self.bins] placeholder="10"; }
            } @else if is_split && !is_over_time(self.chart) {
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
fn aggregations(measure: &str) -> &'static [AggregationWord] {
    use AggregationWord as A;
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

const fn plain(chart: ChartType) -> ChartConfig {
    ChartConfig { chart, row_limit: None, show_value_labels: None, bins: None, default_sort: None }
}
