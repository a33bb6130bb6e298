//! Query strings. Names may repeat, unknown ones are ignored as in Langfuse, empty values count as
//! absent, and all invalid values are reported, not only the first.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use ratchet_core::id::Id;
use ratchet_core::issue::Issue;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::page::PageMeta;
use ratchet_remote::langfuse::wire::wire_name::WireEnum;
use ratchet_store::query::{PageNumber, Paging, TimeRange};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::app::App;
use crate::error::{ApiError, ApiResult};

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 100;

/// The parameters of a request, and their errors.
#[derive(Debug, Default)]
pub(super) struct Params {
    pairs: Vec<(String, String)>,
    issues: Vec<Issue>,
}

/// The parameters that [`Params::page`] reads, for the API description.
pub(super) enum PageParams {}

impl IntoParams for PageParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let whole = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
        let page = whole().default(Some(1.into()));
        let limit = whole().maximum(Some(MAX_LIMIT)).default(Some(DEFAULT_LIMIT.into()));
        let named = |name: &str, about: &str, schema: ObjectBuilder| {
            let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
            parameter.description(Some(about)).schema(Some(schema)).build()
        };
        vec![
            named("page", "The page's number, from 1.", page),
            named("limit", "Rows on a page.", limit),
        ]
    }
}

/// The parameters that [`Params::slice`] reads, for the API description.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only describes what `Params` reads")]
pub(super) struct CursorParams {
    /// Page size: 1 to 100, 50 by default.
    limit: Option<u64>,
    /// Cursor from the previous page.
    cursor: Option<String>,
}

impl Params {
    /// The value of a name; the last if it repeats.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.values(name).last().map(str::to_owned)
    }

    /// The value of a required name.
    pub(super) fn required(&mut self, name: &str) -> String {
        let text = self.text(name);
        if text.is_none() {
            self.report([Issue::at(name, "required")]);
        }
        text.unwrap_or_default()
    }

    /// All values of a name that may repeat.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        self.values(name).map(str::to_owned).collect()
    }

    /// The comma-separated values of a name.
    pub(super) fn commas(&self, name: &str) -> Vec<String> {
        let parts = self.values(name).flat_map(|value| value.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// A finite number.
    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        self.parsed(name, number)
    }

    /// Whether a name is present with an empty value.
    pub(super) fn is_blank(&self, name: &str) -> bool {
        self.pairs.iter().any(|(key, value)| key == name && value.is_empty())
    }

    pub(super) fn truth(&mut self, name: &str) -> Option<bool> {
        self.parsed(name, |text| match text {
            "true" | "True" | "1" => Ok(true),
            "false" | "False" | "0" => Ok(false),
            _ => Err(format!("must be true or false, not {text}")),
        })
    }

    pub(super) fn time(&mut self, name: &str) -> Option<Timestamp> {
        self.parsed(name, |text| Timestamp::parse(text).map_err(|why| why.to_string()))
    }

    pub(super) fn range(&mut self, from: &str, to: &str) -> TimeRange {
        TimeRange { from: self.time(from), to: self.time(to) }
    }

    pub(super) fn id<Of>(&mut self, name: &str) -> Option<Id<Of>> {
        self.parsed(name, |text| Id::parse(text).map_err(|why| why.to_string()))
    }

    /// A value of an enum.
    pub(super) fn wire_enum<T: WireEnum>(&mut self, name: &str) -> Option<T> {
        self.parsed(name, wire_enum)
    }

    /// Comma-separated values of an enum.
    pub(super) fn words<T: WireEnum>(&mut self, name: &str) -> Vec<T> {
        let words: Result<Vec<T>, _> =
            self.commas(name).iter().map(|text| wire_enum(text)).collect();
        words.unwrap_or_else(|message| {
            self.report([Issue::at(name, message)]);
            Vec::new()
        })
    }

    pub(super) fn page(&mut self) -> PageNumber {
        let page = self.whole("page", 1..=u64::MAX).unwrap_or(1);
        let limit = self.whole("limit", 1..=MAX_LIMIT).unwrap_or(DEFAULT_LIMIT);
        PageNumber { page, limit }
    }

    /// The next page after a cursor, of at most a hundred rows.
    pub(super) fn slice(&mut self) -> (Paging, u64) {
        let limit = self.whole("limit", 1..=MAX_LIMIT).unwrap_or(DEFAULT_LIMIT);
        (Paging::After { cursor: self.text("cursor"), limit }, limit)
    }

    /// A value with a custom parser.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(name)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(message) => {
                self.report([Issue::at(name, message)]);
                None
            }
        }
    }

    /// Reports an invalid value.
    pub(super) fn refuse(&mut self, name: &str, value: &str, why: &str) {
        if self.text(name).is_some_and(|text| text.eq_ignore_ascii_case(value)) {
            self.report([Issue::at(name, why)]);
        }
    }

    pub(super) fn report(&mut self, issues: impl IntoIterator<Item = Issue>) {
        self.issues.extend(issues);
    }

    /// Finishes parsing.
    ///
    /// # Errors
    /// 400 with all invalid parameters.
    pub(super) fn finish(self) -> ApiResult<()> {
        if self.issues.is_empty() { Ok(()) } else { Err(ApiError::InvalidFields(self.issues)) }
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.pairs.iter().filter(move |(key, value)| key == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    /// An integer within bounds.
    pub(super) fn whole(
        &mut self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<u64> {
        let bounds = if *range.end() == u64::MAX {
            format!("a whole number from {}", range.start())
        } else {
            format!("a whole number from {} to {}", range.start(), range.end())
        };
        self.parsed(name, |text| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            number.ok_or(format!("must be {bounds}, not {text}"))
        })
    }
}

/// The page metadata.
pub(super) fn meta(page: PageNumber, total: Option<u64>) -> PageMeta {
    PageMeta::new(page.page, page.limit, total.unwrap_or(0))
}

/// Parses a value of an enum.
pub(super) fn wire_enum<T: WireEnum>(text: &str) -> Result<T, String> {
    T::from_wire_name(text).ok_or_else(|| {
        let known: Vec<_> = T::all().into_iter().map(T::wire_name).collect();
        format!("{} is not a known {}: {}", text, T::WHAT, known.join(", "))
    })
}

/// Parses a finite number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("must be a finite number, not {text}"))
}

