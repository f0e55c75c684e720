//! Asks a name server for addresses, by UDP (RFC 1035, section 4.2.1). When to ask again is up to the program.

use crate::Error;
use loadstone_load::page::{Host, HostId};
use loadstone_load::{NameQuery, NoName, address_in, address_query, is_name_error};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::task::{Context, Poll};
use tokio::io::ReadBuf;

/// More than an answer has: 512 bytes.
const BUFFER: usize = 4096;
/// More queries than are sent for one name: five for each time that a name is said not to exist.
const NUMBERS: u32 = 32;

/// A name server, and what it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameServer {
    address: SocketAddr,
    /// By host; none where it has no name. The id of a query is its place, here 0, and its number.
    questions: Vec<Option<NameQuestion>>,
}

/// The question for the address of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
struct NameQuestion {
    query: Vec<u8>,
    /// Whether the name exists, as far as the page knows.
    exists: bool,
}

impl NameServer {
    /// The one at `address`, which knows the names of a page's hosts; a host without one is never asked for.
    ///
    /// # Errors
    /// If a name server cannot have one of them.
    pub fn new(address: SocketAddr, hosts: &[Host]) -> Result<NameServer, NoName> {
        let question = |host: &Host| {
            let query = host.dns_name().map(|name| address_query(0, name)).transpose()?;
            Ok(query.map(|query| NameQuestion { query, exists: host.name_error.is_none() }))
        };
        let questions = hosts.iter().map(question).collect::<Result<_, _>>()?;
        Ok(NameServer { address, questions })
    }

    fn question(&self, host: HostId) -> Option<&NameQuestion> {
        self.questions.get(host.0 as usize)?.as_ref()
    }
}

/// A socket through which a name server is asked.
#[derive(Debug)]
pub(crate) struct NameClient<'a> {
    /// The runtime says when it has something to read.
    socket: tokio::net::UdpSocket,
    /// The same: at first the runtime does not know that it can be written to.
    sender: UdpSocket,
    server: &'a NameServer,
}

impl<'a> NameClient<'a> {
    /// On a runtime.
    pub(crate) fn new(server: &'a NameServer) -> Result<NameClient<'a>, Error> {
        let connect = || -> io::Result<UdpSocket> {
            let any = match server.address {
                SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
                SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
            };
            let socket = UdpSocket::bind(any)?;
            socket.connect(server.address)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let sender = connect().map_err(Error::Runtime)?;
        let socket = sender.try_clone().and_then(tokio::net::UdpSocket::from_std).map_err(Error::Runtime)?;
        Ok(NameClient { socket, sender, server })
    }

    /// Sends the query for the name of a host. One that the system does not take is lost, like others on the way.
    pub(crate) fn ask(&self, query: NameQuery) {
        if let Some(message) = self.server.message(query) {
            let _ = self.sender.send(&message);
        }
    }

    /// The query to which an answer has come; if none has, the task is woken when something comes.
    pub(crate) fn poll_answer(&self, cx: &mut Context<'_>) -> Poll<NameQuery> {
        let mut buffer = [0; BUFFER];
        loop {
            let mut read = ReadBuf::new(&mut buffer);
            match self.socket.poll_recv(cx, &mut read) {
                Poll::Pending => return Poll::Pending,
                // Nobody listens there: it is asked again later.
                Poll::Ready(Err(_)) => {}
                Poll::Ready(Ok(())) => {
                    if let Some(query) = self.server.answered(read.filled()) {
                        return Poll::Ready(query);
                    }
                }
            }
        }
    }
}

impl NameServer {
    /// What is sent. Its id says which query it is, so that a late answer is not taken for that to a later one.
    fn message(&self, NameQuery { host, number }: NameQuery) -> Option<Vec<u8>> {
        let mut message = self.question(host)?.query.clone();
        let id = u16::try_from(host.0 * NUMBERS + u32::from(number)).ok()?;
        message.first_chunk_mut::<2>()?.copy_from_slice(&id.to_be_bytes());
        Some(message)
    }

    /// The query to which this is an answer: with an address, or for a name that does not exist, that it does not.
    fn answered(&self, answer: &[u8]) -> Option<NameQuery> {
        let id = u32::from(u16::from_be_bytes(*answer.first_chunk()?));
        let query = NameQuery { host: HostId(id / NUMBERS), number: (id % NUMBERS) as u16 };
        let (message, exists) = (self.message(query)?, self.question(query.host)?.exists);
        let is_answer = if exists { address_in(&message, answer).is_some() } else { is_name_error(&message, answer) };
        is_answer.then_some(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::block_on;
    use loadstone_load::page::PageFile;
    use loadstone_load::{Record, Zone};
    use std::future::poll_fn;
    use std::time::Duration;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 7);

    /// An address, names that exist, and one that does not.
    fn hosts(names: &[&str]) -> Vec<Host> {
        let object = |name: &&str| format!(r#"{{"url": "https://{name}/", "bytes": 1}}"#);
        let objects: Vec<String> = names.iter().map(object).collect();
        let json = format!(r#"{{"objects": [{}], "hosts": {{"gone.test": {{"name_error": 4}}}}}}"#, objects.join(", "));
        PageFile::from_json(json.as_bytes()).unwrap().build().unwrap().hosts
    }

    #[test]
    fn that_a_name_does_not_exist_is_an_answer_where_the_page_knows_that() {
        let mut zone = Zone::new();
        zone.insert("here.test", Record { address: ADDRESS, alpn: Vec::new() }).unwrap();
        let server = NameServer::new(SocketAddr::from((ADDRESS, 53)), &hosts(&["gone.test", "away.test", "here.test"]));
        let server = server.unwrap();
        let answered = |host| {
            let query = NameQuery { host: HostId(host), number: 15 };
            let answer = zone.answer(&server.message(query).unwrap()).unwrap();
            server.answered(&answer).map(|answered| answered == query)
        };
        assert_eq!([0, 1, 2].map(answered), [Some(true), None, Some(true)]);
    }

    #[test]
    fn the_first_query_is_sent_at_once_and_an_answer_to_another_question_is_not_taken() {
        let mut zone = Zone::new();
        for name in ["a.test", "b.test"] {
            zone.insert(name, Record { address: ADDRESS, alpn: Vec::new() }).unwrap();
        }
        let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
        listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let hosts = hosts(&["192.0.2.1", "a.test", "b.test"]);
        let server = NameServer::new(listener.local_addr().unwrap(), &hosts).unwrap();
        let answered = block_on(async {
            let client = NameClient::new(&server)?;
            client.ask(NameQuery { host: HostId(2), number: 3 });
            // The runtime has not looked at the socket yet: what is not sent at once waits for a second.
            let mut buffer = [0; BUFFER];
            let (len, from) = listener.recv_from(&mut buffer).unwrap();
            let query = &buffer[..len];
            let mut forged = zone.answer(query).unwrap();
            forged[1] = 1;
            for answer in [b"?".as_slice(), query, &forged, &zone.answer(query).unwrap()] {
                listener.send_to(answer, from).unwrap();
            }
            Ok(poll_fn(|cx| client.poll_answer(cx)).await)
        });
        assert_eq!(answered.unwrap(), NameQuery { host: HostId(2), number: 3 });
    }

    #[test]
    fn what_no_name_server_can_have_is_refused() {
        let long = "a".repeat(64);
        let address = SocketAddr::from((ADDRESS, 53));
        assert_eq!(NameServer::new(address, &hosts(&[&long])), Err(NoName(long.clone())));
    }
}
