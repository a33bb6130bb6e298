use anyhow::Context;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::exit::Signal;

/// Signals that stop a conversation.
#[derive(Debug)]
pub(crate) struct StopSignals {
    interrupt: Stream,
    terminate: Stream,
    hangup: Stream,
}

impl StopSignals {
    /// Listens from now on: these signals no longer end the process by themselves.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// The next signal. A closed terminal (SIGHUP) counts as SIGTERM.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hangup.recv() => Signal::Terminate,
        }
    }
}
