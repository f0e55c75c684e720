//! Two ends joined by a wire that damages what it carries: whatever arrives, they say so or go on, in
//! bounded time and memory.

use super::*;

/// A byte that is changed, by its place among all that are carried.
type Damage = (u32, u8);

/// Two ends that exchange heads and bodies, turn by turn, while the wire damages bytes of heads; every third
/// response has a push associated with it, and both ends send PING. Returns how many exchanges complete.
fn talk_over(protocol: Protocol, damages: &[Damage], exchanges: u32) -> Result<usize, TestCaseError> {
    let config = Multiplexing {
        stream_window: Bounded::known(65_536),
        session_window: Bounded::known(65_536),
        push: crate::Push::Accept,
        ..Multiplexing::default()
    };
    let sessions = sessions(config);
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    let (mut carried, mut asked, mut owed, mut ended) = (0_u32, 0, Vec::new(), 0);
    for turn in 0..10_000 {
        if asked < exchanges && client.capacity() > 0 {
            let upload = if asked % 3 == 0 { body(asked, 3_000) } else { Body::EMPTY };
            client.request(get(&format!("/{asked}")), upload.into(), Priority::at(asked as u8 % 8));
            client.ping();
            asked += 1;
        }
        let up = carry_damaged(client.as_mut(), server.as_mut(), damages, &mut carried);
        for event in events(server.as_mut()) {
            match event {
                Event::Request { id, .. } => owed.push(id),
                Event::Reset { id } => owed.retain(|owed| *owed != id),
                _ => {}
            }
        }
        if turn % 2 == 0 {
            for id in owed.drain(..) {
                server.ping();
                let is_third = id.0 % 3 == 0;
                let pushed = is_third.then(|| server.push(id, get("/pushed"), Priority::default())).flatten();
                server.send_interim(id, Arc::new(ResponseHead::new(103, Fields::from_pairs([("link", "</x>")]))));
                server.respond(id, ok(20_000), body(id.0, 20_000).into());
                pushed.into_iter().for_each(|id| server.respond(id, ok(500), body(0, 500).into()));
            }
        }
        let down = carry_damaged(server.as_mut(), client.as_mut(), damages, &mut carried);
        let is_end = |event: &&Event| matches!(event, Event::End { id } if !id.is_pushed());
        ended += events(client.as_mut()).iter().filter(is_end).count();
        prop_assert!(ended <= exchanges as usize);
        match (up, down) {
            (Some(0), Some(0)) if turn % 2 == 1 => return Ok(ended),
            (Some(up), Some(down)) => prop_assert!(up.max(down) < 1 << 20, "more than the windows let"),
            // A session that is over says nothing more once it has said why.
            _ => {
                for session in [client.as_mut() as &mut dyn Session, server.as_mut()] {
                    session.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
                }
                return Ok(ended);
            }
        }
    }
    Err(TestCaseError::fail("they peer without end"))
}

/// Carries what one has to say to the other; how many bytes, or nothing if that one has had enough.
fn carry_damaged(from: &mut dyn Session, to: &mut dyn Session, damages: &[Damage], carried: &mut u32) -> Option<u64> {
    let mut wire = Wire::default();
    from.poll_transmit(NOW, TransportStream::TCP, 1 << 20, &mut wire);
    let len = wire.len();
    for chunk in wire.take_all() {
        let chunk = match chunk {
            Chunk::Bytes(bytes) => {
                let mut bytes = bytes.to_vec();
                for (at, bits) in damages {
                    if let Some(byte) = at.checked_sub(*carried).and_then(|at| bytes.get_mut(at as usize)) {
                        *byte ^= bits;
                    }
                }
                *carried += bytes.len() as u32;
                Chunk::Bytes(bytes.into())
            }
            // Content that is taken for a frame has to be real.
            Chunk::Run { len, .. } => Chunk::Bytes(vec![b'x'; len as usize].into()),
        };
        to.handle_input(NOW, TransportStream::TCP, &[chunk]).ok()?;
    }
    Some(len)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_bytes_end_a_session_or_are_put_up_with(
        protocol in prop::sample::select(ALL.to_vec()),
        damages in prop::collection::vec((0_u32..3_000, 1_u8..), 0..6),
        exchanges in 1_u32..12,
    ) {
        talk_over(protocol, &damages, exchanges)?;
    }
}

#[test]
fn bytes_that_are_not_damaged_bring_every_exchange_to_its_end() {
    for protocol in ALL {
        assert_eq!(talk_over(protocol, &[], 12).unwrap(), 12, "{protocol}");
    }
}
