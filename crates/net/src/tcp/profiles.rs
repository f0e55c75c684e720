//! The systems whose TCP is modelled: constants and mechanisms of each.

use super::config::{Congestion, InitialWindow, Profile};
use super::mechanisms::{AckCounting, IdleRestart, ProfileMechanisms};
use super::reduction::CwndReduction;
use super::rules::{Constants, Rules};
use std::time::Duration;

impl Profile {
    /// The initial window and the congestion control that it comes with.
    pub(super) const fn defaults(self) -> (InitialWindow, Congestion) {
        match self {
            Profile::Textbook | Profile::Linux37 | Profile::Linux6 => (InitialWindow::known(10), Congestion::Cubic),
            Profile::Linux26 => (InitialWindow::known(3), Congestion::Cubic),
            // RFC 3390 allows 3 segments of 1460 bytes; measurements of the time saw 2.
            Profile::Windows7 => (InitialWindow::known(2), Congestion::Reno),
            // `net.inet.tcp.slowstart_flightsize`.
            Profile::MacOsX105 => (InitialWindow::known(1), Congestion::Reno),
        }
    }

    /// What it stands for.
    pub(super) const fn rules(self) -> Rules {
        match self {
            Profile::Textbook => TEXTBOOK,
            Profile::Linux26 => LINUX_2_6,
            Profile::Linux37 => LINUX_3_7,
            Profile::Windows7 => WINDOWS_7,
            Profile::MacOsX105 => MAC_OS_X_10_5,
            Profile::Linux6 => LINUX_6,
        }
    }
}

const TEXTBOOK: Rules = Rules {
    constants: Constants {
        // 1500 bytes less 20 for IP, 20 for TCP, 12 for the timestamps.
        mss: 1448,
        // RFC 6298, (2.1), (2.4), (2.5).
        rto_initial: Duration::from_secs(1),
        rto_min: Duration::from_secs(1),
        rto_min_bounds_rttvar: false,
        rto_max: Duration::from_secs(60),
        // RFC 9293, section 3.8.6.3, allows up to 500 ms; systems use 40 ms or more.
        delayed_ack: Duration::from_millis(40),
        receive_window: 6 * 1024 * 1024,
        initial_rcv_wnd: 6 * 1024 * 1024,
        rmem_default: 6 * 1024 * 1024,
        rmem_max: 6 * 1024 * 1024,
        scaling_ratio: [1024; 2],
        wakeup_latency: Duration::ZERO,
        flows: 1,
        notsent_lowat: 16 * 1024,
        // Linux's tcp_syn_retries and tcp_retries2: the RFCs give times only.
        syn_linear_timeouts: 0,
        syn_retries: 6,
        retries2: 15,
    },
    mechanisms: ProfileMechanisms {
        rack: false,
        reduction: CwndReduction::PrrCrb,
        counting: AckCounting::Bytes2,
        idle_restart: IdleRestart::Initial,
        tail_loss_probes: false,
        frto: false,
        undo: false,
        hystart: false,
        unused_window_shrinks: false,
        coarse_timers: false,
        send_buffer: false,
        quick_acks: false,
        sack_compression: false,
        window_tuning: false,
        // Linux remembered until 5.6 (tcp_no_ssthresh_metrics_save), but a first load has nothing to remember.
        metrics: false,
        // Programs that answer requests set TCP_NODELAY.
        nagle: false,
    },
    fack: false,
    ssthresh_from_flight_size: true,
    kernel_cubic: false,
    writable_after_sending: false,
    acks_push: false,
};

const LINUX_6: Rules = Rules {
    constants: Constants {
        // TCP_RTO_MIN, TCP_RTO_MAX.
        rto_min: Duration::from_millis(200),
        rto_min_bounds_rttvar: true,
        rto_max: Duration::from_secs(120),
        // TCP_DELACK_MIN.
        delayed_ack: Duration::from_millis(40),
        // As much as the buffer is worth.
        initial_rcv_wnd: u64::MAX,
        rmem_default: 131_072,
        rmem_max: 6_291_456,
        // A full segment of 1,448 bytes takes 2,304 of it: 160 parts of 256 (`scaling_ratio`).
        scaling_ratio: [512, 640],
        // Measured over the kernel, on an otherwise idle virtual machine: 0.14-0.21 ms for a browser's
        // request, 0.28-0.36 ms for a server's response.
        wakeup_latency: Duration::from_micros(200),
        // Since 6.5.
        syn_linear_timeouts: 4,
        ..TEXTBOOK.constants
    },
    mechanisms: ProfileMechanisms {
        rack: true,
        reduction: CwndReduction::PrrSsrb,
        counting: AckCounting::Segments,
        idle_restart: IdleRestart::Halving,
        tail_loss_probes: true,
        frto: true,
        undo: true,
        hystart: true,
        unused_window_shrinks: true,
        coarse_timers: true,
        send_buffer: true,
        quick_acks: true,
        sack_compression: true,
        window_tuning: true,
        metrics: false,
        nagle: false,
    },
    fack: false,
    ssthresh_from_flight_size: false,
    kernel_cubic: true,
    writable_after_sending: true,
    acks_push: false,
};

