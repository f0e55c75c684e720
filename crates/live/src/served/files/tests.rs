use super::*;
use crate::Bodies;
use crate::descriptors::DescriptorShares;
use loadstone_http::Fields;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

/// A directory of its own, with a secret next to it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("loadstone-files-{}-{name}", std::process::id()));
        let root = path.join("site");
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::create_dir_all(root.join("empty")).unwrap();
        for (name, text) in [
            ("index.html", "<p>root</p>"),
            ("sub/index.html", "<p>sub</p>"),
            ("sub/a.css", "p {}"),
            ("a b\u{e9}.txt", "named"),
            ("nothing.js", ""),
            ("none", "no ending"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        fs::write(path.join("secret"), "secret").unwrap();
        Folder(path)
    }

    fn root(&self) -> PathBuf {
        self.0.join("site")
    }

    fn files(&self) -> Files {
        Files::new(&self.root(), Dotfiles::Hidden, BodyStore::default(), open_files()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

const CLIENT: IpAddr = client(1);

/// The address of one of several clients.
const fn client(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
}

/// Few may be open.
fn open_files() -> OpenFiles {
    OpenFiles::new(DescriptorShares { files: 4, files_of_client: 2, connections: 1 })
}

fn get(files: &Files, path: &str) -> (u16, String) {
    let answer = files.answer(&RequestHead::get("a.test", path, Fields::default()), CLIENT);
    let mut content = Vec::new();
    files.bodies.append(answer.body.id, 0, answer.body.len, &mut content);
    (answer.head.status, String::from_utf8(content).unwrap())
}

fn field(answer: &Answer, name: &str) -> String {
    String::from_utf8(answer.head.fields.get(name.as_bytes()).unwrap_or(b"none").to_vec()).unwrap()
}

#[test]
fn a_path_names_a_file_and_a_directory_its_index() {
    let folder = Folder::new("names");
    let files = folder.files();
    for (path, status, content) in [
        ("/", 200, "<p>root</p>"),
        ("/?query=/sub/", 200, "<p>root</p>"),
        ("/sub/", 200, "<p>sub</p>"),
        ("//sub//a.css", 200, "p {}"),
        ("/a%20b%C3%A9.txt", 200, "named"),
        ("/nothing.js", 200, ""),
        ("/none", 200, "no ending"),
        ("/none/", 404, ""),
        ("/empty/", 404, ""),
        ("/missing", 404, ""),
        ("/sub/a.css/more", 404, ""),
    ] {
        assert_eq!(get(&files, path), (status, content.to_owned()), "{path}");
    }
}

#[test]
fn heads_say_the_type_the_length_and_the_date() {
    let folder = Folder::new("heads");
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    File::options().write(true).open(folder.root().join("sub/a.css")).unwrap().set_modified(at).unwrap();
    let files = folder.files();
    let request = RequestHead::get("a.test", "/sub/a.css", Fields::default());
    let answer = files.answer(&request, CLIENT);
    // The example of RFC 9110, section 5.6.7.
    assert_eq!(field(&answer, "last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(
        (field(&answer, "content-type"), field(&answer, "content-length")),
        ("text/css; charset=utf-8".into(), "4".into())
    );
    let head = files.answer(&reply::request("HEAD", "a.test", "/sub/a.css"), CLIENT);
    assert_eq!((head.body.len, field(&head, "content-length")), (0, "4".into()));
    let none = files.answer(&RequestHead::get("a.test", "/none", Fields::default()), CLIENT);
    assert_eq!(field(&none, "content-type"), "application/octet-stream");
}

#[test]
fn a_directory_that_is_asked_for_like_a_file_is_elsewhere() {
    let folder = Folder::new("moved");
    let files = folder.files();
    for (path, location) in [("/sub", "/sub/"), ("//sub", "/sub/"), ("/sub//deep?x", "/sub/deep/")] {
        let answer = files.answer(&RequestHead::get("a.test", path, Fields::default()), CLIENT);
        assert_eq!((answer.head.status, field(&answer, "location")), (301, location.to_owned()), "{path}");
    }
}

#[test]
fn names_that_begin_with_a_dot_are_hidden_however_they_are_spelled() {
    let folder = Folder::new("dotfiles");
    for name in [".git", "sub/.cache", ".well-known", ".well-known/.git", "sub/.well-known", ".well-known-too"] {
        fs::create_dir_all(folder.root().join(name)).unwrap();
        fs::write(folder.root().join(name).join("index.html"), name).unwrap();
    }
    fs::write(folder.root().join(".htpasswd"), "password").unwrap();
    fs::write(folder.root().join("a.b"), "an ending").unwrap();
    let files = folder.files();
    for path in [
        "/.htpasswd",
        "/%2ehtpasswd",
        "/%2Ehtp%61sswd",
        "//.htpasswd",
        "/.htpasswd?a",
        "/.git",
        "/.git/",
        "/%2egit/index.html",
        "/sub/.cache/",
        "/sub/.well-known/",
        "/.well-known-too/",
        "/.well-known/.git/",
    ] {
        assert_eq!(get(&files, path), (404, String::new()), "{path}");
    }
    // RFC 8615, section 3.
    assert_eq!(get(&files, "/.well-known/"), (200, ".well-known".to_owned()));
    assert_eq!(get(&files, "/a.b"), (200, "an ending".to_owned()));
    let open = Files::new(&folder.root(), Dotfiles::Served, BodyStore::default(), open_files()).unwrap();
    assert_eq!(get(&open, "/%2ehtpasswd"), (200, "password".to_owned()));
    assert_eq!(get(&open, "/.git/"), (200, ".git".to_owned()));
    assert_eq!(get(&open, "/%2e%2e/secret").0, 404);
}

#[test]
fn nothing_leads_out_of_the_directory() {
    let folder = Folder::new("beneath");
    symlink("../secret", folder.root().join("relative")).unwrap();
    symlink(folder.0.join("secret"), folder.root().join("absolute")).unwrap();
    symlink("..", folder.root().join("up")).unwrap();
    symlink("a.css", folder.root().join("sub/within.css")).unwrap();
    let files = folder.files();
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/sub/../../secret",
        "/..%2fsecret",
        "/sub/..",
        "/.",
        "/relative",
        "/absolute",
        "/up/secret",
        "/up/site/none",
        "/none%00.html",
        "/%00",
        "/%2fetc/passwd",
        "secret",
        "*",
        "",
    ] {
        assert_eq!(get(&files, path), (404, String::new()), "{path}");
    }
    assert_eq!(get(&files, "/sub/within.css"), (200, "p {}".to_owned()));
    assert_eq!(get(&files, "/%zz").0, 404);
    assert_eq!(get(&files, &format!("/{}", "x".repeat(10_000))).0, 404);
}

#[test]
fn what_is_no_file_is_not_given_and_not_waited_for() {
    let folder = Folder::new("kinds");
    let pipe = folder.root().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let files = folder.files();
    assert_eq!(get(&files, "/pipe").0, 404);
    let post = reply::request("POST", "a.test", "/");
    let answer = files.answer(&post, CLIENT);
    assert_eq!((answer.head.status, field(&answer, "allow")), (405, "GET, HEAD".into()));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a second from now")]
fn a_file_that_was_found_is_looked_for_again_after_a_second() {
    let folder = Folder::new("fresh");
    let files = folder.files();
    assert_eq!(get(&files, "/none"), (200, "no ending".into()));
    fs::remove_file(folder.root().join("none")).unwrap();
    assert_eq!(get(&files, "/none"), (200, "no ending".into()));
    files.clock.at(std::time::Instant::now() + FRESH);
    assert_eq!(get(&files, "/none").0, 404);
}

#[test]
fn no_more_files_are_known_than_may_be_open() {
    let folder = Folder::new("known");
    let files = folder.files();
    for at in 0..3 * MAX_KNOWN {
        fs::write(folder.root().join(format!("{at}.txt")), at.to_string()).unwrap();
        assert_eq!(get(&files, &format!("/{at}.txt")), (200, at.to_string()));
        assert!(files.known.borrow().len() <= MAX_KNOWN);
    }
}

#[test]
fn a_root_that_is_no_directory_is_refused() {
    let folder = Folder::new("roots");
    assert!(Files::new(&folder.root().join("missing"), Dotfiles::Hidden, BodyStore::default(), open_files()).is_err());
}

#[test]
fn what_is_kept_in_memory_is_bounded_and_is_freed_with_its_last_owner() {
    let folder = Folder::new("kept");
    let files = folder.files();
    let answers: Vec<Answer> = (0..66)
        .map(|number| {
            let path = format!("/big{number}");
            fs::write(folder.root().join(&path[1..]), vec![b'x'; MAX_KEPT_FILE as usize]).unwrap();
            files.answer(&RequestHead::get("a.test", &path, Fields::default()), CLIENT)
        })
        .collect();
    assert_eq!(files.kept.get(), MAX_KEPT_TOTAL);
    // Those beyond are read where they are.
    let mut content = Vec::new();
    files.bodies.append(answers[65].body.id, 5, 10, &mut content);
    assert_eq!(content, [b'x'; 10]);
    answers.iter().for_each(|answer| files.bodies.finish(answer.body.id));
    files.bodies.clear();
    files.known.borrow_mut().clear();
    assert_eq!(files.kept.get(), 0);
}

/// How many descriptors of this process lead to files of the folder.
fn descriptors(folder: &Folder) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    open.filter(|path| path.starts_with(folder.root()) && *path != folder.root()).count()
}

fn status(files: &Files, path: &str, from: u8) -> u16 {
    files.answer(&RequestHead::get("a.test", path, Fields::default()), client(from)).head.status
}

#[test]
fn a_file_is_opened_once_whatever_its_spelling_and_however_many_answers_use_it() {
    let folder = Folder::new("once");
    fs::write(folder.root().join("sub/large"), vec![b'x'; MAX_KEPT_FILE as usize + 1]).unwrap();
    fs::hard_link(folder.root().join("sub/large"), folder.root().join("sub/also")).unwrap();
    let files = folder.files();
    for from in 0..12 {
        for slashes in 1..50 {
            let slashes = "/".repeat(slashes);
            assert_eq!(status(&files, &format!("{slashes}sub{slashes}large"), from), 200);
        }
        for path in ["/s%75b/l%61rge", "/%73ub/large?query", "/sub/also"] {
            assert_eq!(status(&files, path, from), 200, "{path}");
        }
    }
    assert_eq!(descriptors(&folder), 1);
    assert_eq!(files.known.borrow().len(), 2);
}

#[test]
fn no_more_files_are_open_than_may_be_and_the_next_is_told_to_come_again_rfc9110_15_6_4() {
    let folder = Folder::new("many");
    let files = folder.files();
    for number in 0..5 {
        fs::write(folder.root().join(number.to_string()), vec![b'x'; MAX_KEPT_FILE as usize + 1]).unwrap();
    }
    // A client has two, and all have four.
    for (from, path, expected) in [
        (1, "/0", 200),
        (1, "/1", 200),
        (1, "/0", 200),
        (1, "/2", 503),
        (2, "/2", 200),
        (2, "/3", 200),
        (3, "/4", 503),
        (3, "/sub/a.css", 200),
        (3, "/0", 200),
    ] {
        assert_eq!(status(&files, path, from), expected, "{from} {path}");
    }
    assert_eq!(descriptors(&folder), 4);
    files.known.borrow_mut().clear();
    (1..10).for_each(|id| files.bodies.finish(loadstone_http::BodyId(id)));
    files.bodies.clear();
    assert_eq!((descriptors(&folder), status(&files, "/4", 1)), (0, 200));
}
