//! What frames may be, and what they do: the rules of each protocol, byte by byte.

use super::*;

#[test]
fn frames_of_http2_that_break_the_rules_end_the_session_rfc9113() {
    let cases: [(&[u8], PeerFault, &str); 19] = [
        (b"\0\x40\x01\0\0\0\0\0\x01", PeerFault::FrameTooLarge, "4.2: 16,385 bytes"),
        (b"\0\0\0\x01\x05\0\0\0\0", PeerFault::UnexpectedFrame, "6.2: HEADERS on stream 0"),
        (b"\0\0\x01\0\0\0\0\0\0x", PeerFault::UnexpectedFrame, "6.1: DATA on stream 0"),
        (b"\0\0\x01\x01\x05\0\0\0\x01\x80", PeerFault::Compression, "4.3: index 0"),
        (b"\0\0\x01\x01\x0d\0\0\0\x01\x01", PeerFault::MalformedFrame, "6.2: more padding than there is room"),
        (b"\0\0\x05\x02\0\0\0\0\0\0\0\0\0\0", PeerFault::UnexpectedFrame, "6.3: PRIORITY on stream 0"),
        (b"\0\0\x03\x03\0\0\0\0\x01\0\0\0", PeerFault::FrameSize, "6.4: RST_STREAM of 3 bytes"),
        (b"\0\0\x01\x04\0\0\0\0\0x", PeerFault::FrameSize, "6.5: SETTINGS of 1 byte"),
        (b"\0\0\0\x04\0\0\0\0\x01", PeerFault::UnexpectedFrame, "6.5: SETTINGS on a stream"),
        (b"\0\0\x06\x04\x01\0\0\0\0\0\x01\0\0\0\0", PeerFault::FrameSize, "6.5: an ACK with content"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x02\0\0\0\x02", PeerFault::MalformedFrame, "6.5.2: ENABLE_PUSH 2"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x04\x80\0\0\0", PeerFault::FlowControl, "6.5.2: a window of 2^31"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x10\0", PeerFault::MalformedFrame, "6.5.2: frames of 4,096 bytes"),
        (b"\0\0\x07\x06\0\0\0\0\x001234567", PeerFault::FrameSize, "6.7: PING of 7 bytes"),
        (b"\0\0\x08\x06\0\0\0\0\x0112345678", PeerFault::UnexpectedFrame, "6.7: PING on a stream"),
        (b"\0\0\x07\x07\0\0\0\0\x001234567", PeerFault::FrameSize, "6.8: GOAWAY of 7 bytes"),
        (b"\0\0\x05\x08\0\0\0\0\0\0\0\0\x01\0", PeerFault::FrameSize, "6.9: WINDOW_UPDATE of 5 bytes"),
        (b"\0\0\0\x09\x04\0\0\0\x01", PeerFault::UnexpectedFrame, "6.10: CONTINUATION of nothing"),
        (b"\0\0\x04\x05\x04\0\0\0\x01\0\0\0\x02", PeerFault::UnexpectedFrame, "8.4: a client that pushes"),
    ];
    for (frame, fault, why) in cases {
        assert_eq!(server_after(Protocol::H2, &[MAGIC, frame]), Err(fault.into()), "{why}");
    }
    assert_eq!(server_after(Protocol::H2, &[b"GET / HTTP/1.1\r\n"]), Err(PeerFault::Preface.into()));
    // 3.4: the first frame is SETTINGS, and no answer to one.
    for first in [&b"\0\0\x08\x06\0\0\0\0\x0012345678"[..], b"\0\0\0\x04\x01\0\0\0\0"] {
        assert_eq!(server_after(Protocol::H2, &[&MAGIC[..24], first]), Err(PeerFault::Preface.into()));
    }
    // 6.10: nothing comes between HEADERS and CONTINUATION, and there is an end to it.
    let begun = b"\0\0\x01\x01\x01\0\0\0\x01\x82";
    let result = server_after(Protocol::H2, &[MAGIC, begun, b"\0\0\x08\x06\0\0\0\0\x0012345678"]);
    assert_eq!(result, Err(PeerFault::UnexpectedFrame.into()));
    let empty = b"\0\0\0\x09\0\0\0\0\x01".repeat(128);
    assert_eq!(server_after(Protocol::H2, &[MAGIC, begun, &empty[..9 * 127]]), Ok(()));
    assert_eq!(server_after(Protocol::H2, &[MAGIC, begun, &empty]), Err(PeerFault::HeadTooLarge.into()));
}

#[test]
fn a_header_block_may_come_in_many_frames_rfc9113_6_10() {
    let frames: [&[u8]; 4] = [
        MAGIC,
        b"\0\0\x02\x01\x01\0\0\0\x01\x82\x87",
        b"\0\0\0\x09\0\0\0\0\x01",
        b"\0\0\x04\x09\x04\0\0\0\x01\x84\x41\x01a",
    ];
    let (result, mut server) = after(sessions(Multiplexing::default()).server(Protocol::H2), &frames);
    assert_eq!(result, Ok(()));
    assert!(
        matches!(&events(server.as_mut())[..], [Event::Request { head, .. }, Event::End { .. }] if head.path == "/")
    );
}

#[test]
fn padding_is_no_content_and_takes_room_in_the_windows_rfc9113_6_1() {
    let open = b"\0\0\x06\x01\x04\0\0\0\x01\x83\x87\x84\x41\x01a";
    let padded = b"\0\0\x06\0\x09\0\0\0\x01\x03ab\0\0\0";
    let (result, mut server) = after(sessions(Multiplexing::default()).server(Protocol::H2), &[MAGIC, open, padded]);
    assert_eq!(result, Ok(()));
    let id = RequestId(0);
    assert_eq!(events(server.as_mut())[1..], [Event::Data { id, content: counted(2) }, Event::End { id }]);
    let all_padding = b"\0\0\x02\0\x09\0\0\0\x01\x02\0";
    assert_eq!(server_after(Protocol::H2, &[MAGIC, open, all_padding]), Err(PeerFault::MalformedFrame.into()));
}

#[test]
fn settings_and_pings_are_answered_and_settings_apply_rfc9113_6_5_3() {
    let settings = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x05";
    let ping = b"\0\0\x08\x06\0\0\0\0\x0012345678";
    let mut client = sessions(Multiplexing::default()).client(Protocol::H2);
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut Wire::default());
    client
        .handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from([&settings[..], ping].concat()))])
        .unwrap();
    assert_eq!(client.capacity(), 5);
    let mut wire = Wire::default();
    client.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    let answers =
        [Bytes::from_static(b"\0\0\0\x04\x01\0\0\0\0"), Bytes::from_static(b"\0\0\x08\x06\x01\0\0\0\x0012345678")];
    assert_eq!(wire.take_all(), answers.map(Chunk::Bytes));
}

