use maud::{Markup, html};

use super::icon::{Icon, icon};

/// Lines to paste somewhere, with a button that copies them.
pub fn snippet(text: &str) -> Markup {
    html! {
        div.snippet {
            pre tabindex="0" { code { (text) } }
            button.quiet type="button" data-copy=(text) { (icon(Icon::Copy)) span { "Copy" } }
        }
    }
}

/// An id: short to look at, whole on hover and when copied.
pub fn id(id: &str) -> Markup {
    let short: String = id.chars().take(10).collect();
    html! {
        button.id type="button" data-copy=(id) title={ (id) " (copy)" } {
            code { (short) @if short.len() < id.len() { "…" } }
        }
    }
}
