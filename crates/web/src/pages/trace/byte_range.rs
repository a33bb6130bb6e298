use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_RANGE, CONTENT_TYPE, RANGE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ratchet_core::record::media::{MediaDisplay, MediaType};

/// Requested byte range of a file; media players seek with range requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole file, with its length.
    All(u64),
    /// First and last byte, and the length of the file.
    Some { from: u64, to: u64, of: u64 },
    /// Beyond the end of the file, with its length.
    Nothing(u64),
}

impl Part {
    /// Parses the `Range` header. Multiple ranges and unknown units get the whole file.
    pub(super) fn asked(headers: &HeaderMap, length: u64) -> Self {
        let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
        let Some((from, to)) =
            range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'))
        else {
            return Self::All(length);
        };
        let last = length.saturating_sub(1);
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let (from, to) = match (number(from), number(to)) {
            (Some(from), Some(to)) => (from, to.min(last)),
            (Some(from), None) if to.trim().is_empty() => (from, last),
            // The last so many bytes.
            (None, Some(count)) if from.trim().is_empty() => {
                (length.saturating_sub(count.max(1)), last)
            }
            _ => return Self::All(length),
        };
        if from > to || from >= length {
            return Self::Nothing(length);
        }
        Self::Some { from, to, of: length }
    }

    /// Offset and length.
    pub(super) const fn span(self) -> (u64, u64) {
        match self {
            Self::All(length) => (0, length),
            Self::Some { from, to, .. } => (from, to - from + 1),
            Self::Nothing(_) => (0, 0),
        }
    }

    /// Slices the bytes.
    pub(super) fn of(self, bytes: Vec<u8>) -> Vec<u8> {
        let (from, length) = self.span();
        let whole = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        bytes.into_iter().skip(whole(from)).take(whole(length)).collect()
    }

    /// Response with the bytes. Active content is sent as an attachment.
    pub(super) fn answer(self, kind: MediaType, bytes: Vec<u8>) -> Response {
        let disposition = match kind.shown() {
            MediaDisplay::Inline => "inline",
            MediaDisplay::AsFile => "attachment",
        };
        let headers = [
            (CONTENT_TYPE, kind.served_as()),
            (CONTENT_DISPOSITION, disposition),
            (CACHE_CONTROL, "private, max-age=3600"),
            (ACCEPT_RANGES, "bytes"),
        ];
        match self {
            Self::All(_) => (headers, bytes).into_response(),
            Self::Some { from, to, of } => {
                let range = [(CONTENT_RANGE, format!("bytes {from}-{to}/{of}"))];
                (StatusCode::PARTIAL_CONTENT, headers, range, bytes).into_response()
            }
            Self::Nothing(of) => {
                let range = [(CONTENT_RANGE, format!("bytes */{of}"))];
                (StatusCode::RANGE_NOT_SATISFIABLE, range).into_response()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(range: &str, expected: Part) {
        let headers = HeaderMap::from_iter([(RANGE, range.parse().unwrap())]);
        assert_eq!(Part::asked(&headers, 10), expected, "{range}");
    }

    #[test]
    fn a_player_gets_the_part_it_asks_for() {
        let some = |from, to| Part::Some { from, to, of: 10 };
        check("bytes=0-", some(0, 9));
        check("bytes=2-4", some(2, 4));
        check("bytes=2-400", some(2, 9));
        check("bytes=-3", some(7, 9));
        check("bytes=-300", some(0, 9));
        assert_eq!(some(2, 4).of((0..10).collect()), [2, 3, 4]);
    }

    #[test]
    fn what_makes_no_sense_is_all_and_what_is_not_there_is_refused() {
        check("bytes=0-1,3-4", Part::All(10));
        check("lines=0-1", Part::All(10));
        check("bytes=-", Part::All(10));
        check("bytes=10-", Part::Nothing(10));
        check("bytes=4-2", Part::Nothing(10));
        assert_eq!(Part::asked(&HeaderMap::new(), 10), Part::All(10));
        let headers = HeaderMap::from_iter([(RANGE, "bytes=0-".parse().unwrap())]);
        assert_eq!(Part::asked(&headers, 0), Part::Nothing(0));
    }
}
