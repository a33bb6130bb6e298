//! Parts of a whole, as one bar.

use maud::{Markup, html};

const HUES: usize = 6;

/// A part of a whole.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) amount: f64,
    /// How much, with its unit.
    pub(crate) text: String,
    /// Which of the six hues, from 0.
    pub(crate) hue: usize,
}

/// Draws the parts as one bar, with each one's number below.
pub(crate) fn stack(label: &str, shares: &[Share]) -> Markup {
    let whole: f64 = shares.iter().map(|share| share.amount.max(0.0)).sum();
    let width =
        |share: &Share| if whole > 0.0 { share.amount.max(0.0) / whole * 1_000.0 } else { 0.0 };
    let mut from = 0.0;
    let places: Vec<(f64, f64)> = shares
        .iter()
        .map(|share| {
            let at = from;
            from += width(share);
            (at, width(share))
        })
        .collect();
    html! {
        svg.stack viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label=(label) {
            @for ((x, width), share) in places.iter().zip(shares) {
                rect class={ "hue-" (share.hue % HUES) } x=(format!("{x:.1}")) y="0" height="12" width=(format!("{width:.1}")) {
                    title { (share.name) ": " (share.text) }
                }
            }
        }
        dl.shares {
            @for share in shares {
                dt { svg class={ "swatch hue-" (share.hue % HUES) } viewBox="0 0 8 8" aria-hidden="true" { rect width="8" height="8" rx="2" {} } (share.name) }
                dd { (share.text) }
            }
        }
    }
}
