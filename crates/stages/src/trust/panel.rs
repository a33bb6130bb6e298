use ratchet_core::calibration::panel::{DATASET, PanelVerdict};
use ratchet_core::time::Timestamp;

use super::items::{self, KeptItem};
use super::labels::save;
use crate::sink::{Sink, SinkResult};

/// What the dataset of panels is for.
const PANELS: &str = "What judges say of the same sessions week by week, so that drift is noticed";

/// Reads what judges said of their panels.
///
/// # Errors
/// Fails if the dataset cannot be read; one that is not there has nothing.
pub async fn read(sink: &Sink) -> SinkResult<Vec<PanelVerdict>> {
    let items = items::read(sink, DATASET).await?;
    let read =
        |item: &KeptItem| PanelVerdict::read(&item.input, &item.expected_output, &item.metadata);
    Ok(items.iter().filter_map(read).collect())
}

/// Keeps what a judge said of its panel. What it said of a session in the same week is changed.
///
/// # Errors
/// Fails if it cannot be written.
pub async fn keep(sink: &Sink, verdicts: &[PanelVerdict], now: Timestamp) -> SinkResult<()> {
    for verdict in verdicts {
        save(sink, (DATASET, PANELS), verdict.item(), now).await?;
    }
    Ok(())
}
