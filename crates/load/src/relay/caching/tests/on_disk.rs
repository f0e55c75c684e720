//! A cache with a disk, which is a list here: what memory has forgotten, and what an edge finds that is started again.

use super::super::super::{AdoptedFile, CacheFile, DiskTask, FileNumber, Purge};
use super::*;
use std::collections::BTreeMap;
use std::time::Duration;

const FRESH: FieldPairs = &[("cache-control", "max-age=60")];
/// In memory there is room for two responses of 3,000 bytes.
const SMALL: CacheLimits = CacheLimits { bytes: 9_500, disk: 1_000_000, ..LIMITS };

/// A relay with a cache, and its disk.
struct Edge {
    cached: Cached,
    files: BTreeMap<FileNumber, Vec<u8>>,
    /// How many files were read.
    reads: usize,
}

impl Edge {
    fn new(limits: CacheLimits) -> Edge {
        Edge { cached: Cached::with(limits), files: BTreeMap::new(), reads: 0 }
    }

    /// Another one that finds this disk; its clock begins so many seconds later.
    fn again(files: &BTreeMap<FileNumber, Vec<u8>>, limits: CacheLimits, seconds: u64) -> Edge {
        let zero = limits.zero + Duration::from_secs(seconds);
        let mut edge = Edge { files: files.clone(), ..Edge::new(CacheLimits { zero, ..limits }) };
        let known = |(number, bytes): (&FileNumber, &Vec<u8>)| {
            let key = CacheFile::key(&bytes[..bytes.len().min(4096)])?;
            Some(AdoptedFile { number: *number, key, bytes: bytes.len() as u64 })
        };
        edge.cached.world.relay.adopt(files.iter().filter_map(known).collect());
        edge.work();
        edge
    }

    /// The disk does all that there is to be done.
    fn work(&mut self) {
        while let Some(task) = self.cached.world.relay.poll_disk_task() {
            self.perform(task);
        }
        // What clients have got is no memory of the relay any more.
        for event in &mut self.cached.world.events {
            if let Event::Data { content: Chunk::Bytes(bytes), .. } = event {
                *bytes = bytes::Bytes::copy_from_slice(bytes);
            }
        }
    }

    fn perform(&mut self, task: DiskTask) {
        let (relay, now) = (&mut self.cached.world.relay, self.cached.world.now);
        match task {
            DiskTask::Write(number, file) => {
                let bytes = file.pieces().concat();
                assert_eq!(bytes.len() as u64, file.bytes());
                self.files.insert(number, bytes);
                relay.handle_file_written(number, true);
            }
            DiskTask::Read(number) => {
                self.reads += 1;
                let entry = self.files.get(&number).and_then(|bytes| CacheFile::read(&bytes.clone().into()));
                relay.handle_file_read(now, number, entry);
                self.cached.settle();
            }
            DiskTask::Remove(number) => _ = self.files.remove(&number),
        }
    }

    /// The server answers with 3,000 bytes of a kind, and the disk does what there is to be done.
    fn reply(&mut self, fields: FieldPairs, kind: u8) {
        let (conn, id, _) = self.cached.asked.pop_front().expect("the server was asked");
        let fields = fields.iter().copied().chain([("content-length", "3000")]);
        let response = Arc::new(ResponseHead::new(200, Fields::from_pairs(fields)));
        let session = &mut self.cached.world.behind.get_mut(&conn).unwrap().session;
        session.respond(id, response, Content::Streamed);
        session.append(id, Chunk::Bytes(vec![kind; 3000].into()));
        session.finish(id, Fields::default());
        self.cached.settle();
        self.work();
    }

    fn store(&mut self, path: &str, request: FieldPairs, response: FieldPairs, kind: u8) {
        let stream = self.cached.ask("GET", path, request);
        self.work();
        self.reply(response, kind);
        assert_eq!(self.got(stream), Some(kind), "{path}");
    }

    /// What kind of content a stream got, if it got all of it.
    fn got(&self, stream: RequestId) -> Option<u8> {
        let mut content = Vec::new();
        for event in &self.cached.world.events {
            match event {
                Event::Data { id, content: Chunk::Bytes(bytes), .. } if *id == stream => content.extend(bytes),
                _ => {}
            }
        }
        (content.len() == 3000 && content.iter().all(|byte| *byte == content[0])).then(|| content[0])
    }

