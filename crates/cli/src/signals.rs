use anyhow::Context;
use ratchet_server::shutdown::StopSender;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::exit::{self, Outcome, Signal};

/// Listens for requests to stop.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Stream,
    terminate: Stream,
}

impl Signals {
    /// Listens from now on: SIGINT and SIGTERM no longer end the process by themselves.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Runs work to its end. The first signal stops it gracefully, the second ends the process.
    pub(crate) async fn supervise(
        mut self,
        work: impl Future<Output = anyhow::Result<()>>,
        stopper: &StopSender,
    ) -> anyhow::Result<Outcome> {
        tokio::pin!(work);
        tokio::select! {
            ended = &mut work => return ended.map(|()| Outcome::Done),
            _ = self.next() => stopper.stop(),
        }
        tracing::info!("stopping; a second signal terminates immediately");
        tokio::select! {
            ended = &mut work => ended.map(|()| Outcome::Done),
            signal = self.next() => exit::at_once(signal),
        }
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
