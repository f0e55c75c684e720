//! What becomes of a bed when its process is killed or stopped, and how it goes without being root.

#![allow(clippy::disallowed_methods, reason = "other processes are waited for by the clock")]

use crate::{PATIENCE, leave_out, turn};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

/// The example `transfer`, which cargo builds along with the tests.
fn transfer() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.ancestors().nth(2).unwrap().join("examples/transfer");
    assert!(built.exists(), "build it with 'cargo build -p loadstone-bed --example transfer'");
    built
}

/// A transfer that is half done and takes 0.8 s more, with what it prints.
fn half_done() -> (Child, BufReader<impl Read + use<>>) {
    half_done_like(&[])
}

/// The same with connections that behave like several, as the example reads it.
pub(crate) fn half_done_like(flows: &[&str]) -> (Child, BufReader<impl Read + use<>>) {
    let arguments = ["100mbit,20ms", "20000000"].iter().chain(flows);
    let mut child = Command::new(transfer()).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "half-way\n");
    (child, output)
}

/// The network namespaces that a process has: its threads are in them, or it holds them open.
fn namespaces(process: &Path) -> BTreeSet<PathBuf> {
    let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let threads = entries(process.join("task")).map(|thread| thread.join("ns/net"));
    let links = threads.chain(entries(process.join("fd"))).filter_map(|link| fs::read_link(link).ok());
    links.filter(|target| target.to_string_lossy().starts_with("net:[")).collect()
}

/// The devices and routes of this namespace.
fn surroundings() -> [String; 2] {
    let names: Vec<String> = {
        let devices = fs::read_to_string("/proc/net/dev").unwrap();
        devices.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned()).collect()
    };
    [names.join(" "), fs::read_to_string("/proc/net/route").unwrap()]
}

#[test]
fn nothing_is_left_of_a_process_that_is_killed() {
    let Some(_turn) = turn() else { return };
    let before = surroundings();
    let (mut child, _output) = half_done();
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let own = namespaces(Path::new("/proc/self"));
    let made: BTreeSet<PathBuf> = namespaces(&process).difference(&own).cloned().collect();
    assert_eq!(made.len(), 2, "a client and a server");
    assert_eq!(surroundings(), before, "beds do not show outside");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!process.exists());
    assert_eq!(surroundings(), before);
    let others = fs::read_dir("/proc").unwrap().flatten().flat_map(|entry| namespaces(&entry.path()));
    assert_eq!(others.filter(|namespace| made.contains(namespace)).count(), 0);
}

#[test]
fn connections_do_not_outlive_a_process_that_is_killed() {
    let Some(_turn) = turn() else { return };
    if !is_root() {
        return;
    }
    let (mut child, _output) = half_done();
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let own = namespaces(Path::new("/proc/self"));
    let threads = fs::read_dir(process.join("task")).unwrap().flatten();
    let links = threads.map(|thread| thread.path().join("ns/net"));
    let inside = links.filter(|link| !own.contains(&fs::read_link(link).unwrap()));
    // Open, they stay, so that one can look what is left in them.
    let kept: Vec<File> = inside.map(|link| File::open(link).unwrap()).collect();
    assert_eq!(kept.len(), 2, "a client and a server have a thread each");
    let sockets = || kept.iter().map(connections).sum::<usize>();
    assert_eq!(sockets(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    await_that(|| sockets() == 0);
}

/// How many connections there are in a namespace, without those that only wait for late packets (TIME-WAIT): these
/// hold on to nothing.
fn connections(namespace: &File) -> usize {
    let entry = format!("--net=/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd());
    let output = Command::new("nsenter").args([&entry, "cat", "/proc/net/tcp"]).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let states = listed.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
    let (waiting, listening) = ("06", "0A");
    states.filter(|state| ![waiting, listening].contains(state)).count()
}

#[test]
fn a_process_with_too_few_descriptors_says_so() {
    let Some(_turn) = turn() else { return };
    for flows in ["", " 4"] {
        let say_so = |limit: &u32| {
            let script = format!("ulimit -n {limit}; exec {} 100mbit,20ms 100000{flows}", transfer().display());
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let no_bed = said.contains("this process may not open more files: allow more with 'ulimit -n");
            // Where there is a bed, the example's own server may find none left.
            let no_server = ["Connection refused", "Too many open files"].iter().any(|error| said.contains(error));
            assert!(no_bed || no_server && !said.contains("bed") || output.status.success(), "{limit}: {output:?}");
            no_bed
        };
        assert!((4..20).filter(say_so).count() > 3);
    }
}

#[test]
fn a_process_that_is_stopped_for_a_while_takes_it_for_a_pause() {
    let Some(_turn) = turn() else { return };
    let (mut child, mut output) = half_done();
    let signal = |name: &str| {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
        assert!(sent.success());
    };
    signal("STOP");
    // For 20 ms from when it stands still.
    let status = format!("/proc/{}/stat", child.id());
    await_that(|| fs::read_to_string(&status).unwrap().contains(") T "));
    let stopped = Instant::now();
    await_that(|| stopped.elapsed().as_millis() >= 20);
    signal("CONT");
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    let pauses = said.split(" pauses, ").next().and_then(|text| text.rsplit(' ').next()).unwrap();
    assert!(pauses.parse::<u32>().unwrap() >= 1, "{said}");
    let total = said.split(" pauses, ").nth(1).and_then(|text| text.split("ms in all").next()).unwrap();
    assert!(total.parse::<f64>().unwrap() >= 19.0, "{said}");
}

pub(crate) fn await_that(mut condition: impl FnMut() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

/// What `transfer` says without privileges, where /dev/net/tun has this mode. The machine's own
/// device stays as it is: the process has a file system of its own.
fn as_nobody(tun_mode: &str) -> Output {
    let script = format!(
        "mount -t tmpfs -o mode=755 none /dev/net && cp {} /dev/net/transfer && mknod -m {tun_mode} /dev/net/tun c 10 200 \
         && exec setpriv --reuid 65534 --regid 65534 --clear-groups /dev/net/transfer enter 100mbit,20ms 100000",
        transfer().display()
    );
    Command::new("unshare").args(["--mount", "--propagation", "private", "sh", "-c", &script]).output().unwrap()
}

/// Whether this process can put a file system of its own somewhere, to be another user in it.
fn is_root() -> bool {
    let can = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/dev/net"]).output();
    let can = can.is_ok_and(|output| output.status.success());
    if !can {
        leave_out("the test has to be root, with the commands of util-linux");
    }
    can
}

#[test]
fn user_nobody_makes_a_bed_where_the_device_is_open_to_all() {
    let Some(_turn) = turn() else { return };
    if !is_root() {
        return;
    }
    let output = as_nobody("0666");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    // 100 ms, of which 20 each for the handshake and three flights; but without priority it may take longer.
    assert!(said.starts_with("half-way\n") && said.contains(" ms, LinkCounts { packets: 7"), "{said}");
    assert!(said.contains("Ordinary"), "{said}");
}

#[test]
fn user_nobody_is_told_what_to_do_where_the_device_is_closed() {
    let Some(_turn) = turn() else { return };
    if !is_root() {
        return;
    }
    let output = as_nobody("0600");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    let remedy = "transfer: /dev/net/tun may not be opened: run as root, or allow it once, as root, with 'chmod 0666 ";
    assert!(said.starts_with(remedy) && said.trim_end().lines().count() == 1, "{said}");
}
