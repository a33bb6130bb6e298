use super::float;
use super::undefined::Undefined;

/// Returns the area under the ROC curve: the probability that a good item scores higher than a bad
/// one, ties counting half. 0.5 is chance, 1 is perfect separation.
///
/// ```
/// use ratchet_core::stats::ranking::auc;
///
/// assert_eq!(auc(&[0.9, 0.4], &[0.4, 0.1]), Ok(0.875));
/// ```
///
/// # Errors
/// One of the sides is empty.
pub fn auc(good: &[f64], bad: &[f64]) -> Result<f64, Undefined> {
    if good.is_empty() || bad.is_empty() {
        return Err(Undefined::Empty);
    }
    let mut sorted = bad.to_vec();
    sorted.sort_by(f64::total_cmp);
    let won = good.iter().map(|mark| {
        let under = sorted.partition_point(|other| other < mark);
        let up_to = sorted.partition_point(|other| other <= mark);
        float(under + up_to) / 2.0
    });
    Ok(won.sum::<f64>() / (float(good.len()) * float(bad.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_a_half_and_order_is_all() {
        assert_eq!(auc(&[1.0, 1.0], &[1.0]), Ok(0.5));
        assert_eq!(auc(&[3.0, 2.0], &[1.0, 0.0]), Ok(1.0));
        assert_eq!(auc(&[0.0], &[1.0, 2.0]), Ok(0.0));
        assert_eq!(auc(&[], &[1.0]), Err(Undefined::Empty));
    }
}