    /// What is stored is asked for: of which kind it is, and what is said of it. `None` if the server is asked.
    fn hit(&mut self, path: &str, request: FieldPairs) -> Option<(u8, String)> {
        let stream = self.cached.ask("GET", path, request);
        self.work();
        let kind = self.got(stream)?;
        Some((kind, self.cached.field(stream, "cache-status").unwrap()))
    }

    fn kind(&mut self, path: &str) -> Option<u8> {
        self.hit(path, &[]).map(|(kind, _)| kind)
    }
}

#[test]
fn what_memory_has_no_room_for_is_read_from_the_disk_once_for_all_who_ask() {
    let mut edge = Edge::new(SMALL);
    for (path, kind) in [("/1", 1), ("/2", 2), ("/3", 3)] {
        edge.store(path, &[], FRESH, kind);
    }
    let first = edge.cached.get("/1");
    let second = edge.cached.get("/1");
    assert_eq!((edge.got(first), edge.cached.waiting()), (None, 0), "they wait for the disk");
    edge.work();
    assert_eq!((edge.got(first), edge.got(second), edge.reads), (Some(1), Some(1), 1));
    assert_eq!(edge.hit("/1", &[]), Some((1, "loadstone; hit; ttl=60".to_owned())));
    assert_eq!((edge.reads, edge.cached.waiting()), (1, 0), "it is in memory again");
    let gauges = edge.cached.world.relay.gauges().cache.unwrap();
    let disk = gauges.disk.unwrap();
    assert_eq!((disk.files, disk.bytes, disk.failures, gauges.evictions), (3, 3 * 4096, 0, 2));
    assert!(gauges.bytes <= 9_500);
}

#[test]
fn only_if_cached_asks_no_server_where_memory_has_shrunk_while_the_disk_was_read() {
    for (fields, asked, status) in
        [(&[("cache-control", "only-if-cached")][..], 0, Some(504)), (&[("cache-control", "max-stale")], 1, None)]
    {
        let mut edge = Edge::new(SMALL);
        for (path, kind) in [("/1", 1), ("/2", 2), ("/3", 3)] {
            edge.store(path, &[], FRESH, kind);
        }
        let stream = edge.cached.ask("GET", "/1", fields);
        let (world, cache) = (&mut edge.cached.world, CacheLimits { bytes: 100, ..SMALL });
        let hosts = [("a.test".to_owned(), SERVER)].into();
        let config = RelayConfig { cache: Some(cache), ..RelayConfig::new(hosts, world.sessions.clone()) };
        world.relay.reconfigure(world.now, config);
        edge.work();
        assert_eq!((edge.reads, edge.cached.waiting(), edge.cached.world.status(stream)), (1, asked, status));
    }
}

#[test]
fn what_was_stored_before_it_was_started_again_is_as_old_as_it_is() {
    let mut edge = Edge::new(SMALL);
    edge.store("/", &[], FRESH, 1);
    edge.cached.pass(10);
    edge.store("/later", &[], FRESH, 2);
    let mut again = Edge::again(&edge.files, SMALL, 30);
    assert_eq!(again.hit("/", &[]), Some((1, "loadstone; hit; ttl=30".to_owned())));
    assert_eq!(again.hit("/later", &[]), Some((2, "loadstone; hit; ttl=40".to_owned())));
    again.cached.pass(31);
    assert_eq!(again.kind("/"), None);
    assert_eq!(again.cached.waiting(), 1, "it is stale");
    let mut back = Edge::again(&edge.files, SMALL, 5);
    assert_eq!(back.hit("/later", &[]), Some((2, "loadstone; hit; ttl=60".to_owned())), "the clock was set back");
    assert_eq!(back.hit("/", &[]), Some((1, "loadstone; hit; ttl=55".to_owned())));
}

