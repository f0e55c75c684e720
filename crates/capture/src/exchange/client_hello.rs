//! The name of the server that a client asks TLS for (RFC 6066, section 3), which no key hides.

const HEADER: usize = 5;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// The extension with the name, and the kind of name that is a host's.
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// What stands before the session of a hello: type, length, version and random bytes.
const BEFORE_SESSION: usize = 1 + 3 + 2 + 32;
/// A name is no longer (RFC 1035, section 2.3.4).
const LONGEST_NAME: usize = 255;

/// The first record of a client, until it is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct HelloReader {
    begun: Vec<u8>,
}

/// What is known of the hello.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Hello {
    /// More of it is to come.
    Begun,
    /// It is over: the name, if there is one.
    Read(Option<Box<str>>),
}

impl HelloReader {
    /// The client sent bytes; whether any after them are missing.
    pub(crate) fn handle(&mut self, captured: &[u8], is_cut: bool) -> Hello {
        self.begun.extend_from_slice(captured);
        let Some(header) = self.begun.first_chunk::<HEADER>() else {
            return if is_cut { Hello::Read(None) } else { Hello::Begun };
        };
        let end = HEADER + usize::from(u16::from_be_bytes([header[3], header[4]]));
        let is_hello = header[0] == HANDSHAKE;
        if is_hello && !is_cut && self.begun.len() < end {
            return Hello::Begun;
        }
        let record = &self.begun[HEADER..end.min(self.begun.len())];
        Hello::Read(server_name(record).filter(|_| is_hello))
    }
}

/// The name in a hello, which may be cut behind it.
fn server_name(hello: &[u8]) -> Option<Box<str>> {
    let mut rest = hello.get(BEFORE_SESSION..).filter(|_| hello[0] == CLIENT_HELLO)?;
    let session = usize::from(take::<1>(&mut rest)?[0]);
    rest = rest.get(session..)?;
    let suites = usize::from(u16::from_be_bytes(take(&mut rest)?));
    rest = rest.get(suites..)?;
    let compressions = usize::from(take::<1>(&mut rest)?[0]);
    rest = rest.get(compressions..)?;
    take::<2>(&mut rest)?;
    while !rest.is_empty() {
        let kind = u16::from_be_bytes(take(&mut rest)?);
        let len = usize::from(u16::from_be_bytes(take(&mut rest)?));
        if kind == SERVER_NAME {
            take::<2>(&mut rest)?;
            let is_host = take::<1>(&mut rest)?[0] == HOST_NAME;
            let len = usize::from(u16::from_be_bytes(take(&mut rest)?));
            let name = rest.get(..len).filter(|name| is_host && name.len() <= LONGEST_NAME && name.is_ascii())?;
            return std::str::from_utf8(name).ok().map(|name| name.to_ascii_lowercase().into_boxed_str());
        }
        rest = rest.get(len..)?;
    }
    None
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A hello with an extension before the name and one behind it.
    fn hello(name: &str) -> Vec<u8> {
        let len = name.len() as u8;
        let mut extensions = vec![0, 23, 0, 0, 0, 0, 0, len + 5, 0, len + 3, 0, 0, len];
        extensions.extend(name.as_bytes());
        extensions.extend([0, 43, 0, 3, 2, 3, 4]);
        let mut message = vec![CLIENT_HELLO, 0, 0, 0, 3, 3];
        message.extend([7; 32]);
        message.extend([2, 9, 9, 0, 2, 0x13, 1, 1, 0, 0, extensions.len() as u8]);
        message.extend(extensions);
        let mut record = vec![HANDSHAKE, 3, 1, 0, message.len() as u8];
        record.extend(message);
        record
    }

    fn read(name: &str) -> Hello {
        Hello::Read(Some(name.into()))
    }

    #[test]
    fn the_name_is_read_when_the_record_is_complete() {
        let record = hello("Shop.test");
        assert_eq!(HelloReader::default().handle(&record, false), read("shop.test"));
        let mut reader = HelloReader::default();
        let (last, first) = record.split_last().unwrap();
        assert_eq!(reader.handle(first, false), Hello::Begun);
        assert_eq!(reader.handle(&[*last], false), read("shop.test"));
    }

    #[test]
    fn of_a_hello_that_is_cut_the_name_is_read_if_it_is_there() {
        let record = hello("shop.test");
        assert_eq!(HelloReader::default().handle(&record[..record.len() - 7], true), read("shop.test"));
        assert_eq!(HelloReader::default().handle(&record[..record.len() - 8], true), Hello::Read(None));
        assert_eq!(HelloReader::default().handle(&record[..3], true), Hello::Read(None));
    }

    #[test]
    fn what_is_no_hello_has_no_name() {
        let mut other = hello("shop.test");
        other[0] = 23;
        assert_eq!(HelloReader::default().handle(&other, false), Hello::Read(None));
        let mut other = hello("shop.test");
        other[HEADER] = 2;
        assert_eq!(HelloReader::default().handle(&other, false), Hello::Read(None));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), is_cut in any::<bool>()) {
            let mut damaged = hello("shop.test");
            damaged.truncate(bytes.len());
            damaged.extend(&bytes);
            _ = HelloReader::default().handle(&bytes, is_cut);
            _ = HelloReader::default().handle(&damaged, is_cut);
        }
    }
}
