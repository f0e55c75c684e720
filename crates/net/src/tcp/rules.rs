//! What a profile stands for: its constants, and which mechanisms it has.

use super::config::{Config, Congestion};
use super::mechanisms::{IdleRestart, ProfileMechanisms};
use std::time::Duration;

/// What a profile stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) constants: Constants,
    pub(super) mechanisms: ProfileMechanisms,
    /// Without RACK losses are noticed by forward acknowledgements (`tcp_fack`).
    pub(super) fack: bool,
    /// A loss halves what is outstanding, not the window.
    pub(super) ssthresh_from_flight_size: bool,
    /// CUBIC in whole numbers on a clock of ticks, as kernels have it.
    pub(super) kernel_cubic: bool,
    /// What is written is sent as far as it may be before the program can write more.
    pub(super) writable_after_sending: bool,
    /// What is not full ends what was written, so it has PSH, and is acknowledged at once.
    pub(super) acks_push: bool,
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
    pub(super) rto_min_bounds_rttvar: bool,
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
        let switched = &config.mechanisms;
        rules.mechanisms = rules.mechanisms.switched(switched);
        // Who chooses has RACK or RFC 6675.
        rules.fack &= switched.rack.is_none();
        if config.congestion() == Congestion::Bbr {
            // Who goes by a model of the path knows what a pause is worth.
            let own = &mut rules.mechanisms;
            (own.idle_restart, own.unused_window_shrinks) = (IdleRestart::Never, false);
        }
        rules
    }

    /// How losses are noticed.
    pub(super) fn detection(&self) -> LossDetection {
        match self {
            Rules { mechanisms: ProfileMechanisms { rack: true, .. }, .. } => LossDetection::Rack,
            Rules { fack: true, .. } => LossDetection::Fack,
            _ => LossDetection::DupThresh,
        }
    }

    /// How long a timer takes that is set for `wait` ns: in ticks, and on average half as much longer
    /// as its place in the kernel's timer wheel is coarse.
    pub(super) fn timer(&self, wait: u64) -> u64 {
        if !self.mechanisms.coarse_timers {
            return wait;
        }
        let ticks = wait.div_ceil(TICK);
        let coarse = match ticks {
            0..63 => 1,
            63..504 => 8,
            _ => 64,
        };
        ticks * TICK + coarse * TICK / 2
    }
}

/// A tick of the kernel's clock in ns: CONFIG_HZ=250, as Debian has it.
pub(super) const TICK: u64 = 4_000_000;
