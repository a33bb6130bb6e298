use maud::{Markup, PreEscaped, html};

/// A small drawing. Always beside a word, never instead of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    Ratchet,
    Home,
    Trace,
    Observation,
    Session,
    User,
    Score,
    Calibration,
    Label,
    Queue,
    Dataset,
    Folder,
    Prompt,
    Dashboard,
    Settings,
    Find,
    Help,
    Theme,
    Down,
    Up,
    Copy,
    Close,
    Error,
    Warning,
    Span,
    Generation,
    Event,
    Agent,
    Tool,
    Chain,
    Retriever,
    Evaluator,
    Embedding,
    Guardrail,
    Chat,
    ThumbUp,
    ThumbDown,
    More,
    Star,
}

impl Icon {
    /// Every drawing: lines on a grid of 16 by 16.
    pub const DRAWN: [(Self, &str); 39] = [
        (Self::Ratchet, "M8 2a6 6 0 1 0 6 6M8 2l3-1M8 2l2 2.500M8 5v3l2.500 1.500"),
        (Self::Home, "M2 7.500 8 2.500l6 5M3.500 6.500V13.500h9V6.500M6.500 13.500V9.500h3v4"),
        (Self::Trace, "M2 3.500h7M4.500 8h7M7 12.500h7"),
        (
            Self::Observation,
            "M2.500 8a5.500 5.500 0 1 0 11 0a5.500 5.500 0 1 0-11 0M8 8h.01M5.500 8h5",
        ),
        (Self::Session, "M2 3h9v6H6l-2.500 2.500V9H2zM13 6h1v6h-1v2l-2-2H7"),
        (Self::User, "M5.500 5a2.500 2.500 0 1 0 5 0a2.500 2.500 0 1 0-5 0M3 13.500c0-5 10-5 10 0"),
        (
            Self::Score,
            "M8 2l1.800 3.900 4.200.5-3.100 2.900.8 4.200L8 11.400l-3.700 2.100.8-4.200L2 6.400l4.200-.5z",
        ),
        (
            Self::Calibration,
            "M2.500 13.500h11M3.500 13.500V10.500M8 13.500V6M12.500 13.500V2.500M2.500 8l5-4.500 5.500-1",
        ),
        (Self::Label, "M2.500 2.500h5.500l6 6-5.500 5.500-6-6zM5.500 5.500h.01"),
        (Self::Queue, "M2 4h12M2 8h12M2 12h7M11.500 12l1.200 1.200L15 11"),
        (
            Self::Dataset,
            "M2.500 4c0-2 11-2 11 0s-11 2-11 0M2.500 4v8c0 2 11 2 11 0V4M2.500 8c0 2 11 2 11 0",
        ),
        (Self::Folder, "M2 3.500h4l1.500 2H14v7.500H2z"),
        (Self::Prompt, "M3 2.500h7l3 3v8H3zM10 2.500v3h3M5.500 8h5M5.500 10.500h5"),
        (Self::Dashboard, "M2 14h12M3.500 14V9M7 14V4M10.500 14V7M13.500 14V2.500"),
        (
            Self::Settings,
            "M2 4.500h6M12 4.500h2M8 4.500a2 2 0 1 0 4 0a2 2 0 1 0-4 0M2 11.500h2M8 11.500h6M4 11.500a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
        ),
        (Self::Find, "M2.500 7a4.500 4.500 0 1 0 9 0a4.500 4.500 0 1 0-9 0M10.500 10.500 14 14"),
        (
            Self::Help,
            "M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0M6.200 6.300c.3-2.300 3.800-2 3.600.1C9.700 7.700 8 7.700 8 9.200M8 11.300v.1",
        ),
        (Self::Theme, "M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0M8 2v12M8 5h4.500M8 8h6M8 11h4.500"),
        (Self::Down, "M4 6l4 4 4-4"),
        (Self::Up, "M4 10l4-4 4 4"),
        (Self::Copy, "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3"),
        (Self::Close, "M4 4l8 8M12 4l-8 8"),
        (Self::Error, "M8 2l6.500 11.500h-13zM8 6.500v3.500M8 11.800v.1"),
        (Self::Warning, "M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0M8 5v3.500M8 10.800v.1"),
        (Self::Span, "M2 8h12M2 5.500v5M14 5.500v5"),
        (Self::Generation, "M8 2l1.500 4.500L14 8l-4.500 1.500L8 14l-1.500-4.500L2 8l4.500-1.500z"),
        (Self::Event, "M5.500 8a2.500 2.500 0 1 0 5 0a2.500 2.500 0 1 0-5 0M8 2v3.500M8 10.500V14"),
        (Self::Agent, "M3 6h10v7H3zM8 6V3M6 9v1M10 9v1M7 3h2M1.500 8.500v2M14.500 8.500v2"),
        (
            Self::Tool,
            "M9.500 6.500 3 13M9.500 6.500a3.200 3.200 0 0 1 4.200-4L11.500 4.700l.8.800L14 3.800M13.700 2.500",
        ),
        (
            Self::Chain,
            "M6.500 9.500l3-3M7 5l2-2a2.800 2.800 0 0 1 4 4l-2 2M9 11l-2 2a2.800 2.800 0 0 1-4-4l2-2",
        ),
        (
            Self::Retriever,
            "M2.500 3h7M2.500 6.500h4M2.500 10h3M7.500 9.500a2.500 2.500 0 1 0 5 0a2.500 2.500 0 1 0-5 0M11.800 11.300 14 13.500",
        ),
        (Self::Evaluator, "M2 13.500h12M8 2.500v11M3 5h10M3 5 1.500 9h3zM13 5l-1.500 4h3z"),
        (Self::Embedding, "M3 3v.1M8 3v.1M13 3v.1M3 8v.1M8 8v.1M13 8v.1M3 13v.1M8 13v.1M13 13v.1"),
        (
            Self::Guardrail,
            "M8 2l5.500 2v4c0 3-2.500 5-5.500 6-3-1-5.500-3-5.500-6V4zM5.500 8l2 2 3-3.500",
        ),
        (Self::Chat, "M2.500 3h11v8H7.500l-3 2.500V11h-2zM5.500 6h5M5.500 8h3"),
        (
            Self::ThumbUp,
            "M2.500 7.500h2.500v6H2.500zM5 7.500l2.500-5c1.500 0 1.800 1 1.500 2.500L8.700 6.500h4.300c.8 0 1 .6.900 1.200l-1 5c-.1.500-.5.800-1 .8H5",
        ),
        (
            Self::ThumbDown,
            "M2.500 8.500h2.500v-6H2.500zM5 8.500l2.500 5c1.500 0 1.800-1 1.500-2.500L8.700 9.500h4.300c.8 0 1-.6.900-1.200l-1-5c-.1-.500-.5-.800-1-.800H5",
        ),
        (Self::More, "M2.500 4h11M2.500 8h11M2.500 12h11"),
        (
            Self::Star,
            "M8 1.800l1.900 3.900 4.300.600-3.100 3 .700 4.300L8 11.600l-3.800 2 .700-4.300-3.100-3 4.300-.600z",
        ),
    ];

    fn path(self) -> &'static str {
        let drawn = Self::DRAWN.into_iter().find(|(icon, _)| *icon == self);
        drawn.map(|(_, path)| path).unwrap_or_default()
    }
}

/// Draws it, in the colour of the text around it.
pub fn icon(icon: Icon) -> Markup {
    let path = PreEscaped(icon.path());
    html! {
        svg.icon viewBox="0 0 16 16" aria-hidden="true" focusable="false" { path d=(path) {} }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_icon_is_drawn_once() {
        let last = Icon::Star as usize;
        assert_eq!(Icon::DRAWN.len(), last + 1);
        for (index, (icon, path)) in Icon::DRAWN.into_iter().enumerate() {
            assert_eq!(icon as usize, index);
            assert!(path.starts_with('M'), "{icon:?}");
        }
    }
}
