//! The names of hosts as a name server knows them (RFC 1034, RFC 1035), with their HTTPS records (RFC 9460).
//!
//! A machine: a query comes in as bytes, its answer goes out as bytes.

use core::net::Ipv4Addr;
use loadstone_http::Protocol;
use simple_dns::rdata::{A, HTTPS, OPT, RData, SVCB};
use simple_dns::{CLASS, CharacterString, Name, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};
use simple_dns::{ResourceRecord, SimpleDnsError};
use std::collections::BTreeMap;

/// How long an answer may be kept, in seconds: longer than any load.
const TTL: u32 = 3600;
/// Bytes of a response that pass a network in one packet (DNS flag day 2020).
const UDP_PAYLOAD: u16 = 1232;

/// What a name server says of one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Where it is. There is no IPv6: a question for it gets an answer without data.
    pub address: Ipv4Addr,
    /// The protocols of its HTTPS record, the best first; it has no such record if there is none.
    pub alpn: Vec<Protocol>,
}

/// The names that a name server knows. Of all others it says that they do not exist (NXDOMAIN).
#[derive(Clone, Debug, Default)]
pub struct Zone {
    /// By their names in lower case.
    records: BTreeMap<String, Record>,
}

/// Why a name server cannot have a name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is no name that a name server can have: parts of 1 to 63 characters, 253 in all")]
pub struct NoName(
    /// What was given.
    pub String,
);

impl Zone {
    /// One that knows no name.
    pub fn new() -> Zone {
        Zone::default()
    }

    /// Adds a name, whose case does not matter, or replaces what it had.
    ///
    /// # Errors
    /// If it is none.
    pub fn insert(&mut self, name: &str, record: Record) -> Result<(), NoName> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_name = !name.is_empty() && !name.split('.').any(str::is_empty) && Name::new(&name).is_ok();
        if !is_name {
            return Err(NoName(name));
        }
        self.records.insert(name, record);
        Ok(())
    }

    /// The answer to a query; none to what is no query, or none with one question.
    pub fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        let query = Packet::parse(query).ok().filter(|query| !query.has_flags(PacketFlag::RESPONSE))?;
        let [question] = &query.questions[..] else { return None };
        self.reply(&query, question).ok()
    }

    fn reply(&self, query: &Packet<'_>, question: &Question<'_>) -> Result<Vec<u8>, SimpleDnsError> {
        let mut reply = Packet::new_reply(query.id());
        *reply.opcode_mut() = query.opcode();
        reply.set_flags(PacketFlag::AUTHORITATIVE_ANSWER | PacketFlag::RECURSION_AVAILABLE);
        if query.has_flags(PacketFlag::RECURSION_DESIRED) {
            reply.set_flags(PacketFlag::RECURSION_DESIRED);
        }
        if query.opt().is_some() {
            *reply.opt_mut() = Some(OPT { opt_codes: Vec::new(), udp_packet_size: UDP_PAYLOAD, version: 0 });
        }
        reply.questions.push(question.clone());
        let name = question.qname.to_string().to_ascii_lowercase();
        match (query.opcode(), self.records.get(&name)) {
            (OPCODE::StandardQuery, None) => *reply.rcode_mut() = RCODE::NameError,
            (OPCODE::StandardQuery, Some(record)) => reply.answers.extend(record.data(question)),
            _ => *reply.rcode_mut() = RCODE::NotImplemented,
        }
        reply.build_bytes_vec_compressed()
    }
}

/// The query for the address of a name, as a stub resolver sends it: recursion desired (RFC 1035, section 4.1.1).
///
/// # Errors
/// If a name server cannot have it.
pub fn address_query(id: u16, name: &str) -> Result<Vec<u8>, NoName> {
    let no_name = || NoName(name.to_owned());
    let mut query = Packet::new_query(id);
    query.set_flags(PacketFlag::RECURSION_DESIRED);
    let parsed = Name::new(name).map_err(|_| no_name())?;
    query.questions.push(Question::new(parsed, QTYPE::TYPE(TYPE::A), QCLASS::CLASS(CLASS::IN), false));
    query.build_bytes_vec().map_err(|_| no_name())
}

/// The address that this is an answer with, to this query.
pub fn address_in(query: &[u8], answer: &[u8]) -> Option<Ipv4Addr> {
    let answer = answer_to(query, answer).filter(|answer| answer.rcode() == RCODE::NoError)?;
    let address = |record: &ResourceRecord<'_>| match &record.rdata {
        RData::A(data) => Some(Ipv4Addr::from(data.address)),
        _ => None,
    };
    answer.answers.iter().find_map(address)
}

/// Whether this is an answer to this query that the name does not exist (RFC 1035, section 4.1.1, Name Error).
pub fn is_name_error(query: &[u8], answer: &[u8]) -> bool {
    answer_to(query, answer).is_some_and(|answer| answer.rcode() == RCODE::NameError)
}

/// What is an answer to this query.
fn answer_to<'a>(query: &[u8], answer: &'a [u8]) -> Option<Packet<'a>> {
    let (query, answer) = (Packet::parse(query).ok()?, Packet::parse(answer).ok()?);
    let is_its = answer.has_flags(PacketFlag::RESPONSE)
        && answer.id() == query.id()
        && answer.questions.iter().map(question_key).eq(query.questions.iter().map(question_key));
    is_its.then_some(answer)
}

/// By what a question is the same as another: names do not differ by case.
fn question_key(question: &Question<'_>) -> (String, QTYPE, QCLASS) {
    (question.qname.to_string().to_ascii_lowercase(), question.qtype, question.qclass)
}

