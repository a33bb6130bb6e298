//! As much of HTTP/1.1 as clients of models need: one request a connection.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// No client of ours pauses this long in the middle of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request.
#[derive(Debug)]
pub(super) struct Asked {
    /// Without the query.
    pub(super) path: String,
    /// The body as JSON; null when it is none.
    pub(super) body: Value,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Said {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Said {
    /// One JSON document.
    pub(super) fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status, headers, body: body.to_string() }
    }

    /// A stream of events, each with or without a name.
    pub(super) fn events<'a>(events: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let mut body = String::new();
        for (name, data) in events {
            if !name.is_empty() {
                writeln!(body, "event: {name}").unwrap();
            }
            write!(body, "data: {data}\n\n").unwrap();
        }
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        Self { status: 200, headers, body }
    }

    /// With a header more.
    pub(super) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// Answers the one request of a connection; whatever breaks ends it.
pub(super) fn serve(stream: &TcpStream, answer: impl FnOnce(&Asked) -> Said) {
    if let Ok(asked) = read(stream) {
        drop(write(stream, &answer(&asked)));
    }
}

fn read(stream: &TcpStream) -> io::Result<Asked> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => is_chunked = value.contains("chunked"),
            "expect" => (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let body = if is_chunked { chunks(&mut reader)? } else { exactly(&mut reader, length)? };
    Ok(Asked { path, body: serde_json::from_slice(&body).unwrap_or_default() })
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

fn write(mut stream: &TcpStream, said: &Said) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", said.status);
    for (name, value) in &said.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", said.body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(said.body.as_bytes())?;
    stream.flush()
}
