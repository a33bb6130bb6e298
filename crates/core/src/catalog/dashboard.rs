//! Dashboards: widgets on a grid. They are stored as JSON documents, in the form that serde gives
//! them here.

use serde::{Deserialize, Serialize};

use super::filter::FilterCondition;
use crate::time::Timestamp;

/// Widgets: charts of metrics.
pub mod widget;

/// Widgets on a grid, with filters for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dashboard {
    pub id: String,
    #[serde(with = "iso_8601")]
    pub created_at: Timestamp,
    #[serde(with = "iso_8601")]
    pub updated_at: Timestamp,
    pub name: String,
    pub description: String,
    #[serde(rename = "definition")]
    pub layout: DashboardLayout,
    pub filters: Vec<FilterCondition>,
}

/// The tiles of a dashboard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DashboardLayout {
    #[serde(rename = "widgets")]
    pub tiles: Vec<Tile>,
}

/// A tile on a grid of twelve columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tile {
    /// Unique in the dashboard.
    pub id: String,
    #[serde(flatten)]
    pub shows: TileContent,
    #[serde(flatten)]
    pub at: TileArea,
}

/// What a tile shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum TileContent {
    /// A widget of the project, by id.
    Widget {
        #[serde(rename = "widgetId")]
        id: String,
    },
    /// A built-in widget, by id.
    Preset {
        #[serde(rename = "presetId")]
        id: String,
    },
}

/// Where a tile is and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileArea {
    /// Column of the left edge, from 0.
    pub x: i64,
    /// Row of the upper edge, from 0.
    pub y: i64,
    /// In columns.
    pub width: i64,
    /// In rows.
    pub height: i64,
}

impl Tile {
    /// Returns whether it shows a widget of the project.
    pub fn is_of(&self, widget: &str) -> bool {
        match &self.shows {
            TileContent::Widget { id } => id == widget,
            TileContent::Preset { .. } => false,
        }
    }
}

/// Timestamps as ISO 8601 texts.
pub(crate) mod iso_8601 {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::time::Timestamp;

    pub(crate) fn serialize<S: Serializer>(
        timestamp: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(timestamp)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A document as data folders hold it.
    fn stored() -> Value {
        json!({
            "id": "d1",
            "createdAt": "2026-11-15T10:00:00.000Z",
            "updatedAt": "2026-11-15T10:00:00.123456Z",
            "name": "Cost",
            "description": "",
            "definition": {"widgets": [
                {"type": "widget", "id": "t1", "widgetId": "w1", "x": 0, "y": 0, "width": 6, "height": 6},
                {"type": "preset", "id": "t2", "presetId": "p1", "x": 6, "y": 0, "width": 6, "height": 6},
            ]},
            "filters": [
                {"column": "environment", "operator": "any of", "type": "stringOptions",
                 "value": ["prod"], "key": null},
            ],
        })
    }

    #[test]
    fn stored_documents_are_read_and_written_alike() {
        let dashboard: Dashboard = serde_json::from_value(stored()).unwrap();
        assert!(dashboard.layout.tiles[0].is_of("w1") && !dashboard.layout.tiles[1].is_of("p1"));
        assert_eq!(serde_json::to_value(&dashboard).unwrap(), stored());
        let text = stored().to_string();
        assert_eq!(serde_json::from_str::<Dashboard>(&text).unwrap(), dashboard);
    }
}
