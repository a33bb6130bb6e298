use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::metrics::{AggregationName, View};
use super::time::Time;

/// A page of charts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DashboardView {
    /// Its id.
    pub id: String,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its charts and where they stand.
    pub definition: DashboardDefinition,
    /// Conditions on all of its charts.
    pub filters: Vec<WidgetFilter>,
}

/// The charts of a page and where they stand.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DashboardDefinition {
    /// The tiles.
    pub widgets: Vec<Placement>,
}

/// A tile on a grid of twelve columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Placement {
    /// A chart of the project's own.
    Widget {
        /// Names the tile on its page.
        id: String,
        /// The chart.
        #[serde(rename = "widgetId")]
        widget_id: String,
        /// The column of its left edge, from 0.
        x: i64,
        /// The row of its upper edge, from 0.
        y: i64,
        /// How many columns it takes.
        width: i64,
        /// How many rows it takes.
        height: i64,
    },
    /// A chart that comes with the program.
    Preset {
        /// Names the tile on its page.
        id: String,
        /// The chart.
        #[serde(rename = "presetId")]
        preset_id: String,
        /// The column of its left edge, from 0.
        x: i64,
        /// The row of its upper edge, from 0.
        y: i64,
        /// How many columns it takes.
        width: i64,
        /// How many rows it takes.
        height: i64,
    },
}

/// A tile to be put on a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum PlacementRequest {
    /// A chart of the project's own.
    Widget {
        /// Names the tile on its page; a random id when left out.
        id: Option<String>,
        /// The chart.
        #[serde(rename = "widgetId")]
        widget_id: String,
        /// The column of its left edge; 0 when left out.
        x: Option<i64>,
        /// The row of its upper edge; below all others when left out.
        y: Option<i64>,
        /// How many columns it takes; 6 when left out.
        width: Option<i64>,
        /// How many rows it takes; 6 when left out.
        height: Option<i64>,
    },
    /// A chart that comes with the program.
    Preset {
        /// Names the tile on its page; a random id when left out.
        id: Option<String>,
        /// The chart.
        #[serde(rename = "presetId")]
        preset_id: String,
        /// The column of its left edge; 0 when left out.
        x: Option<i64>,
        /// The row of its upper edge; below all others when left out.
        y: Option<i64>,
        /// How many columns it takes; 6 when left out.
        width: Option<i64>,
        /// How many rows it takes; 6 when left out.
        height: Option<i64>,
    },
}

/// Where a tile is to go; what is left out stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacementChange {
    /// The column of its left edge.
    pub x: Option<i64>,
    /// The row of its upper edge.
    pub y: Option<i64>,
    /// How many columns it takes.
    pub width: Option<i64>,
    /// How many rows it takes.
    pub height: Option<i64>,
}

/// A page to be made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DashboardRequest {
    /// What people will call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its charts and where they stand.
    pub definition: Option<DashboardDefinition>,
    /// Conditions on all of its charts.
    pub filters: Option<Vec<WidgetFilter>>,
}

/// What is to change about a page; what is left out stays.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DashboardChange {
    /// What people will call it.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its charts and where they stand.
    pub definition: Option<DashboardDefinition>,
    /// Conditions on all of its charts.
    pub filters: Option<Vec<WidgetFilter>>,
}

/// One chart.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetView {
    /// Its id.
    pub id: String,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it counts.
    pub view: WidgetData,
    /// By what it is split.
    pub dimensions: Vec<WidgetDimension>,
    /// What it shows.
    pub metrics: Vec<WidgetMetric>,
    /// Under which conditions.
    pub filters: Vec<WidgetFilter>,
    /// How it is drawn.
    pub chart_type: ChartType,
    /// The same in detail.
    pub chart_config: ChartConfig,
}

/// A chart to be made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetRequest {
    /// What people will call it.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it counts.
    pub view: WidgetData,
    /// By what it is split.
    pub dimensions: Vec<WidgetDimension>,
    /// What it shows.
    pub metrics: Vec<WidgetMetric>,
    /// Under which conditions.
    pub filters: Vec<WidgetFilter>,
    /// How it is drawn.
    pub chart_type: ChartType,
    /// The same in detail; plain when left out.
    pub chart_config: Option<ChartConfigRequest>,
}

/// What is to change about a chart; what is left out stays.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetChange {
    /// What people will call it.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it counts.
    pub view: Option<WidgetData>,
    /// By what it is split.
    pub dimensions: Option<Vec<WidgetDimension>>,
    /// What it shows.
    pub metrics: Option<Vec<WidgetMetric>>,
    /// Under which conditions.
    pub filters: Option<Vec<WidgetFilter>>,
    /// How it is drawn; a new way starts with its plain detail.
    pub chart_type: Option<ChartType>,
    /// The same in detail.
    pub chart_config: Option<ChartConfigRequest>,
}

