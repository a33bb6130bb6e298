use ratchet_core::time::Timestamp;

use super::json;
use super::json::metric::MetricReader;
use super::limits::Bounds;
use super::signal::{Draft, Envelope};
use super::span_builder::Fault;
use super::wire::Fields;

/// A metric, reduced to its name and its number of data points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricCount {
    pub name: String,
    pub points: u64,
}

/// Field numbers of gauge, sum, histogram, exponential histogram and summary.
const KINDS: [u32; 5] = [5, 7, 9, 10, 11];

impl Draft for MetricCount {
    type Item = Self;

    const ENVELOPE: Envelope = Envelope {
        message: "ExportMetricsServiceRequest",
        noun: "metric",
        resources: ["resourceMetrics", "resource_metrics"],
        scopes: ["scopeMetrics", "scope_metrics"],
        items: ["metrics", "metrics"],
    };

    const ITEM_BYTES: usize = 4 * size_of::<Self>();

    fn name(&self) -> &str {
        &self.name
    }

    fn read_protobuf(
        &mut self,
        mut fields: Fields<'_>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Fault> {
        while let Some(field) = fields.next()? {
            match field.number {
                1 => self.name = bounds.text(field.text()?),
                kind if KINDS.contains(&kind) => {
                    let mut kind = field.message()?;
                    while let Some(part) = kind.next()? {
                        // Points are field 1 in every kind.
                        self.points += u64::from(part.number == 1);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_json(&mut self, text: &[u8], bounds: &mut Bounds<'_>) -> Result<(), serde_json::Error> {
        json::read(text, &mut MetricReader { draft: self, bounds })
    }

    fn finish(&mut self, _received_at: Timestamp) -> Result<Self, Fault> {
        Ok(std::mem::take(self))
    }
}
