use sha2::{Digest, Sha256};

/// Separates this use of the hash from others. Langfuse's evaluators choose by the same text, so
/// that a rule that moves here evaluates the same records.
const DOMAIN: &[u8] = b"langfuse:evaluation-sampling:v1\0";
/// Bits of the hash that are used: as many as a float holds.
const BITS: u32 = 53;

/// Returns whether a record is among the share of all records that a rule evaluates. The same
/// record always gets the same answer, and a greater share contains every smaller one.
///
/// ```
/// use ratchet_core::catalog::evaluator::sampling::is_sampled;
///
/// assert!(is_sampled("trace-1", 1.0));
/// assert!(!is_sampled("trace-1", 0.0));
/// ```
pub fn is_sampled(id: &str, share: f64) -> bool {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    hash.update(id);
    let top = hash.finalize().iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let scale = 1_u64 << BITS;
    // Both numbers have at most 53 bits, so that no digit is lost.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let position = (top >> (u64::BITS - BITS)) as f64 / scale as f64;
    position < share
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn about_the_share_is_sampled() {
        for share in [0.1, 0.5, 0.9] {
            let chosen = (0..20_000).filter(|n| is_sampled(&format!("t-{n}"), share)).count();
            let expected = share * 20_000.0;
            assert!((f64::from(u32::try_from(chosen).unwrap()) - expected).abs() < 300.0);
        }
    }

    proptest! {
        #[test]
        fn a_greater_share_contains_every_smaller_one(id in ".{1,40}", a in 0.0..1.0, b in 0.0..1.0) {
            let (less, more) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(!is_sampled(&id, less) || is_sampled(&id, more));
        }
    }
}
