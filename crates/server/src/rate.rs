use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often one key may call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Calls a second in the long run; above zero.
    pub per_second: f64,
    /// Calls at once after a pause; at least one.
    pub burst: f64,
}

/// Counts the calls of each key. Only keys that exist are counted, so the table stays small.
#[derive(Debug)]
pub struct RateLimiter {
    rate: Option<Rate>,
    // Held for a few instructions and never across an await: the plain mutex is the right one.
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

impl RateLimiter {
    /// A limiter that lets everything through when there is no rate.
    pub fn new(rate: Option<Rate>) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Counts a call.
    ///
    /// # Errors
    /// Says how long to wait if the key has called too often.
    pub fn take(&self, key: &str, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate else {
            return Ok(());
        };
        let Ok(mut buckets) = self.buckets.lock() else {
            return Ok(());
        };
        let full = Bucket { tokens: rate.burst, filled_at: now };
        if !buckets.contains_key(key) {
            buckets.insert(key.to_owned(), full);
        }
        buckets.get_mut(key).map_or(Ok(()), |bucket| bucket.take(rate, now))
    }
}

impl Bucket {
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
    fn no_rate_is_no_limit() {
        let limiter = RateLimiter::new(None);
        let now = Instant::now();
        assert!((0..10_000).all(|_| limiter.take("a", now).is_ok()));
    }
}
