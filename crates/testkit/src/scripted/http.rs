//! A minimal HTTP/1.1 server for clients of models: one request per connection.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Read timeout within a request, and of a client that never disconnects from a silent response.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The raw query string.
    pub query: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Null when it is not JSON.
    pub body: Value,
    /// Whether it is a model request.
    pub is_question: bool,
}

#[derive(Debug)]
pub(super) struct ScriptedResponse {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    end: End,
}

#[derive(Debug)]
enum End {
    Whole,
    Cut,
    /// In the middle, with the connection left open.
    Stalled,
    /// Before the start of the response.
    Silence,
    /// When the client disconnects.
    Never,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a parameter of the query.
    pub(super) fn query(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }
}

impl ScriptedResponse {
    /// One JSON document.
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, ..Self::bytes("application/json", body.to_string().into_bytes()) }
    }

    /// An error, in the form that most providers use.
    pub(super) fn failure(status: u16, words: &str) -> Self {
        let (kind, code) = match status {
            401 => ("authentication_error", "AccessDeniedException"),
            404 => ("not_found_error", "ResourceNotFoundException"),
            429 => ("rate_limit_error", "ThrottlingException"),
            503 => ("overloaded_error", "ServiceUnavailableException"),
            529 => ("overloaded_error", "ModelNotReadyException"),
            500.. => ("api_error", "InternalServerException"),
            _ => ("invalid_request_error", "ValidationException"),
        };
        let words = if words.is_empty() { "scripted to fail" } else { words };
        let error = json!({"type": kind, "message": words});
        let body = json!({"type": "error", "error": error, "message": words});
        Self::json(status, &body).with("x-amzn-errortype", code.to_owned())
    }

    /// JSON lines.
    pub(super) fn lines(lines: &[Value]) -> Self {
        let lines: Vec<u8> =
            lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        Self::bytes("application/x-jsonl", lines)
    }

    /// Bytes of some type.
    pub(super) fn bytes(kind: &str, body: Vec<u8>) -> Self {
        let headers = vec![("content-type", kind.to_owned())];
        Self { status: 200, headers, body, end: End::Whole }
    }

    /// An SSE stream, each event with or without a name.
    pub(super) fn events<'a>(events: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let mut body = String::new();
        for (name, data) in events {
            if !name.is_empty() {
                writeln!(body, "event: {name}").unwrap();
            }
            write!(body, "data: {data}\n\n").unwrap();
        }
        Self::bytes("text/event-stream", body.into_bytes())
    }

    /// No response; the connection stays open until the client disconnects.
    pub(super) fn silence() -> Self {
        Self { end: End::Silence, ..Self::bytes("text/plain", Vec::new()) }
    }

    /// A response without an end.
    pub(super) fn endless() -> Self {
        Self { end: End::Never, ..Self::bytes("application/json", Vec::new()) }
    }

    /// The first half of it, then the connection breaks.
    pub(super) fn cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    /// The first half of it, then nothing more.
    pub(super) fn stalled(self) -> Self {
        Self { end: End::Stalled, ..self }
    }

    /// With the second half corrupted.
    pub(super) fn malformed(mut self) -> Self {
        let half = self.body.len() / 2;
        self.body.truncate(half);
        self.body.extend(b"<!-- \xff oops\n\ndata: {oops\n\n");
        self
    }

    pub(super) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The status, and the body as JSON.
    pub(super) fn into_json(self) -> (u16, Value) {
        (self.status, serde_json::from_slice(&self.body).unwrap_or_default())
    }
}

/// Answers the one request of a connection; any error ends it.
pub(super) fn serve(stream: &TcpStream, answer: impl FnOnce(&Asked) -> ScriptedResponse) {
    if let Ok(asked) = read(stream) {
        drop(write(stream, &answer(&asked)));
    }
}

fn read(stream: &TcpStream) -> io::Result<Asked> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut asked = Asked { method, path, query, headers, body: Value::Null, is_question: false };
    if asked.header("expect").is_some() {
        (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let is_chunked =
        asked.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"));
    let length = asked.header("content-length").and_then(|length| length.parse().ok());
    let body = match is_chunked {
        true => chunks(&mut reader)?,
        false => exactly(&mut reader, length.unwrap_or(0))?,
    };
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(asked)
}

fn exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
        body.extend(exactly(reader, size)?);
        // Each chunk, the empty last one too, ends with a line break.
        exactly(reader, 2)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn write(mut stream: &TcpStream, said: &ScriptedResponse) -> io::Result<()> {
    if matches!(said.end, End::Silence) {
        // Ends when the client disconnects, or on timeout.
        let left = stream.read(&mut [0]);
        return left.map(drop);
    }
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", said.status);
    for (name, value) in &said.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if matches!(said.end, End::Never) {
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        loop {
            stream.write_all(&[b' '; 64 * 1024])?;
        }
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", said.body.len()));
    let sent = match said.end {
        End::Cut | End::Stalled => &said.body[..said.body.len() / 2],
        End::Whole | End::Silence | End::Never => said.body.as_slice(),
    };
    stream.write_all(head.as_bytes())?;
    stream.write_all(sent)?;
    stream.flush()?;
    if matches!(said.end, End::Stalled) {
        // Ends when the client disconnects, or on timeout.
        let left = stream.read(&mut [0]);
        return left.map(drop);
    }
    Ok(())
}
