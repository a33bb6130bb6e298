use ratchet_core::convention::Sender;
use ratchet_stages::record::{self, Arrival};

use super::{Decoded, Format, Rejected, decode_traces};
use crate::app::App;
use crate::auth::Caller;
use crate::body::Received;
use crate::error::ApiResult;

/// A request on its way to the store.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) caller: Caller,
    pub(crate) sender: Sender,
    pub(crate) format: Format,
    pub(crate) received: Received,
}

/// Records the spans of a request and returns once they are on disk.
///
/// # Errors
/// On any error nothing of the request was kept.
pub(crate) async fn deliver(app: &App, delivery: Delivery) -> ApiResult<Rejected> {
    let effort = delivery.received.effort();
    let worker = app.clone();
    let (prepared, accepted, rejected) =
        app.workers.run(effort, move || prepare(&worker, delivery)).await?;
    if let Some(prepared) = prepared {
        let began = app.clock.monotonic();
        app.store.telemetry.commit(prepared).await?;
        app.metrics.observe_commit(app.clock.monotonic().saturating_duration_since(began));
    }
    app.metrics.count_spans(accepted, rejected.count);
    Ok(rejected)
}

type Ready = (Option<ratchet_store::embedded::Prepared>, u64, Rejected);

fn prepare(app: &App, delivery: Delivery) -> ApiResult<Ready> {
    let limits = &app.settings.limits;
    let received_at = app.clock.now();
    let body = delivery.received.unpack(limits)?;
    let Decoded { groups, accepted, rejected } =
        decode_traces(delivery.format, &body, limits, received_at)?;
    if groups.is_empty() {
        return Ok((None, accepted, rejected));
    }
    let arrival =
        Arrival { project: delivery.caller.project, sender: delivery.sender, received_at };
    let prepared = record::spans(&app.store.telemetry, arrival, groups);
    Ok((Some(prepared), accepted, rejected))
}
