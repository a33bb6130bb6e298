//! Exports the server's own traces to any OTLP endpoint: another Ratchet, a collector, or itself.
//!
//! OTLP requests have no span (see `middleware`), so that a server that exports to itself does not
//! loop.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use ratchet_core::secret::Secret;
use ratchet_store::blocking::run_blocking;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

/// Timeout for flushing the last spans.
const FLUSH: Duration = Duration::from_secs(2);

/// Why the server's traces cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum OwnTracesError {
    /// TLS is left to a proxy or a collector next to the server.
    #[error("cannot export traces to {0}; give an address that begins with http://")]
    Scheme(String),
    /// The headers are not `name=value` pairs. Their values are secret.
    #[error("cannot send headers with traces; write name=value, several with commas between them")]
    Headers,
    /// The exporter rejected its settings.
    #[error("cannot export traces to {endpoint}")]
    Exporter {
        endpoint: String,
        #[source]
        source: opentelemetry_otlp::ExporterBuildError,
    },
}

/// Exports the server's traces, in batches on a separate thread.
#[derive(Debug)]
pub struct OwnTraces {
    provider: SdkTracerProvider,
}

impl OwnTraces {
    /// Starts the export over gRPC, with headers such as `authorization=Basic x`. Must be called
    /// inside the async runtime; the endpoint need not listen yet.
    ///
    /// `OTEL_EXPORTER_OTLP_HEADERS` is ignored: people set it for their agents, and a key for one
    /// endpoint must not be sent to another.
    ///
    /// # Errors
    /// Fails if the address or the headers are invalid.
    pub fn start(endpoint: &str, headers: Option<&Secret>) -> Result<Self, OwnTracesError> {
        if !endpoint.starts_with("http://") {
            return Err(OwnTracesError::Scheme(endpoint.to_owned()));
        }
        let headers = headers.map(|text| parse_headers(text.expose())).transpose()?;
        let headers = headers.unwrap_or_default();
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .with_interceptor(move |mut request: tonic::Request<()>| {
                *request.metadata_mut() = headers.clone();
                Ok(request)
            })
            .build()
            .map_err(|source| OwnTracesError::Exporter { endpoint: endpoint.to_owned(), source })?;
        let resource = Resource::builder().with_service_name("ratchet").build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    /// The layer that exports the server's own spans, and no others.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let layer: OpenTelemetryLayer<S, Tracer> =
            tracing_opentelemetry::layer().with_tracer(self.provider.tracer("ratchet"));
        layer.with_filter(Targets::new().with_target("ratchet", LevelFilter::INFO))
    }

    /// Flushes the remaining spans and ends, within a few seconds.
    pub async fn stop(self) {
        let stopped = run_blocking(move || self.provider.shutdown_with_timeout(FLUSH)).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(error.cause = %error, "the last traces of the server are lost");
        }
    }
}

fn parse_headers(text: &str) -> Result<MetadataMap, OwnTracesError> {
    let mut headers = MetadataMap::new();
    for pair in text.split(',') {
        let (name, value) = pair.split_once('=').ok_or(OwnTracesError::Headers)?;
        let name = name.trim().to_ascii_lowercase();
        let name: AsciiMetadataKey = name.parse().map_err(|_| OwnTracesError::Headers)?;
        let value: AsciiMetadataValue =
            value.trim().parse().map_err(|_| OwnTracesError::Headers)?;
        headers.append(name, value);
    }
    Ok(headers)
}
