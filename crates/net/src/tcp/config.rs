//! How one end of a connection behaves.

use super::rules::Rules;
use loadstone_units::{Bounded, OutOfRange};
use serde::{Deserialize, Serialize};

/// How one end of a connection behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which system it behaves like.
    pub profile: Profile,
    /// The initial window in segments (RFC 6928), 1 to 1000.
    pub iw: InitialWindow,
    /// The congestion control.
    pub cc: Congestion,
    /// How many bytes the program may write beyond what has been sent (Linux's TCP_NOTSENT_LOWAT),
    /// 2 KiB to 1 GiB; the profile's if it is left out. The less, the later is it decided what goes
    /// next.
    pub notsent_lowat: Option<Bounded<2048, 0x4000_0000>>,
    /// The largest receive window in bytes, 2 KiB to 1 GiB; the profile's if it is left out.
    pub receive_window: Option<Bounded<2048, 0x4000_0000>>,
}

/// An initial window in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct InitialWindow(Bounded<1, 1000>);

impl InitialWindow {
    /// Segments.
    pub fn segments(self) -> u32 {
        self.0.get()
    }
}

impl Default for InitialWindow {
    /// 10 segments (RFC 6928).
    fn default() -> InitialWindow {
        InitialWindow(Bounded::known(10))
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    /// NewReno (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// BBR, version 1, of the kernel. Only the real kernel has it so far.
    Bbr,
}

/// A system whose TCP is modelled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// TCP by the RFCs, for teaching and for arithmetic on paper: delayed acknowledgements every
    /// second segment, no quick acknowledgements, no HyStart.
    #[default]
    Textbook,
    /// Linux 6.x as it comes: CUBIC with HyStart, RACK and tail loss probes, proportional rate
    /// reduction, F-RTO, quick acknowledgements, a receive window that grows.
    #[serde(rename = "linux-6")]
    Linux6,
}

impl Config {
    /// What it stands for.
    pub(super) fn rules(&self) -> Rules {
        Rules::of(self)
    }
}
