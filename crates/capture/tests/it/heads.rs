//! What a page is made of: the heads of exchanges, the packets of all connections, the names of servers.

use crate::recording::{ACK, PSH, SYN, Seen, Told, down, feed, in_packets, pcap, read, up};
use loadstone_capture::{Analyzer, AnalyzerLimits, ExchangeRow, HeadFields, Shard, ToldPackets};

fn analyzed(packets: &[Told], limits: AnalyzerLimits) -> Analyzer {
    let mut analyzer = Analyzer::new(limits);
    feed(&pcap(packets), &mut analyzer).unwrap();
    analyzer.finish();
    analyzer
}

pub(crate) fn with_heads(packets: &[Told]) -> Vec<ExchangeRow> {
    let limits = AnalyzerLimits { heads: true, ..AnalyzerLimits::default() };
    analyzed(packets, limits).parts().1.iter_mut().flat_map(Shard::take_heads).collect()
}

pub(crate) fn pairs(fields: &HeadFields) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

fn said() -> Vec<Told> {
    let asked = b"GET /a HTTP/1.1\r\nHost: a.test\r\nCookie: k=v\r\n\r\n";
    let answered = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/css\r\n\r\nabc";
    in_packets(&[(false, 60_000, asked.to_vec()), (true, 120_000, answered.to_vec())], 20)
}

#[test]
fn heads_of_http_1_are_told_with_their_lengths() {
    let rows = with_heads(&said());
    let [row] = &rows[..] else { panic!("{} exchanges", rows.len()) };
    let heads = row.heads().unwrap();
    let asked = [(":method", "GET"), (":path", "/a"), ("host", "a.test"), ("cookie", "k=v")];
    assert_eq!(pairs(&heads.request), asked);
    assert_eq!(pairs(&heads.response), [(":status", "200"), ("content-length", "3"), ("content-type", "text/css")]);
    assert_eq!((heads.request_head_bytes, heads.response_head_bytes), (46, 62));
    assert_eq!(row.place(), (1, 1));
}

#[test]
fn nothing_is_kept_of_heads_unless_it_is_asked_for() {
    let mut analyzer = analyzed(&said(), AnalyzerLimits::default());
    assert!(analyzer.parts().1.iter_mut().flat_map(Shard::take_heads).next().is_none());
}

#[test]
fn heads_take_a_bounded_room() {
    // A thousand heads of 30 KB; 16 MB have room for some 500 of them.
    let filler = "x".repeat(30_000);
    let asked = format!("GET / HTTP/1.1\r\nHost: a.test\r\nA: {filler}\r\n\r\n").into_bytes();
    let answered = b"HTTP/1.1 204 No\r\n\r\n".to_vec();
    let exchange = |_| [(false, 60_000, asked.clone()), (true, 61_000, answered.clone())];
    let texts: Vec<_> = (0..1_000).flat_map(exchange).collect();
    let kept = with_heads(&in_packets(&texts, usize::MAX)).len();
    assert!((400..600).contains(&kept), "{kept}");
}

#[test]
fn with_all_packets_each_connection_has_its_own() {
    let mut packets = said();
    packets.push(up(200_000, ACK | PSH, 1, 10, 1).of_port(41_000));
    let limits = AnalyzerLimits { packets: ToldPackets::All, ..AnalyzerLimits::default() };
    let told = Seen::of(&mut analyzed(&packets, limits), Shard::packets);
    assert_eq!(told.rows(), packets.len());
}

#[test]
fn an_echo_tells_how_long_ago_an_acknowledgement_was_captured_and_none_of_data() {
    // Seen at a client: the request has the time 2, an acknowledgement 3, the next one of the same time comes later.
    let packets = [
        up(0, SYN, 0, 0, 0).stamped(1, 0),
        down(50_000, SYN | ACK, 0, 0, 1).stamped(91, 1),
        up(50_100, ACK | PSH, 1, 300, 1).stamped(2, 91),
        down(130_000, ACK, 1, 1_000, 301).stamped(92, 2),
        up(130_100, ACK, 301, 0, 1_001).stamped(3, 92),
        up(130_900, ACK, 301, 0, 1_001).stamped(3, 92),
        down(190_000, ACK, 1_001, 1_000, 301).stamped(93, 3),
        down(191_200, ACK, 2_001, 1_000, 301).stamped(93, 3),
        // It is not known what this one echoes.
        down(192_000, ACK, 3_001, 1_000, 301).stamped(93, 7),
        // Data with the same time make the echo ambiguous.
        up(192_100, ACK | PSH, 301, 100, 4_001).stamped(3, 93),
        down(260_000, ACK, 4_001, 1_000, 401).stamped(94, 3),
    ];
    let limits = AnalyzerLimits { packets: ToldPackets::Of(1), ..AnalyzerLimits::default() };
    let told = Seen::of(&mut analyzed(&packets, limits), Shard::packets);
    let echoes: Vec<_> = (0..told.rows()).map(|row| told.number("echo_ms", row)).collect();
    let down: Vec<_> = [1, 3, 6, 7, 8, 10].map(|row| echoes[row]).to_vec();
    assert_eq!(down, [None, None, Some(59.9), Some(61.1), None, None]);
}

#[test]
fn a_server_is_known_by_the_name_that_tls_was_asked_for() {
    let name = b"shop.test";
    let len = name.len() as u8;
    let mut extensions = vec![0, 0, 0, len + 5, 0, len + 3, 0, 0, len];
    extensions.extend(name);
    let mut message = vec![1, 0, 0, 43 + extensions.len() as u8, 3, 3];
    message.extend([7; 32]);
    message.extend([0, 0, 2, 0x13, 1, 1, 0, 0, extensions.len() as u8]);
    message.extend(extensions);
    let record = [&[22, 3, 1, 0, message.len() as u8][..], &message].concat();
    // In two packets, the second of which comes first.
    let mut packets = in_packets(&[(false, 60_000, record)], 40);
    let last = packets.len() - 1;
    packets.swap(last - 1, last);
    let (connections, ..) = read(&pcap(&packets));
    assert_eq!(connections.text("server_name", 0), "shop.test");
    let (connections, ..) = read(&pcap(&said()));
    assert!(!connections.known("server_name", 0));
}

#[test]
fn of_many_acknowledgements_the_last_thousand_are_known() {
    let ack = |number: u32| up(u64::from(number) * 1_000, ACK, 1, 0, 1).stamped(number, 1);
    let echo = |number: u32| {
        let mut packets: Vec<Told> = (1..=1_100).map(ack).collect();
        packets.push(down(1_200_000, ACK, 1, 10, 1).stamped(9, number));
        let limits = AnalyzerLimits { packets: ToldPackets::All, ..AnalyzerLimits::default() };
        Seen::of(&mut analyzed(&packets, limits), Shard::packets).number("echo_ms", 1_100)
    };
    assert_eq!(echo(1_100), Some(100.0));
    assert_eq!((echo(77), echo(76)), (Some(1_123.0), None));
}
