//! Times as a viewer reads them: in the time zone of their browser.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use ratchet_core::calendar::Zone;
use ratchet_core::time::Timestamp;

/// Longest name of a time zone that is looked up.
const MAX_NAME: usize = 64;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time of a request, and the zone in which times are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewerTime {
    pub now: Timestamp,
    zone: Zone,
}

impl ViewerTime {
    /// The zone of the cookie that a script sets; UTC until then.
    pub fn of(headers: &HeaderMap, now: Timestamp) -> Self {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
        let name = pairs.find_map(|pair| pair.trim().strip_prefix("zone="));
        let name = name.filter(|name| name.len() <= MAX_NAME && name.chars().all(is_of_name));
        name.map_or_else(|| Self::utc(now), |name| Self::in_zone(name, now))
    }

    /// A zone by name; UTC if there is none of that name.
    pub fn in_zone(name: &str, now: Timestamp) -> Self {
        Self { now, zone: Zone::parse(name).unwrap_or_else(|_| Zone::utc()) }
    }

    pub fn utc(now: Timestamp) -> Self {
        Self { now, zone: Zone::utc() }
    }

    /// The same zone at another time.
    pub fn at(&self, now: Timestamp) -> Self {
        Self { now, zone: self.zone.clone() }
    }

    /// Name of the zone, such as `Europe/Berlin`.
    pub fn zone_name(&self) -> &str {
        self.zone.name()
    }

    /// The zone where there is little room: `Berlin`.
    pub fn zone_short(&self) -> String {
        let name = self.zone_name();
        name.rsplit('/').next().unwrap_or(name).replace('_', " ")
    }

    /// A moment: `15 Nov 10:33:17`, or `15 Nov 2025 10:33:17` in another year.
    pub fn short(&self, at: Timestamp) -> String {
        let Some(local) = self.zone.civil(at) else { return at.to_string() };
        let month = usize::try_from(local.month() - 1).ok().and_then(|month| MONTHS.get(month));
        let (day, month) = (local.day(), month.unwrap_or(&""));
        let time = format!("{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second());
        let today = self.zone.civil(self.now);
        if today.is_some_and(|today| today.year() == local.year()) {
            format!("{day} {month} {time}")
        } else {
            format!("{day} {month} {} {time}", local.year())
        }
    }

    /// The value of a form field for a local time, to the minute.
    pub fn form_minute(&self, at: Timestamp) -> String {
        let local = self.zone.civil(at).map(|local| local.to_string()).unwrap_or_default();
        local.chars().take(16).collect()
    }

    /// Parses the value of a form field: a local time, or one with an offset.
    pub fn parse(&self, text: &str) -> Option<Timestamp> {
        let clock = text.split_once('T').map_or("", |(_, clock)| clock);
        let has_offset = clock.contains(['Z', '+', '-']);
        if has_offset { Timestamp::parse(text).ok() } else { self.zone.moment(text.parse().ok()?) }
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/_+-".contains(letter)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn time(cookie: &'static str) -> ViewerTime {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_static(cookie));
        ViewerTime::of(&headers, Timestamp::parse("2026-11-15T12:00:00Z").unwrap())
    }

    #[test]
    fn times_are_shown_in_the_zone_of_the_cookie_and_in_utc_without_one() {
        let at = Timestamp::parse("2026-11-05T23:33:17.123Z").unwrap();
        let shown = |cookie| (time(cookie).zone_name().to_owned(), time(cookie).short(at));
        let of = |zone: &str, text: &str| (zone.to_owned(), text.to_owned());
        assert_eq!(shown("theme=dark; zone=Europe/Berlin"), of("Europe/Berlin", "6 Nov 00:33:17"));
        assert_eq!(shown("zone=Asia/Kolkata"), of("Asia/Kolkata", "6 Nov 05:03:17"));
        for odd in ["", "zone=", "zone=Nowhere/At_all", "zone=../../etc/passwd", "zone=\"><b>"] {
            assert_eq!(shown(odd), of("UTC", "5 Nov 23:33:17"), "{odd}");
        }
    }

    #[test]
    fn the_year_is_shown_where_it_is_another_for_the_viewer() {
        let at = Timestamp::parse("2025-12-31T23:30:00Z").unwrap();
        assert_eq!(time("zone=Europe/Berlin").short(at), "1 Jan 00:30:00");
        assert_eq!(time("zone=UTC").short(at), "31 Dec 2025 23:30:00");
    }

    #[test]
    fn form_fields_are_local_times() {
        let (time, at) =
            (time("zone=Europe/Berlin"), Timestamp::parse("2026-07-01T10:05:00Z").unwrap());
        assert_eq!(time.form_minute(at), "2026-07-01T12:05");
        assert_eq!(time.parse("2026-07-01T12:05"), Some(at));
        assert_eq!(time.parse("2026-07-01T10:05:00Z"), Some(at));
        assert_eq!(time.parse("yesterday"), None);
    }
}
