use std::time::Duration;

use serde::Serialize;

/// Median and 99th percentile of durations, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            let nth = (times.len() * percent / 100).min(times.len().saturating_sub(1));
            times.get(nth).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        Self { p50_ms: at(50), p99_ms: at(99) }
    }
}

/// Microseconds per item.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(crate) fn micros_each(time: Duration, things: u64) -> f64 {
    time.as_secs_f64() * 1e6 / things.max(1) as f64
}

/// Items per second.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(crate) fn rate(things: u64, time: Duration) -> f64 {
    things as f64 / time.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_slow_end() {
        let spread = Spread::of((1..=100).map(Duration::from_millis).collect());
        assert_eq!(spread, Spread { p50_ms: 51.0, p99_ms: 100.0 });
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }

    #[test]
    fn rates_and_costs() {
        assert!((rate(50, Duration::from_millis(500)) - 100.0).abs() < 1e-9);
        assert!((micros_each(Duration::from_millis(2), 4) - 500.0).abs() < 1e-9);
    }
}
