use maud::{Markup, html};

/// Container of toasts, filled by scripts.
pub fn container() -> Markup {
    html! { div.toasts #toasts role="status" aria-live="polite" {} }
}

/// Toast with the result of the form that led here.
pub fn toast(text: &str) -> Markup {
    html! { div.toast data-toast { (text) } }
}
