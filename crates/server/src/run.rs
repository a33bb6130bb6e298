use std::time::Duration;

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use ratchet_stages::record::sweep::{self, Swept};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};

use crate::app::App;
use crate::connection;
use crate::connection_limiter::{ConnectionLimiter, TooManyOfClient};
use crate::router::{grpc_router, router};
use crate::shutdown::Stop;
use crate::token_counter;

/// How long to wait after the system refused a connection: out of files, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a client hears that has too many connections with a request under way on each.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\
    retry-after: 1\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\n\r\n\
    {\"message\":\"too many connections from your address have requests under way\",\
    \"error\":\"ServiceUnavailableError\"}";

/// How often to look for what is to go.
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);

/// Where the server listens. The caller has bound the addresses and dealt with busy ones.
#[derive(Debug)]
pub struct Listeners {
    /// Web pages, all APIs, and OTLP/HTTP.
    pub web: TcpListener,
    /// The same routes for exporters that use OTLP/HTTP's own port.
    pub otlp_http: Option<TcpListener>,
    pub otlp_grpc: Option<TcpListener>,
}

/// Why a server ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A part of the server broke.
    #[error("a part of the server broke")]
    Task(#[from] JoinError),
}

/// Serves until told to stop, then lets requests under way finish within the deadline.
///
/// The store stays open: close it after this returns.
///
/// # Errors
/// Fails only if a part of the server panicked; a failed request is not that.
pub async fn run(
    app: App,
    listeners: Listeners,
    pages: Router,
    stop: Stop,
) -> Result<(), RunError> {
    let limits = &app.settings.limits;
    let proxies = app.settings.trusted_proxies.clone();
    let limiter = ConnectionLimiter::new(limits.connections, limits.connections_each, proxies);
    let routes = router(app.clone(), pages);
    let mut tasks = JoinSet::new();
    let mut listen = |listener, routes, refusal| {
        let (limiter, app) = (limiter.clone(), app.clone());
        let door = Door { listener, routes, refusal, limiter, app };
        tasks.spawn(door.serve(stop.clone()));
    };
    listen(listeners.web, routes.clone(), TOO_MANY);
    if let Some(listener) = listeners.otlp_http {
        listen(listener, routes, TOO_MANY);
    }
    if let Some(listener) = listeners.otlp_grpc {
        // Nothing can be said in HTTP/2 before the client has begun; it tries again by itself.
        listen(listener, grpc_router(app.clone()), b"");
    }
    tasks.spawn(note_closing(app.clone(), stop.clone()));
    tasks.spawn(token_counter::run(app.clone(), stop.clone()));
    tasks.spawn(sweep_hourly(app, stop));
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(())
}

async fn note_closing(app: App, stop: Stop) {
    stop.requested().await;
    app.begin_closing();
}

async fn sweep_hourly(app: App, stop: Stop) {
    let mut hours = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            () = stop.requested() => return,
            _tick = hours.tick() => {}
            () = app.sweep_wanted() => {}
        }
        let sweeping = sweep::sweep(&app.store, app.clock.now());
        let swept = tokio::select! {
            () = stop.requested() => return,
            swept = sweeping => swept,
        };
        match swept {
            Ok(swept) => log_swept(swept),
            Err(error) => tracing::warn!(error.cause = %error, "cannot delete what is to go"),
        }
    }
}

/// Says what was deleted and, beside it, why old traces were not.
fn log_swept(swept: Swept) {
    let Swept { traces, abandoned, scores, media, held } = swept;
    if (Swept { traces, abandoned, scores, media, held: None }) != Swept::default() {
        tracing::info!(traces, abandoned, scores, media, "deleted what was to go");
    }
    if let Some(hold) = held {
        tracing::warn!("{hold}");
    }
}

/// A listener and what it leads to.
struct Door {
    listener: TcpListener,
    routes: Router,
    /// What a client hears that has too many connections.
    refusal: &'static [u8],
    limiter: ConnectionLimiter,
    app: App,
}

impl Door {
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
            // system's queue.
            let admitted = tokio::select! {
                () = stop.requested() => break,
                admitted = self.limiter.admit(peer.ip()) => admitted,
            };
            let permit = match admitted {
                Ok(permit) => permit,
                Err(TooManyOfClient) => {
                    self.turn_away(&stream);
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
            tracing::warn!(connections = connections.len(), "cutting connections that did not end");
        }
        connections.shutdown().await;
    }

    /// Says why a connection ends at once, as far as that can be said without waiting.
    fn turn_away(&self, stream: &TcpStream) {
        tracing::debug!("refused a connection: its client has too many");
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
        // While it knows one subscriber only, `tracing` remembers for all threads what the first
        // of them answers: other tests would say that nobody listens.
        let _second_subscriber = tracing::Dispatch::new(tracing_subscriber::registry());
        let hold = ClockHold {
            now: Timestamp::from_nanos(i64::MAX),
            known: Timestamp::default(),
            since: Timestamp::default(),
        };
        tracing::subscriber::with_default(subscriber, || {
            log_swept(Swept { abandoned: 7, held: Some(hold), ..Swept::default() });
        });
        let text = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("abandoned=7"), "{text}");
        assert!(text.contains(&hold.to_string()), "{text}");
    }
}
