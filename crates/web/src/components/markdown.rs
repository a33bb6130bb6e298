//! Recorded Markdown as markup. Raw HTML in it is shown as text, links lead only to the web and to
//! mail, and no picture is loaded from elsewhere: what a model wrote can be read and nothing more.

use maud::{Markup, PreEscaped, Render, html};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::code::code;

/// Maximum nesting depth; deeper elements are shown as plain text.
const MAX_DEPTH: usize = 40;

/// Draws a text that is written in Markdown, or may be.
pub(crate) fn markdown(text: &str) -> Markup {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut walker = Walker::default();
    for event in Parser::new_ext(text, options) {
        walker.take(event);
    }
    // All tags in it are constants below; everything else went through `escaped`.
    html! { div.md { (PreEscaped(walker.finish())) } }
}

/// Whether a link may be followed.
pub(super) fn is_safe(address: &str) -> bool {
    let schemes = ["http://", "https://", "mailto:"];
    schemes.iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// Writes markup while it walks over a document.
#[derive(Debug, Default)]
struct Walker {
    html: String,
    /// What closes each open element.
    open: Vec<&'static str>,
    /// A block of code: its language and what came of it so far.
    code: Option<(String, String)>,
    /// An image: its URL and its alternative text so far.
    picture: Option<(String, String)>,
    /// Elements that are open inside the picture.
    inside_picture: usize,
    is_in_head: bool,
}

impl Walker {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => self.around("<code>", &text, "</code>"),
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.around("<code>", &text, "</code>");
            }
            Event::FootnoteReference(name) => self.around("<sup>", &name, "</sup>"),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.text(if is_done { "[x] " } else { "[ ] " }),
        }
    }

    fn text(&mut self, text: &str) {
        match (&mut self.code, &mut self.picture) {
            (Some((_, code)), _) => code.push_str(text),
            (None, Some((_, alt))) => alt.push_str(text),
            (None, None) => self.escaped(text),
        }
    }

    fn escaped(&mut self, text: &str) {
        text.render_to(&mut self.html);
    }

    fn around(&mut self, open: &'static str, text: &str, close: &'static str) {
        if self.code.is_some() || self.picture.is_some() {
            return self.text(text);
        }
        self.html.push_str(open);
        self.escaped(text);
        self.html.push_str(close);
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        if self.picture.is_some() {
            // The alternative text is plain text.
            self.inside_picture += 1;
            return;
        }
        match tag {
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next(),
                    CodeBlockKind::Indented => None,
                };
                self.code = Some((language.unwrap_or_default().to_owned(), String::new()));
            }
            Tag::Image { dest_url, .. } => {
                self.picture = Some((dest_url.to_string(), String::new()));
            }
            Tag::Link { dest_url, .. } => self.link(dest_url),
            Tag::List(Some(from)) if self.open.len() < MAX_DEPTH => {
                self.html.push_str("<ol start=\"");
                self.escaped(&from.to_string());
                self.element("\">", "</ol>");
            }
            other => {
                self.is_in_head |= matches!(other, Tag::TableHead);
                let (open, close) = tags(other, self.is_in_head);
                self.element(open, close);
            }
        }
    }

    fn element(&mut self, open: &'static str, close: &'static str) {
        if self.open.len() >= MAX_DEPTH {
            self.open.push("");
            return;
        }
        self.html.push_str(open);
        self.open.push(close);
    }

    fn link(&mut self, address: &str) {
        if self.open.len() >= MAX_DEPTH {
            return self.open.push("");
        }
        if is_safe(address) {
            self.html.push_str("<a target=\"_blank\" rel=\"noopener noreferrer nofollow\" href=\"");
            self.escaped(address);
            self.element("\">", "</a>");
        } else {
            self.html.push_str("<span class=\"no-link\" title=\"");
            self.escaped(address);
            self.element("\">", "</span>");
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if self.inside_picture > 0 {
            self.inside_picture -= 1;
            return;
        }
        self.is_in_head &= tag != TagEnd::TableHead;
        match tag {
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    code(&language, text.trim_end_matches('\n')).render_to(&mut self.html);
                }
            }
            TagEnd::Image => {
                if let Some((address, alt)) = self.picture.take() {
                    self.elsewhere(&address, &alt);
                }
            }
            _ => self.html.push_str(self.open.pop().unwrap_or_default()),
        }
    }

    /// A picture that we do not load: a link to it, if one may follow that.
    fn elsewhere(&mut self, address: &str, alt: &str) {
        self.link(address);
        self.escaped("picture: ");
        self.escaped(if alt.is_empty() { "unnamed" } else { alt });
        self.html.push_str(self.open.pop().unwrap_or_default());
    }

    fn finish(mut self) -> String {
        while let Some(close) = self.open.pop() {
            self.html.push_str(close);
        }
        self.html
    }
}