impl Record {
    /// What is said to a question for its name.
    fn data<'q>(&self, question: &Question<'q>) -> Option<ResourceRecord<'q>> {
        if !matches!(question.qclass, QCLASS::CLASS(CLASS::IN) | QCLASS::ANY) {
            return None;
        }
        let data = match question.qtype {
            QTYPE::TYPE(TYPE::A) | QTYPE::ANY => RData::A(A { address: self.address.into() }),
            QTYPE::TYPE(TYPE::HTTPS) if !self.alpn.is_empty() => RData::HTTPS(HTTPS(self.service())),
            _ => return None,
        };
        Some(ResourceRecord::new(question.qname.clone(), CLASS::IN, TTL, data))
    }

    /// Its HTTPS record: the name itself, with its protocols and its address.
    fn service(&self) -> SVCB<'static> {
        let mut service = SVCB::new(1, Name::new_unchecked(""));
        let ids = self.alpn.iter().map(|protocol| CharacterString::new(protocol.name().as_bytes()));
        service.set_alpn(&ids.filter_map(Result::ok).collect::<Vec<_>>());
        service.set_ipv4hint(&[self.address.into()]);
        service
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 7);

    fn zone() -> Zone {
        let mut zone = Zone::new();
        zone.insert("www.A.test", Record { address: ADDRESS, alpn: vec![Protocol::H2, Protocol::Http1] }).unwrap();
        zone.insert("old.test.", Record { address: ADDRESS, alpn: Vec::new() }).unwrap();
        zone
    }

    fn query(name: &str, kind: TYPE) -> Vec<u8> {
        let mut query = Packet::new_query(77);
        query.set_flags(PacketFlag::RECURSION_DESIRED);
        let name = Name::new(name).unwrap();
        query.questions.push(Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false));
        query.build_bytes_vec().unwrap()
    }

    /// The response code, and the data of the answers.
    fn asked(name: &str, kind: TYPE) -> (RCODE, Vec<RData<'static>>) {
        let answer = zone().answer(&query(name, kind)).unwrap();
        let answer = Packet::parse(&answer).unwrap();
        assert_eq!(answer.id(), 77);
        assert!(answer.has_flags(PacketFlag::RESPONSE | PacketFlag::RECURSION_DESIRED));
        (answer.rcode(), answer.answers.into_iter().map(|record| record.rdata.into_owned()).collect())
    }

    #[test]
    fn a_name_has_an_address_however_it_is_written() {
        for name in ["www.a.test", "WWW.a.TEST"] {
            assert_eq!(asked(name, TYPE::A), (RCODE::NoError, vec![RData::A(A { address: ADDRESS.into() })]));
        }
    }

    #[test]
    fn a_query_for_an_address_is_made_only_for_what_is_a_name() {
        assert_eq!(address_query(77, "www.a.test"), Ok(query("www.a.test", TYPE::A)));
        let long = format!("{}.test", "a".repeat(64));
        assert_eq!(address_query(77, &long), Err(NoName(long)));
    }

    #[test]
    fn the_address_is_taken_from_an_answer_to_the_own_question_alone() {
        let own = query("WWW.a.test", TYPE::A);
        let answer = zone().answer(&own).unwrap();
        assert_eq!(address_in(&own, &answer), Some(ADDRESS));
        assert_eq!(address_in(&address_query(78, "www.a.test").unwrap(), &answer), None, "another id");
        assert_eq!(address_in(&query("old.test", TYPE::A), &answer), None, "another name");
        let absent = query("b.test", TYPE::A);
        assert_eq!(address_in(&absent, &zone().answer(&absent).unwrap()), None, "no such name");
        assert_eq!(address_in(&own, &own), None, "a question");
    }

    #[test]
    fn a_name_without_such_a_record_gets_an_answer_without_data() {
        assert_eq!(asked("www.a.test", TYPE::AAAA), (RCODE::NoError, Vec::new()));
        assert_eq!(asked("old.test", TYPE::HTTPS), (RCODE::NoError, Vec::new()));
    }

    #[test]
    fn the_https_record_has_the_protocols_in_their_order_and_the_address() {
        let (code, data) = asked("www.a.test", TYPE::HTTPS);
        let [RData::HTTPS(HTTPS(service))] = &data[..] else { panic!("{code:?} {data:?}") };
        let said = format!("{service:?}");
        assert_eq!((code, service.priority), (RCODE::NoError, 1));
        assert!(said.find("h2") < said.find("http/1.1"), "{said}");
        assert!(said.contains(&u32::from(ADDRESS).to_string()), "{said}");
    }

    #[test]
    fn all_other_names_do_not_exist() {
        for name in ["a.test", "x.www.a.test", "test"] {
            assert_eq!(asked(name, TYPE::A), (RCODE::NameError, Vec::new()), "{name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", ".", "a..test", &"a".repeat(64), &"a.".repeat(140)] {
            assert!(Zone::new().insert(name, Record { address: ADDRESS, alpn: Vec::new() }).is_err(), "{name}");
        }
    }

    #[test]
    fn a_response_gets_no_answer() {
        let answer = zone().answer(&query("www.a.test", TYPE::A)).unwrap();
        assert_eq!(zone().answer(&answer), None, "two servers would answer each other for ever");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _whatever = zone().answer(&bytes);
            let _whatever = address_in(&query("www.a.test", TYPE::A), &bytes);
        }

        #[test]
        fn an_answer_fits_into_a_packet(at in 0..80_usize, to in any::<u8>()) {
            let mut bytes = query("www.a.test", TYPE::HTTPS);
            let place = at % bytes.len();
            bytes[place] = to;
            if let Some(answer) = zone().answer(&bytes) {
                prop_assert!(answer.len() <= usize::from(UDP_PAYLOAD));
            }
        }
    }
}