#[test]
fn frames_of_spdy_that_break_the_rules_end_the_session_draft3() {
    let cases: [(&[u8], PeerFault, &str); 8] = [
        (b"\x80\x02\0\x06\0\0\0\x04\0\0\0\x01", PeerFault::WrongVersion, "version 2"),
        (b"\x80\x03\0\x04\0\x01\0\x01", PeerFault::FrameTooLarge, "65,537 bytes of a control frame"),
        (b"\0\0\0\0\0\0\0\x01x", PeerFault::UnexpectedFrame, "DATA on stream 0"),
        (b"\x80\x03\0\x01\0\0\0\x04\0\0\0\x01", PeerFault::MalformedFrame, "SYN_STREAM of 4 bytes"),
        (b"\x80\x03\0\x01\0\0\0\x0c\0\0\0\x01\0\0\0\0\0\0xy", PeerFault::Compression, "no zlib"),
        (b"\x80\x03\0\x04\0\0\0\x06\0\0\0\x01\0\0", PeerFault::MalformedFrame, "SETTINGS with half an entry"),
        (b"\x80\x03\0\x06\0\0\0\x01x", PeerFault::MalformedFrame, "PING of 1 byte"),
        (b"\x80\x03\0\x03\0\0\0\x04\0\0\0\x01", PeerFault::MalformedFrame, "RST_STREAM of 4 bytes"),
    ];
    for (frame, fault, why) in cases {
        assert_eq!(server_after(Protocol::Spdy31, &[frame]), Err(fault.into()), "{why}");
    }
}

/// Of a frame with a header block so much is read as names its stream; the session ends, since its compression is
/// lost.
#[test]
fn a_frame_of_spdy_that_is_too_large_resets_its_stream_and_ends_the_session_draft3_2_6_3() {
    let reset: &[u8] = b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x05\0\0\0\x0b";
    let goaway: &[u8] = b"\x80\x03\0\x07\0\0\0\x08\0\0\0\0\0\0\0\x01";
    let said = |protocol, text: &[u8]| {
        let (result, mut server) = after(sessions(Multiplexing::default()).server(protocol), &[text]);
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        (
            result.err(),
            wire.take_all().iter().fold(Vec::new(), |all, chunk| match chunk {
                Chunk::Bytes(bytes) => [all, bytes.to_vec()].concat(),
                Chunk::Run { .. } => panic!("nothing was asked"),
            }),
        )
    };
    let over = Some(Error::from(PeerFault::FrameTooLarge));
    for protocol in [Protocol::Spdy3, Protocol::Spdy31] {
        // SYN_STREAM, SYN_REPLY and HEADERS of 65,537 bytes, and the beginning of them.
        for kind in [1, 2, 8] {
            let head = [0x80, 3, 0, kind, 0, 1, 0, 1, 0x80, 0, 0];
            assert_eq!(said(protocol, &head), (None, Vec::new()), "without an id there is nothing to say");
            let frame = [&head[..], b"\x05and more"].concat();
            assert_eq!(said(protocol, &frame), (over, [reset, goaway].concat()), "{protocol}, kind {kind}");
        }
        // What names no stream, or none that there can be; and what is itself a reset.
        for frame in
            [&b"\x80\x03\0\x04\0\x01\0\x01"[..], b"\x80\x03\0\x01\0\x01\0\x01\0\0\0\0", b"\x80\x03\0\x03\0\x01\0\x01"]
        {
            assert_eq!(said(protocol, frame), (over, goaway.to_vec()), "{protocol}");
        }
    }
    let goaway_2 = b"\x80\x02\0\x07\0\0\0\x04\0\0\0\0".to_vec();
    assert_eq!(said(Protocol::Spdy2, b"\x80\x02\0\x01\0\x01\0\x01"), (over, goaway_2), "there is no code for it");
}

