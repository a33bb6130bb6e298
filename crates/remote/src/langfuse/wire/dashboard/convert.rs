use ratchet_core::catalog::dashboard::widget::{
    ChartSettings, GroupBy, Metric, SortDirection, TableSort, Widget,
};
use ratchet_core::catalog::dashboard::{Dashboard, DashboardLayout, Tile, TileArea, TileContent};
use ratchet_core::catalog::filter::{FilterCondition, FilterKind};
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::{
    ChartConfig, ChartSort, DashboardDefinition, DashboardView, Placement, PlacementChange,
    PlacementRequest, SortOrder, WidgetDimension, WidgetFilter, WidgetMetric, WidgetView,
};
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::wire_name::WireName;

/// Width and height of a tile whose request says nothing.
const DEFAULT_SIZE: i64 = 6;

impl From<Dashboard> for DashboardView {
    fn from(dashboard: Dashboard) -> Self {
        let Dashboard { id, created_at, updated_at, name, description, layout, filters } =
            dashboard;
        let widgets = layout.tiles.into_iter().map(Into::into).collect();
        Self {
            id,
            created_at: created_at.into(),
            updated_at: updated_at.into(),
            name,
            description,
            definition: DashboardDefinition { widgets },
            filters: filters.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<DashboardDefinition> for DashboardLayout {
    fn from(definition: DashboardDefinition) -> Self {
        Self { tiles: definition.widgets.into_iter().map(Into::into).collect() }
    }
}

impl From<Tile> for Placement {
    fn from(tile: Tile) -> Self {
        let Tile { id, shows, at: TileArea { x, y, width, height } } = tile;
        match shows {
            TileContent::Widget { id: widget_id } => {
                Self::Widget { id, widget_id, x, y, width, height }
            }
            TileContent::Preset { id: preset_id } => {
                Self::Preset { id, preset_id, x, y, width, height }
            }
        }
    }
}

impl From<Placement> for Tile {
    fn from(placement: Placement) -> Self {
        match placement {
            Placement::Widget { id, widget_id, x, y, width, height } => Self {
                id,
                shows: TileContent::Widget { id: widget_id },
                at: TileArea { x, y, width, height },
            },
            Placement::Preset { id, preset_id, x, y, width, height } => Self {
                id,
                shows: TileContent::Preset { id: preset_id },
                at: TileArea { x, y, width, height },
            },
        }
    }
}

impl PlacementRequest {
    /// Converts to a tile; `below` is the first free row.
    pub fn into_tile(self, new_id: String, below: i64) -> Tile {
        let (id, shows, [x, y, width, height]) = match self {
            Self::Widget { id, widget_id, x, y, width, height } => {
                (id, TileContent::Widget { id: widget_id }, [x, y, width, height])
            }
            Self::Preset { id, preset_id, x, y, width, height } => {
                (id, TileContent::Preset { id: preset_id }, [x, y, width, height])
            }
        };
        let at = TileArea {
            x: x.unwrap_or(0),
            y: y.unwrap_or(below),
            width: width.unwrap_or(DEFAULT_SIZE),
            height: height.unwrap_or(DEFAULT_SIZE),
        };
        Tile { id: id.unwrap_or(new_id), shows, at }
    }
}

impl PlacementChange {
    /// Returns the new position of a tile.
    pub fn of(self, at: TileArea) -> TileArea {
        TileArea {
            x: self.x.unwrap_or(at.x),
            y: self.y.unwrap_or(at.y),
            width: self.width.unwrap_or(at.width),
            height: self.height.unwrap_or(at.height),
        }
    }
}

impl From<Widget> for WidgetView {
    fn from(widget: Widget) -> Self {
        Self {
            id: widget.id,
            created_at: widget.created_at.into(),
            updated_at: widget.updated_at.into(),
            name: widget.name,
            description: widget.description,
            view: WireName(widget.view),
            dimensions: widget.dimensions.into_iter().map(Into::into).collect(),
            metrics: widget.metrics.into_iter().map(Into::into).collect(),
            filters: widget.filters.into_iter().map(Into::into).collect(),
            chart_type: WireName(widget.chart),
            chart_config: widget.settings.into(),
        }
    }
}

impl From<GroupBy> for WidgetDimension {
    fn from(by: GroupBy) -> Self {
        Self { field: by.field }
    }
}

impl From<WidgetDimension> for GroupBy {
    fn from(dimension: WidgetDimension) -> Self {
        Self { field: dimension.field }
    }
}

impl From<Metric> for WidgetMetric {
    fn from(metric: Metric) -> Self {
        Self { measure: metric.measure, agg: WireName(metric.aggregation) }
    }
}

impl From<WidgetMetric> for Metric {
    fn from(metric: WidgetMetric) -> Self {
        Self { measure: metric.measure, aggregation: metric.agg.0 }
    }
}

impl From<ChartSettings> for ChartConfig {
    fn from(settings: ChartSettings) -> Self {
        let ChartSettings { chart, row_limit, show_value_labels, bins, default_sort } = settings;
        let default_sort = default_sort.map(Into::into);
        Self { chart: WireName(chart), row_limit, show_value_labels, bins, default_sort }
    }
}

impl From<TableSort> for ChartSort {
    fn from(sort: TableSort) -> Self {
        let order = match sort.order {
            SortDirection::Asc => SortOrder::Asc,
            SortDirection::Desc => SortOrder::Desc,
        };
        Self { column: sort.column, order }
    }
}

impl From<ChartSort> for TableSort {
    fn from(sort: ChartSort) -> Self {
        let order = match sort.order {
            SortOrder::Asc => SortDirection::Asc,
            SortOrder::Desc => SortDirection::Desc,
        };
        Self { column: sort.column, order }
    }
}

impl From<FilterCondition> for WidgetFilter {
    fn from(condition: FilterCondition) -> Self {
        let value = Some(condition.value).filter(|value| !value.is_null());
        Self {
            column: condition.column,
            operator: condition.operator.as_str().to_owned(),
            value_type: condition.kind.as_str().to_owned(),
            value: value.and_then(|value| to_raw_value(&value).ok()).map(Raw::from),
            key: condition.key,
        }
    }
}

impl TryFrom<WidgetFilter> for FilterCondition {
    /// Why there is no such condition.
    type Error = String;

    fn try_from(filter: WidgetFilter) -> Result<Self, String> {
        let name = &filter.value_type;
        let kind = FilterKind::parse(name);
        let kind = kind.ok_or_else(|| format!("there is no type {name} of filter"))?;
        let operator = kind.operator(&filter.operator);
        let operator =
            operator.ok_or_else(|| format!("a {name} filter takes {}", kind.operator_names()))?;
        let value = filter.value.map(|value| serde_json::from_str(value.get()));
        let value: Value = value.transpose().unwrap_or_default().unwrap_or_default();
        Ok(Self { column: filter.column, operator, kind, value, key: filter.key })
    }
}
