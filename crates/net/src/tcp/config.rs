//! How one end of a connection behaves.

use super::reduction::PrrBound;
use loadstone_units::{Bounded, OutOfRange};
use serde::{Deserialize, Serialize};

/// How one end of a connection behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which system it behaves like.
    pub profile: Profile,
    /// The initial window in segments (RFC 6928), 1 to 1000; the profile's if it is left out.
    pub iw: Option<InitialWindow>,
    /// The congestion control; the profile's if it is left out.
    pub cc: Option<Congestion>,
    /// How many bytes the program may write beyond what has been sent (Linux's TCP_NOTSENT_LOWAT),
    /// 2 KiB to 1 GiB; the profile's if it is left out. The less, the later is it decided what goes
    /// next.
    pub notsent_lowat: Option<Bounded<2048, 0x4000_0000>>,
    /// The receive window in bytes, 2 KiB to 1 GiB; the profile's if it is left out. Linux reckons it as
    /// half of a buffer, which then does not grow.
    pub receive_window: Option<Bounded<2048, 0x4000_0000>>,
    /// Behaves like so many connections in one, 1 to 256 (TCP+ of the study `nsdi`): initial window and
    /// receive window are so many times as large, and a loss takes only that part of what it takes from
    /// one; 1 if it is left out.
    pub flows: Option<Bounded<1, 256>>,
    /// Mechanisms that are to be otherwise than the profile has them.
    #[serde(skip_serializing_if = "Mechanisms::is_default")]
    pub mechanisms: Mechanisms,
}

/// Mechanisms of TCP, each switched on or off by itself; what is left out is the profile's. To find out
/// what one of them is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mechanisms {
    /// CUBIC leaves slow start before the queue overflows (HyStart, `tcp_cubic.c`).
    pub hystart: Option<bool>,
    /// Losses are judged by time (RFC 8985) instead of by three SACKed segments (RFC 6675).
    pub rack: Option<bool>,
    /// A lost tail is probed for after two round trips (RFC 8985, section 7).
    pub tail_loss_probes: Option<bool>,
    /// A timeout that proves spurious ends at once (RFC 5682).
    pub frto: Option<bool>,
    /// A reduction of the window that proves needless is taken back (RFC 4015).
    pub undo: Option<bool>,
    /// How the window shrinks while losses are repaired.
    pub reduction: Option<PrrBound>,
    /// What acknowledgements count for in slow start.
    pub counting: Option<AckCounting>,
    /// What a pause does to the window.
    pub idle_restart: Option<IdleRestart>,
    /// A window that is not used for a timeout shrinks (`tcp_cwnd_application_limited`).
    pub unused_window_shrinks: Option<bool>,
    /// The first segments, and those that make the receive window grow, are acknowledged at once.
    pub quick_acks: Option<bool>,
    /// Acknowledgements that tell of the same hole are held back for up to 1.1 ms (`tcp_comp_sack_delay_ns`).
    pub sack_compression: Option<bool>,
    /// The receive window begins small and grows with what is read.
    pub window_tuning: Option<bool>,
    /// The send buffer begins small and follows the window, while the program waits for room.
    pub send_buffer: Option<bool>,
    /// A connection begins with the threshold that earlier ones to the same host have left behind
    /// (`tcp_no_metrics_save` = 0), as with Linux before 5.6 (`tcp_no_ssthresh_metrics_save`).
    pub metrics: Option<bool>,
    /// What does not fill a segment waits until the last such segment is acknowledged (RFC 896, as Minshall
    /// mends it and Linux has it): for programs that do not set TCP_NODELAY.
    pub nagle: Option<bool>,
    /// Timers go by ticks of 4 ms.
    pub coarse_timers: Option<bool>,
}

impl Mechanisms {
    fn is_default(&self) -> bool {
        *self == Mechanisms::default()
    }
}

/// What an acknowledgement is worth to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckCounting {
    /// One segment, whatever it acknowledges (Linux before 3.13, `tcp_abc` = 0).
    Acks,
    /// Its bytes, in slow start at most one segment of them (RFC 3465 with L = 1, `tcp_abc` = 1).
    #[serde(rename = "bytes-1")]
    Bytes1,
    /// Its bytes, in slow start at most two segments of them (RFC 3465 with L = 2, `tcp_abc` = 2).
    #[serde(rename = "bytes-2")]
    Bytes2,
    /// Its segments, or those that it SACKs (Linux since 3.13).
    Segments,
}

/// What a pause longer than the retransmission timeout does to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// It is the initial one again (RFC 5681, section 4.1).
    Initial,
    /// It is halved for each timeout, down to the initial one (`tcp_cwnd_restart`).
    Halving,
    /// Nothing.
    Never,
}

/// An initial window in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct InitialWindow(Bounded<1, 1000>);

impl InitialWindow {
    /// So many segments.
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
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
