//! TCP's mechanisms, in one list: what a profile has, and what a scenario may switch.

use super::reduction::CwndReduction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes of one list what a profile has (all of it) and what may be switched (each or not).
macro_rules! mechanisms {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)+) => {
        /// Mechanisms of TCP, each switched by itself, to measure its effect. A mechanism that is left out is as in the
        /// profile.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Mechanisms {
            $($(#[$doc])* pub $name: Option<$kind>,)+
        }

        /// The mechanisms that one end has.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) struct ProfileMechanisms {
            $($(#[$doc])* pub(super) $name: $kind,)+
        }

        impl ProfileMechanisms {
            /// The same with some of them switched.
            pub(super) fn switched(self, with: &Mechanisms) -> ProfileMechanisms {
                ProfileMechanisms { $($name: with.$name.unwrap_or(self.$name),)+ }
            }
        }
    };
}

mechanisms! {
    /// CUBIC leaves slow start before the queue overflows (HyStart, `tcp_cubic.c`).
    hystart: bool,
    /// Losses are detected by time (RACK, RFC 8985) instead of by three SACKed segments (RFC 6675).
    rack: bool,
    /// Tail loss probes (TLP) after two round trips (RFC 8985, section 7).
    tail_loss_probes: bool,
    /// F-RTO: recovery ends at once after a spurious timeout (RFC 5682).
    frto: bool,
    /// A reduction of the window is undone if timestamps or D-SACK prove it spurious (RFC 4015).
    undo: bool,
    /// The algorithm that reduces cwnd during recovery.
    reduction: CwndReduction,
    /// By what cwnd grows for an ACK: packets, or bytes (ABC, RFC 3465).
    counting: AckCounting,
    /// What an idle phase does to the window.
    idle_restart: IdleRestart,
    /// Congestion window validation: a window that is not used for one RTO shrinks (`tcp_cwnd_application_limited`; RFC
    /// 7661 came later).
    unused_window_shrinks: bool,
    /// The first segments, and those that make the receive window grow, are acknowledged at once.
    quick_acks: bool,
    /// SACK compression: ACKs of the same gap are delayed for up to 1.1 ms (`tcp_comp_sack_delay_ns`).
    sack_compression: bool,
    /// Receive buffer auto-tuning: the window begins small and grows with the bytes read (`tcp_moderate_rcvbuf`).
    window_tuning: bool,
    /// The send buffer begins small and follows cwnd while the program waits for space.
    send_buffer: bool,
    /// A connection begins with the ssthresh that earlier ones to the same host have left in the metrics cache
    /// (`tcp_no_metrics_save` = 0), as with Linux before 5.6 (`tcp_no_ssthresh_metrics_save`).
    metrics: bool,
    /// Nagle's algorithm: data that does not fill a segment waits until the last such segment is acknowledged (RFC 896,
    /// with Minshall's change as in Linux). For programs that do not set TCP_NODELAY.
    nagle: bool,
    /// Timers go by ticks of 4 ms.
    coarse_timers: bool,
}

impl Mechanisms {
    pub(super) fn is_default(&self) -> bool {
        *self == Mechanisms::default()
    }
}

/// By what an ACK lets cwnd grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckCounting {
    /// One segment, whatever it acknowledges (Linux before 3.13, `tcp_abc` = 0).
    Acks,
    /// Its bytes, in slow start at most one segment of them (ABC, RFC 3465 with L = 1, `tcp_abc` = 1).
    #[serde(rename = "bytes-1")]
    Bytes1,
    /// Its bytes, in slow start at most two segments of them (ABC, RFC 3465 with L = 2, `tcp_abc` = 2).
    #[serde(rename = "bytes-2")]
    Bytes2,
    /// Its segments, or those that it SACKs (Linux since 3.13).
    Segments,
}

/// What an idle phase longer than the RTO does to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// It is the initial one again (RFC 5681, section 4.1).
    Initial,
    /// It is halved for each timeout, down to the initial one (`tcp_cwnd_restart`).
    Halving,
    /// Nothing.
    Never,
}
