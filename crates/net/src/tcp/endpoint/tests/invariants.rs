//! What holds whatever the systems, the network and the programs do.

use super::*;
use crate::tcp::{AckCounting, CwndReduction, IdleRestart, Mechanisms};
use std::collections::BTreeMap;

/// What a network does to packets, drawn again for each.
#[derive(Clone, Copy, Debug)]
struct Impairments {
    /// In percent.
    loss: u32,
    duplicate: u32,
    /// In ms, each way at least and what may come on top.
    delay: u64,
    spread: u64,
}

/// A program writes `bytes` as room allows, and then nothing for `pause` ms.
#[derive(Clone, Copy, Debug)]
struct Burst {
    side: usize,
    bytes: u64,
    pause: u64,
}

/// Two endpoints whose every step is looked at.
struct World {
    now: Time,
    ends: [Endpoint; 2],
    impairments: Impairments,
    draws: loadstone_units::RandomStream,
    wire: BTreeMap<(Time, u64), (usize, Segment)>,
    packets: u64,
    /// Data segments and bytes of each side, the last number that it was allowed to send, and the last that
    /// was acknowledged to it.
    segments: [u64; 2],
    written: [u64; 2],
    left: [u64; 2],
    edge: [u64; 2],
    una: [u64; 2],
    read: [u64; 2],
    arrived: [Vec<(u64, u64)>; 2],
}

