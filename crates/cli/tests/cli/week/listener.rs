use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};

use ratchet_testkit::wait;

#[derive(Debug)]
pub(crate) struct Heard {
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Heard {
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no header {name} in {self:?}"), |(_, value)| value)
    }
}

/// Someone who hears as many messages as answers were given, then goes.
pub(crate) struct Listener {
    address: SocketAddr,
    heard: Receiver<Heard>,
    /// How many messages are expected.
    count: usize,
}

impl Listener {
    pub(crate) fn answering(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let statuses = statuses.to_vec();
        let count = statuses.len();
        let (sender, heard) = sync_channel(count);
        std::thread::spawn(move || {
            for status in statuses {
                let heard = hear(&mut listener.accept().unwrap().0, status);
                // The test may have dropped the receiver.
                drop(sender.send(heard));
            }
        });
        Self { address, heard, count }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(crate) fn heard(self) -> Vec<Heard> {
        (0..self.count).map(|_| wait::receive("message", &self.heard)).collect()
    }
}

fn hear(stream: &mut TcpStream, status: u16) -> Heard {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut headers = Vec::new();
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.unwrap().1.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status} So\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    Heard { headers, body: String::from_utf8(body).unwrap() }
}
