//! Nothing acknowledged is lost: the server is killed at random moments, again and again, on the
//! same folder, while clients record, old traces are swept away and the files are compacted.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use ratchet_testkit::http::{self, Client, Request};
use ratchet_testkit::process::{PUBLIC_KEY, Ratchet, SECRET_KEY};
use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::{otlp, say, soak, wait};

use crate::doctor::assert_sound;
use crate::server;

/// Kills in `make test` and in `make soak`.
const KILLS: (u64, u64) = (25, 200);
const CLIENTS: u64 = 4;
/// Kills while a new folder is being made.
const BIRTHS: u64 = 15;

/// One request: a trace with some spans, all of which must be there or none.
#[derive(Clone, Debug)]
struct Sent {
    trace: u128,
    spans: u64,
    words: String,
}

impl Sent {
    /// A trace with a number of its own, and a random number of spans.
    fn new(round: u64, client: u64, number: u64, chance: &mut SeededRandom) -> Self {
        let trace = u128::from(round) << 64 | u128::from(client) << 32 | u128::from(number);
        let spans = [1, 3, 10, 60][chance.below(4)];
        let words = format!("w{:x} ", chance.number()).repeat(1 + chance.below(30));
        Self { trace: trace | 1 << 100, spans, words }
    }

    fn request(&self, days_ago: i64) -> Request {
        let begin = -days_ago * 24 * 3_600_000;
        let span = |number: u64| {
            let span = otlp::span(self.trace, number).lasting(begin, begin + 10);
            let span = span.saying("langfuse.observation.input", self.words.as_str());
            if number > 1 { span.under(1) } else { span }
        };
        let output = otlp::request("crash").with_all((1..=self.spans).map(span));
        http::post("/v1/traces").protobuf(output.to_protobuf())
    }

    /// How many spans of it the server has; the words of each must be whole.
    fn count(&self, client: &mut Client) -> u64 {
        let target = format!("/api/public/traces/{}", otlp::trace_id(self.trace));
        let answer = client.send(&with_key(http::get(&target))).unwrap();
        if answer.status == 404 {
            return 0;
        }
        let trace = answer.json();
        let mut ids = Vec::new();
        for span in trace["observations"].as_array().unwrap() {
            assert_eq!(span["input"], self.words.as_str(), "a payload changed");
            ids.push(span["id"].as_str().unwrap().to_owned());
        }
        ids.sort();
        let expected: Vec<_> = (1..=self.spans).map(otlp::span_id).collect();
        assert_eq!(ids, expected, "trace {:x} is not what was sent", self.trace);
        self.spans
    }
}

fn with_key(request: Request) -> Request {
    request.with_key(PUBLIC_KEY, SECRET_KEY)
}

/// What one client sent before the server died.
#[derive(Debug, Default)]
struct Ledger {
    acknowledged: Vec<Sent>,
    unanswered: Vec<Sent>,
}

/// Records until the connection breaks.
fn record_until_killed(
    address: SocketAddr,
    round: u64,
    client: u64,
    mut chance: SeededRandom,
) -> Ledger {
    let mut ledger = Ledger::default();
    let Ok(mut connection) = Client::connect(address) else { return ledger };
    for number in 0.. {
        let sent = Sent::new(round, client, number, &mut chance);
        match connection.send(&with_key(sent.request(0))) {
            Ok(answer) if answer.status == 200 => ledger.acknowledged.push(sent),
            Ok(answer) => panic!("{}: {}", answer.status, answer.text()),
            Err(_) => {
                ledger.unanswered.push(sent);
                break;
            }
        }
    }
    ledger
}

/// Sends a request again and again until the connection breaks.
fn repeat_until_killed(address: SocketAddr, request: &mut dyn FnMut() -> Request) {
    let Ok(mut connection) = Client::connect(address) else { return };
    while let Ok(answer) = connection.send(&request()) {
        assert!(answer.status < 300, "{}: {}", answer.status, answer.text());
    }
}