/// What opens and closes an element. Headings are not the page's own, so they are paragraphs.
fn tags(tag: &Tag<'_>, is_in_head: bool) -> (&'static str, &'static str) {
    match tag {
        Tag::Paragraph => ("<p dir=\"auto\">", "</p>"),
        Tag::Heading { level: HeadingLevel::H1, .. } => {
            ("<p class=\"md-h1\" dir=\"auto\">", "</p>")
        }
        Tag::Heading { level: HeadingLevel::H2, .. } => {
            ("<p class=\"md-h2\" dir=\"auto\">", "</p>")
        }
        Tag::Heading { .. } => ("<p class=\"md-h3\" dir=\"auto\">", "</p>"),
        Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>"),
        Tag::HtmlBlock => ("<p class=\"raw-html\">", "</p>"),
        Tag::List(_) => ("<ul>", "</ul>"),
        Tag::Item => ("<li dir=\"auto\">", "</li>"),
        Tag::Table(_) => ("<div class=\"md-table\"><table>", "</tbody></table></div>"),
        Tag::TableHead => ("<thead><tr>", "</tr></thead><tbody>"),
        Tag::TableRow => ("<tr>", "</tr>"),
        Tag::TableCell if is_in_head => ("<th scope=\"col\">", "</th>"),
        Tag::TableCell => ("<td>", "</td>"),
        Tag::Emphasis => ("<em>", "</em>"),
        Tag::Strong => ("<strong>", "</strong>"),
        Tag::Strikethrough => ("<del>", "</del>"),
        _ => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = markdown(text).into_string();
        assert_eq!(shown, format!("<div class=\"md\">{expected}</div>"));
    }

    #[test]
    fn common_forms_are_drawn() {
        check("Hi *you*, **all**", "<p dir=\"auto\">Hi <em>you</em>, <strong>all</strong></p>");
        check("# Big", "<p class=\"md-h1\" dir=\"auto\">Big</p>");
        check("- a\n- b", "<ul><li dir=\"auto\">a</li><li dir=\"auto\">b</li></ul>");
        check("3. c", "<ol start=\"3\"><li dir=\"auto\">c</li></ol>");
        check(
            "| a |\n|---|\n| b |",
            "<div class=\"md-table\"><table><thead><tr><th scope=\"col\">a</th></tr></thead>\
             <tbody><tr><td>b</td></tr></tbody></table></div>",
        );
    }

    #[test]
    fn html_is_text() {
        let hostile = "<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> b";
        let shown = markdown(hostile).into_string();
        assert!(!shown.contains("<script") && !shown.contains("<img"), "{shown}");
        assert!(shown.contains("&lt;script&gt;") && shown.contains("&lt;img"), "{shown}");
    }

    #[test]
    fn links_lead_to_the_web_and_to_mail_only() {
        let safe = "target=\"_blank\" rel=\"noopener noreferrer nofollow\"";
        check(
            "[a](https://example.com/?q=%22)",
            &format!("<p dir=\"auto\"><a {safe} href=\"https://example.com/?q=%22\">a</a></p>"),
        );
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "/project",
            "vbscript:x",
            "file:///etc",
        ] {
            let shown = markdown(&format!("[a](<{address}>)")).into_string();
            assert!(!shown.contains("<a ") && shown.contains("no-link"), "{shown}");
        }
    }

    #[test]
    fn pictures_are_not_loaded() {
        let shown = markdown("![a *cat*](https://example.com/cat.png)").into_string();
        assert!(!shown.contains("<img") && shown.contains("picture: a cat</a>"), "{shown}");
        let shown = markdown("![x](javascript:alert(1))").into_string();
        assert!(!shown.contains("<a "), "{shown}");
    }

    #[test]
    fn code_keeps_its_marks() {
        let shown = markdown("```rust\nlet a = \"<b>\";\n```").into_string();
        assert!(
            shown.contains("<span class=\"tk\">let</span>") && shown.contains("&lt;b&gt;"),
            "{shown}"
        );
    }

    #[test]
    fn deep_quotes_lose_their_form_and_not_their_words() {
        let shown = markdown(&format!("{} deep", ">".repeat(3_000))).into_string();
        assert!(shown.matches("<blockquote>").count() <= MAX_DEPTH && shown.contains("deep"));
    }

    proptest! {
        #[test]
        fn every_tag_is_one_of_ours_and_is_closed(text in "[a<>/&\"'!*_`~#|:() \\[\\]\\n0-9.-]{0,120}") {
            let shown = markdown(&text).into_string();
            for bad in ["<script", "<img", "<iframe", " onerror", " style="] {
                prop_assert!(!shown.contains(bad), "{}", shown);
            }
            for name in ["div", "p", "ul", "ol", "li", "blockquote", "em", "strong", "pre", "code", "a", "span", "del"] {
                let opened = shown.matches(&format!("<{name}>")).count() + shown.matches(&format!("<{name} ")).count();
                prop_assert_eq!(opened, shown.matches(&format!("</{name}>")).count(), "{} in {}", name, shown);
            }
        }
    }
}
