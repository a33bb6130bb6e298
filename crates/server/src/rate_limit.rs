use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use ratchet_core::client_address::ClientAddress;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// A rate limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Sustained requests per second; above zero.
    pub per_second: f64,
    /// Burst size; at least one.
    pub burst: f64,
}

/// Maximum number of tracked callers before idle ones are dropped.
const MAX_CALLERS: usize = 10_000;

/// Limit of all addresses together with one public key, as a multiple of that of one address.
const ADDRESSES: f64 = 10.0;

/// A token bucket per key or other caller id. An idle caller's bucket is full, so that dropping it
/// changes nothing.
#[derive(Debug)]
pub struct RateLimiter {
    rate: Option<Rate>,
    // Held for a few instructions and never across an await: a plain mutex is right.
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

impl RateLimiter {
    /// Without a rate, everything is allowed.
    pub fn new(rate: Option<Rate>) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Fails with the time to wait if the rate is exceeded.
    pub fn take(&self, key: &str, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate else {
            return Ok(());
        };
        let Ok(mut buckets) = self.buckets.lock() else {
            return Ok(());
        };
        if !buckets.contains_key(key) {
            if buckets.len() >= MAX_CALLERS {
                buckets.retain(|_, bucket| !bucket.is_full(rate, now));
            }
            let full = Bucket { tokens: rate.burst, filled_at: now };
            buckets.insert(key.to_owned(), full);
        }
        buckets.get_mut(key).map_or(Ok(()), |bucket| bucket.take(rate, now))
    }
}

/// Rate limits for clients with only a public key: anyone who can read a web page.
#[derive(Debug)]
pub(crate) struct PublicRates {
    by_address: RateLimiter,
    by_key: RateLimiter,
}

impl PublicRates {
    /// With this rate per address.
    pub(crate) fn new(rate: Rate) -> Self {
        let all = Rate { per_second: rate.per_second * ADDRESSES, burst: rate.burst * ADDRESSES };
        let (by_address, by_key) = (RateLimiter::new(Some(rate)), RateLimiter::new(Some(all)));
        Self { by_address, by_key }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// 429 if the address, or all users of the key together, exceed the rate.
    pub(crate) fn take(&self, app: &App, key: &str, parts: &Parts) -> ApiResult<()> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
        let hops = parts.headers.get_all("x-forwarded-for").iter();
        let hops = hops.map(|hop| hop.to_str().unwrap_or_default());
        let proxies = &app.settings.trusted_proxies;
        let address = peer.map(|peer| ClientAddress::behind(peer, proxies, hops).to_string());
        let caller = format!("{key} {}", address.as_deref().unwrap_or("unknown"));
        let now = app.clock.monotonic();
        let taken = self.by_address.take(&caller, now).and_then(|()| self.by_key.take(key, now));
        taken.map_err(|retry_after| ApiError::TooManyRequests { retry_after })
    }
}

impl Bucket {
    fn is_full(&self, rate: Rate, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.filled_at);
        self.tokens + elapsed.as_secs_f64() * rate.per_second >= rate.burst
    }

    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let elapsed = now.saturating_duration_since(self.filled_at);
        self.tokens = (self.tokens + elapsed.as_secs_f64() * rate.per_second).min(rate.burst);
        self.filled_at = now;
        if self.tokens < 1.0 {
            let wait = (1.0 - self.tokens) / rate.per_second;
            return Err(Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX));
        }
        self.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { per_second: 2.0, burst: 3.0 };

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let limiter = RateLimiter::new(Some(RATE));
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(limiter.take("a", start), Ok(()));
        }
        assert_eq!(limiter.take("a", start), Err(Duration::from_millis(500)));
        assert_eq!(limiter.take("a", start + Duration::from_millis(500)), Ok(()));
    }

    #[test]
    fn keys_do_not_share() {
        let limiter = RateLimiter::new(Some(Rate { per_second: 1.0, burst: 1.0 }));
        let now = Instant::now();
        assert_eq!(limiter.take("a", now), Ok(()));
        assert_eq!(limiter.take("b", now), Ok(()));
        assert!(limiter.take("a", now).is_err());
    }

    #[test]
    fn callers_who_have_paused_are_forgotten() {
        let limiter = RateLimiter::new(Some(RATE));
        let start = Instant::now();
        assert!((0..MAX_CALLERS).all(|n| limiter.take(&n.to_string(), start).is_ok()));
        assert_eq!(limiter.take("one more", start + Duration::from_secs(1)), Ok(()));
        assert_eq!(limiter.buckets.lock().unwrap().len(), 1);
    }

    #[test]
    fn no_rate_is_no_limit() {
        let limiter = RateLimiter::new(None);
        let now = Instant::now();
        assert!((0..10_000).all(|_| limiter.take("a", now).is_ok()));
    }
}