impl World {
    fn new(configs: [Config; 2], impairments: Impairments, seed: u64) -> World {
        World {
            now: Time::ZERO,
            ends: [Endpoint::connect(&configs[A]), Endpoint::listen(&configs[B])],
            impairments,
            draws: Seed(seed).stream("weather"),
            wire: BTreeMap::new(),
            packets: 0,
            segments: [0; 2],
            written: [0; 2],
            left: [0; 2],
            edge: [1; 2],
            una: [1; 2],
            read: [0; 2],
            arrived: [const { Vec::new() }; 2],
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.draws.next_f64() * 100.0 < f64::from(percent)
    }

    fn carry(&mut self, to: usize, segment: Segment) {
        let delay =
            self.impairments.delay * 1_000_000 + self.draws.next_u64() % (self.impairments.spread * 1_000_000 + 1);
        self.packets += 1;
        self.wire.insert((self.now.plus_nanos(delay), self.packets), (to, segment));
    }

    fn check(&mut self, side: usize, segment: &Segment) {
        if segment.flags.syn {
            return;
        }
        let end = segment.seq + u64::from(segment.len);
        assert!(segment.len == 0 || end <= self.edge[side].min(self.written[side] + 1), "{segment:?}");
        assert!(segment.len <= MSS as u32 && (Packet::len(segment) <= 1500 || segment.len == 0), "{segment:?}");
        if segment.len > 0 || segment.flags.fin {
            assert!(segment.seq >= self.una[side], "{segment:?} is acknowledged");
            self.segments[side] += 1;
        }
    }

    fn drain(&mut self) {
        for side in [A, B] {
            loop {
                let room = self.ends[side].writable().min(self.left[side]);
                if room > 0 {
                    self.ends[side].write(room);
                    self.left[side] -= room;
                    self.written[side] += room;
                }
                let Some(segment) = self.ends[side].poll_segment(self.now) else { break };
                self.check(side, &segment);
                if !self.chance(self.impairments.loss) {
                    self.carry(1 - side, segment);
                }
                if self.chance(self.impairments.duplicate) {
                    self.carry(1 - side, segment);
                }
            }
            if !matches!(self.ends[side].state(), State::TimedOut) {
                self.ends[side].sender.check_invariants();
            }
        }
    }

    fn step(&mut self, until: Time) -> bool {
        let timer = self.ends[A].poll_timeout().min(self.ends[B].poll_timeout());
        let arrival = self.wire.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        let next = timer.min(arrival);
        if next > until || next == Time::NEVER {
            return false;
        }
        self.now = next;
        if arrival <= timer {
            let (_, (side, segment)) = self.wire.pop_first().unwrap();
            self.ends[side].handle_segment(next, &segment);
            if segment.flags.ack && self.ends[side].state().is_synchronised() {
                self.edge[side] = self.edge[side].max(segment.ack + u64::from(segment.window));
                self.una[side] = self.una[side].max(segment.ack);
            }
            if segment.len > 0 {
                self.arrived[side].push((segment.seq, segment.seq + u64::from(segment.len)));
            }
            let read = self.ends[side].read(u64::MAX);
            self.read[side] += read;
            if read > 0 {
                assert_eq!(self.read[side], prefix(&mut self.arrived[side]));
            }
        } else {
            self.ends.iter_mut().for_each(|end| end.handle_timeout(next));
        }
        self.drain();
        let is_settled = self.ends.iter().all(|end| end.poll_timeout() > next);
        assert!(is_settled || arrival <= timer, "what was due at {next:?} still is");
        true
    }

    fn is_given_up(&self) -> bool {
        self.ends.iter().any(|end| end.state() == State::TimedOut)
    }

    fn run(&mut self, bursts: &[Burst]) {
        self.drain();
        let mut steps = 0;
        let mut go = |world: &mut World, until| {
            steps += 1;
            assert!(steps < 300_000, "it goes on for ever");
            world.step(until)
        };
        while !self.ends.iter().all(|end| end.state().is_synchronised()) && go(self, Time::NEVER) {}
        for burst in bursts {
            self.left[burst.side] += burst.bytes;
            self.drain();
            while self.left[burst.side] > 0 && !self.is_given_up() {
                assert!(go(self, Time::NEVER), "{:?}", self.ends);
            }
            let until = self.now + ms(burst.pause);
            while go(self, until) {}
            self.now = self.now.max(until);
        }
        while self.left != [0; 2] && !self.is_given_up() && go(self, Time::NEVER) {}
        self.ends.iter_mut().for_each(Endpoint::close);
        self.drain();
        while go(self, Time::NEVER) {}
    }
}

fn mechanisms() -> impl Strategy<Value = Mechanisms> {
    let switch = || prop::option::of(any::<bool>());
    let reductions = vec![CwndReduction::PrrCrb, CwndReduction::PrrSsrb, CwndReduction::RateHalving];
    let countings = vec![AckCounting::Acks, AckCounting::Bytes1, AckCounting::Bytes2, AckCounting::Segments];
    let restarts = vec![IdleRestart::Initial, IdleRestart::Halving, IdleRestart::Never];
    let chosen = (
        prop::option::of(prop::sample::select(reductions)),
        prop::option::of(prop::sample::select(countings)),
        prop::option::of(prop::sample::select(restarts)),
    );
    let first = (switch(), switch(), switch(), switch(), switch());
    let second = (switch(), switch(), switch(), switch(), switch(), switch(), switch());
    (first, second, chosen).prop_map(|((hystart, rack, tail_loss_probes, frto, undo), second, chosen)| {
        let (unused_window_shrinks, quick_acks, sack_compression, window_tuning, send_buffer, coarse_timers, nagle) =
            second;
        let (reduction, counting, idle_restart) = chosen;
        Mechanisms {
            hystart,
            rack,
            tail_loss_probes,
            frto,
            undo,
            reduction,
            counting,
            idle_restart,
            unused_window_shrinks,
            quick_acks,
            sack_compression,
            window_tuning,
            send_buffer,
            coarse_timers,
            nagle,
            // Nothing is known here of connections that came before.
            metrics: None,
        }
    })
}

fn any_config() -> impl Strategy<Value = Config> {
    let profiles = vec![
        Profile::Textbook,
        Profile::Linux26,
        Profile::Linux37,
        Profile::Windows7,
        Profile::MacOsX105,
        Profile::Linux6,
    ];
    let controls = vec![Congestion::Reno, Congestion::Cubic, Congestion::Bbr];
    (
        prop::sample::select(profiles),
        prop::option::of(prop::sample::select(controls)),
        prop::option::of(1_i64..60),
        prop::option::of(1_u32..=8),
        prop::option::of(2048_u32..40_000),
        prop::option::of(2048_u32..40_000),
        prop_oneof![Just(Mechanisms::default()), mechanisms()],
    )
        .prop_map(|(profile, cc, iw, flows, window, lowat, mechanisms)| Config {
            profile,
            cc,
            iw: iw.map(|iw| InitialWindow::try_from(iw).unwrap()),
            flows: flows.map(Bounded::known),
            receive_window: window.map(Bounded::known),
            notsent_lowat: lowat.map(Bounded::known),
            mechanisms,
        })
}

fn any_impairments() -> impl Strategy<Value = Impairments> {
    let percent = || prop_oneof![Just(0), 1_u32..30];
    let spread = prop_oneof![Just(0), 1_u64..200];
    (percent(), percent(), 0_u64..150, spread).prop_map(|(loss, duplicate, delay, spread)| Impairments {
        loss,
        duplicate,
        delay,
        spread,
    })
}

fn any_bursts() -> impl Strategy<Value = Vec<Burst>> {
    let burst = (0..2_usize, prop_oneof![1_u64..3000, 1_u64..150_000], prop_oneof![0_u64..100, 0_u64..4000]);
    prop::collection::vec(burst.prop_map(|(side, bytes, pause)| Burst { side, bytes, pause }), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn with_any_systems_and_impairments_all_arrives_once_and_the_invariants_hold(
        seed in any::<u64>(),
        client in any_config(),
        server in any_config(),
        impairments in any_impairments(),
        bursts in any_bursts(),
    ) {
        let mut world = World::new([client, server], impairments, seed);
        world.run(&bursts);
        if !world.is_given_up() {
            let states = [A, B].map(|side| world.ends[side].state());
            prop_assert_eq!(states, [State::Closed; 2], "nothing left to do: {:?}", world.ends);
            prop_assert_eq!(world.read, [world.written[B], world.written[A]]);
        }
        for side in [A, B] {
            let most = 200 + 20 * (world.written[side] / MSS + bursts.len() as u64);
            prop_assert!(world.segments[side] <= most, "{} segments", world.segments[side]);
        }
    }
}
