use maud::{Markup, html};

use super::icon::{Icon, icon};

/// A question that must be answered before anything else, opened by a `data-open` with its id.
pub fn dialog(id: &str, title: &str, body: &Markup) -> Markup {
    html! {
        dialog id=(id) aria-labelledby={ (id) "-title" } {
            header {
                h2 id={ (id) "-title" } { (title) }
                button.quiet type="button" data-close { (icon(Icon::Close)) span.sr { "Close" } }
            }
            (body)
        }
    }
}

/// A button that opens a dialog.
pub fn opener(id: &str, words: &str) -> Markup {
    html! { button.button type="button" data-open=(id) aria-haspopup="dialog" { (words) } }
}
