use tokio::sync::watch;

/// The sender of the stop signal. Dropping it stops as well.
#[derive(Debug)]
pub struct StopSender(watch::Sender<bool>);

/// The receiver of the stop signal.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// Creates a stop signal.
pub fn signal() -> (StopSender, Stop) {
    let (sender, receiver) = watch::channel(false);
    (StopSender(sender), Stop(receiver))
}

impl StopSender {
    /// Sends the stop signal.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the stop signal.
    pub async fn requested(&self) {
        let mut signal = self.0.clone();
        // An error means that the sender was dropped, which stops as well.
        drop(signal.wait_for(|is_stopped| *is_stopped).await);
    }
}