/// What a chart counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WidgetData {
    /// Observations.
    Observations,
    /// Scores that are numbers.
    ScoresNumeric,
    /// Scores that are true or false.
    ScoresBoolean,
    /// Scores that are labels.
    ScoresCategorical,
}

impl From<WidgetData> for View {
    fn from(data: WidgetData) -> Self {
        match data {
            WidgetData::Observations => Self::Observations,
            WidgetData::ScoresNumeric => Self::ScoresNumeric,
            WidgetData::ScoresBoolean => Self::ScoresBoolean,
            WidgetData::ScoresCategorical => Self::ScoresCategorical,
        }
    }
}

/// By what a chart is split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WidgetDimension {
    /// The field, by a name that the view has in the metrics API.
    pub field: String,
}

/// What a chart shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WidgetMetric {
    /// The quantity, by a name that the view has in the metrics API.
    pub measure: String,
    /// What is made of all its values.
    pub agg: AggregationName,
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChartType {
    /// Lines over time.
    LineTimeSeries,
    /// Areas over time.
    AreaTimeSeries,
    /// Bars over time.
    BarTimeSeries,
    /// Lying bars.
    HorizontalBar,
    /// Standing bars.
    VerticalBar,
    /// A pie.
    Pie,
    /// One number.
    Number,
    /// A histogram.
    Histogram,
    /// A table by two dimensions.
    PivotTable,
}

/// How a chart is drawn, in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChartConfig {
    /// Says again how it is drawn.
    #[serde(rename = "type")]
    pub chart: ChartType,
    /// Rows at most, where all values stand together.
    pub row_limit: Option<u32>,
    /// Whether values are written at their marks.
    pub show_value_labels: Option<bool>,
    /// Bars of a histogram.
    pub bins: Option<u32>,
    /// How a table is sorted.
    #[serde(rename = "defaultSort")]
    pub default_sort: Option<ChartSort>,
}

/// How a chart is to be drawn, in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChartConfigRequest {
    /// Must say what `chartType` says, if anything.
    #[serde(rename = "type")]
    pub chart: Option<ChartType>,
    /// Rows at most, where all values stand together.
    pub row_limit: Option<u32>,
    /// Whether values are written at their marks.
    pub show_value_labels: Option<bool>,
    /// Bars of a histogram.
    pub bins: Option<u32>,
    /// How a table is sorted.
    #[serde(rename = "defaultSort")]
    pub default_sort: Option<ChartSort>,
}

/// How a table is sorted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChartSort {
    /// By which column.
    pub column: String,
    /// In which direction.
    pub order: SortOrder,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SortOrder {
    /// The least first.
    Asc,
    /// The greatest first.
    Desc,
}

/// A condition.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WidgetFilter {
    /// On what.
    pub column: String,
    /// How it must compare.
    pub operator: String,
    /// What kind of value it has.
    #[serde(rename = "type")]
    pub value_type: String,
    /// With what.
    pub value: Option<Raw>,
    /// On which key of it.
    pub key: Option<String>,
}

impl Placement {
    /// Names the tile on its page.
    pub fn id(&self) -> &str {
        match self {
            Self::Widget { id, .. } | Self::Preset { id, .. } => id,
        }
    }

    /// Where it stands: column, row, width and height.
    pub fn place(&self) -> (i64, i64, i64, i64) {
        match self {
            Self::Widget { x, y, width, height, .. } | Self::Preset { x, y, width, height, .. } => {
                (*x, *y, *width, *height)
            }
        }
    }

    /// The same tile moved.
    #[must_use]
    pub fn moved(mut self, change: PlacementChange) -> Self {
        match &mut self {
            Self::Widget { x, y, width, height, .. } | Self::Preset { x, y, width, height, .. } => {
                *x = change.x.unwrap_or(*x);
                *y = change.y.unwrap_or(*y);
                *width = change.width.unwrap_or(*width);
                *height = change.height.unwrap_or(*height);
            }
        }
        self
    }
}

impl PlacementRequest {
    /// The tile that is asked for; `below` is the first free row.
    pub fn into_placement(self, new_id: String, below: i64) -> Placement {
        match self {
            Self::Widget { id, widget_id, x, y, width, height } => Placement::Widget {
                id: id.unwrap_or(new_id),
                widget_id,
                x: x.unwrap_or(0),
                y: y.unwrap_or(below),
                width: width.unwrap_or(6),
                height: height.unwrap_or(6),
            },
            Self::Preset { id, preset_id, x, y, width, height } => Placement::Preset {
                id: id.unwrap_or(new_id),
                preset_id,
                x: x.unwrap_or(0),
                y: y.unwrap_or(below),
                width: width.unwrap_or(6),
                height: height.unwrap_or(6),
            },
        }
    }
}