#[test]
fn variants_are_told_from_each_other_by_an_edge_that_is_started_again() {
    let varies: FieldPairs = &[("cache-control", "max-age=60"), ("vary", "accept")];
    let mut edge = Edge::new(SMALL);
    for (accept, kind) in [("a", 1), ("b", 2), ("c", 3)] {
        edge.store("/", &[("accept", accept)], varies, kind);
    }
    let mut again = Edge::again(&edge.files, SMALL, 1);
    for (accept, kind) in [("a", Some(1)), ("b", Some(2)), ("c", Some(3)), ("d", None)] {
        assert_eq!(again.hit("/", &[("accept", accept)]).map(|(kind, _)| kind), kind, "{accept}");
    }
    // What was stored under another list is not found, however often it is started again.
    again.reply(&[("cache-control", "max-age=60"), ("vary", "x")], 4);
    let mut third = Edge::again(&again.files, SMALL, 2);
    assert_eq!(third.kind("/"), Some(4));
    third.store("/other", &[("accept", "a")], varies, 5);
    let known = third.hit("/", &[("accept", "a")]);
    assert_eq!(known.map(|(kind, _)| kind), Some(4), "the response varies by x alone");
}

#[test]
fn what_is_changed_or_purged_is_off_the_disk_before_anyone_hears_of_it() {
    let mut edge = Edge::new(SMALL);
    for (path, kind) in [("/1", 1), ("/2", 2), ("/3", 3), ("/4", 4)] {
        edge.store(path, &[], FRESH, kind);
    }
    assert_eq!(edge.cached.world.relay.purge(&Purge::url(b"a.test", b"/1")), 1, "only the disk has it");
    edge.cached.ask("POST", "/2", &[]);
    let (conn, id, _) = edge.cached.asked.pop_front().unwrap();
    let changed = Arc::new(ResponseHead::new(204, Fields::default()));
    edge.cached.world.behind.get_mut(&conn).unwrap().session.respond(id, changed, Body::EMPTY.into());
    edge.cached.settle();
    edge.work();
    let mut again = Edge::again(&edge.files, SMALL, 1);
    assert_eq!(["/1", "/2", "/3", "/4"].map(|path| again.kind(path)), [None, None, Some(3), Some(4)]);
    assert_eq!(again.cached.world.relay.purge(&Purge::prefix(b"a.test", b"")), 2);
    again.work();
    assert!(again.files.is_empty());
}

#[test]
fn what_is_changed_while_it_is_read_is_not_answered() {
    let mut edge = Edge::new(SMALL);
    edge.store("/", &[], FRESH, 1);
    let mut again = Edge::again(&edge.files, SMALL, 1);
    let stream = again.cached.get("/");
    let read = again.cached.world.relay.poll_disk_task().unwrap();
    again.cached.world.relay.purge(&Purge::url(b"a.test", b"/"));
    // The thread that reads may have been faster than the one that removes.
    again.perform(read);
    again.work();
    assert_eq!((again.got(stream), again.cached.waiting()), (None, 1), "the server is asked");
    again.reply(FRESH, 2);
    assert_eq!(again.got(stream), Some(2));
    assert_eq!(Edge::again(&again.files, SMALL, 2).kind("/"), Some(2));
}

#[test]
fn what_is_replaced_or_confirmed_is_on_the_disk_as_it_is_now() {
    let validated: FieldPairs = &[("cache-control", "max-age=60"), ("etag", "\"1\"")];
    let mut edge = Edge::new(SMALL);
    edge.store("/", &[], validated, 1);
    edge.store("/new", &[], validated, 2);
    edge.cached.pass(100);
    let stream = edge.cached.get("/");
    edge.cached.reply(304, validated, 0, 0);
    edge.work();
    assert_eq!(edge.got(stream), Some(1));
    let stream = edge.cached.get("/new");
    edge.work();
    edge.reply(validated, 3);
    assert_eq!(edge.got(stream), Some(3));
    let mut again = Edge::again(&edge.files, SMALL, 130);
    assert_eq!(again.hit("/", &[]), Some((1, "loadstone; hit; ttl=30".to_owned())));
    assert_eq!(again.hit("/new", &[]), Some((3, "loadstone; hit; ttl=30".to_owned())));
    assert_eq!(again.files.len(), 2);
}

