//! What somebody should look at before they trust the numbers below.

use maud::{Markup, html};
use ratchet_core::calibration::panel::DriftAlert;

/// Draws judges that no longer say what they used to say; nothing where there are none.
pub fn drift(alerts: &[DriftAlert]) -> Markup {
    html! {
        @for alert in alerts {
            p.alarm role="status" { span.badge.warn { "judge drift" } " " bdi { (alert.words()) } "." }
        }
    }
}
