use std::io::IsTerminal;

use anyhow::Context;
use ratchet_server::own_traces::OwnTraces;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::LogConfig;
use crate::config::value::Switch;

/// The MCP library logs each request at level info, and what clients say in it. A filter that names
/// the library takes precedence.
const QUIET: &str = "rmcp=error";

/// Sends log lines to stderr from now on, and the server's traces to where the settings say.
///
/// Must be called inside the async runtime. Stop what it returns before the program ends.
pub(crate) fn init(config: &LogConfig) -> anyhow::Result<Option<OwnTraces>> {
    let filter = EnvFilter::try_new(format!("{QUIET},{}", config.filter))
        .with_context(|| format!("`log.filter` is \"{}\", not a level", config.filter))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let lines = match config.json {
        Switch::On => lines.json().flatten_event(true).with_filter(filter).boxed(),
        Switch::Off => lines.with_filter(filter).boxed(),
    };
    let start = |receiver| OwnTraces::start(receiver, config.traces_headers.as_ref());
    let traces = config.traces.as_deref().map(start).transpose()?;
    tracing_subscriber::registry()
        .with(lines)
        .with(traces.as_ref().map(OwnTraces::layer))
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))?;
    Ok(traces)
}

pub(crate) async fn stop(traces: Option<OwnTraces>) {
    if let Some(traces) = traces {
        traces.stop().await;
    }
}
