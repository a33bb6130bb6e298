use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The longest line.
const MAX_LINE: usize = 100_000;
/// A client that says nothing is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection of lines.
pub(super) struct Wire {
    stream: Option<Stream>,
}

enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: Some(Stream::Plain(stream)) }
    }

    pub(super) const fn is_encrypted(&self) -> bool {
        matches!(self.stream, Some(Stream::Encrypted(_)))
    }

    /// Encrypts what follows.
    pub(super) fn encrypt(&mut self, config: Arc<ServerConfig>) {
        if let Some(Stream::Plain(stream)) = self.stream.take() {
            let connection = ServerConnection::new(config).unwrap();
            let stream = Box::new(StreamOwned::new(connection, stream));
            self.stream = Some(Stream::Encrypted(stream));
        }
    }

    /// Sends lines; `None` if the client is gone.
    pub(super) fn say(&mut self, lines: &str) -> Option<()> {
        let bytes = format!("{lines}\r\n");
        match self.stream.as_mut()? {
            Stream::Plain(stream) => stream.write_all(bytes.as_bytes()).ok(),
            Stream::Encrypted(stream) => {
                stream.write_all(bytes.as_bytes()).and_then(|()| stream.flush()).ok()
            }
        }
    }

    /// Reads a line without its end. Byte by byte: what follows may be encrypted.
    pub(super) fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        while line.len() < MAX_LINE {
            match self.stream.as_mut()? {
                Stream::Plain(stream) => stream.read_exact(&mut byte).ok()?,
                Stream::Encrypted(stream) => stream.read_exact(&mut byte).ok()?,
            }
            if byte == *b"\n" {
                let text = String::from_utf8_lossy(&line);
                return Some(text.trim_end_matches('\r').to_owned());
            }
            line.push(byte[0]);
        }
        None
    }
}
