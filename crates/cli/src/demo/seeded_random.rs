/// Chance from a seed: the same seed gives the same rolls.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

/// The odd constant that walks through all 64-bit states (splitmix64).
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    /// Chance that depends on the seed alone.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for one part of the story, so that a change to one part leaves the
    /// others as they were.
    pub(crate) fn fork(&self, label: &str) -> Self {
        let mixed = label.bytes().fold(self.0 ^ STRIDE, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mixed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STRIDE);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but not including, 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a float exactly")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether something with this probability happens.
    pub(crate) fn odds(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A whole number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1).max(1);
        low.saturating_add(self.roll() % span)
    }

    /// One of several.
    ///
    /// An empty slice is a mistake in the story; `None` makes it visible at the call.
    pub(crate) fn choose<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        let last = u64::try_from(among.len()).ok()?.checked_sub(1)?;
        among.get(usize::try_from(self.between(0, last)).ok()?)
    }

    /// One of several, copied out of an array that cannot be empty.
    pub(crate) fn pick<T: Copy>(&mut self, first: T, rest: &[T]) -> T {
        let last = u64::try_from(rest.len()).unwrap_or(0);
        match usize::try_from(self.between(0, last)) {
            Ok(index) if index > 0 => rest.get(index - 1).copied().unwrap_or(first),
            _ => first,
        }
    }

    /// A positive number around a median; most lie within a factor of `spread` of it, a few far
    /// above. Latencies and lengths look like this.
    pub(crate) fn around(&mut self, median: f64, spread: f64) -> f64 {
        // Twelve uniform numbers make a good bell without logarithms.
        let bell: f64 = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        median * spread.powf(bell)
    }

    /// Puts a list in another order.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let top = u64::try_from(last).unwrap_or(0);
            list.swap(last, usize::try_from(self.between(0, top)).unwrap_or(last));
        }
    }

    /// Random bytes: an id.
    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            let roll = self.roll().to_be_bytes();
            chunk.copy_from_slice(roll.get(..chunk.len()).unwrap_or(&roll));
        }
        bytes
    }

    /// Random lowercase hexadecimal digits: the tail of a readable id.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        let bytes: [u8; 16] = self.bytes();
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .chars()
            .take(digits)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        let rolls = |seed| (0..5).map(|_| Chance::new(seed).roll()).collect::<Vec<_>>();
        assert_eq!(rolls(7), rolls(7));
        assert_ne!(rolls(7), rolls(8));
    }

    #[test]
    fn forks_do_not_follow_each_other() {
        let chance = Chance::new(1);
        assert_ne!(chance.fork("support").roll(), chance.fork("travel").roll());
    }

    #[test]
    fn bounds_are_kept() {
        let mut chance = Chance::new(3);
        for _ in 0..1_000 {
            assert!((3..=5).contains(&chance.between(3, 5)));
            assert!((0.0..1.0).contains(&chance.unit()));
            assert!(chance.around(100.0, 1.5) > 0.0);
        }
        assert_eq!(chance.choose::<u8>(&[]), None);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let mut chance = Chance::new(4);
        let above = (0..2_000).filter(|_| chance.around(100.0, 1.5) > 100.0).count();
        assert!((850..1_150).contains(&above), "{above} of 2000 above the median");
    }
}
