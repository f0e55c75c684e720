//! How one end of a connection behaves.

use loadstone_units::{Bounded, OutOfRange};
use serde::{Deserialize, Serialize};
use std::time::Duration;

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
}

/// The constants of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Constants {
    /// Bytes of data in a full segment.
    pub(super) mss: u32,
    /// The retransmission timeout before any measurement, also that of a SYN.
    pub(super) rto_initial: Duration,
    /// The smallest retransmission timeout.
    pub(super) rto_min: Duration,
    /// The largest retransmission timeout.
    pub(super) rto_max: Duration,
    /// How long an acknowledgement may be delayed.
    pub(super) delayed_ack: Duration,
    /// The receive window in bytes.
    pub(super) receive_window: u64,
    /// What may be written beyond what has been sent, in bytes.
    pub(super) notsent_lowat: u64,
    /// How often a SYN is sent again before the connection is given up.
    pub(super) syn_retries: u32,
    /// How often in a row the timer may expire before the connection is given up.
    pub(super) retries: u32,
}

impl Config {
    /// The constants of the profile, with what the configuration says otherwise.
    pub(super) fn constants(&self) -> Constants {
        let constants = self.profile.constants();
        let chosen = |bytes: Option<Bounded<_, _>>, otherwise| bytes.map_or(otherwise, |bytes| u64::from(bytes.get()));
        Constants {
            notsent_lowat: chosen(self.notsent_lowat, constants.notsent_lowat),
            receive_window: chosen(self.receive_window, constants.receive_window),
            ..constants
        }
    }
}

impl Profile {
    const fn constants(self) -> Constants {
        match self {
            Profile::Textbook => Constants {
                // 1500 bytes less 20 for IP, 20 for TCP, 12 for the timestamps.
                mss: 1448,
                // RFC 6298, (2.1), (2.4), (2.5).
                rto_initial: Duration::from_secs(1),
                rto_min: Duration::from_secs(1),
                rto_max: Duration::from_secs(60),
                // RFC 9293, section 3.8.6.3, allows up to 500 ms; systems use 40 ms or more.
                delayed_ack: Duration::from_millis(40),
                receive_window: 6 * 1024 * 1024,
                notsent_lowat: 16 * 1024,
                // Linux's tcp_syn_retries and tcp_retries2: the RFCs give times only.
                syn_retries: 6,
                retries: 15,
            },
        }
    }
}
