//! Folders of prompts and datasets: names with slashes.

use maud::{Markup, html};
use ratchet_store::catalog::NameFolder;

use crate::components::icon::{Icon, icon};
use crate::components::table::Row;
use crate::components::{empty, figure};
use crate::frame::Section;
use crate::request_context::{Link, RequestContext};

/// The parameter of the folder that a list shows.
const FOLDER: &str = "folder";

/// The folder that a list shows; an empty path is the root.
pub(super) fn open(ctx: &RequestContext) -> &str {
    ctx.params.get(FOLDER).unwrap_or_default().trim_matches('/')
}

/// The list of a folder.
pub(super) fn link(section: Section, path: &str, ctx: &RequestContext) -> Link {
    let all = section.link(ctx);
    if path.is_empty() { all } else { all.with(FOLDER, path) }
}

/// Breadcrumbs to what a name is in: the list, then each folder.
pub(super) fn crumbs(
    (section, title): (Section, &str),
    name: &str,
    ctx: &RequestContext,
) -> Vec<(String, Link)> {
    let mut crumbs = vec![(title.to_owned(), section.link(ctx))];
    for (at, _) in name.match_indices('/') {
        let Some(path) = name.get(..at).filter(|path| !path.is_empty()) else { continue };
        crumbs.push((last(path).to_owned(), link(section, path, ctx)));
    }
    crumbs
}

/// The last part of a path or a name, which is the whole of it where nothing else is left.
pub(super) fn last(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => last,
        _ => path,
    }
}

/// A name as the list of a folder shows it.
pub(super) fn name_in<'a>(path: &str, name: &'a str) -> &'a str {
    let rest = name.strip_prefix(path).and_then(|rest| rest.strip_prefix('/'));
    match rest {
        Some(rest) if !path.is_empty() && !rest.is_empty() => rest,
        _ => name,
    }
}

/// What the field of a new name begins with.
pub(super) fn beginning(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}/") }
}

/// A row of a folder, as wide as the rows of the list.
pub(super) fn row(
    (section, noun): (Section, &str),
    folder: &NameFolder,
    columns: usize,
    ctx: &RequestContext,
) -> Row {
    let name = html! { span.folder { (icon(Icon::Folder)) bdi { (last(&folder.path)) "/" } } };
    let count = html! {
        span.muted { (figure::grouped(folder.names)) " " (noun) @if folder.names != 1 { "s" } }
    };
    let mut cells = vec![name, count];
    cells.resize(columns, Markup::default());
    let link = Some(link(section, &folder.path, ctx));
    Row { id: format!("{}/", folder.path), link, cells, failed: false }
}

/// Said in a folder that has nothing in it any more.
pub(super) fn nothing(section: Section, path: &str, ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A folder is there as long as a name begins with it." }
        p { a.button href=(section.link(ctx)) { "Show all" } }
    };
    empty::empty(&format!("Nothing in {path}/"), &how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_their_folder() {
        assert_eq!(name_in("", "a/b"), "a/b");
        assert_eq!(name_in("a", "a/b"), "b");
        assert_eq!(name_in("a", "a/"), "a/", "a name that ends with a slash is still there");
        assert_eq!((last("a/b/c"), last("a/"), last("a")), ("c", "a/", "a"));
    }
}
