use maud::{Markup, html};

use super::Section;
use crate::components::icon::{Icon, icon};
use crate::request_context::RequestContext;

/// What stands in the bar of a phone; everything else is one touch away.
const ON_PHONES: [Section; 4] = [Section::Home, Section::Traces, Section::Sessions, Section::Chats];

/// The way to every page, in the order of the loop.
pub(super) fn rail(ctx: &RequestContext, current: Section) -> Markup {
    html! {
        nav.rail aria-label="Pages" {
            a.brand href=(Section::Home.link(ctx)) { (icon(Icon::Ratchet)) span { "Ratchet" } }
            @for (stage, sections) in visible(ctx) {
                @if let Some(stage) = stage { p.stage { (stage) } }
                ul {
                    @for section in sections {
                        li.on-phones[ON_PHONES.contains(&section)] {
                            (entry(ctx, section, current))
                        }
                    }
                }
            }
            (more(ctx, current))
        }
    }
}

/// The stages whose pages the viewer may see: a reviewer sees queues only.
fn visible(ctx: &RequestContext) -> Vec<(Option<&'static str>, Vec<Section>)> {
    let may_see = |section: &Section| ctx.viewer.can_read() || *section == Section::Queues;
    let stage = |(stage, sections): (Option<&'static str>, &[Section])| {
        (stage, sections.iter().copied().filter(may_see).collect::<Vec<_>>())
    };
    let stages = Section::RAIL.into_iter().map(stage);
    stages.filter(|(_, sections)| !sections.is_empty()).collect()
}

/// On phones: the pages that the bar has no room for.
fn more(ctx: &RequestContext, current: Section) -> Markup {
    let is_here = !ON_PHONES.contains(&current);
    let others = visible(ctx).into_iter().flat_map(|(_, sections)| sections);
    html! {
        details.menu.more {
            summary.here[is_here] { (icon(Icon::More)) span { "More" } }
            div.menu-list {
                @for section in others.filter(|section| !ON_PHONES.contains(section)) {
                    (entry(ctx, section, current))
                }
            }
        }
    }
}

fn entry(ctx: &RequestContext, section: Section, current: Section) -> Markup {
    html! {
        a href=(section.link(ctx)) aria-current=[(section == current).then_some("page")] {
            (icon(section.icon())) span { (section.name()) }
        }
    }
}
