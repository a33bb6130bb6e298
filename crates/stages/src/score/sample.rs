use ratchet_core::id::SessionId;
use sha2::{Digest, Sha256};

/// A share of all sessions. Invariant: more than 0, at most 1.
///
/// Which sessions are in it follows from their ids alone: the same ones each time, and those of a
/// smaller sample are in every larger one.
///
/// ```
/// use ratchet_stages::score::sample::SampleRate;
///
/// assert!(SampleRate::new(0.0).is_none() && SampleRate::new(f64::NAN).is_none());
/// let all = SampleRate::new(1.0).unwrap();
/// assert!(all.holds(&ratchet_core::id::SessionId::parse("any").unwrap()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRate(f64);

impl SampleRate {
    /// A sample of that rate.
    pub fn new(rate: f64) -> Option<Self> {
        (rate > 0.0 && rate <= 1.0).then_some(Self(rate))
    }

    /// How likely any session is in it.
    pub const fn rate(self) -> f64 {
        self.0
    }

    /// Whether a session is in it.
    pub fn holds(self, session: &SessionId) -> bool {
        let digest = Sha256::digest(session.to_string());
        let draw = digest.iter().take(8).fold(0_u64, |draw, byte| draw << 8 | u64::from(*byte));
        #[expect(clippy::cast_precision_loss, reason = "a draw needs no more than 53 bits")]
        let draw = draw as f64 / 2_f64.powi(64);
        self.0 >= 1.0 || draw < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_about_as_large_as_its_rate_and_grows_by_adding() {
        let ids = (0..2_000).map(|n| SessionId::parse(&format!("session-{n}")).unwrap());
        let ids: Vec<SessionId> = ids.collect();
        let small = SampleRate::new(0.1).unwrap();
        let large = SampleRate::new(0.5).unwrap();
        let count = |sample: SampleRate| ids.iter().filter(|id| sample.holds(id)).count();
        assert!((150..250).contains(&count(small)), "{}", count(small));
        assert!((900..1_100).contains(&count(large)), "{}", count(large));
        assert!(ids.iter().filter(|id| small.holds(id)).all(|id| large.holds(id)));
    }
}
