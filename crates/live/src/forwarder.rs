//! Where names lead that an edge's clients choose: each is resolved once, on a thread of its own, and only addresses are said to
//! the edge that it may go to. It connects to these; so what a name server says later makes no difference (DNS rebinding).

use crate::edge_change::EdgeOrder;
use crate::forward_scope::ForwardScope;
use loadstone_load::{NoWay, ServerAddress};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::thread;
use tokio::sync::mpsc::UnboundedSender;

/// How many addresses of a name are used: the first ones, which are those that the system likes best.
const MAX_ADDRESSES: usize = 4;

/// Who says at which addresses a server is.
pub(crate) trait NameResolver: Debug + Send + Sync {
    /// In the order in which to try them; none if there is no such name.
    fn addresses(&self, server: &ServerAddress) -> Vec<SocketAddr>;
}

/// The system, with its files and name servers. It takes an address for its own name, in forms with fewer than four numbers and
/// in octal ones, too (inet_aton).
#[derive(Debug)]
pub(crate) struct SystemResolver;

impl NameResolver for SystemResolver {
    fn addresses(&self, server: &ServerAddress) -> Vec<SocketAddr> {
        (server.host.as_str(), server.port).to_socket_addrs().map_or_else(|_| Vec::new(), Iterator::collect)
    }
}

/// Says to an edge where names lead.
#[derive(Clone, Debug)]
pub(crate) struct Forwarder {
    pub(crate) scope: ForwardScope,
    /// Where the edge itself listens: it does not ask itself.
    pub(crate) own: Arc<[SocketAddr]>,
    pub(crate) resolver: Arc<dyn NameResolver>,
    pub(crate) said: UnboundedSender<EdgeOrder>,
}

impl Forwarder {
    /// Looks a name up, and says what has come of it; the edge asks for so many at a time as there may be threads. A thread is
    /// not waited for at the end: the system may take a minute for a name.
    pub(crate) fn look_up(&self, server: Arc<ServerAddress>) {
        let (forwarder, wanted) = (self.clone(), server.clone());
        let begun = thread::Builder::new().spawn(move || {
            let found = forwarder.allowed(forwarder.resolver.addresses(&wanted));
            drop(forwarder.said.send(EdgeOrder::LookedUp(wanted, found)));
        });
        if begun.is_err() {
            drop(self.said.send(EdgeOrder::LookedUp(server, Err(NoWay::Unknown))));
        }
    }