#[test]
fn a_ping_is_answered_if_it_is_the_peers_draft3_2_6_5() {
    for (id, answers) in [(1_u8, 1), (2, 0)] {
        let ping = [&b"\x80\x03\0\x06\0\0\0\x04\0\0\0"[..], &[id]].concat();
        let (result, mut server) = after(sessions(Multiplexing::default()).server(Protocol::Spdy31), &[&ping]);
        assert_eq!(result, Ok(()));
        let mut wire = Wire::default();
        server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
        assert_eq!(wire.take_all(), vec![Chunk::Bytes(ping.into()); answers]);
    }
}

#[test]
fn a_stream_that_the_peer_resets_is_over_and_the_others_go_on() {
    let frames: [(Protocol, &[u8]); 4] = [
        (Protocol::Spdy2, b"\x80\x02\0\x03\0\0\0\x08\0\0\0\x01\0\0\0\x05"),
        (Protocol::Spdy3, b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x01\0\0\0\x05"),
        (Protocol::Spdy31, b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x01\0\0\0\x05"),
        (Protocol::H2, b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08"),
    ];
    for (protocol, reset) in frames {
        let (mut client, mut server) = pair(protocol, Multiplexing::default());
        let ids: Vec<RequestId> =
            (0..2).map(|_| client.request(get("/"), Body::EMPTY.into(), Priority::default())).collect();
        carry(client.as_mut(), server.as_mut(), 10_000, 10_000).unwrap();
        events(client.as_mut());
        client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(reset))]).unwrap();
        // The server answers both: it has not heard.
        ids.iter().for_each(|id| server.respond(*id, ok(10), body(id.0, 10).into()));
        carry(server.as_mut(), client.as_mut(), 10_000, 10_000).unwrap();
        let all = events(client.as_mut());
        assert_eq!(all[0], Event::Reset { id: ids[0] });
        assert_eq!(all.last(), Some(&Event::End { id: ids[1] }));
        assert!(all[1..].iter().all(|event| !matches!(event, Event::Data { id, .. } if *id == ids[0])));
        assert_eq!(client.capacity(), 100);
    }
}

#[test]
fn what_a_peer_that_goes_away_has_not_taken_is_given_back() {
    let frames: [(Protocol, &[u8]); 4] = [
        (Protocol::Spdy2, b"\x80\x02\0\x07\0\0\0\x04\0\0\0\x01"),
        (Protocol::Spdy3, b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x01\0\0\0\0"),
        (Protocol::Spdy31, b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x01\0\0\0\0"),
        (Protocol::H2, b"\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0"),
    ];
    for (protocol, goaway) in frames {
        let (mut client, _) = pair(protocol, Multiplexing::default());
        let ids: Vec<RequestId> =
            (0..3).map(|_| client.request(get("/"), Body::EMPTY.into(), Priority::default())).collect();
        let mut wire = Wire::default();
        // Room for the heads of two.
        while !events(client.as_mut()).contains(&Event::Sent { id: ids[1] }) {
            client.poll_transmit(NOW, TransportStream::TCP, 1, &mut wire);
        }
        client.handle_input(NOW, TransportStream::TCP, &[Chunk::Bytes(Bytes::from_static(goaway))]).unwrap();
        assert_eq!(events(client.as_mut()), [Event::Refused { id: ids[1] }, Event::Refused { id: ids[2] }]);
        assert_eq!(client.capacity(), 0);
    }
}

#[test]
fn a_peer_that_asks_and_does_not_read_is_left() {
    let ping = b"\0\0\x08\x06\0\0\0\0\x0012345678";
    let flood: Vec<&[u8]> = std::iter::once(MAGIC).chain(std::iter::repeat_n(&ping[..], 20_000)).collect();
    assert_eq!(server_after(Protocol::H2, &flood), Err(PeerFault::Flood.into()));
}

#[test]
fn a_head_that_is_no_request_ends_its_stream_alone() {
    // :method and :scheme alone; then a whole request, which uses the same compression.
    let frames: [&[u8]; 3] =
        [MAGIC, b"\0\0\x02\x01\x05\0\0\0\x01\x82\x87", b"\0\0\x06\x01\x05\0\0\0\x03\x82\x87\x84\x41\x01a"];
    let (result, mut server) = after(sessions(Multiplexing::default()).server(Protocol::H2), &frames);
    assert_eq!(result, Ok(()));
    assert!(matches!(&events(server.as_mut())[..], [Event::Request { id: RequestId(1), .. }, Event::End { .. }]));
    let mut wire = Wire::default();
    server.poll_transmit(NOW, TransportStream::TCP, usize::MAX, &mut wire);
    assert_eq!(wire.take_all()[1], Chunk::Bytes(Bytes::from_static(b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x01")));
}
