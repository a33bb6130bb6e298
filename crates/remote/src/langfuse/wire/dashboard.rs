use ratchet_core::catalog::dashboard::widget::{ChartKind, WidgetRecords};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::metrics::AggregationName;
use super::time::Time;
use super::wire_name::{WireEnum, WireName};

/// Conversion from and to documents.
mod convert;

/// The API name of the records that a widget aggregates.
pub type WidgetDataName = WireName<WidgetRecords>;
/// The API name of a chart type.
pub type ChartTypeName = WireName<ChartKind>;

impl WireEnum for WidgetRecords {
    const WHAT: &'static str = "widget data";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl WireEnum for ChartKind {
    const WHAT: &'static str = "chart type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// A dashboard.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DashboardView {
    /// Unique id.
    pub id: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Display name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Widgets and their positions.
    pub definition: DashboardDefinition,
    /// Filters for all widgets.
    pub filters: Vec<WidgetFilter>,
}

/// The widgets of a dashboard with their positions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DashboardDefinition {
    /// Tiles.
    pub widgets: Vec<Placement>,
}

/// A tile on a grid of twelve columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Placement {
    /// A widget of the project.
    Widget {
        /// Tile id, unique in the dashboard.
        id: String,
        /// Widget id.
        #[serde(rename = "widgetId")]
        widget_id: String,
        /// Column of the left edge, from 0.
        x: i64,
        /// Row of the upper edge, from 0.
        y: i64,
        /// Width in columns.
        width: i64,
        /// Height in rows.
        height: i64,
    },
    /// A built-in widget.
    Preset {
        /// Tile id, unique in the dashboard.
        id: String,
        /// Id of the built-in widget.
        #[serde(rename = "presetId")]
        preset_id: String,
        /// Column of the left edge, from 0.
        x: i64,
        /// Row of the upper edge, from 0.
        y: i64,
        /// Width in columns.
        width: i64,
        /// Height in rows.
        height: i64,
    },
}

/// A request to add a tile to a dashboard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum PlacementRequest {
    /// A widget of the project.
    Widget {
        /// Tile id, unique in the dashboard; random when omitted.
        id: Option<String>,
        /// Widget id.
        #[serde(rename = "widgetId")]
        widget_id: String,
        /// Column of the left edge; 0 when omitted.
        x: Option<i64>,
        /// Row of the upper edge; below all others when omitted.
        y: Option<i64>,
        /// Width in columns; 6 when omitted.
        width: Option<i64>,
        /// Height in rows; 6 when omitted.
        height: Option<i64>,
    },
    /// A built-in widget.
    Preset {
        /// Tile id, unique in the dashboard; random when omitted.
        id: Option<String>,
        /// Id of the built-in widget.
        #[serde(rename = "presetId")]
        preset_id: String,
        /// Column of the left edge; 0 when omitted.
        x: Option<i64>,
        /// Row of the upper edge; below all others when omitted.
        y: Option<i64>,
        /// Width in columns; 6 when omitted.
        width: Option<i64>,
        /// Height in rows; 6 when omitted.
        height: Option<i64>,
    },
}

/// A new position of a tile; omitted fields are unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacementChange {
    /// Column of the left edge.
    pub x: Option<i64>,
    /// Row of the upper edge.
    pub y: Option<i64>,
    /// Width in columns.
    pub width: Option<i64>,
    /// Height in rows.
    pub height: Option<i64>,
}

/// A request to create a dashboard.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DashboardRequest {
    /// Display name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Widgets and their positions.
    pub definition: Option<DashboardDefinition>,
    /// Filters for all widgets.
    pub filters: Option<Vec<WidgetFilter>>,
}

/// An update of a dashboard; omitted fields are unchanged.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DashboardChange {
    /// Display name.
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Widgets and their positions.
    pub definition: Option<DashboardDefinition>,
    /// Filters for all widgets.
    pub filters: Option<Vec<WidgetFilter>>,
}

/// A widget: one chart of a dashboard.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetView {
    /// Unique id.
    pub id: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Display name.
    pub name: String,
    /// Description.
    pub description: String,
    /// The records that it aggregates.
    pub view: WidgetDataName,
    /// Dimensions to group by.
    pub dimensions: Vec<WidgetDimension>,
    /// Measures with their aggregations.
    pub metrics: Vec<WidgetMetric>,
    /// Filters.
    pub filters: Vec<WidgetFilter>,
    /// Chart type.
    pub chart_type: ChartTypeName,
    /// Chart settings.
    pub chart_config: ChartConfig,
}

/// A request to create a widget.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetRequest {
    /// Display name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// The records that it aggregates.
    pub view: WidgetDataName,
    /// Dimensions to group by.
    pub dimensions: Vec<WidgetDimension>,
    /// Measures with their aggregations.
    pub metrics: Vec<WidgetMetric>,
    /// Filters.
    pub filters: Vec<WidgetFilter>,
    /// Chart type.
    pub chart_type: ChartTypeName,
    /// Chart settings; defaults when omitted.
    pub chart_config: Option<ChartConfigRequest>,
}

/// An update of a widget; omitted fields are unchanged.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WidgetChange {
    /// Display name.
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// The records that it aggregates.
    pub view: Option<WidgetDataName>,
    /// Dimensions to group by.
    pub dimensions: Option<Vec<WidgetDimension>>,
    /// Measures with their aggregations.
    pub metrics: Option<Vec<WidgetMetric>>,
    /// Filters.
    pub filters: Option<Vec<WidgetFilter>>,
    /// Chart type; a change resets the settings to defaults.
    pub chart_type: Option<ChartTypeName>,
    /// Chart settings.
    pub chart_config: Option<ChartConfigRequest>,
}

/// A dimension of a widget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WidgetDimension {
    /// Field name, as in the metrics API.
    pub field: String,
}

/// A measure of a widget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WidgetMetric {
    /// Measure name, as in the metrics API.
    pub measure: String,
    /// Aggregation.
    pub agg: AggregationName,
}

/// Chart settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChartConfig {
    /// Chart type.
    #[serde(rename = "type")]
    pub chart: ChartTypeName,
    /// Maximum number of rows, for charts without a time axis.
    pub row_limit: Option<u32>,
    /// Whether to show value labels.
    pub show_value_labels: Option<bool>,
    /// Number of histogram bins.
    pub bins: Option<u32>,
    /// Sort order of a table.
    #[serde(rename = "defaultSort")]
    pub default_sort: Option<ChartSort>,
}

/// Chart settings in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChartConfigRequest {
    /// Must equal `chartType`, if present.
    #[serde(rename = "type")]
    pub chart: Option<ChartTypeName>,
    /// Maximum number of rows, for charts without a time axis.
    pub row_limit: Option<u32>,
    /// Whether to show value labels.
    pub show_value_labels: Option<bool>,
    /// Number of histogram bins.
    pub bins: Option<u32>,
    /// Sort order of a table.
    #[serde(rename = "defaultSort")]
    pub default_sort: Option<ChartSort>,
}

/// Sort order of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChartSort {
    /// Column name.
    pub column: String,
    /// Sort direction.
    pub order: SortOrder,
}

/// A sort direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SortOrder {
    /// Ascending.
    Asc,
    /// Descending.
    Desc,
}

/// A filter condition.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WidgetFilter {
    /// Column name.
    pub column: String,
    /// Operator.
    pub operator: String,
    /// Value type.
    #[serde(rename = "type")]
    pub value_type: String,
    /// Value to compare with.
    pub value: Option<Raw>,
    /// Key, for columns with keys such as metadata.
    pub key: Option<String>,
}
