use serde::de::{DeserializeSeed, Deserializer};

use super::scalar::Text;
use super::shape::{Fields, Items, List, Object, skip};
use crate::otlp::limits::Bounds;
use crate::otlp::metric::MetricCount;

/// Reads a metric's name and counts its points.
pub(crate) struct MetricReader<'d, 'b, 'l> {
    pub(crate) draft: &'d mut MetricCount,
    pub(crate) bounds: &'b mut Bounds<'l>,
}

impl<'de> Fields<'de> for MetricReader<'_, '_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "name" => self.draft.name = Text(self.bounds).deserialize(value)?,
            "gauge"
            | "sum"
            | "histogram"
            | "exponentialHistogram"
            | "exponential_histogram"
            | "summary" => Object(&mut Points(&mut self.draft.points)).deserialize(value)?,
            _ => skip(value)?,
        }
        Ok(())
    }
}

/// Counts data points without reading them.
struct Points<'a>(&'a mut u64);

impl<'de> Fields<'de> for Points<'_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "dataPoints" | "data_points" => List(self).deserialize(value),
            _ => skip(value),
        }
    }
}

impl<'de> Items<'de> for Points<'_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        *self.0 += 1;
        skip(item)
    }
}
