//! What a profile stands for: its constants, and which mechanisms it has.

use super::config::{Config, Congestion};
use super::mechanisms::{IdleRestart, ProfileMechanisms};
use std::time::Duration;

/// What a profile stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) constants: Constants,
    pub(super) mechanisms: ProfileMechanisms,
    /// Without RACK, losses are detected by forward acknowledgements (`tcp_fack`).
    pub(super) fack: bool,
    /// ssthresh after a loss is half of FlightSize (RFC 5681, equation (4)), not of cwnd.
    pub(super) ssthresh_from_flight_size: bool,
    /// CUBIC in integers on a clock of ticks, as in kernels.
    pub(super) kernel_cubic: bool,
    /// The program becomes writable only when nothing more may be sent now.
    pub(super) writable_after_sending: bool,
    /// A segment that is not full ends a write, so it has PSH, and is acknowledged at once.
    pub(super) acks_push: bool,
}

/// How losses are detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
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
    /// Whether `rto_min` bounds the variance term (RTO = SRTT + max(rto_min, 4 RTTVAR)), as in Linux and BSD, and not
    /// the RTO itself.
    pub(super) rto_min_bounds_rttvar: bool,
    /// The largest retransmission timeout.
    pub(super) rto_max: Duration,
    /// How long an acknowledgement may be delayed.
    pub(super) delayed_ack: Duration,
    /// The receive window in bytes, where it does not grow.
    pub(super) receive_window: u64,
    /// The largest receive window of the handshake in bytes, where it grows.
    pub(super) initial_rcv_wnd: u64,
    /// The initial receive buffer in bytes, where the window grows (`tcp_rmem[1]`).
    pub(super) rmem_default: u64,
    /// The maximum of the receive buffer in bytes (`tcp_rmem[2]`).
    pub(super) rmem_max: u64,
    /// The window per receive buffer, in 1/1024 (Linux: 1/256), before a full segment has come and after.
    pub(super) scaling_ratio: [u64; 2],
    /// How long it takes until a program reacts to received data.
    pub(super) wakeup_latency: Duration,
    /// The connections that one stands for (TCP+).
    pub(super) flows: u32,
    /// The maximum of written but unsent bytes (`TCP_NOTSENT_LOWAT`).
    pub(super) notsent_lowat: u64,
    /// SYN retransmissions before the timeout begins to double (`tcp_syn_linear_timeouts`).
    pub(super) syn_linear_timeouts: u32,
    /// SYN retransmissions after that before the connection times out (`tcp_syn_retries`).
    pub(super) syn_retries: u32,
    /// Timeouts in a row before the connection times out (`tcp_retries2`).
    pub(super) retries2: u32,
}

impl Config {
    /// What it stands for.
    pub(super) fn rules(&self) -> Rules {
        Rules::of(self)
    }

    /// How long it takes until a program on such a system reacts to received data: it is woken, notified, and makes a
    /// system call.
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
        // If `rack` is switched, the alternative is RFC 6675, not FACK.
        rules.fack &= switched.rack.is_none();
        if config.congestion() == Congestion::Bbr {
            // A model-based control handles idle phases itself.
            let own = &mut rules.mechanisms;
            (own.idle_restart, own.unused_window_shrinks) = (IdleRestart::Never, false);
        }
        rules
    }

    /// How losses are detected.
    pub(super) fn detection(&self) -> LossDetection {
        match self {
            Rules { mechanisms: ProfileMechanisms { rack: true, .. }, .. } => LossDetection::Rack,
            Rules { fack: true, .. } => LossDetection::Fack,
            _ => LossDetection::DupThresh,
        }
    }

    /// Real duration of a timer set for `wait` ns: rounded up to ticks, plus half the granularity of its timer-wheel
    /// level.
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
