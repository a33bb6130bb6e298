use proptest::prelude::*;

use super::*;

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Checks the runs after a timestamp, in local time.
#[track_caller]
fn check(cron: &str, zone: &str, after: &str, expected: &[&str]) {
    let (cron, zone) = (Cron::parse(cron).unwrap(), Zone::parse(zone).unwrap());
    let runs = std::iter::successors(cron.next(time(after), &zone), |run| cron.next(*run, &zone));
    let runs: Vec<String> = runs.take(expected.len()).map(|run| run.to_string()).collect();
    assert_eq!(runs, expected);
}

#[test]
fn sundays_at_two() {
    let after = "2026-11-15T02:00:00Z";
    check("0 2 * * SUN", "UTC", after, &["2026-11-22T02:00:00.000Z", "2026-11-29T02:00:00.000Z"]);
    check("0 2 * * 7", "UTC", after, &["2026-11-22T02:00:00.000Z"]);
    check("@weekly", "UTC", after, &["2026-11-22T00:00:00.000Z"]);
}

#[test]
fn lists_ranges_and_steps() {
    let after = "2026-11-13T16:50:00Z";
    check(
        "0,30 9-17/4 * * mon-fri",
        "UTC",
        after,
        &["2026-11-13T17:00:00.000Z", "2026-11-13T17:30:00.000Z", "2026-11-16T09:00:00.000Z"],
    );
    check("*/20 * * * *", "UTC", after, &["2026-11-13T17:00:00.000Z", "2026-11-13T17:20:00.000Z"]);
    check("50/5 * * * *", "UTC", after, &["2026-11-13T16:55:00.000Z", "2026-11-13T17:50:00.000Z"]);
}

#[test]
fn either_day_is_enough_where_both_are_restricted() {
    let after = "2026-11-10T00:00:00Z";
    check("0 0 13 * FRI", "UTC", after, &["2026-11-13T00:00:00.000Z", "2026-11-20T00:00:00.000Z"]);
    check("0 0 */40 * FRI", "UTC", after, &["2027-01-01T00:00:00.000Z"]);
}

#[test]
fn leap_days_are_found_across_a_century() {
    check("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", &["2104-02-29T00:00:00.000Z"]);
}

#[test]
fn an_hour_that_does_not_exist_runs_once_at_the_jump() {
    let before = "2026-03-28T12:00:00Z";
    check(
        "15,45 2 * * *",
        "Europe/Berlin",
        before,
        &["2026-03-29T01:00:00.000Z", "2026-03-30T00:15:00.000Z"],
    );
    check(
        "30 2,3 * * *",
        "Europe/Berlin",
        before,
        &["2026-03-29T01:00:00.000Z", "2026-03-29T01:30:00.000Z"],
    );
}

#[test]
fn an_hour_that_comes_twice_runs_once() {
    check(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        &["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
    );
    // Within the repeated hour.
    check("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", &["2026-10-26T01:30:00.000Z"]);
}

#[test]
fn only_the_last_missed_run_is_due() {
    let (weekly, zone) = (Cron::parse("0 2 * * SUN").unwrap(), Zone::utc());
    let latest = |after, until| weekly.latest(time(after), time(until), &zone);
    let due = latest("2026-10-01T00:00:00Z", "2026-11-18T00:00:00Z");
    assert_eq!(due, Some(time("2026-11-15T02:00:00Z")));
    assert_eq!(latest("2026-11-15T02:00:00Z", "2026-11-18T00:00:00Z"), None);
    assert_eq!(latest("2026-11-15T01:59:59Z", "2026-11-15T02:00:00Z"), due);
}

#[track_caller]
fn refused(cron: &str, expected: &str) {
    assert_eq!(Cron::parse(cron).unwrap_err().to_string(), expected);
}

#[test]
fn errors_name_the_field() {
    refused("60 * * * *", "minute \"60\": must be from 0 to 59");
    refused("* 7-24 * * *", "hour \"7-24\": must be from 0 to 23");
    refused("* * 0 * *", "day of month \"0\": must be from 1 to 31");
    refused("* * * FOO *", "month \"FOO\": must be from 1 to 12 or a name from JAN to DEC");
    refused(
        "* * * * FRI-MON",
        "day of week \"FRI-MON\": a range goes from low to high; write FRI-MON as two",
    );
    refused("*/0 * * * *", "minute \"*/0\": a step is a number from 1 to 59, not \"0\"");
    refused("1,,2 * * * *", "minute \"\": must be from 0 to 59");
    refused("0 0 30 2 *", "day of month \"30\": none of the months has such a day");
    refused(
        "@often",
        "unknown schedule @often; there are @hourly, @daily, @weekly, @monthly and @yearly",
    );
    assert_eq!(Cron::parse("0 2 * *"), Err(CronError::Fields(4)));
}

fn field(low: u32, high: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        Just("*".to_owned()),
        (low..=high).prop_map(|number| number.to_string()),
        (low..=high, low..=high).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        (1..=high).prop_map(|step| format!("*/{step}")),
    ]
}

proptest! {
    /// Parsing never panics.
    #[test]
    fn any_text_is_an_expression_or_an_error(text in ".{0,40}") {
        if let Ok(cron) = Cron::parse(&text) {
            prop_assert!(cron.next(time("2026-01-01T00:00:00Z"), &Zone::utc()).is_some());
        }
    }

    /// The next run is the first matching minute, found minute by minute across transitions.
    #[test]
    fn the_next_run_is_the_first_that_fits(
        minute in field(0, 59),
        hour in field(0, 23),
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
        days in 0_i64..800,
        seconds in 0_i64..86_400,
    ) {
        let cron = Cron::parse(&format!("{minute} {hour} * * *")).unwrap();
        let zone = Zone::parse(zone).unwrap();
        let after = time("2026-01-01T00:00:00Z").plus_nanos(days * DAY + seconds * SECOND);
        let next = cron.next(after, &zone).unwrap();
        prop_assert!(next > after && next <= after.plus_nanos(2 * DAY));
        let civil = zone.civil(next).unwrap();
        let fits = |civil: DateTime| {
            cron.minutes.has(of(civil.minute())) && cron.hours.has(of(civil.hour()))
        };
        let is_jump = zone.civil(next.plus_nanos(-1)).unwrap().hour() != civil.hour()
            && civil.duration_since(zone.civil(next.plus_nanos(-SECOND)).unwrap()).as_secs() > 1;
        prop_assert!(fits(civil) || is_jump, "{civil} does not fit {cron}");
        // No earlier minute matches, repeated local times excepted.
        let first = after.nanos().div_euclid(60 * SECOND) + 1;
        for minute in first..next.nanos().div_euclid(60 * SECOND) {
            let moment = Timestamp::from_nanos(minute * 60 * SECOND);
            let civil = zone.civil(moment).unwrap();
            prop_assert!(!fits(civil) || zone.moment(civil) != Some(moment), "{civil} was missed");
        }
    }

    /// The last due run equals the last of all runs in sequence.
    #[test]
    fn what_is_due_is_the_last_of_the_runs(hour in field(0, 23), hours in 0_i64..200) {
        let (cron, zone) = (Cron::parse(&format!("7 {hour} * * *")).unwrap(), Zone::utc());
        let after = time("2026-03-28T12:00:00Z");
        let until = after.plus_nanos(hours * HOUR);
        let runs = std::iter::successors(cron.next(after, &zone), |run| cron.next(*run, &zone));
        let last = runs.take_while(|run| *run <= until).last();
        prop_assert_eq!(cron.latest(after, until, &zone), last);
    }
}
