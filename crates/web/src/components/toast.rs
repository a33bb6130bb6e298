use maud::{Markup, html};

/// Where short words come and go; scripts put them here.
pub fn container() -> Markup {
    html! { div.toasts #toasts role="status" aria-live="polite" {} }
}

/// A word to begin with: what the page that led here has done.
pub fn toast(text: &str) -> Markup {
    html! { div.toast data-toast { (text) } }
}
