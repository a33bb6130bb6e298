use std::time::Duration;

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use ratchet_stages::record::clock;
use ratchet_stages::record::retention_sweep::{self, SweepReport};
use ratchet_stages::review::agents::{self, AgentWindow};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};

use crate::app::App;
use crate::connection;
use crate::connection_limiter::{ConnectionLimiter, TooManyOfClient};
use crate::router::{grpc_router, router};
use crate::shutdown::Stop;
use crate::token_counter;

/// Pause after a failed accept: out of file descriptors, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Response to a client that is at its connection limit.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\
    retry-after: 1\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n\r\n\
    {\"message\":\"too many connections from your address have requests under way\",\
    \"error\":\"ServiceUnavailableError\"}";

/// Interval of looking for new agents in traces.
const AGENTS_EVERY: Duration = Duration::from_secs(60);
/// Interval of the retention sweep.
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);

/// The server's listeners. The caller has bound the addresses and handled busy ones.
#[derive(Debug)]
pub struct Listeners {
    /// Web pages, all APIs, and OTLP/HTTP.
    pub web: TcpListener,
    /// The same routes on the standard port of OTLP/HTTP.
    pub otlp_http: Option<TcpListener>,
    pub otlp_grpc: Option<TcpListener>,
}

/// Why a server ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A task panicked.
    #[error("a server task panicked")]
    Task(#[from] JoinError),
}

/// Serves until shutdown, then drains requests in flight within the deadline.
///
/// The store stays open: close it after this returns.
///
/// # Errors
/// Fails only if a task panicked; a failed request is not that.
pub async fn run(
    app: App,
    listeners: Listeners,
    pages: Router,
    stop: Stop,
) -> Result<(), RunError> {
    remember_clock(&app).await;
    let limits = &app.settings.limits;
    let proxies = app.settings.trusted_proxies.clone();
    let limiter = ConnectionLimiter::new(limits.connections, limits.connections_each, proxies);
    let routes = router(app.clone(), pages);
    let mut tasks = JoinSet::new();
    let mut listen = |listener, routes, refusal| {
        let (limiter, app) = (limiter.clone(), app.clone());
        let door = BoundListener { listener, routes, refusal, limiter, app };
        tasks.spawn(door.serve(stop.clone()));
    };
    listen(listeners.web, routes.clone(), TOO_MANY);
    if let Some(listener) = listeners.otlp_http {
        listen(listener, routes, TOO_MANY);
    }
    if let Some(listener) = listeners.otlp_grpc {
        // HTTP/2 has no response before the client's first frame; the client retries automatically.
        listen(listener, grpc_router(app.clone()), b"");
    }
    tasks.spawn(note_closing(app.clone(), stop.clone()));
    tasks.spawn(token_counter::run(app.clone(), stop.clone()));
    tasks.spawn(agents_each_minute(app.clone(), stop.clone()));
    tasks.spawn(retention_hourly(app, stop));
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(())
}

/// Stores the time before the first record arrives: to a server that was killed before its first
/// sweep, a new folder with old records would look like a clock that is far ahead.
async fn remember_clock(app: &App) {
    if let Err(error) = clock::check(&app.store, app.clock.now()).await {
        tracing::warn!(error.cause = %error, "cannot store the time of the clock");
    }
}

async fn note_closing(app: App, stop: Stop) {
    stop.requested().await;
    app.begin_closing();
}

async fn retention_hourly(app: App, stop: Stop) {
    let mut hours = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            // A server that is to stop starts no sweep.
            biased;
            () = stop.requested() => return,
            _tick = hours.tick() => {}
            () = app.sweep_requested() => {}
        }
        let sweeping = retention_sweep::sweep(&app.store, app.clock.now());
        let swept = tokio::select! {
            () = stop.requested() => return,
            swept = sweeping => swept,
        };
        match swept {
            Ok(swept) => log_swept(swept),
            Err(error) => tracing::warn!(error.cause = %error, "the retention sweep failed"),
        }
    }
}

/// Creates records for the agents of new traces.
async fn agents_each_minute(app: App, stop: Stop) {
    let mut minutes = tokio::time::interval(AGENTS_EVERY);
    let mut window = AgentWindow::First;
    loop {
        tokio::select! {
            biased;
            () = stop.requested() => return,
            _tick = minutes.tick() => {}
        }
        let looked = tokio::select! {
            () = stop.requested() => return,
            looked = agents::discover_everywhere(&app.store, window, app.clock.now()) => looked,
        };
        match looked {
            Ok(()) => window = AgentWindow::Later,
            Err(error) => tracing::warn!(error.cause = %error, "cannot look for agents in traces"),
        }
    }
}

/// Logs what was deleted, and why old traces were not.
fn log_swept(swept: SweepReport) {
    let SweepReport { traces, abandoned, scores, media, held } = swept;
    if (SweepReport { traces, abandoned, scores, media, held: None }) != SweepReport::default() {
        tracing::info!(
            traces,
            abandoned,
            scores,
            media,
            "the retention sweep deleted expired data"
        );
    }
    if let Some(hold) = held {
        tracing::warn!("{hold}");
    }
}

/// A listener and its router.
struct BoundListener {
    listener: TcpListener,
    routes: Router,
    /// Response to a client that is at its connection limit.
    refusal: &'static [u8],
    limiter: ConnectionLimiter,
    app: App,
}

impl BoundListener {
    async fn serve(self, stop: Stop) {
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.requested() => break,
                Some(_ended) = connections.join_next() => continue,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(error.cause = %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // While every connection is busy, this client waits here and the next ones in the
            // system's backlog.
            let admitted = tokio::select! {
                () = stop.requested() => break,
                admitted = self.limiter.admit(peer.ip()) => admitted,
            };
            let permit = match admitted {
                Ok(permit) => permit,
                Err(TooManyOfClient) => {
                    self.reject(&stream);
                    continue;
                }
            };
            let (routes, watcher) = (self.routes.clone(), graceful.watcher());
            let timeouts = self.app.settings.timeouts.clone();
            connections.spawn(connection::serve(stream, routes, timeouts, watcher, permit));
        }
        drop(self.listener);
        if tokio::time::timeout(self.app.settings.timeouts.drain, graceful.shutdown())
            .await
            .is_err()
        {
            tracing::warn!(
                connections = connections.len(),
                "closing connections that did not end in time"
            );
        }
        connections.shutdown().await;
    }

    /// Sends the reason for closing a connection, if that is possible without waiting.
    fn reject(&self, stream: &TcpStream) {
        tracing::debug!("rejected a connection: its client has too many");
        drop(stream.try_write(self.refusal));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use ratchet_core::time::Timestamp;
    use ratchet_stages::record::clock::ClockHold;

    use super::*;

    #[derive(Clone, Debug, Default)]
    struct Logged(Arc<Mutex<Vec<u8>>>);

    impl Write for Logged {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sweep_that_is_held_says_what_it_deleted_too() {
        let logged = Logged::default();
        let writer = logged.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        // With a single subscriber, `tracing` caches the interest of the first thread for all
        // threads: other tests would disable this span.
        let _second_subscriber = tracing::Dispatch::new(tracing_subscriber::registry());
        let hold = ClockHold {
            now: Timestamp::from_nanos(i64::MAX),
            known: Timestamp::default(),
            since: Timestamp::default(),
        };
        tracing::subscriber::with_default(subscriber, || {
            log_swept(SweepReport { abandoned: 7, held: Some(hold), ..SweepReport::default() });
        });
        let text = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("abandoned=7"), "{text}");
        assert!(text.contains(&hold.to_string()), "{text}");
    }
}
