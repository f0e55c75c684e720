//! How the kernels of a bed's hosts behave.

use crate::tcp_plus::Base;
use loadstone_net::tcp::{Config, Congestion, IdleRestart, InitialWindow, Mechanisms};
use loadstone_units::Bounded;

/// The most bytes of a buffer: the kernel counts in signed words.
const MAX_BUFFER: u64 = i32::MAX as u64;

/// How the kernels of a star's hosts behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// At the client, which is the first host.
    pub client: Tcp,
    /// At every server: at all others.
    pub server: Tcp,
    /// How connections that behave like several flows come to their back-off.
    pub back_off: BackOff,
}

/// How the kernel's TCP at one end behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// The initial window.
    pub iw: InitialWindow,
    /// The congestion control.
    pub cc: Congestion,
    /// A fixed receive buffer in bytes, half of which is offered as a window; if it is left out the kernel
    /// begins with 128 KiB and lets it grow to 6 MiB, or that for each flow.
    pub receive_buffer: Option<u32>,
    /// The number of flows of which a connection behaves like the sum (TCP+ of `nsdi`): a loss reduces its window
    /// as it reduces that of one of them, and its receive buffer is this many times as large. One if it is left out.
    pub flows: Option<Bounded<1, 256>>,
    /// What becomes of a window after idleness.
    pub idle: AfterIdle,
    /// Mechanisms that are switched off.
    pub without: Without,
}

/// Mechanisms of the kernel's TCP that a namespace can switch off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Without {
    /// Tail loss probes (RFC 8985, section 7).
    pub tail_loss_probes: bool,
    /// F-RTO (RFC 5682).
    pub frto: bool,
    /// SACK compression.
    pub sack_compression: bool,
}

impl Without {
    /// Those that a configuration has switched off.
    fn of(mechanisms: &Mechanisms) -> Without {
        let is_off = |switch: Option<bool>| switch == Some(false);
        Without {
            tail_loss_probes: is_off(mechanisms.tail_loss_probes),
            frto: is_off(mechanisms.frto),
            sack_compression: is_off(mechanisms.sack_compression),
        }
    }

    /// The settings of the kernel: none of them, or its own.
    fn sysctls(self) -> [(&'static str, String); 3] {
        let value = |is_off, own: &str| if is_off { "0".to_owned() } else { own.to_owned() };
        [
            ("tcp_early_retrans", value(self.tail_loss_probes, "3")),
            ("tcp_frto", value(self.frto, "2")),
            ("tcp_comp_sack_nr", value(self.sack_compression, "44")),
        ]
    }
}

/// How connections that behave like several flows come to their back-off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BackOff {
    /// By a congestion control of their own (BPF struct_ops): needs root, and a kernel that allows it.
    #[default]
    Own,
    /// By CUBIC's beta, which changes for the whole machine and is put back with the bed: needs root.
    MachineWide,
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
            receive_buffer: config.receive_window.map(|window| {
                let flows = config.flows.map_or(1, Bounded::get);
                (2 * u64::from(window.get()) * u64::from(flows)).min(MAX_BUFFER) as u32
            }),
            flows: config.flows,
            idle: match config.mechanisms.idle_restart {
                Some(IdleRestart::Never) => AfterIdle::Keep,
                _ => AfterIdle::Restart,
            },
            without: Without::of(&config.mechanisms),
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

    /// The congestion control and the number of flows, where several share what a loss takes: BBR's windows
    /// do not go by losses.
    pub(crate) fn shared(&self) -> Option<(Base, u32)> {
        let flows = self.flows.map(Bounded::get).filter(|flows| *flows > 1)?;
        Some((Base::of(self.cc)?, flows))
    }

    /// The settings of the kernel for this end, under `/proc/sys/net/ipv4`.
    pub(crate) fn sysctls(&self) -> Vec<(&'static str, String)> {
        let idle = match self.idle {
            AfterIdle::Restart => "1",
            AfterIdle::Keep => "0",
        };
        let fixed = FIXED.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let chosen = [("tcp_slow_start_after_idle", idle.to_owned()), ("tcp_rmem", self.receive_memory())];
        fixed.chain(chosen).chain(self.without.sysctls()).collect()
    }

    /// The least, the first and the largest receive buffer.
    fn receive_memory(&self) -> String {
        if let Some(bytes) = self.receive_buffer {
            return format!("{bytes} {bytes} {bytes}");
        }
        let flows = u64::from(self.flows.map_or(1, Bounded::get));
        format!("4096 {} {}", 131_072 * flows, (6_291_456 * flows).min(MAX_BUFFER))
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

    #[test]
    fn the_receive_buffer_is_that_of_all_flows() {
        let of = |flows| Tcp { flows: Some(Bounded::new(flows).unwrap()), ..Tcp::default() };
        assert_eq!(Tcp::default().receive_memory(), "4096 131072 6291456");
        assert_eq!(of(4).receive_memory(), "4096 524288 25165824");
        assert_eq!(of(256).receive_memory(), "4096 33554432 1610612736");
        let fixed = Tcp { receive_buffer: Some(70_000), ..of(4) };
        assert_eq!(fixed.receive_memory(), "70000 70000 70000");
    }
}