/// Linux 3.7. What differs from 6.x and is left as there: its acknowledgements (16 quick ones, then every
/// second segment; whether and how often the growing window makes for more is not known).
const LINUX_3_7: Rules = Rules {
    constants: Constants {
        // TCP_DEFAULT_INIT_RCVWND: 10 segments of 1460 bytes.
        initial_rcv_wnd: 14_600,
        rmem_default: 87_380,
        // tcp_adv_win_scale 1: half of the buffer.
        scaling_ratio: [512; 2],
        syn_linear_timeouts: 0,
        ..LINUX_6.constants
    },
    mechanisms: ProfileMechanisms {
        rack: false,
        counting: AckCounting::Acks,
        tail_loss_probes: false,
        // Came with 4.18.
        sack_compression: false,
        ..LINUX_6.mechanisms
    },
    fack: true,
    ..LINUX_6
};

/// Linux 2.6.32.
const LINUX_2_6: Rules = Rules {
    constants: Constants {
        // TCP_TIMEOUT_INIT before RFC 6298.
        rto_initial: Duration::from_secs(3),
        // 4 segments of 1460 bytes.
        initial_rcv_wnd: 5_840,
        // tcp_adv_win_scale 2: three quarters of the buffer.
        scaling_ratio: [768; 2],
        // tcp_syn_retries was 5 then.
        syn_retries: 5,
        ..LINUX_3_7.constants
    },
    mechanisms: ProfileMechanisms { reduction: CwndReduction::RateHalving, ..LINUX_3_7.mechanisms },
    ..LINUX_3_7
};

/// Windows 7, as far as its documentation goes (`TcpAckFrequency`, `TcpDelAckTicks`, `TcpInitialRtt`,
/// `TcpMaxConnectRetransmissions`, `TcpMaxDataRetransmissions`, receive window auto-tuning "normal"). How
/// its window grows in time is not documented: here as Linux's does. Its packets bear no timestamps unless
/// asked for; here all do.
const WINDOWS_7: Rules = Rules {
    constants: Constants {
        rto_initial: Duration::from_secs(3),
        rto_min: Duration::from_millis(300),
        delayed_ack: Duration::from_millis(200),
        initial_rcv_wnd: 65_536,
        rmem_default: 131_072,
        // A window of 16 MiB.
        rmem_max: 32 * 1024 * 1024,
        scaling_ratio: [512; 2],
        syn_retries: 2,
        retries2: 5,
        ..TEXTBOOK.constants
    },
    mechanisms: ProfileMechanisms { window_tuning: true, ..TEXTBOOK.mechanisms },
    ..TEXTBOOK
};

