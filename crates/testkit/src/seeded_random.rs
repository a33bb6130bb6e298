use std::time::{Duration, Instant};

use crate::say;

/// A seeded random number generator: the same seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Seeds from `RATCHET_SEED`, or from the clock; prints the seed so that a failure can be
    /// reproduced.
    pub fn from_environment(test: &str) -> Self {
        let given = std::env::var("RATCHET_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(unlike_the_last);
        say(&format!("{test}: repeat with RATCHET_SEED={seed}"));
        Self::new(seed)
    }

    pub fn number(&mut self) -> u64 {
        // A Weyl sequence with mixed bits: every seed has a full period of 2^64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound; zero when the bound is.
    pub fn below(&mut self, bound: usize) -> usize {
        let number = usize::try_from(self.number() >> 1).unwrap();
        number.checked_rem(bound).unwrap_or(0)
    }

    /// True with a probability of one in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A random element.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A random duration up to a bound.
    pub fn wait(&mut self, at_most: Duration) -> Duration {
        let nanos = u64::try_from(at_most.as_nanos()).unwrap();
        Duration::from_nanos(self.number().checked_rem(nanos).unwrap_or(0))
    }
}

/// A seed that differs from run to run. The time since an arbitrary moment is random enough.
fn unlike_the_last() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(Instant::now())
}
