use maud::{Markup, html};

/// What will be here, and the one thing that makes it appear.
pub fn empty(what: &str, how: &Markup) -> Markup {
    html! { section.empty { p.lead { (what) } (how) } }
}