impl FromRequestParts<App> for Params {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> ApiResult<Self> {
        let Query(pairs) = Query::try_from_uri(&parts.uri)
            .map_err(|why| ApiError::Invalid(format!("query string: {why}")))?;
        Ok(Self { pairs, issues: Vec::new() })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The parameters of a query string.
    pub(crate) fn params(query: &str) -> Params {
        let uri = format!("/?{query}").parse().unwrap();
        let Query(pairs) = Query::try_from_uri(&uri).unwrap();
        Params { pairs, issues: Vec::new() }
    }

    /// The errors of parsed parameters.
    pub(crate) fn problems(params: Params) -> Vec<String> {
        match params.finish() {
            Ok(()) => Vec::new(),
            Err(ApiError::InvalidFields(issues)) => {
                issues.iter().map(ToString::to_string).collect()
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[track_caller]
    fn check_page(query: &str, expected: Result<(u64, u64), &str>) {
        let mut params = params(query);
        let page = params.page();
        let problems = problems(params);
        match expected {
            Ok((number, limit)) => {
                assert_eq!(problems, Vec::<String>::new());
                assert_eq!(page, PageNumber { page: number, limit });
            }
            Err(problem) => assert_eq!(problems, [problem]),
        }
    }

    #[test]
    fn pages_count_from_one_and_hold_at_most_a_hundred() {
        check_page("", Ok((1, 50)));
        check_page("page=3&limit=100", Ok((3, 100)));
        check_page("page=&limit=", Ok((1, 50)));
        check_page("page=1&page=2", Ok((2, 50)));
        check_page("page=0", Err("page: must be a whole number from 1, not 0"));
        check_page("page=-1", Err("page: must be a whole number from 1, not -1"));
        check_page("page=1.5", Err("page: must be a whole number from 1, not 1.5"));
        check_page("limit=101", Err("limit: must be a whole number from 1 to 100, not 101"));
        check_page("limit=0", Err("limit: must be a whole number from 1 to 100, not 0"));
        check_page(
            "limit=99999999999999999999",
            Err("limit: must be a whole number from 1 to 100, not 99999999999999999999"),
        );
    }

    #[test]
    fn names_repeat_and_values_are_decoded() {
        let params = params("tags=a%2Fb&tags=c+d&tags=%C3%BC&other=1&tags=");
        assert_eq!(params.list("tags"), ["a/b", "c d", "ü"]);
        assert_eq!(params.text("tags").unwrap(), "ü");
        assert_eq!(params.text("name"), None);
    }

    #[test]
    fn everything_wrong_is_reported() {
        let mut params = params("page=x&fromTimestamp=soon&toTimestamp=2026-11-15T10:00:00Z");
        params.page();
        let range = params.range("fromTimestamp", "toTimestamp");
        assert!(range.from.is_none() && range.to.is_some());
        assert_eq!(
            problems(params),
            [
                "page: must be a whole number from 1, not x",
                "fromTimestamp: not an ISO 8601 date and time with an offset, such as \
                 2026-01-31T12:00:00Z",
            ]
        );
    }
}
