//! How the kernels of a bed's hosts behave.

use loadstone_net::tcp::{Config, Congestion, InitialWindow};

/// Bytes of data in a full segment: 1500 less 20 for IP, 20 for TCP, 12 for the timestamps.
const MSS: u32 = 1448;
/// How many segments the first window that Linux offers has room for: 65,535 bytes.
const FIRST_WINDOW: u32 = 44;

/// How the kernels of a bed's hosts behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// At the client.
    pub client: Tcp,
    /// At every server.
    pub server: Tcp,
    /// What becomes of a window after idleness, at both ends.
    pub idle: AfterIdle,
}

/// How the kernel's TCP at one end behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// The initial window.
    pub iw: InitialWindow,
    /// The congestion control.
    pub cc: Congestion,
    /// A fixed receive buffer in bytes; if it is left out the kernel begins with 128 KiB, or what the
    /// other end's initial window needs, and lets it grow to 6 MiB.
    pub receive_buffer: Option<u32>,
}

/// What becomes of a congestion window that was idle for longer than a retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AfterIdle {
    /// It shrinks towards the initial window (RFC 5681, section 4.1): Linux's own setting.
    #[default]
    Restart,
    /// It stays.
    Keep,
}

impl From<&Config> for Tcp {
    /// What a kernel can be told of a simulated endpoint's configuration. The room for what has not
    /// been sent belongs to the socket, so it is not here.
    fn from(config: &Config) -> Tcp {
        Tcp {
            iw: config.initial_window(),
            cc: config.congestion(),
            receive_buffer: config.receive_window.map(|window| 2 * window.get()),
        }
    }
}

impl Tcp {
    /// The kernel's name of the congestion control.
    pub(crate) fn congestion(&self) -> &'static str {
        match self.cc {
            Congestion::Reno => "reno",
            Congestion::Cubic => "cubic",
            Congestion::Bbr => "bbr",
        }
    }

    /// The settings of the kernel for this end, under `/proc/sys/net/ipv4`, with `other` at the other end.
    pub(crate) fn sysctls(&self, other: &Tcp, idle: AfterIdle) -> Vec<(&'static str, String)> {
        let idle = match idle {
            AfterIdle::Restart => "1",
            AfterIdle::Keep => "0",
        };
        let fixed = FIXED.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let chosen = [("tcp_slow_start_after_idle", idle.to_owned()), ("tcp_rmem", self.receive_memory(other))];
        fixed.chain(chosen).collect()
    }

    /// The least, the first and the largest receive buffer.
    fn receive_memory(&self, other: &Tcp) -> String {
        if let Some(bytes) = self.receive_buffer {
            return format!("{bytes} {bytes} {bytes}");
        }
        // Linux offers half of it as a window, in steps of 128 bytes.
        let window = other.iw.segments();
        let first = if window > FIRST_WINDOW { (2 * (window + 1) * MSS).max(262_144) } else { 131_072 };
        format!("4096 {first} 6291456")
    }
}

/// Set alike everywhere: a machine's own values follow its memory and its administrator.
const FIXED: [(&str, &str); 7] = [
    ("tcp_wmem", "4096 16384 4194304"),
    ("tcp_no_metrics_save", "1"),
    ("tcp_timestamps", "1"),
    ("tcp_sack", "1"),
    ("tcp_window_scaling", "1"),
    ("tcp_moderate_rcvbuf", "1"),
    ("tcp_ecn", "0"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(iw: i64) -> Tcp {
        Tcp { iw: iw.try_into().unwrap(), ..Tcp::default() }
    }

    #[test]
    fn the_receive_buffer_holds_the_other_ends_first_flight() {
        let memory = |iw| tcp(10).receive_memory(&tcp(iw));
        assert_eq!(memory(44), "4096 131072 6291456");
        assert_eq!(memory(45), "4096 262144 6291456");
        assert_eq!(memory(100), "4096 292496 6291456");
        assert_eq!(memory(1000), "4096 2898896 6291456");
        let fixed = Tcp { receive_buffer: Some(70_000), ..tcp(10) };
        assert_eq!(fixed.receive_memory(&tcp(100)), "70000 70000 70000");
    }
}
