//! How one end of a connection behaves.

use super::mechanisms::Mechanisms;
use loadstone_units::{Bounded, OutOfRange};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How one end of a connection behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Operating system whose TCP is modelled; `textbook` follows the RFCs alone.
    pub profile: Profile,
    /// Initial window in segments (RFC 6928); if unset, the profile's.
    pub iw: Option<InitialWindow>,
    /// Congestion control; if unset, the profile's.
    pub cc: Option<Congestion>,
    /// Maximum number of bytes that are written to a socket and not sent yet (Linux's TCP_NOTSENT_LOWAT); if unset,
    /// the profile's, 16,384. The smaller, the later the next data is chosen.
    pub notsent_lowat: Option<Bounded<2048, 0x4000_0000>>,
    /// Receive window in bytes, 2 KiB to 1 GiB; if unset, the profile's. Linux takes half of the receive buffer for
    /// it, which then does not grow.
    pub receive_window: Option<Bounded<2048, 0x4000_0000>>,
    /// Behave like N connections in one (TCP+ of the study `nsdi`); if unset, 1.
    ///
    /// Initial window and receive window are n times as large, and a loss costs 1/n of a single connection's reduction.
    pub flows: Option<Bounded<1, 256>>,
    /// Mechanisms that are to be otherwise than the profile has them.
    #[serde(skip_serializing_if = "Mechanisms::is_default")]
    pub mechanisms: Mechanisms,
}

/// An initial window in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct InitialWindow(Segments);

type Segments = Bounded<1, 1000>;

impl InitialWindow {
    /// An initial window of `segments`.
    ///
    /// # Panics
    /// If they are out of range.
    pub(super) const fn known(segments: u32) -> InitialWindow {
        InitialWindow(Bounded::known(segments))
    }

    /// Segments.
    pub fn segments(self) -> u32 {
        self.0.get()
    }
}

impl JsonSchema for InitialWindow {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "InitialWindow".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Segments::json_schema(generator)
    }
}

impl Default for InitialWindow {
    /// 10 segments (RFC 6928).
    fn default() -> InitialWindow {
        InitialWindow::known(10)
    }
}

impl TryFrom<i64> for InitialWindow {
    type Error = OutOfRange;

    fn try_from(segments: i64) -> Result<InitialWindow, OutOfRange> {
        Bounded::new(segments).map(InitialWindow)
    }
}

impl From<InitialWindow> for i64 {
    fn from(window: InitialWindow) -> i64 {
        window.0.into()
    }
}

/// A congestion control.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    /// NewReno (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// BBR, version 1, as Linux has it; segments are paced.
    Bbr,
}

/// A system whose TCP is modelled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// TCP by the RFCs, for teaching and for arithmetic on paper: delayed acknowledgements every
    /// second segment, no quick acknowledgements, no HyStart.
    Textbook,
    /// Linux 2.6.32 as it comes: an initial window of 3, acknowledgements counted one by one, rate
    /// halving, forward acknowledgements, 3 s for a SYN, a first receive window of 4 segments.
    #[serde(rename = "linux-2.6")]
    Linux26,
    /// Linux 3.7 as it comes: an initial window of 10, proportional rate reduction, forward
    /// acknowledgements, a first receive window of 10 segments.
    #[serde(rename = "linux-3.7")]
    Linux37,
    /// Windows 7 as a client: acknowledgements of every second segment or after 200 ms, a receive window
    /// of 64 KB that grows, 3 s for a SYN and 300 ms at least for data.
    #[serde(rename = "windows-7")]
    Windows7,
    /// Mac OS X 10.5 as a client: acknowledgements of every second segment, of what is not full, or after
    /// 100 ms; a receive window of 64 KB that grows; five SYNs 3 s apart, others at doubled distances.
    #[serde(rename = "mac-os-x-10.5")]
    MacOsX105,
    /// Linux 6.x as it comes: CUBIC with HyStart, RACK and tail loss probes, proportional rate
    /// reduction, F-RTO, quick acknowledgements, a receive window that grows.
    #[default]
    #[serde(rename = "linux-6")]
    Linux6,
}

impl Config {
    /// The initial window: the one that is chosen or the profile's, as often as there are flows in one.
    pub fn initial_window(&self) -> InitialWindow {
        let (window, _) = self.profile.defaults();
        let (one, flows) = (self.iw.unwrap_or(window).segments(), self.flows.map_or(1, Bounded::get));
        InitialWindow::try_from(i64::from(one) * i64::from(flows)).unwrap_or(InitialWindow::known(1000))
    }

    /// The congestion control: the one that is chosen or the profile's.
    pub fn congestion(&self) -> Congestion {
        let (_, congestion) = self.profile.defaults();
        self.cc.unwrap_or(congestion)
    }

    /// The same with the profile's initial window and congestion control where none is chosen.
    #[must_use]
    pub fn stated(self) -> Config {
        let (window, congestion) = self.profile.defaults();
        Config { iw: self.iw.or(Some(window)), cc: self.cc.or(Some(congestion)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_chosen_is_the_profiles_and_is_stated() {
        for (profile, iw, cc) in [
            (Profile::Linux6, 10, Congestion::Cubic),
            (Profile::Linux26, 3, Congestion::Cubic),
            (Profile::Windows7, 2, Congestion::Reno),
            (Profile::MacOsX105, 1, Congestion::Reno),
        ] {
            let config = Config { profile, ..Config::default() };
            assert_eq!((config.initial_window().segments(), config.congestion()), (iw, cc));
            let stated = config.stated();
            assert_eq!((stated.iw.map(InitialWindow::segments), stated.cc), (Some(iw), Some(cc)));
            let chosen = Config { iw: Some(InitialWindow::known(7)), cc: Some(Congestion::Bbr), ..config };
            assert_eq!((chosen.stated(), chosen.congestion()), (chosen, Congestion::Bbr));
        }
    }

    #[test]
    fn several_flows_in_one_have_several_initial_windows_up_to_a_thousand_segments() {
        for (iw, flows, expected) in [(10, 1, 10), (10, 4, 40), (10, 100, 1_000), (10, 101, 1_000), (1_000, 256, 1_000)]
        {
            let config =
                Config { iw: Some(InitialWindow::known(iw)), flows: Some(Bounded::known(flows)), ..Config::default() };
            assert_eq!(config.initial_window().segments(), expected);
        }
    }
}
