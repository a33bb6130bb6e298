use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use ratchet_store::StoreStats;
use ratchet_store::disk_reserve::DiskSpace;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// Prometheus metrics since the start of the server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    spans_received: Counter,
    spans_rejected: Counter,
    logs_received: Counter,
    logs_rejected: Counter,
    points_received: Counter,
    points_rejected: Counter,
    bytes_received: Counter,
    commit_seconds: Histogram,
    queue_depth: Gauge,
    store_bytes: Gauge,
    store_commits: Gauge,
    store_observations: Gauge,
    store_outdated: Gauge,
    disk_free: Gauge,
    disk_reserve: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("ratchet"),
            requests: Family::default(),
            spans_received: Counter::default(),
            spans_rejected: Counter::default(),
            logs_received: Counter::default(),
            logs_rejected: Counter::default(),
            points_received: Counter::default(),
            points_rejected: Counter::default(),
            bytes_received: Counter::default(),
            // A quarter of a millisecond to four seconds.
            commit_seconds: Histogram::new(exponential_buckets(0.000_25, 2.0, 15)),
            queue_depth: Gauge::default(),
            store_bytes: Gauge::default(),
            store_commits: Gauge::default(),
            store_observations: Gauge::default(),
            store_outdated: Gauge::default(),
            disk_free: Gauge::default(),
            disk_reserve: Gauge::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        let to = &mut self.registry;
        to.register("build", "Which ratchet this is", build);
        to.register("requests", "Requests by route and status", self.requests.clone());
        to.register("spans_received", "Spans accepted", self.spans_received.clone());
        to.register("spans_rejected", "Spans refused", self.spans_rejected.clone());
        to.register("logs_received", "Log records accepted", self.logs_received.clone());
        to.register("logs_rejected", "Log records refused", self.logs_rejected.clone());
        to.register("points_received", "Points of metrics seen", self.points_received.clone());
        to.register("points_rejected", "Points of metrics refused", self.points_rejected.clone());
        to.register("received_bytes", "Bytes of bodies received", self.bytes_received.clone());
        to.register(
            "commit_seconds",
            "Seconds from a prepared batch to its being on disk",
            self.commit_seconds.clone(),
        );
        to.register("queue_depth", "Batches waiting to be written", self.queue_depth.clone());
        to.register("store_bytes", "Bytes of the telemetry database", self.store_bytes.clone());
        to.register("store_commits", "Transactions since start", self.store_commits.clone());
        to.register(
            "store_observations",
            "Observations written since start",
            self.store_observations.clone(),
        );
        to.register(
            "store_outdated_fields",
            "Fields that came with an older time than what is kept, since start; many mean that a \
             clock was set back",
            self.store_outdated.clone(),
        );
        to.register("disk_free_bytes", "Bytes free on the data disk", self.disk_free.clone());
        to.register(
            "disk_reserve_bytes",
            "Disk reserve in bytes: recording stops when less is free",
            self.disk_reserve.clone(),
        );
    }

    /// Counts a request. The route is its template, so that ids do not become labels.
    pub fn count_request(&self, method: &str, route: &str, status: StatusCode) {
        let labels = RequestLabels {
            method: method.to_owned(),
            route: route.to_owned(),
            status: status.as_u16(),
        };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts the spans of a request.
    pub fn count_spans(&self, accepted: u64, rejected: u64) {
        self.spans_received.inc_by(accepted);
        self.spans_rejected.inc_by(rejected);
    }

    /// Counts the log records of a request.
    pub fn count_logs(&self, accepted: u64, rejected: u64) {
        self.logs_received.inc_by(accepted);
        self.logs_rejected.inc_by(rejected);
    }

    /// Counts the data points of a request.
    pub fn count_points(&self, accepted: u64, rejected: u64) {
        self.points_received.inc_by(accepted);
        self.points_rejected.inc_by(rejected);
    }

    /// Counts the bytes of a body on the wire.
    pub fn count_bytes(&self, bytes: usize) {
        self.bytes_received.inc_by(bytes as u64);
    }

    /// Records the duration of a commit.
    pub fn observe_commit(&self, took: Duration) {
        self.commit_seconds.observe(took.as_secs_f64());
    }

    fn text(&self, store: StoreStats, space: Option<DiskSpace>) -> Result<String, std::fmt::Error> {
        let figure = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.queue_depth.set(figure(store.queue_depth));
        self.store_bytes.set(figure(store.telemetry_bytes));
        self.store_commits.set(figure(store.commits));
        self.store_observations.set(figure(store.observations));
        self.store_outdated.set(figure(store.outdated_fields));
        if let Some(DiskSpace { free, reserve }) = space {
            self.disk_free.set(figure(free));
            self.disk_reserve.set(figure(reserve));
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// `GET /metrics`: Prometheus metrics.
///
/// No authentication: they contain no project data.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "Server",
    security(()),
    responses((status = 200, body = String, content_type = "application/openmetrics-text"))
)]
pub(crate) async fn show(State(app): State<App>) -> ApiResult<Response> {
    let text = app.metrics.text(app.store.stats(), app.store.space());
    let text = text.map_err(|error| ApiError::Internal(Box::new(error)))?;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, content_type)], text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_out_as_counted() {
        let metrics = Metrics::default();
        metrics.count_request("GET", "/api/public/traces/{id}", StatusCode::OK);
        metrics.count_spans(3, 1);
        let text =
            metrics.text(StoreStats { queue_depth: 7, ..StoreStats::default() }, None).unwrap();
        for line in [
            r#"ratchet_requests_total{method="GET",route="/api/public/traces/{id}",status="200"} 1"#,
            "ratchet_spans_received_total 3",
            "ratchet_spans_rejected_total 1",
            "ratchet_queue_depth 7",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} not in {text}");
        }
    }
}
