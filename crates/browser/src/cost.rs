use std::time::Duration;

use serde_json::Value;

use crate::page::Page;

/// What it took to open a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub requests: usize,
    /// How many bytes came for them, headers included, as they went over the wire.
    pub bytes: u64,
    /// From the request for the page to the first byte of it.
    pub server: Duration,
    /// Until something was to be seen.
    pub first_paint: Option<Duration>,
    /// Until everything had been loaded.
    pub loaded: Duration,
}

impl Page {
    /// What it took to open the page, by the browser's own clock.
    #[track_caller]
    pub fn cost(&self) -> Cost {
        let timing = self.tell("cost", &[]);
        let millis = |value: &Value| {
            let millis = value.as_f64()?.max(0.0);
            Duration::try_from_secs_f64(millis / 1e3).ok()
        };
        let seen = self.watch().seen();
        Cost {
            requests: seen.requests,
            bytes: seen.bytes,
            server: millis(&timing["server"]).unwrap_or_default(),
            first_paint: millis(&timing["paint"]),
            loaded: millis(&timing["loaded"]).unwrap_or_default(),
        }
    }
}
