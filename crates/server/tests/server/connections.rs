use std::io;
use std::time::Duration;

use ratchet_server::app::{Limits, Settings, Timeouts};
use ratchet_store::catalog::Role;
use ratchet_testkit::otlp::{request, span};
use ratchet_testkit::wait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::grpc::export;
use crate::harness::{TestServer, basic};

/// Long enough for a busy machine to get a request through, short enough to wait for.
const SHORT: Duration = Duration::from_millis(300);

/// More than any test takes.
const LONG: Duration = Duration::from_secs(600);

async fn impatient() -> TestServer {
    let timeouts = Timeouts { headers: SHORT, body_gap: SHORT, ..Timeouts::default() };
    TestServer::start_with(Settings { timeouts, ..Settings::default() }).await
}

fn head(length: usize) -> String {
    format!(
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
        basic(Role::Member)
    )
}

#[tokio::test]
async fn a_body_that_stops_coming_is_told_so() {
    let server = impatient().await;
    let reply = server.raw(format!("{}{{", head(100)).as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    assert!(reply.contains("the body stopped after 1 bytes"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn a_body_has_a_deadline_even_if_pieces_keep_coming() {
    let timeouts = Timeouts { body: SHORT, ..Timeouts::default() };
    let server = TestServer::start_with(Settings { timeouts, ..Settings::default() }).await;
    let mut stream = TcpStream::connect(server.web).await.unwrap();
    stream.write_all(head(1_000_000).as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.split();
    let mut reply = Vec::new();
    let drip = async {
        let mut pace = tokio::time::interval(SHORT / 10);
        loop {
            pace.tick().await;
            if to.write_all(b" ").await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        read = wait::with_timeout("a response", from.read_to_end(&mut reply)) => drop(read),
        () = drip => {}
    }
    let reply = String::from_utf8(reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn silent_and_half_open_connections_are_closed() {
    let timeouts = Timeouts { first_request: SHORT, headers: LONG, ..Timeouts::default() };
    let server = TestServer::start_with(Settings { timeouts, ..Settings::default() }).await;
    // Nothing at all, half of the headers, and half of the HTTP/2 preface.
    for sent in ["", "POST /v1/traces HTTP/1.1\r\nhost:", "PRI * HTT"] {
        let reply = server.raw(sent.as_bytes()).await;
        assert!(!reply.contains("200"), "{sent:?}: {reply}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_answer() {
    let server = impatient().await;
    let reply = server.raw(b"GET /api/public/health HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    server.stop().await;
}

#[tokio::test]
async fn beyond_the_cap_clients_wait_for_their_turn() {
    let server = limited(Limits { connections: 1, ..Limits::default() }, PROXIES).await;
    let mut first = TcpStream::connect(server.web).await.unwrap();
    first.write_all(format!("{}{{", head(100)).as_bytes()).await.unwrap();
    reach_handler(&server).await;
    let mut second = Box::pin(server.raw(HEALTH));
    let early = tokio::time::timeout(SHORT, second.as_mut()).await;
    assert!(early.is_err(), "served beyond the cap: {early:?}");
    drop(first);
    assert!(second.await.starts_with("HTTP/1.1 200"));
    server.stop().await;
}

const HEALTH: &[u8] = b"GET /api/public/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
/// Loopback as a trusted proxy.
const PROXIES: &str = "127.0.0.0/8";
const NO_PROXIES: &str = "";

async fn limited(limits: Limits, proxies: &str) -> TestServer {
    let timeouts = Timeouts { first_request: LONG, headers: LONG, ..Timeouts::default() };
    let trusted_proxies = proxies.parse().unwrap();
    let settings = Settings { limits, timeouts, trusted_proxies, ..Settings::default() };
    TestServer::start_with(settings).await
}

/// Connects from a given local address, and sends the start of a request.
async fn connect_from(server: &TestServer, address: &str, sent: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    let mut stream = socket.connect(server.web).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn idle_connections_make_room_for_recording() {
    let server = limited(Limits { connections: 4, ..Limits::default() }, PROXIES).await;
    let mut idle = Vec::new();
    // Nothing at all, half of the headers, and a keep-alive connection after its response.
    for sent in ["", "POST /v1/traces HTTP/1.1\r\nhost:", "GET / HTTP/1.1\r\nhost: x\r\n\r\n"] {
        for _ in 0..10 {
            idle.push(connect_from(&server, "127.0.0.1", sent).await);
        }
    }
    for number in 1..=3 {
        let body = request("shop").with(span(number, 1)).to_json();
        server.post("/v1/traces").json(body).send().await.check(200, "");
        assert!(server.trace(number).await.is_some());
    }
    let mut closed = Vec::new();
    let mut oldest = idle.swap_remove(0);
    drop(wait::with_timeout("the end of a connection", oldest.read_to_end(&mut closed)).await);
    assert!(closed.is_empty(), "the oldest was closed without a word");
    server.stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_address_does_not_take_all_connections() {
    let limits = Limits { connections: 100, connections_each: 3, ..Limits::default() };
    let server = limited(limits, NO_PROXIES).await;
    let half = format!("{}{{", head(100));
    let mut busy = Vec::new();
    for count in 1..=3 {
        busy.push(connect_from(&server, "127.0.0.2", &half).await);
        wait::until_async("all bodies are being read", async || {
            server.app.bodies_in_flight() >= count
        })
        .await;
    }
    let refused = connect_from(&server, "127.0.0.2", "").await;
    let reply = whole(refused).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
    assert!(reply.contains("too many connections from your address"), "{reply}");
    assert!(server.raw(HEALTH).await.starts_with("HTTP/1.1 200"), "others are served");
    drop(busy.pop());
    let health = std::str::from_utf8(HEALTH).unwrap();
    wait::until_async("the address is served again", async || {
        let again = connect_from(&server, "127.0.0.2", health).await;
        // The error response may be cut off by unread bytes.
        whole(again).await.is_ok_and(|reply| reply.starts_with("HTTP/1.1 200"))
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn content_is_what_it_says_it_is_in_every_answer() {
    let server = TestServer::start().await;
    let paths = [
        ("/api/public/health", 200),
        ("/api/public/traces", 200),
        ("/feedback.js", 200),
        ("/api/public/media/none", 404),
        ("/api/nowhere", 404),
        ("/nowhere", 404),
        ("/v1/traces", 405),
        ("/metrics", 200),
        ("/panic", 500),
    ];
    for (path, status) in paths {
        let reply = server.get(path).send().await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.status.as_u16(), status, "{path}");
    }
    let strange = server.post("/api/public/ingestion").json("{".to_owned()).send().await;
    assert_eq!(strange.header("x-content-type-options"), "nosniff");
    let batch = request("shop").with(span(1, 1));
    let reply = export(&server, Some(Role::Member), batch).await.unwrap();
    assert_eq!(reply.metadata().get("x-content-type-options").unwrap(), "nosniff");
    server.stop().await;
}

#[tokio::test]
async fn a_panic_is_answered_and_the_server_lives() {
    let server = TestServer::start().await;
    let reply = server.get("/panic").send().await;
    reply.check(500, "internal server error");
    assert!(!String::from_utf8_lossy(&reply.body).contains("on purpose"));
    server.get("/api/public/health").send().await.check(200, "OK");
    server.stop().await;
}

#[tokio::test]
async fn a_request_under_way_is_finished_when_the_server_stops() {
    let server = TestServer::start().await;
    let body = request("shop").with(span(1, 1)).to_json();
    let mut stream = TcpStream::connect(server.web).await.unwrap();
    let (first, second) = body.split_at(10);
    stream.write_all(format!("{}{first}", head(body.len())).as_bytes()).await.unwrap();
    reach_handler(&server).await;
    server.begin_stop();
    wait::until_async("connections are refused", async || {
        TcpStream::connect(server.web).await.is_err()
    })
    .await;
    stream.write_all(second.as_bytes()).await.unwrap();
    let reply = whole(stream).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(server.trace(1).await.is_some());
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_never_ends_is_cut_at_the_deadline() {
    let timeouts = Timeouts { drain: SHORT, ..Timeouts::default() };
    let server = TestServer::start_with(Settings { timeouts, ..Settings::default() }).await;
    let mut stream = TcpStream::connect(server.web).await.unwrap();
    stream.write_all(format!("{}{{", head(100)).as_bytes()).await.unwrap();
    reach_handler(&server).await;
    server.stop().await;
    let mut reply = String::new();
    drop(wait::with_timeout("the connection's end", stream.read_to_string(&mut reply)).await);
    assert_eq!(reply, "");
}

/// Waits until the server has started to read a body.
async fn reach_handler(server: &TestServer) {
    wait::until_async("a body is being read", async || server.app.bodies_in_flight() > 0).await;
}

/// Everything until the server closes the connection.
async fn whole(mut stream: TcpStream) -> io::Result<String> {
    let mut reply = String::new();
    wait::with_timeout("the whole response", stream.read_to_string(&mut reply)).await?;
    Ok(reply)
}
