use super::table::{milliseconds, table, whole};
use crate::chat::{AIM_MS, Place, Relaying};

/// What relaying took, with and without a disk to wait for, and what it cost.
pub(super) fn tables(relaying: &[Relaying]) -> String {
    if relaying.is_empty() {
        return String::new();
    }
    let head = [
        "chats",
        "clients each",
        "folder",
        "events",
        "relayed",
        "p50",
        "p99",
        "p99 of the 5 ms aimed at",
    ];
    let rows: Vec<Vec<String>> = relaying.iter().map(latency).collect();
    let costs_head = [
        "chats",
        "clients each",
        "folder",
        "server µs/event",
        "server µs/relayed",
        "client µs/relayed",
        "memory/chat",
        "memory/client",
        "on disk/event",
    ];
    let costs: Vec<Vec<String>> = relaying.iter().map(cost).collect();
    table("Relaying, from the agent's pipe to each client", &head, &rows)
        + &table("What relaying costs", &costs_head, &costs)
}

fn who(relaying: &Relaying) -> Vec<String> {
    let crowd = relaying.crowd;
    let place = match relaying.place {
        Place::Disk => "on disk",
        Place::Memory => "in memory",
    };
    vec![crowd.chats.to_string(), crowd.clients.to_string(), place.to_owned()]
}

fn latency(relaying: &Relaying) -> Vec<String> {
    // The aim leaves the disk out.
    let of_aim = match relaying.place {
        Place::Disk => String::new(),
        Place::Memory => format!("{:.2}", relaying.took.p99_ms / AIM_MS),
    };
    let mut row = who(relaying);
    row.extend([whole(relaying.events), whole(relaying.relayed)]);
    row.extend([relaying.took.p50_ms, relaying.took.p99_ms].map(milliseconds));
    row.push(of_aim);
    row
}

fn cost(relaying: &Relaying) -> Vec<String> {
    let micros =
        [relaying.cpu_us_per_event, relaying.cpu_us_per_relayed, relaying.client_us_per_relayed];
    let mut row = who(relaying);
    row.extend(micros.map(|us| format!("{us:.1}")));
    row.extend([relaying.bytes_per_chat, relaying.bytes_per_client].map(kilobytes));
    row.push(format!("{:.0} bytes", relaying.bytes_per_event));
    row
}

fn kilobytes(bytes: f64) -> String {
    format!("{:.1} KB", bytes / 1e3)
}