    /// Those of a name's addresses to which the edge may go.
    fn allowed(&self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, NoWay> {
        if addresses.is_empty() {
            return Err(NoWay::Unknown);
        }
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let mut seen = BTreeSet::new();
        let own = addresses.into_iter().map(plain).filter(|address| self.may_reach(*address) && seen.insert(*address));
        let allowed: Vec<SocketAddr> = own.take(MAX_ADDRESSES).collect();
        if allowed.is_empty() { Err(NoWay::Forbidden) } else { Ok(allowed) }
    }

    fn may_reach(&self, address: SocketAddr) -> bool {
        // By a public address of its own a machine reaches what listens for itself, behind its firewall.
        let is_around = self.scope == ForwardScope::Public && is_of_this_machine(address.ip());
        self.scope.has(address.ip()) && !is_around && !self.own.contains(&address)
    }
}

/// Whether an address is one of this machine's: only these can be a socket's own.
fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    /// A name server that says another thing each time.
    #[derive(Debug)]
    struct Rebinding(Mutex<Vec<&'static [&'static str]>>);

    impl NameResolver for Rebinding {
        fn addresses(&self, server: &ServerAddress) -> Vec<SocketAddr> {
            let next = self.0.lock().unwrap().remove(0);
            next.iter().map(|address| SocketAddr::new(address.parse().unwrap(), server.port)).collect()
        }
    }

    fn forwarder(scope: ForwardScope, resolver: Arc<dyn NameResolver>) -> (Forwarder, UnboundedReceiver<EdgeOrder>) {
        let (said, orders) = unbounded_channel();
        let own = ["127.0.0.1:8443", "[::1]:9100"].map(|address| address.parse().unwrap()).into();
        (Forwarder { scope, own, resolver, said }, orders)
    }

    /// What is said of a URL's server.
    fn said(forwarder: &Forwarder, orders: &mut UnboundedReceiver<EdgeOrder>, url: &str) -> Result<Vec<String>, NoWay> {
        let server: ServerAddress = url.parse().unwrap();
        forwarder.look_up(Arc::new(server.clone()));
        match orders.blocking_recv() {
            Some(EdgeOrder::LookedUp(name, found)) if *name == server => {
                found.map(|found| found.iter().map(SocketAddr::to_string).collect())
            }
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn nothing_of_this_machine_or_its_network_is_public_however_it_is_written() {
        let (forwarder, mut orders) = forwarder(ForwardScope::Public, Arc::new(SystemResolver));
        for url in [
            "http://127.0.0.1",
            "http://[::1]",
            "http://localhost",
            "http://2130706433",
            "http://0177.0.0.1",
            "http://0x7f.1",
            "http://127.1",
            "http://0",
            "http://[::ffff:127.0.0.1]",
            "http://[::ffff:7f00:1]",
            "http://[64:ff9b::7f00:1]",
            "http://[2002:7f00:1::]",
            "http://10.0.0.1",
            "http://169.254.169.254",
            "http://2852039166",
            "http://[fe80::1]",
        ] {
            assert_eq!(said(&forwarder, &mut orders, url), Err(NoWay::Forbidden), "{url}");
        }
    }

    #[test]
    fn on_loopback_an_edge_goes_anywhere_but_to_itself() {
        let (forwarder, mut orders) = forwarder(ForwardScope::Loopback, Arc::new(SystemResolver));
        for (url, expected) in [
            ("http://127.0.0.1:8080", Ok("127.0.0.1:8080")),
            ("http://127.0.0.2:8443", Ok("127.0.0.2:8443")),
            ("http://[::1]:8443", Ok("[::1]:8443")),
            ("http://[::ffff:127.0.0.1]", Ok("127.0.0.1:80")),
            ("http://127.0.0.1:8443", Err(NoWay::Forbidden)),
            ("http://2130706433:8443", Err(NoWay::Forbidden)),
            ("http://[::ffff:127.0.0.1]:8443", Err(NoWay::Forbidden)),
            ("http://[::1]:9100", Err(NoWay::Forbidden)),
            ("http://1.1.1.1", Err(NoWay::Forbidden)),
            ("http://0.0.0.0:8443", Err(NoWay::Forbidden)),
        ] {
            let expected = expected.map(|address| vec![address.to_owned()]);
            assert_eq!(said(&forwarder, &mut orders, url), expected, "{url}");
        }
    }

    #[test]
    fn each_look_up_asks_once_and_of_mixed_addresses_takes_those_that_are_allowed() {
        let answers: [&[&str]; 4] = [
            &["10.0.0.1", "1.1.1.1", "::ffff:1.1.1.1", "2606:4700::1111", "127.0.0.1"],
            &["127.0.0.1"],
            &[],
            &["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5"],
        ];
        let rebinding = Arc::new(Rebinding(Mutex::new(answers.to_vec())));
        let (forwarder, mut orders) = forwarder(ForwardScope::Public, rebinding.clone());
        let mut next = || said(&forwarder, &mut orders, "http://a.test");
        assert_eq!(next(), Ok(vec!["1.1.1.1:80".to_owned(), "[2606:4700::1111]:80".to_owned()]));
        assert_eq!(rebinding.0.lock().unwrap().len(), 3, "what is said is not asked for again");
        assert_eq!(next(), Err(NoWay::Forbidden));
        assert_eq!(next(), Err(NoWay::Unknown));
        assert_eq!(next().map(|addresses| addresses.len()), Ok(MAX_ADDRESSES));
    }

    #[test]
    fn an_address_is_this_machines_if_a_socket_can_have_it() {
        for (address, is_own) in [("127.0.0.1", true), ("127.9.9.9", true), ("192.0.2.1", false)] {
            assert_eq!(is_of_this_machine(address.parse().unwrap()), is_own, "{address}");
        }
    }
}
