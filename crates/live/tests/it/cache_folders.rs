//! An edge that keeps what it has stored in a folder, and is started again.

use crate::edges::{Front, read_head};
use crate::reloads::{ask, heard, serve, source};
use crate::{joined, port};
use loadstone_live::{EdgeProxy, EdgeSource, Stopper};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

/// A folder of its own, which is not there yet.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("loadstone-cache-{}-{name}", std::process::id())))
    }

    fn source(&self, origin: SocketAddr, given: &[(&str, Value)]) -> EdgeSource {
        let disk = Value::from(self.0.to_str().unwrap());
        source(&[("a.test", origin)], &[&[("cache.bytes", 1_000_000.into()), ("cache.disk", disk)], given].concat())
    }

    /// The names of the files in it, but for that of its lock.
    fn files(&self) -> Vec<String> {
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(&self.0).unwrap().map(|entry| name(entry.unwrap())).collect();
        names.retain(|name| name != "lock");
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _it_may_not_be_there = fs::remove_dir_all(&self.0);
    }
}

/// Runs an edge while `test` does what it does, and lets it leave then.
fn with_edge(source: &EdgeSource, test: impl FnOnce(&Front, &[String])) {
    let edge = EdgeProxy::of(source).unwrap();
    let (front, ways) = (Front { address: edge.address(), root: None }, edge.ways());
    let ((leaver, leave), (_ender, end)) = (Stopper::new(), Stopper::new());
    thread::scope(move |scope| {
        let leaver = leaver;
        let run = scope.spawn(move || edge.run(&leave, &end).unwrap());
        test(&front, &ways);
        leaver.stop();
        joined(run);
    });
}

fn get(front: &Front, path: &str) -> char {
    heard(&mut ask(front, "a.test", path)).1
}

#[test]
fn an_edge_that_is_started_again_answers_what_it_had_stored() {
    let (folder, (listener, origin)) = (Folder::new("again"), port());
    with_edge(&folder.source(origin, &[]), |front, _| {
        for (path, content) in [("/1", '1'), ("/2", '2')] {
            let mut client = ask(front, "a.test", path);
            serve(&listener, content);
            assert_eq!(heard(&mut client).1, content);
        }
    });
    assert_eq!(folder.files().len(), 2);
    drop(listener);
    with_edge(&folder.source(origin, &[]), |front, _| {
        assert_eq!((get(front, "/1"), get(front, "/2"), get(front, "/1")), ('1', '2', '1'));
    });
    // One with a smaller disk has room for one file.
    with_edge(&folder.source(origin, &[("cache.disk_megabytes", 1.into())]), |front, _| {
        assert_eq!(get(front, "/2"), '2')
    });
}

#[test]
fn what_an_operator_has_purged_is_not_there_when_the_edge_is_started_again() {
    let (folder, (listener, origin)) = (Folder::new("purged"), port());
    let source = folder.source(origin, &[("admin.listen", "127.0.0.1:0".into())]);
    with_edge(&source, |front, ways| {
        for path in ["/1", "/2"] {
            let mut client = ask(front, "a.test", path);
            serve(&listener, '1');
            heard(&mut client);
        }
        let admin = ways.iter().find_map(|way| way.strip_prefix("http://")?.strip_suffix("/metrics for its operator"));
        let mut operator = TcpStream::connect(admin.unwrap()).unwrap();
        write!(operator, "POST /purge?url=a.test/1 HTTP/1.1\r\nHost: admin\r\n\r\n").unwrap();
        assert!(read_head(&mut operator).starts_with("HTTP/1.1 200"));
    });
    with_edge(&source, |front, _| {
        assert_eq!(get(front, "/2"), '1');
        let mut client = ask(front, "a.test", "/1");
        serve(&listener, '3');
        assert_eq!(heard(&mut client).1, '3');
    });
}

#[test]
fn what_is_no_whole_file_of_its_own_is_removed_and_other_files_are_left_alone() {
    let (folder, (listener, origin)) = (Folder::new("strange"), port());
    with_edge(&folder.source(origin, &[]), |front, _| {
        let mut client = ask(front, "a.test", "/1");
        serve(&listener, '1');
        heard(&mut client);
    });
    let write = |name: &str, bytes: &[u8]| fs::write(folder.0.join(name), bytes).unwrap();
    let own = folder.files().remove(0);
    let whole = fs::read(folder.0.join(&own)).unwrap();
    write(&own, &whole[..whole.len() - 1]);
    write("0000000000000077.part", &whole);
    write("0000000000000078.stored", b"");
    write("notes.txt", b"mine");
    write("9.stored", b"mine");
    with_edge(&folder.source(origin, &[]), |front, _| {
        assert_eq!(folder.files(), [&own[..], "9.stored", "notes.txt"]);
        // Its key can be read, but not all of it.
        let mut client = ask(front, "a.test", "/1");
        serve(&listener, '2');
        assert_eq!(heard(&mut client).1, '2');
    });
    let files = folder.files();
    assert!(files.len() == 3 && !files.contains(&own), "{files:?}");
}

#[test]
fn a_folder_that_cannot_be_used_is_named_with_a_remedy() {
    let (folder, (_listener, origin)) = (Folder::new("refused"), port());
    let error = |source: &EdgeSource| EdgeProxy::of(source).unwrap_err().to_string();
    with_edge(&folder.source(origin, &[]), |_, _| {
        let error = error(&folder.source(origin, &[]));
        assert!(error.starts_with("--cache-disk: ") && error.contains("in use by another edge"), "{error}");
    });
    let file = folder.0.join("file");
    fs::write(&file, b"").unwrap();
    let at = |path: &Path| [("cache.bytes", Value::from(1)), ("cache.disk", path.to_str().unwrap().into())];
    let refused = error(&source(&[("a.test", origin)], &at(&file)));
    assert!(refused.contains("/file: ") && refused.contains("give a folder"), "{refused}");
    let refused = error(&source(&[("a.test", origin)], &at(&folder.0)[1..]));
    assert!(refused.contains("--cache-disk: ") && refused.contains("--cache"), "{refused}");
}
