//! What a profile stands for: its constants, and which mechanisms it has.

use super::config::{Config, Congestion, Mechanisms};
use super::reduction::Bound;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a profile stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) constants: Constants,
    /// How losses are noticed.
    pub(super) detection: Detection,
    /// How the window shrinks.
    pub(super) bound: Bound,
    /// What an acknowledgement is worth to the window.
    pub(super) counting: Counting,
    /// What a pause does to the window.
    pub(super) restart: Restart,
    /// Tail loss probes (RFC 8985, section 7).
    pub(super) probes: bool,
    /// Forward RTO recovery (RFC 5682).
    pub(super) frto: bool,
    /// A reduction is taken back that proves needless (RFC 4015, by timestamps and D-SACK).
    pub(super) undo: bool,
    /// CUBIC leaves slow start early.
    pub(super) hystart: bool,
    /// A window that is not used shrinks (RFC 7661's forerunner, `tcp_cwnd_application_limited`).
    pub(super) shrinks_unused: bool,
    /// A loss halves what is outstanding, not the window.
    pub(super) halves_the_flight: bool,
    /// The clock of timers, in ns to a tick; `None`: exact time.
    pub(super) timer_tick: Option<u64>,
    /// CUBIC in whole numbers on a clock of ticks, as kernels have it.
    pub(super) kernel_cubic: bool,
    /// What is written is sent as far as it may be before the program can write more.
    pub(super) sends_at_once: bool,
    /// Acknowledgements at once while the receive window grows, and for the first segments.
    pub(super) quick_acks: bool,
    /// What is not full ends what was written, so it has PSH, and is acknowledged at once.
    pub(super) answers_push: bool,
    /// Acknowledgements that tell of the same hole wait for one another.
    pub(super) sack_compression: bool,
    /// The send buffer grows with the window, while the program waits for room.
    pub(super) send_buffer: bool,
    /// The receive window grows with what is read.
    pub(super) window_tuning: bool,
    /// The threshold of earlier connections is remembered.
    pub(super) metrics: bool,
    /// Segments that are not full wait for one another.
    pub(super) nagle: bool,
}

/// How losses are noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Detection {
    /// By three SACKed segments above (RFC 6675).
    Count,
    /// By the highest SACKed segment being three further on, whether those between have arrived or not
    /// (forward acknowledgements, `tcp_fack`).
    Forward,
    /// By time (RFC 8985).
    Time,
}

/// What an acknowledgement is worth to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
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
pub enum Restart {
    /// It is the initial one again (RFC 5681, section 4.1).
    Initial,
    /// It is halved for each timeout, down to the initial one (`tcp_cwnd_restart`).
    Halving,
    /// Nothing.
    Never,
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
    /// Whether it is what a timeout adds to the round trip, at least, instead of its least value.
    pub(super) adds_least_timeout: bool,
    /// The largest retransmission timeout.
    pub(super) rto_max: Duration,
    /// How long an acknowledgement may be delayed.
    pub(super) delayed_ack: Duration,
    /// The receive window in bytes, where it does not grow.
    pub(super) receive_window: u64,
    /// The largest receive window of the handshake in bytes, where it grows.
    pub(super) first_window: u64,
    /// The receive buffer at the beginning in bytes, and at most, where the window grows (the last two
    /// values of `tcp_rmem`).
    pub(super) first_buffer: u64,
    pub(super) most_buffer: u64,
    /// What 1,024 bytes of the buffer are worth as a window, before a full segment has come and after.
    pub(super) worth: [u64; 2],
    /// How long it takes until a program does something about what has come.
    pub(super) reaction: Duration,
    /// So many connections in one (TCP+).
    pub(super) flows: u32,
    /// What may be written beyond what has been sent, in bytes.
    pub(super) notsent_lowat: u64,
    /// How often a SYN is sent again before its timeout begins to double (`tcp_syn_linear_timeouts`).
    pub(super) even_syns: u32,
    /// How often a SYN is sent again after that before the connection is given up.
    pub(super) syn_retries: u32,
    /// How often in a row the timer may expire before the connection is given up.
    pub(super) retries: u32,
}

impl Rules {
    pub(super) fn of(config: &Config) -> Rules {
        let mut rules = config.profile.rules();
        let constants = &mut rules.constants;
        if let Some(bytes) = config.notsent_lowat {
            constants.notsent_lowat = bytes.get().into();
        }
        if let Some(bytes) = config.receive_window {
            constants.receive_window = bytes.get().into();
            // Linux offers half of a buffer at first.
            constants.first_buffer = 2 * constants.receive_window;
            constants.most_buffer = constants.first_buffer;
        }
        if let Some(flows) = config.flows {
            constants.flows = flows.get();
            constants.receive_window *= u64::from(constants.flows);
            constants.first_window = constants.first_window.saturating_mul(constants.flows.into());
            constants.first_buffer *= u64::from(constants.flows);
            constants.most_buffer *= u64::from(constants.flows);
        }
        rules = rules.switch(&config.mechanisms);
        if config.congestion() == Congestion::Bbr {
            // Who goes by a model of the path knows what a pause is worth.
            (rules.restart, rules.shrinks_unused) = (Restart::Never, false);
        }
        rules
    }

    /// The rules with single mechanisms switched.
    fn switch(self, with: &Mechanisms) -> Rules {
        let by_time = with.rack.map(|by_time| if by_time { Detection::Time } else { Detection::Count });
        let ticks = with.coarse_timers.map(|coarse| coarse.then_some(TICK));
        Rules {
            detection: by_time.unwrap_or(self.detection),
            bound: with.reduction.unwrap_or(self.bound),
            counting: with.counting.unwrap_or(self.counting),
            restart: with.idle_restart.unwrap_or(self.restart),
            probes: with.tail_loss_probes.unwrap_or(self.probes),
            frto: with.frto.unwrap_or(self.frto),
            undo: with.undo.unwrap_or(self.undo),
            hystart: with.hystart.unwrap_or(self.hystart),
            shrinks_unused: with.unused_window_shrinks.unwrap_or(self.shrinks_unused),
            timer_tick: ticks.unwrap_or(self.timer_tick),
            quick_acks: with.quick_acks.unwrap_or(self.quick_acks),
            sack_compression: with.sack_compression.unwrap_or(self.sack_compression),
            window_tuning: with.window_tuning.unwrap_or(self.window_tuning),
            send_buffer: with.send_buffer.unwrap_or(self.send_buffer),
            metrics: with.metrics.unwrap_or(self.metrics),
            nagle: with.nagle.unwrap_or(self.nagle),
            ..self
        }
    }

    /// How long a timer takes that is set for `wait` ns: in ticks, and on average half as much longer
    /// as its place in the kernel's timer wheel is coarse.
    pub(super) fn timer(&self, wait: u64) -> u64 {
        let Some(tick) = self.timer_tick else { return wait };
        let ticks = wait.div_ceil(tick);
        let coarse = match ticks {
            0..63 => 1,
            63..504 => 8,
            _ => 64,
        };
        ticks * tick + coarse * tick / 2
    }
}

/// A tick of the kernel's clock in ns: CONFIG_HZ=250, as Debian has it.
pub(super) const TICK: u64 = 4_000_000;
