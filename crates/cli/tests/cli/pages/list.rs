use std::collections::BTreeMap;

/// A page that people can open.
#[derive(Debug)]
pub(super) struct Listed {
    /// What its screenshots are called.
    pub(super) name: &'static str,
    /// Where it is, with names in braces for what differs from one server to the next.
    address: &'static str,
}

/// All of them. A new page is added here, and every check looks at it.
pub(super) const PAGES: [Listed; 5] = [
    Listed { name: "home", address: "/project/{project}" },
    Listed { name: "trace", address: "/project/{project}/traces/{trace}" },
    Listed { name: "dashboard", address: "/project/{project}/dashboards" },
    Listed { name: "gallery", address: "/ui/gallery" },
    Listed { name: "api-docs", address: "/api/docs" },
];

/// Things that pages are about: a name in an address, and an id.
pub(super) type Places = BTreeMap<&'static str, String>;

impl Listed {
    /// The address on a server where these things are.
    pub(super) fn path(&self, places: &Places) -> String {
        let mut path = String::new();
        for piece in self.address.split_inclusive('}') {
            let Some((before, name)) = piece.split_once('{') else {
                path += piece;
                continue;
            };
            let name = name.trim_end_matches('}');
            let Some(id) = places.get(name) else { panic!("{}: which {name}?", self.address) };
            path += before;
            path += &encode(id);
        }
        path
    }
}

/// An id as a part of a path, however odd.
fn encode(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

#[test]
fn addresses_are_filled_in() {
    let page = Listed { name: "a", address: "/project/{project}/traces/{trace}?view=raw" };
    let places = Places::from([("project", "p".to_owned()), ("trace", "a/b ?".to_owned())]);
    assert_eq!(page.path(&places), "/project/p/traces/a%2Fb%20%3F?view=raw");
}
