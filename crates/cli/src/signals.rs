use std::pin::Pin;

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
        match self.until_second(work, stopper).await {
            Ok(ended) => ended.map(|()| Outcome::Done),
            Err(signal) => exit::at_once(signal),
        }
    }

    /// As [`Self::supervise`], but drops the work before the process ends, and with it the processes
    /// that it has started.
    pub(crate) async fn supervise_children(
        mut self,
        work: impl Future<Output = anyhow::Result<()>>,
        stopper: &StopSender,
    ) -> anyhow::Result<()> {
        let mut work = Box::pin(work);
        match self.until_second(work.as_mut(), stopper).await {
            Ok(ended) => ended,
            Err(signal) => {
                drop(work);
                exit::at_once(signal)
            }
        }
    }

    /// Waits until the work ends, or for the second signal.
    async fn until_second(
        &mut self,
        mut work: Pin<&mut impl Future<Output = anyhow::Result<()>>>,
        stopper: &StopSender,
    ) -> Result<anyhow::Result<()>, Signal> {
        tokio::select! {
            ended = &mut work => return Ok(ended),
            _ = self.next() => stopper.stop(),
        }
        tracing::info!("stopping; a second signal terminates immediately");
        tokio::select! {
            ended = &mut work => Ok(ended),
            signal = self.next() => Err(signal),
        }
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}
