use serde_json::{Value, json};

use crate::page::Page;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

/// What the page is looked at with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A small telephone, 360 px wide, touched.
    Phone,
    /// A laptop, 1280 px wide.
    Laptop,
    /// A usual screen, 1440 px wide and 900 px high.
    Screen,
    /// A large screen, 2560 px wide.
    Wide,
}

impl Size {
    /// The width of the window, in CSS pixels.
    pub const fn width(self) -> u32 {
        match self {
            Self::Phone => 360,
            Self::Laptop => 1280,
            Self::Screen => 1440,
            Self::Wide => 2560,
        }
    }

    const fn height(self) -> u32 {
        match self {
            Self::Phone => 740,
            Self::Laptop => 800,
            Self::Screen => 900,
            Self::Wide => 1440,
        }
    }
}

impl Page {
    /// Loses the connection, or has it again.
    #[track_caller]
    pub fn offline(&self, is_offline: bool) {
        let conditions = json!({
            "offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.call("Network.emulateNetworkConditions", &conditions);
    }

    /// Prefers a theme from now on, and no motion: a page must not be judged in the middle of one.
    #[track_caller]
    pub fn theme(&self, theme: Theme) {
        let scheme = match theme {
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        let preferred = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": preferred }));
    }

    /// Has a window of this size from now on.
    #[track_caller]
    pub fn size(&self, size: Size) {
        let is_phone = size == Size::Phone;
        let metrics = json!({
            "width": size.width(),
            "height": size.height(),
            "deviceScaleFactor": if is_phone { 2 } else { 1 },
            "mobile": is_phone,
        });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        self.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": is_phone }));
    }

    /// What makes the page wider than the window of this size; nothing if all of it fits.
    #[track_caller]
    pub fn overflow(&self, size: Size) -> Vec<String> {
        texts(&self.tell("sticksOut", &[size.width().into()]))
    }

    /// Styles, scripts, handlers and script links that are written into a page's source: a strict
    /// policy would have to stop each of them. To be asked of a page without a policy, which would
    /// complain of the source itself.
    #[track_caller]
    pub fn inline(&self, source: &str) -> Vec<String> {
        texts(&self.tell("inline", &[source.into()]))
    }
}

pub(crate) fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
