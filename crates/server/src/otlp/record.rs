use std::sync::Arc;

use ratchet_core::record::semantic_conventions::Sender;
use ratchet_core::time::Timestamp;
use ratchet_stages::record::logs::Events;
use ratchet_stages::record::{self, Arrival, text_bytes_before_rules};
use ratchet_store::catalog::RecordingSettings;
use ratchet_store::telemetry::Prepared;

use super::log::LogDraft;
use super::partial_success::BatchCollector as Decoder;
use super::span_builder::SpanDraft;
use super::{Decoded, Format, MetricCount, Rejected, decode};
use crate::app::{App, Limits};
use crate::auth::Caller;
use crate::body::{Received, Unpacked};
use crate::error::ApiResult;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Traces,
    /// Log records. Claude Code's events are recorded, others rejected.
    Logs,
    /// Metrics. Claude Code's are taken note of, others rejected.
    Metrics,
}

/// A request on its way to the store.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) caller: Caller,
    pub(crate) sender: Sender,
    pub(crate) signal: Signal,
    pub(crate) format: Format,
    pub(crate) received: Received,
}

/// Records what a request carries and returns once it is on disk.
///
/// # Errors
/// On any error nothing of the request was kept.
pub(crate) async fn deliver(app: &App, delivery: Delivery) -> ApiResult<Rejected> {
    let effort = delivery.received.effort();
    let signal = delivery.signal;
    let settings = app.store.catalog.recording_settings(&delivery.caller.project).await?;
    let worker = app.clone();
    let Ready { work, accepted, rejected } =
        app.workers.run_sized(effort, move || read(&worker, delivery, settings)).await??;
    let prepared = match work {
        Work::Nothing => None,
        Work::Prepared(prepared) => Some(prepared),
        Work::Events(events, arrival) => Some(prepare(app, effort, events, arrival).await?),
    };
    if let Some(prepared) = prepared {
        let began = app.clock.monotonic();
        record::commit(&app.store.telemetry, &app.store.catalog, prepared).await?;
        app.metrics.observe_commit(app.clock.monotonic().saturating_duration_since(began));
    }
    match signal {
        Signal::Traces => app.metrics.count_spans(accepted, rejected.count),
        Signal::Logs => app.metrics.count_logs(accepted, rejected.count),
        Signal::Metrics => app.metrics.count_points(accepted, rejected.count),
    }
    Ok(rejected)
}

/// A request that was read.
struct Ready {
    work: Work,
    accepted: u64,
    rejected: Rejected,
}

/// What there is to do with a request.
enum Work {
    /// There is nothing to write.
    Nothing,
    /// It is ready to be written.
    Prepared(Prepared),
    /// Events whose turns may be known to the store.
    Events(Events, Arrival),
}

async fn prepare(
    app: &App,
    effort: usize,
    mut events: Events,
    arrival: Arrival,
) -> ApiResult<Prepared> {
    events.locate(&app.store.telemetry, &arrival.project).await?;
    let worker = app.clone();
    Ok(app
        .workers
        .run_sized(effort, move || events.prepare(&worker.store.telemetry, arrival))
        .await?)
}

fn read(app: &App, delivery: Delivery, settings: Arc<RecordingSettings>) -> ApiResult<Ready> {
    let received_at = app.clock.now();
    let body = delivery.received.unpack(&app.settings.limits)?;
    let Delivery { caller, sender, .. } = delivery;
    let text_bytes = app.settings.limits.text_bytes;
    let limits = Limits {
        text_bytes: text_bytes_before_rules(&settings, text_bytes),
        ..app.settings.limits.clone()
    };
    let arrival = Arrival { project: caller.project, sender, received_at, settings, text_bytes };
    match delivery.signal {
        Signal::Traces => spans(app, &limits, (delivery.format, &body), &arrival),
        Signal::Logs => logs(&limits, (delivery.format, &body), arrival),
        Signal::Metrics => metrics(app, (delivery.format, &body), received_at),
    }
}

fn spans(
    app: &App,
    limits: &Limits,
    (format, body): (Format, &Unpacked),
    arrival: &Arrival,
) -> ApiResult<Ready> {
    let decoder = Decoder::new(limits, body.reservation(), arrival.received_at);
    let Decoded { groups, accepted, rejected } = decode::<SpanDraft>(format, body, decoder)?;
    if groups.is_empty() {
        return Ok(Ready { work: Work::Nothing, accepted, rejected });
    }
    let prepared = record::spans(&app.store.telemetry, arrival, groups);
    Ok(Ready { work: Work::Prepared(prepared), accepted, rejected })
}

fn logs(
    limits: &Limits,
    (format, body): (Format, &Unpacked),
    arrival: Arrival,
) -> ApiResult<Ready> {
    let decoder = Decoder::new(limits, body.reservation(), arrival.received_at);
    let Decoded { groups, accepted, mut rejected } = decode::<LogDraft>(format, body, decoder)?;
    let events = Events::read(groups);
    if events.foreign > 0 {
        let why = "only the events of Claude Code (claude_code.*) are recorded; set \
                   OTEL_LOGS_EXPORTER to none for other programs";
        rejected.add(events.foreign, why.to_owned());
    }
    let accepted = accepted.saturating_sub(events.foreign);
    let work = if events.is_empty() { Work::Nothing } else { Work::Events(events, arrival) };
    Ok(Ready { work, accepted, rejected })
}

/// Counts the points of a request. None is kept: what Claude Code's metrics sum up is in its
/// events and transcripts call by call, and counting both would count twice.
fn metrics(
    app: &App,
    (format, body): (Format, &Unpacked),
    received_at: Timestamp,
) -> ApiResult<Ready> {
    let decoder = Decoder::new(&app.settings.limits, body.reservation(), received_at);
    let Decoded { groups, mut rejected, .. } = decode::<MetricCount>(format, body, decoder)?;
    let (mut accepted, mut foreign) = (0u64, 0u64);
    for metric in groups.iter().flat_map(|group| &group.items) {
        let is_ours = metric.name.starts_with("claude_code.");
        let count = if is_ours { &mut accepted } else { &mut foreign };
        *count = count.saturating_add(metric.points);
    }
    if foreign > 0 {
        let why = "metrics are not recorded; set OTEL_METRICS_EXPORTER to none";
        rejected.add(foreign, why.to_owned());
    }
    Ok(Ready { work: Work::Nothing, accepted, rejected })
}
