//! What a profile stands for: its constants, and which mechanisms it has.

use super::config::{AckCounting, Config, Congestion, IdleRestart, Mechanisms};
use super::reduction::PrrBound;
use std::time::Duration;

/// What a profile stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) constants: Constants,
    /// How losses are noticed.
    pub(super) detection: LossDetection,
    /// How the window shrinks.
    pub(super) bound: PrrBound,
    /// What an acknowledgement is worth to the window.
    pub(super) counting: AckCounting,
    /// What a pause does to the window.
    pub(super) restart: IdleRestart,
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
pub(super) enum LossDetection {
    /// By three SACKed segments above (RFC 6675).
    DupThresh,
    /// By the highest SACKed segment being three further on, whether those between have arrived or not
    /// (forward acknowledgements, `tcp_fack`).
    Fack,
    /// By time (RFC 8985).
    Rack,
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
    pub(super) initial_rcv_wnd: u64,
    /// The receive buffer at the beginning in bytes, and at most, where the window grows (the last two
    /// values of `tcp_rmem`).
    pub(super) rmem_default: u64,
    pub(super) rmem_max: u64,
    /// What 1,024 bytes of the buffer are worth as a window, before a full segment has come and after.
    pub(super) scaling_ratio: [u64; 2],
    /// How long it takes until a program does something about what has come.
    pub(super) wakeup_latency: Duration,
    /// So many connections in one (TCP+).
    pub(super) flows: u32,
    /// What may be written beyond what has been sent, in bytes.
    pub(super) notsent_lowat: u64,
    /// How often a SYN is sent again before its timeout begins to double (`tcp_syn_linear_timeouts`).
    pub(super) syn_linear_timeouts: u32,
    /// How often a SYN is sent again after that before the connection is given up.
    pub(super) syn_retries: u32,
    /// How often in a row the timer may expire before the connection is given up.
    pub(super) retries2: u32,
}

impl Config {
    /// What it stands for.
    pub(super) fn rules(&self) -> Rules {
        Rules::of(self)
    }

    /// How long it takes until a program on such a system does something about what has come: to be woken,
    /// to be told, to call the system.
    pub fn wakeup_latency(&self) -> Duration {
        self.rules().constants.wakeup_latency
    }
}

impl Rules {
    fn of(config: &Config) -> Rules {
        let mut rules = config.profile.rules();
        let constants = &mut rules.constants;
        if let Some(bytes) = config.notsent_lowat {
            constants.notsent_lowat = bytes.get().into();
        }
        if let Some(bytes) = config.receive_window {
            constants.receive_window = bytes.get().into();
            // Linux offers half of a buffer at first.
            constants.rmem_default = 2 * constants.receive_window;
            constants.rmem_max = constants.rmem_default;
        }
        if let Some(flows) = config.flows {
            constants.flows = flows.get();
            constants.receive_window *= u64::from(constants.flows);
            constants.initial_rcv_wnd = constants.initial_rcv_wnd.saturating_mul(constants.flows.into());
            constants.rmem_default *= u64::from(constants.flows);
            constants.rmem_max *= u64::from(constants.flows);
        }
        rules = rules.switch(&config.mechanisms);
        if config.congestion() == Congestion::Bbr {
            // Who goes by a model of the path knows what a pause is worth.
            (rules.restart, rules.shrinks_unused) = (IdleRestart::Never, false);
        }
        rules
    }

    /// The rules with single mechanisms switched.
    fn switch(self, with: &Mechanisms) -> Rules {
        let by_time = with.rack.map(|by_time| if by_time { LossDetection::Rack } else { LossDetection::DupThresh });
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