/// Mac OS X 10.5, as far as its settings (`net.inet.tcp`) and the BSD that it comes from say. How its window
/// grows in time is not known: here as Linux's does.
const MAC_OS_X_10_5: Rules = Rules {
    constants: Constants {
        // TCPTV_RTOBASE of BSD before RFC 6298.
        rto_initial: Duration::from_secs(3),
        // TCPTV_REXMTSLOP, which is added to what the round trips say.
        rto_min: Duration::from_millis(200),
        rto_min_bounds_rttvar: true,
        rto_max: Duration::from_secs(64),
        // TCPTV_DELACK.
        delayed_ack: Duration::from_millis(100),
        // `recvspace`, and what a scale of 3 (`win_scale_factor`) lets it become.
        initial_rcv_wnd: 65_535,
        rmem_default: 131_072,
        rmem_max: 2 * (65_535 << 3),
        scaling_ratio: [512; 2],
        // `tcp_syn_backoff`: five times the same, and then doubled until 75 s are over.
        syn_linear_timeouts: 4,
        syn_retries: 3,
        // TCP_MAXRXTSHIFT.
        retries2: 12,
        ..TEXTBOOK.constants
    },
    mechanisms: ProfileMechanisms { window_tuning: true, ..TEXTBOOK.mechanisms },
    // `delayed_ack` 3.
    acks_push: true,
    ..TEXTBOOK
};

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Profile; 6] =
        [Profile::Textbook, Profile::Linux26, Profile::Linux37, Profile::Linux6, Profile::Windows7, Profile::MacOsX105];

    /// From the systems' sources and documents, as [`Constants`] names them: milliseconds and bytes.
    #[test]
    fn each_system_has_its_constants() {
        let ms = |span: fn(&Constants) -> Duration| ALL.map(|profile| span(&profile.rules().constants).as_millis());
        assert_eq!(ms(|constants| constants.rto_initial), [1_000, 3_000, 1_000, 1_000, 3_000, 3_000]);
        assert_eq!(ms(|constants| constants.rto_min), [1_000, 200, 200, 200, 300, 200]);
        assert_eq!(ms(|constants| constants.rto_max), [60_000, 120_000, 120_000, 120_000, 60_000, 64_000]);
        assert_eq!(ms(|constants| constants.delayed_ack), [40, 40, 40, 40, 200, 100]);
        let bytes = |size: fn(&Constants) -> u64| ALL.map(|profile| size(&profile.rules().constants));
        assert_eq!(bytes(|constants| constants.mss.into()), [1_448; 6]);
        assert_eq!(bytes(|constants| constants.receive_window), [6_291_456; 6]);
        let first = [6_291_456, 5_840, 14_600, u64::MAX, 65_536, 65_535];
        assert_eq!(bytes(|constants| constants.initial_rcv_wnd), first);
        assert_eq!(bytes(|constants| constants.rmem_default), [6_291_456, 87_380, 87_380, 131_072, 131_072, 131_072]);
        let most = [6_291_456, 6_291_456, 6_291_456, 6_291_456, 33_554_432, 1_048_560];
        assert_eq!(bytes(|constants| constants.rmem_max), most);
        assert_eq!(bytes(|constants| constants.notsent_lowat), [16_384; 6]);
        let retries = ALL.map(|profile| {
            let Constants { syn_linear_timeouts, syn_retries, retries2, .. } = profile.rules().constants;
            (syn_linear_timeouts, syn_retries, retries2)
        });
        assert_eq!(retries, [(0, 6, 15), (0, 5, 15), (0, 6, 15), (4, 6, 15), (0, 2, 5), (4, 3, 12)]);
    }

    #[test]
    fn each_system_has_its_buffers_and_timers() {
        let constants = ALL.map(|profile| profile.rules().constants);
        let ratios = constants.map(|constants| constants.scaling_ratio);
        assert_eq!(ratios, [[1024; 2], [768; 2], [512; 2], [512, 640], [512; 2], [512; 2]]);
        let latencies = constants.map(|constants| constants.wakeup_latency.as_micros());
        assert_eq!(latencies, [0, 200, 200, 200, 0, 0]);
        let added = constants.map(|constants| constants.rto_min_bounds_rttvar);
        assert_eq!(added, [false, true, true, true, false, true]);
        assert_eq!(constants.map(|constants| constants.flows), [1; 6]);
    }

    #[test]
    fn each_system_has_its_mechanisms() {
        let rules = ALL.map(Profile::rules);
        let has = |mechanism: fn(&ProfileMechanisms) -> bool| {
            let systems = rules.iter().map(|rules| if mechanism(&rules.mechanisms) { 'x' } else { '-' });
            systems.collect::<String>()
        };
        // textbook, Linux 2.6, 3.7 and 6, Windows 7, Mac OS X 10.5.
        assert_eq!(has(|mechanisms| mechanisms.rack), "---x--");
        assert_eq!(has(|mechanisms| mechanisms.tail_loss_probes), "---x--");
        assert_eq!(has(|mechanisms| mechanisms.sack_compression), "---x--");
        for linux in [
            has(|mechanisms| mechanisms.hystart),
            has(|mechanisms| mechanisms.frto),
            has(|mechanisms| mechanisms.undo),
            has(|mechanisms| mechanisms.unused_window_shrinks),
            has(|mechanisms| mechanisms.coarse_timers),
            has(|mechanisms| mechanisms.quick_acks),
            has(|mechanisms| mechanisms.send_buffer),
        ] {
            assert_eq!(linux, "-xxx--");
        }
        assert_eq!(has(|mechanisms| mechanisms.window_tuning), "-xxxxx");
        assert_eq!(has(|mechanisms| mechanisms.metrics || mechanisms.nagle), "------");
        let reductions = rules.map(|rules| rules.mechanisms.reduction);
        let [crb, ssrb, halving] = [CwndReduction::PrrCrb, CwndReduction::PrrSsrb, CwndReduction::RateHalving];
        assert_eq!(reductions, [crb, halving, ssrb, ssrb, crb, crb]);
        let counting = rules.map(|rules| rules.mechanisms.counting);
        let [bytes, acks, segments] = [AckCounting::Bytes2, AckCounting::Acks, AckCounting::Segments];
        assert_eq!(counting, [bytes, acks, acks, segments, bytes, bytes]);
        let restarts = rules.map(|rules| rules.mechanisms.idle_restart);
        let [initial, halving] = [IdleRestart::Initial, IdleRestart::Halving];
        assert_eq!(restarts, [initial, halving, halving, halving, initial, initial]);
        let own = rules.map(|rules| (rules.fack, rules.ssthresh_from_flight_size, rules.kernel_cubic, rules.acks_push));
        let (rfcs, linux) = ((false, true, false, false), (true, false, true, false));
        let (linux_6, mac) = ((false, false, true, false), (false, true, false, true));
        assert_eq!(own, [rfcs, linux, linux, linux_6, rfcs, mac]);
    }
}
