use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A connection with a write timeout: it is closed if the client reads nothing for that long, so
/// that it holds neither a connection slot nor memory.
#[derive(Debug)]
pub(crate) struct WriteTimeout<S> {
    stream: S,
    patience: Duration,
    /// Runs while the client does not read pending data.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Whether the client does not read, for the connection limiter.
    is_stalled: Arc<AtomicBool>,
}

impl<S> WriteTimeout<S> {
    pub(crate) const fn new(stream: S, patience: Duration, is_stalled: Arc<AtomicBool>) -> Self {
        Self { stream, patience, stalled: None, is_stalled }
    }

    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        progress: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            if self.stalled.take().is_some() {
                self.is_stalled.store(false, Ordering::Relaxed);
            }
            return progress;
        }
        let patience = self.patience;
        self.is_stalled.store(true, Ordering::Relaxed);
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(stalled.as_mut().poll(context));
        let why = "the client does not read the response";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, progress)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.judge(context, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn whoever_takes_nothing_is_given_up() {
        let (near, far) = tokio::io::duplex(4);
        let mut taken = WriteTimeout::new(near, Duration::from_millis(20), Arc::default());
        taken.write_all(b"four").await.unwrap();
        let refused = taken.write_all(b"more").await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        drop(far);
    }

    #[tokio::test]
    async fn whoever_takes_a_little_at_a_time_is_not() {
        let (near, mut far) = tokio::io::duplex(1);
        let mut taken = WriteTimeout::new(near, Duration::from_secs(60), Arc::default());
        let taking = async {
            for _ in 0..6 {
                far.read_u8().await.unwrap();
            }
        };
        let (sent, ()) = tokio::join!(taken.write_all(b"slowly"), taking);
        sent.unwrap();
    }
}
