//! Counts of a JUnit XML report. Only elements are counted; texts, comments and declarations are
//! skipped, and entities are never resolved.

use thiserror::Error;

/// The largest report, in bytes.
pub const MAX_REPORT_BYTES: usize = 16 << 20;

/// Counts of test cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    pub tests: u32,
    pub failed: u32,
    pub skipped: u32,
}

/// Why a report could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum JunitError {
    #[error("junit: larger than 16 MB")]
    TooLarge,
    #[error("junit: not a JUnit XML report; it has no <testsuite> or <testsuites>")]
    NotJunit,
    #[error("junit: the XML ends in the middle of an element")]
    CutOff,
}

/// Counts the test cases of a report. A case with a failure or an error failed.
///
/// # Errors
/// It is too large, no JUnit report, or cut off.
pub fn count(report: &str) -> Result<TestCounts, JunitError> {
    if report.len() > MAX_REPORT_BYTES {
        return Err(JunitError::TooLarge);
    }
    let mut counts = TestCounts::default();
    let (mut is_junit, mut depth, mut case) = (false, 0_usize, None);
    let mut rest = report;
    while let Some((_, at)) = rest.split_once('<') {
        let (tag, behind) = element(at)?;
        rest = behind;
        let Some(tag) = tag else { continue };
        let name = tag.name;
        is_junit |= matches!(name, "testsuite" | "testsuites");
        match (name, tag.kind) {
            ("testcase", TagKind::Open) => case = Some((false, false)),
            ("testcase", TagKind::Empty) => counts.add((false, false)),
            ("testcase", TagKind::Close) => counts.add(case.take().unwrap_or_default()),
            ("failure" | "error", TagKind::Open | TagKind::Empty) => {
                case = case.map(|(_, skipped)| (true, skipped));
            }
            ("skipped", TagKind::Open | TagKind::Empty) => {
                case = case.map(|(failed, _)| (failed, true));
            }
            _ => {}
        }
        match tag.kind {
            TagKind::Open => depth += 1,
            TagKind::Close => depth = depth.saturating_sub(1),
            TagKind::Empty => {}
        }
    }
    if !is_junit {
        return Err(JunitError::NotJunit);
    }
    if depth > 0 || case.is_some() {
        return Err(JunitError::CutOff);
    }
    Ok(counts)
}

impl TestCounts {
    fn add(&mut self, (failed, skipped): (bool, bool)) {
        self.tests = self.tests.saturating_add(1);
        self.failed = self.failed.saturating_add(u32::from(failed));
        self.skipped = self.skipped.saturating_add(u32::from(skipped && !failed));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TagKind {
    Open,
    Close,
    Empty,
}

struct Tag<'a> {
    name: &'a str,
    kind: TagKind,
}

/// Reads what follows a `<`; `None` for comments, texts and declarations.
fn element(at: &str) -> Result<(Option<Tag<'_>>, &str), JunitError> {
    for (start, end) in [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>")] {
        if let Some(inside) = at.strip_prefix(start) {
            let (_, rest) = inside.split_once(end).ok_or(JunitError::CutOff)?;
            return Ok((None, rest));
        }
    }
    let mut quote = None;
    let end = at.char_indices().find_map(|(index, letter)| match quote {
        Some(open) => {
            if letter == open {
                quote = None;
            }
            None
        }
        None if matches!(letter, '"' | '\'') => {
            quote = Some(letter);
            None
        }
        None => (letter == '>').then_some(index),
    });
    let (inside, rest) = at.split_at_checked(end.ok_or(JunitError::CutOff)?).unwrap_or((at, ""));
    let rest = rest.strip_prefix('>').unwrap_or(rest);
    if inside.starts_with('!') {
        return Ok((None, rest));
    }
    let kind = if inside.starts_with('/') {
        TagKind::Close
    } else if inside.ends_with('/') {
        TagKind::Empty
    } else {
        TagKind::Open
    };
    let name = inside.trim_matches('/').split_whitespace().next().unwrap_or_default();
    // Some tools write namespaces.
    let name = name.rsplit(':').next().unwrap_or(name);
    Ok((Some(Tag { name, kind }), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_by_their_result() {
        let report = r#"<?xml version="1.0"?><testsuites><!-- <testcase/> -->
            <testsuite name="a > b" tests="4">
            <testcase name="one"/><testcase name="two"><failure message="x">no</failure></testcase>
            <testcase name="three"><skipped/></testcase>
            <testcase name="four"><system-out><![CDATA[<failure/>]]></system-out></testcase>
            <testcase name="five"><error/></testcase></testsuite></testsuites>"#;
        assert_eq!(count(report), Ok(TestCounts { tests: 5, failed: 2, skipped: 1 }));
    }

    #[test]
    fn what_is_not_a_whole_report_is_refused() {
        assert_eq!(count("hello"), Err(JunitError::NotJunit));
        assert_eq!(count("<html></html>"), Err(JunitError::NotJunit));
        for cut in ["<testsuite><testcase>", "<testsuite", "<testsuite><!-- x", "<testsuite a='>"] {
            assert_eq!(count(cut), Err(JunitError::CutOff), "{cut}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[<>/!?\\-\\[\\]a-z'\" ]{0,80}") {
            if let Ok(counts) = count(&text) {
                proptest::prop_assert!(counts.failed + counts.skipped <= counts.tests);
            }
        }
    }
}
