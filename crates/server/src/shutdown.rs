use tokio::sync::watch;

/// Tells everything that holds the other half to stop. Dropping it says the same.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Waits to be told to stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// Makes the two halves of a stop signal.
pub fn signal() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    /// Says stop, once and for all.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once someone said stop, at once if they already did.
    pub async fn requested(&self) {
        let mut signal = self.0.clone();
        // An error means the other half is gone, which says stop as well.
        drop(signal.wait_for(|is_stopped| *is_stopped).await);
    }
}
