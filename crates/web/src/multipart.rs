//! Multipart forms (RFC 7578).

use axum::body::{Body, to_bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;

use crate::page_error::{PageError, PageResult};

/// Maximum size of part headers, in bytes.
const HEAD_BYTES: usize = 4_000;
/// Maximum number of parts.
const MAX_PARTS: usize = 50;

/// One part of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentPart<'a> {
    pub(crate) name: &'a str,
    /// File name, if it is a file.
    pub(crate) file: Option<&'a str>,
    pub(crate) content: &'a [u8],
}

/// Boundary of a multipart content type.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let (kind, rest) = content_type.split_once(';')?;
    let is_form = kind.trim().eq_ignore_ascii_case("multipart/form-data");
    let boundary = rest.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })?;
    let is_sane = !boundary.is_empty() && boundary.len() <= 70;
    (is_form && is_sane).then(|| boundary.to_owned())
}

/// First part of a possibly incomplete body; `None` if it is incomplete.
pub(crate) fn first<'a>(form: &'a [u8], boundary: &str) -> Option<SentPart<'a>> {
    let marker = format!("--{boundary}");
    let rest = form.strip_prefix(marker.as_bytes())?.strip_prefix(b"\r\n")?;
    let end = find(rest, format!("\r\n{marker}").as_bytes())?;
    field(rest.get(..end)?)
}

/// All parts of a complete body; `None` if it is malformed.
pub(crate) fn fields<'a>(form: &'a [u8], boundary: &str) -> Option<Vec<SentPart<'a>>> {
    let marker = format!("\r\n--{boundary}");
    let mut rest = form.strip_prefix(marker.trim_start().as_bytes())?;
    let mut fields = Vec::new();
    while !rest.starts_with(b"--") {
        rest = rest.strip_prefix(b"\r\n")?;
        let end = find(rest, marker.as_bytes())?;
        fields.push(field(rest.get(..end)?)?);
        rest = rest.get(end + marker.len()..)?;
        if fields.len() > MAX_PARTS {
            return None;
        }
    }
    Some(fields)
}

fn field(part: &[u8]) -> Option<SentPart<'_>> {
    let head_end = find(part.get(..part.len().min(HEAD_BYTES))?, b"\r\n\r\n")?;
    let head = str::from_utf8(part.get(..head_end)?).ok()?;
    let line = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    // Browsers write a quote inside a name as %22.
    let quoted = |name: &str| {
        let (_, rest) = line.split_once(&format!("; {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let content = part.get(head_end + 4..)?;
    Some(SentPart { name: quoted("name")?, file: quoted("filename"), content })
}

/// Finds a byte sequence.
fn find(within: &[u8], wanted: &[u8]) -> Option<usize> {
    let (first, rest) = wanted.split_first()?;
    let mut from = 0;
    loop {
        let at = from + within.get(from..)?.iter().position(|byte| byte == first)?;
        if within.get(at + 1..)?.starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Reads a multipart body of limited size and its boundary.
///
/// # Errors
/// Rejects other content types and bodies that are too large.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> PageResult<(axum::body::Bytes, String)> {
    let content = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let boundary = content.and_then(boundary);
    let boundary =
        boundary.ok_or_else(|| PageError::Bad("the form contains no file".to_owned()))?;
    match to_bytes(body, limit).await {
        Ok(bytes) => Ok((bytes, boundary)),
        Err(error) => Err(PageError::of_body(&error).unwrap_or_else(|| {
            let most = limit / 1_000_000;
            PageError::Bad(format!("the file is larger than {most} MB"))
        })),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORM: &[u8] =
        b"--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\nabc\r\n\
        --x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a b.csv\"\r\n\
        Content-Type: text/csv\r\n\r\n\r\na,b\r\n--y\r\n\r\n--x--\r\n";

    #[test]
    fn forms_are_read_as_they_were_sent() {
        let token = SentPart { name: "form_token", file: None, content: b"abc" };
        let file = SentPart { name: "file", file: Some("a b.csv"), content: b"\r\na,b\r\n--y\r\n" };
        assert_eq!(fields(FORM, "x"), Some(vec![token, file]));
        assert_eq!(first(FORM, "x"), Some(token));
        assert_eq!(first(&FORM[..60], "x"), None, "not yet whole");
        assert_eq!(fields(b"--x--\r\n", "x"), Some(Vec::new()));
    }

    #[test]
    fn only_forms_with_files_have_a_boundary() {
        let found = |text| boundary(text);
        assert_eq!(found("multipart/form-data; boundary=x"), Some("x".to_owned()));
        assert_eq!(
            found("Multipart/Form-Data; charset=a; Boundary=\"x y\""),
            Some("x y".to_owned())
        );
        assert_eq!(found("multipart/mixed; boundary=x"), None);
        assert_eq!(found("multipart/form-data; boundary="), None);
        assert_eq!(found("application/x-www-form-urlencoded"), None);
    }

    #[test]
    fn what_is_cut_off_is_no_form() {
        for length in 0..FORM.len() - 4 {
            assert_eq!(fields(&FORM[..length], "x"), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _first = first(&bytes, "x");
            let mut form = FORM.to_vec();
            form.splice(20..30, bytes);
            let _fields = fields(&form, "x");
        }
    }
}
