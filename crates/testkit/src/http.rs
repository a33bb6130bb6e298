//! A minimal HTTP/1.1 client that sends exactly what it is given, valid or not.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::wait::TIMEOUT;

/// A request builder.
#[derive(Clone, Debug)]
#[must_use]
pub struct Request {
    method: String,
    target: String,
    host: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    is_chunked: bool,
}

/// A request without a body.
pub fn get(target: &str) -> Request {
    request("GET", target)
}

/// A request with a body, empty at first.
pub fn post(target: &str) -> Request {
    request("POST", target)
}

pub fn request(method: &str, target: &str) -> Request {
    Request {
        method: method.to_owned(),
        target: target.to_owned(),
        host: "test".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        is_chunked: false,
    }
}

/// The value of an Authorization header for a key pair.
pub fn basic(public: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{public}:{secret}")))
}

/// Gzips bytes.
pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

impl Request {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets another Host header.
    pub fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Adds the Authorization header of a key pair.
    pub fn with_key(self, public: &str, secret: &str) -> Self {
        self.header("Authorization", &basic(public, secret))
    }

    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.header("Content-Type", "application/json").body(body)
    }

    pub fn protobuf(self, body: impl Into<Vec<u8>>) -> Self {
        self.header("Content-Type", "application/x-protobuf").body(body)
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Compresses the body and sets its encoding.
    pub fn gzipped(mut self) -> Self {
        self.body = gzip(&self.body);
        self.header("Content-Encoding", "gzip")
    }

    /// Sends the body in chunks instead of a length.
    pub fn chunked(mut self) -> Self {
        self.is_chunked = true;
        self
    }

    /// The request as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { method, target, host, .. } = self;
        let mut bytes = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n");
        for (name, value) in &self.headers {
            bytes += &format!("{name}: {value}\r\n");
        }
        let says_length = self.headers.iter().any(|(name, _)| name == "Content-Length");
        if self.is_chunked {
            bytes += "Transfer-Encoding: chunked\r\n";
        } else if !says_length && (!self.body.is_empty() || self.method != "GET") {
            bytes += &format!("Content-Length: {}\r\n", self.body.len());
        }
        let mut bytes = (bytes + "\r\n").into_bytes();
        if self.is_chunked {
            for chunk in self.body.chunks(1_000) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend([chunk, b"\r\n"].concat());
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(&self.body);
        }
        bytes
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Decoded from chunks.
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {} {:?}", self.status, self.text()))
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A keep-alive connection.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// Fails when the connection is refused.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a request and waits for the response.
    ///
    /// # Errors
    /// Fails when the connection breaks before the end of the response.
    pub fn send(&mut self, request: &Request) -> io::Result<Answer> {
        self.write(&request.to_bytes())?;
        self.read()
    }

    /// Sends raw bytes.
    ///
    /// # Errors
    /// Fails when the connection is broken.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Waits for a response.
    ///
    /// # Errors
    /// Fails when the connection breaks before the end of the response.
    pub fn read(&mut self) -> io::Result<Answer> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("not an HTTP answer"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        answer.body = self.body(&answer)?;
        Ok(answer)
    }

    /// Whether the server has closed the connection; waits for data or its end.
    pub fn is_closed(&mut self) -> bool {
        !matches!(self.stream.read(&mut [0]), Ok(1))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    fn body(&mut self, answer: &Answer) -> io::Result<Vec<u8>> {
        if answer.header("transfer-encoding") == Some("chunked") {
            return self.chunks();
        }
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = usize::from_str_radix(&self.line()?, 16).map_err(io::Error::other)?;
            let mut chunk = vec![0; size];
            self.stream.read_exact(&mut chunk)?;
            self.line()?;
            if size == 0 {
                return Ok(body);
            }
            body.extend(chunk);
        }
    }
}

/// Sends one request on a new connection.
///
/// # Errors
/// Fails when the connection breaks before the end of the response.
pub fn send(address: SocketAddr, request: &Request) -> io::Result<Answer> {
    Client::connect(address)?.send(request)
}
