use maud::{Markup, html};

use crate::components::empty;
use crate::components::icon::{Icon, icon};
use crate::request_context::{Link, RequestContext};

/// What narrows the list, and what people call it.
const FILTERS: [(&str, &str); 4] =
    [("text", "name contains"), ("name", "name"), ("label", "label"), ("tag", "tag")];

fn all(ctx: &RequestContext) -> Link {
    ["page", "done", "folder"].into_iter().fold(ctx.here(), Link::without)
}

pub(super) fn is_narrowed(ctx: &RequestContext) -> bool {
    FILTERS.iter().any(|(name, _)| ctx.params.get(name).is_some())
}

/// A field for a part of the name, and the filters that hold, each of which can be removed.
pub(super) fn bar(ctx: &RequestContext) -> Markup {
    let here = all(ctx).without("text");
    let chosen = FILTERS
        .iter()
        .filter_map(|(name, words)| ctx.params.get(name).map(|value| (*name, *words, value)));
    html! {
        form.search method="get" action=(here.path()) role="search" {
            @for (name, value) in here.pairs() { input type="hidden" name=(name) value=(value); }
            label for="prompt-search" { "Name contains" }
            input #prompt-search type="search" name="text" maxlength="200"
                value=(ctx.params.get("text").unwrap_or_default());
            button.button { "Search" }
        }
        @if is_narrowed(ctx) {
            ul.chips.chosen-filters aria-label="Filters" {
                @for (name, words, value) in chosen {
                    li.chip {
                        code { (words) " " bdi { (value) } }
                        a href=(all(ctx).without(name)) aria-label={ "Remove filter " (words) " " (value) } {
                            (icon(Icon::Close))
                        }
                    }
                }
            }
        }
    }
}

/// Said when no prompt matches.
pub(super) fn nothing(ctx: &RequestContext) -> Markup {
    let clear = FILTERS.iter().fold(all(ctx), |here, (name, _)| here.without(name));
    let how = html! {
        p { "Remove a filter or search for another part of the name." }
        p { a.button href=(clear) { "Clear filters" } }
    };
    empty::empty("No matches", &how)
}
