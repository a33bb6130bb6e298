use std::time::Duration;

use ratchet_stages::record::count::{self, TokenCounting};

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::shutdown::Stop;

/// Polling interval for model calls without usage.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Pause between two slices, so that recording has priority.
const SLICE_PAUSE: Duration = Duration::from_millis(20);

/// Counts tokens of model calls without usage, in slices, until shutdown. The rest is counted after
/// the next start.
pub(crate) async fn run(app: App, stop: Stop) {
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.requested() => return,
            _tick = ticks.tick() => {}
        }
        let counted = tokio::select! {
            () = stop.requested() => return,
            counted = settle_all(&app) => counted,
        };
        match counted {
            // Recording has priority.
            Ok(()) | Err(ApiError::Unavailable { .. }) => {}
            Err(error) => tracing::warn!(error.cause = %error, "cannot count tokens"),
        }
    }
}

async fn settle_all(app: &App) -> ApiResult<()> {
    match app.settings.token_counting {
        TokenCounting::On => count_all(app).await,
        TokenCounting::Off => forget_all(app).await,
    }
}

async fn forget_all(app: &App) -> ApiResult<()> {
    while count::forget(&app.store, app.clock.now()).await? > 0 {
        tokio::time::sleep(SLICE_PAUSE).await;
    }
    Ok(())
}

async fn count_all(app: &App) -> ApiResult<()> {
    loop {
        let slice = count::next(&app.store, app.clock.now()).await?;
        if slice.is_empty() {
            return Ok(());
        }
        let counts = app.workers.run(move || count::count(slice)).await?;
        count::write(&app.store, counts, app.clock.now()).await?;
        tokio::time::sleep(SLICE_PAUSE).await;
    }
}