/// A project that keeps things for a day, and a key for it. Whatever it gets is older.
fn forgetful_project(running: &Ratchet) -> (String, String) {
    let body = r#"{"name":"forgetful","id":"forgetful","retentionDays":1}"#;
    let made = running.send(http::post("/api/v1/projects").json(body));
    assert_eq!(made.status, 201, "{}", made.text());
    let made =
        running.send(http::post("/api/v1/projects/forgetful/keys").json(r#"{"role":"member"}"#));
    let key = made.json();
    let half = |name: &str| key[name].as_str().unwrap().to_owned();
    (half("publicKey"), half("secretKey"))
}

/// Lets clients record, old traces pile up and the files be compacted, then kills the server at a
/// random moment. Returns what the clients know.
fn round(
    running: Ratchet,
    round: u64,
    chance: &mut SeededRandom,
    old: &(String, String),
) -> Ledger {
    let address = running.address();
    let delay = chance.wait(Duration::from_millis(250));
    let mut seeds = || SeededRandom::new(chance.number());
    let (seeds, mut old_seed) = ((0..CLIENTS).map(|_| seeds()).collect::<Vec<_>>(), seeds());
    thread::scope(|scope| {
        let clients: Vec<_> = (0..)
            .zip(seeds)
            .map(|(client, seed)| {
                scope.spawn(move || record_until_killed(address, round, client, seed))
            })
            .collect();
        scope.spawn(move || {
            let mut number = 0;
            repeat_until_killed(address, &mut || {
                number += 1;
                let sent = Sent::new(round, CLIENTS, number, &mut old_seed);
                sent.request(900).with_key(&old.0, &old.1)
            });
        });
        if round.is_multiple_of(3) {
            scope.spawn(move || {
                repeat_until_killed(address, &mut || with_key(http::post("/api/v1/compact")));
            });
        }
        // The random moment itself; nothing is waited for.
        thread::park_timeout(delay);
        running.kill_hard();
        let mut all = Ledger::default();
        for ledger in clients.into_iter().map(|client| client.join().unwrap()) {
            all.acknowledged.extend(ledger.acknowledged);
            all.unanswered.extend(ledger.unanswered);
        }
        all
    })
}

/// Every acknowledged trace is there exactly once, every other one whole or not at all. Then the
/// clients send again what was not answered, as exporters do.
fn check(running: &Ratchet, ledger: &Ledger) {
    let mut client = Client::connect(running.address()).unwrap();
    for sent in &ledger.acknowledged {
        assert_eq!(sent.count(&mut client), sent.spans, "acknowledged and lost: {:x}", sent.trace);
    }
    for sent in &ledger.unanswered {
        sent.count(&mut client);
        let answer = client.send(&with_key(sent.request(0))).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(sent.count(&mut client), sent.spans);
    }
}

/// How many observations a key can see.
fn total(running: &Ratchet, (public, secret): (&str, &str)) -> u64 {
    let request = http::get("/api/public/observations?limit=1").with_key(public, secret);
    let answer = http::send(running.address(), &request).unwrap();
    answer.json()["meta"]["totalItems"].as_u64().unwrap()
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let mut chance = SeededRandom::from_environment("crash");
    let data = tempfile::tempdir().unwrap();
    let mut running = server(data.path()).start();
    let old = forgetful_project(&running);
    let mut spans = 0;
    let mut acknowledged = 0;
    let kills = soak::scaled(KILLS.0, KILLS.1);
    for number in 1..=kills {
        let ledger = round(running, number, &mut chance, &old);
        running = server(data.path()).start();
        check(&running, &ledger);
        let sent = ledger.acknowledged.iter().chain(&ledger.unanswered);
        spans += sent.map(|sent| sent.spans).sum::<u64>();
        acknowledged += ledger.acknowledged.len();
        if number % 10 == 0 {
            assert_sound(data.path());
        }
    }
    assert_eq!(total(&running, (PUBLIC_KEY, SECRET_KEY)), spans, "lost or doubled");
    // Without a kill, a sweep finishes.
    let running = restarted(running, data.path());
    wait::until("old traces are swept", || total(&running, (&old.0, &old.1)) == 0);
    assert_eq!(total(&running, (PUBLIC_KEY, SECRET_KEY)), spans, "a sweep took too much");
    say(&format!(
        "crash: {kills} kills, {acknowledged} acknowledged requests, {spans} spans, none lost"
    ));
}

/// How many observations the hourly sums know of.
fn summed(running: &Ratchet) -> u64 {
    let query = "%7B%22view%22%3A%22observations%22%2C%22metrics%22%3A%5B%7B%22measure%22%3A%22\
                 count%22%2C%22aggregation%22%3A%22count%22%7D%5D%2C%22fromTimestamp%22%3A%22\
                 2000-01-01T00%3A00%3A00Z%22%2C%22toTimestamp%22%3A%222100-01-01T00%3A00%3A00Z%22%7D";
    let answer = running.send(http::get(&format!("/api/public/v2/metrics?query={query}")));
    let answer = answer.json();
    assert_eq!(answer["meta"]["source"], "rollup");
    answer["data"][0]["count_count"].as_u64().unwrap_or(0)
}

#[test]
fn traces_that_were_being_deleted_when_the_server_was_killed_are_whole_or_gone() {
    let mut chance = SeededRandom::from_environment("crash while deleting");
    let data = tempfile::tempdir().unwrap();
    let mut running = server(data.path()).start();
    // Several slices of them.
    let large = |number| Sent { spans: 80, ..Sent::new(0, 0, number, &mut chance) };
    let sent: Vec<_> = (0..80).map(large).collect();
    let ids: Vec<_> =
        sent.iter().map(|sent| format!("\"{}\"", otlp::trace_id(sent.trace))).collect();
    let body = format!("{{\"traceIds\": [{}]}}", ids.join(", "));
    let mut cut_short = 0;
    for _ in 0..8 {
        for sent in &sent {
            assert_eq!(running.send(sent.request(0)).status, 200);
        }
        let (address, body) = (running.address(), body.clone());
        let delay = chance.wait(Duration::from_millis(200));
        thread::scope(|scope| {
            scope.spawn(move || {
                let request = with_key(http::request("DELETE", "/api/public/traces").json(body));
                // A killed server sends no response.
                drop(http::send(address, &request));
            });
            thread::park_timeout(delay);
            running.kill_hard();
        });
        running = server(data.path()).start();
        let mut client = Client::connect(running.address()).unwrap();
        let left: u64 = sent.iter().map(|sent| sent.count(&mut client)).sum();
        assert_eq!(total(&running, (PUBLIC_KEY, SECRET_KEY)), left);
        assert_eq!(summed(&running), left, "the hourly sums follow");
        cut_short += u32::from(left > 0);
        assert_sound(data.path());
    }
    say(&format!("crash: 8 kills while deleting, {cut_short} before the end"));
}

fn restarted(running: Ratchet, data: &Path) -> Ratchet {
    running.kill_hard();
    server(data).start()
}

#[test]
fn a_folder_that_was_being_made_when_the_server_was_killed_is_made_again() {
    let mut chance = SeededRandom::from_environment("crash at birth");
    let data = tempfile::tempdir().unwrap();
    for birth in 0..BIRTHS {
        let folder = data.path().join(birth.to_string());
        let (mut command, _home) = server(&folder).into_parts();
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        thread::park_timeout(chance.wait(Duration::from_millis(120)));
        child.kill().unwrap();
        child.wait().unwrap();
        let running = server(&folder).start();
        let sent = Sent::new(birth, 0, 0, &mut chance);
        assert_eq!(running.send(sent.request(0)).status, 200);
        let running = restarted(running, &folder);
        let mut client = Client::connect(running.address()).unwrap();
        assert_eq!(sent.count(&mut client), sent.spans);
        assert_sound(&folder);
    }
}