#[test]
fn a_file_that_is_not_whole_is_none_and_is_removed() {
    let mut edge = Edge::new(SMALL);
    edge.store("/", &[], FRESH, 1);
    let (number, whole) = edge.files.pop_first().unwrap();
    for at in (0..whole.len()).step_by(37) {
        let (mut flipped, cut) = (whole.clone(), whole[..at].to_vec());
        flipped[at] ^= 4;
        for damaged in [flipped, cut] {
            assert!(CacheFile::read(&damaged.into()).is_none(), "{at}");
        }
    }
    let mut damaged = whole.clone();
    damaged[2000] ^= 1;
    let mut again = Edge::again(&[(number, damaged)].into(), SMALL, 1);
    assert_eq!(again.kind("/"), None);
    assert_eq!((again.cached.waiting(), again.files.len()), (1, 0), "the server is asked");
    let disk = again.cached.world.relay.gauges().cache.unwrap().disk.unwrap();
    assert_eq!((disk.files, disk.failures), (0, 1));
    // A file of another name, as one that was copied.
    let mut copied = Edge::again(&[(FileNumber(9), whole)].into(), SMALL, 1);
    assert_eq!(copied.kind("/"), Some(1), "its key is in it");
}

#[test]
fn of_a_full_disk_what_was_used_longest_ago_is_removed_and_a_smaller_one_is_made_smaller() {
    let limits = CacheLimits { disk: 4 * 4096, ..SMALL };
    let mut edge = Edge::new(limits);
    for (path, kind) in [("/1", 1), ("/2", 2), ("/3", 3), ("/4", 4)] {
        edge.store(path, &[], FRESH, kind);
    }
    assert_eq!(edge.kind("/1"), Some(1));
    edge.store("/5", &[], FRESH, 5);
    assert_eq!(edge.files.len(), 4);
    let mut again = Edge::again(&edge.files, limits, 1);
    assert_eq!(["/1", "/3", "/4", "/5"].map(|path| again.kind(path)), [Some(1), Some(3), Some(4), Some(5)]);
    let mut smaller = Edge::again(&edge.files, CacheLimits { disk: 2 * 4096, ..SMALL }, 1);
    assert_eq!(smaller.files.len(), 2, "the later ones");
    assert_eq!(smaller.kind("/5"), Some(5));
    // The list of files counts as memory.
    let mut tiny = Edge::again(&edge.files, CacheLimits { bytes: 700, ..SMALL }, 1);
    assert_eq!((tiny.files.len(), tiny.cached.world.relay.cached_bytes() <= 700), (3, true));
    assert_eq!(tiny.kind("/5"), None, "there is no memory into which it could be read");
    tiny.reply(FRESH, 6);
}

#[test]
fn what_could_not_be_written_is_not_looked_for_there() {
    let mut edge = Edge::new(SMALL);
    for (path, kind) in [("/1", 1), ("/2", 2), ("/3", 3)] {
        let stream = edge.cached.get(path);
        edge.cached.reply(200, FRESH, kind, 3000);
        assert_eq!(edge.cached.got(stream).0, 200);
        assert!(edge.cached.world.relay.poll_disk_task().is_none(), "content that is only counted has no file");
    }
    edge.store("/4", &[], FRESH, 4);
    let stream = edge.cached.get("/5");
    let (conn, id, _) = edge.cached.asked.pop_front().unwrap();
    let session = &mut edge.cached.world.behind.get_mut(&conn).unwrap().session;
    let head = ResponseHead::new(200, Fields::from_pairs([("content-length", "3"), FRESH[0]]));
    session.respond(id, Arc::new(head), Content::Streamed);
    session.append(id, Chunk::Bytes(vec![7; 3].into()));
    session.finish(id, Fields::default());
    edge.cached.settle();
    assert_eq!(edge.cached.world.status(stream), Some(200));
    let Some(DiskTask::Write(number, _)) = edge.cached.world.relay.poll_disk_task() else { panic!() };
    edge.cached.world.relay.handle_file_written(number, false);
    edge.work();
    let disk = edge.cached.world.relay.gauges().cache.unwrap().disk.unwrap();
    assert_eq!((disk.files, disk.failures), (1, 1));
}
