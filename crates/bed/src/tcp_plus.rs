//! TCP+ in the kernel: a congestion control that takes from one connection's window what a loss takes from
//! one of several flows (`nsdi`, section 4.3).
//!
//! In every other respect it is the kernel's own CUBIC or Reno: small programs (BPF struct_ops,
//! `net/ipv4/bpf_tcp_ca.c`) call the kernel's functions, and one of them changes what comes back.

use crate::btf::{Btf, BtfKind, Member};
use crate::kernel;
use loadstone_net::tcp::Congestion;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// What congestion controls are registered by.
const OPERATIONS: &str = "tcp_congestion_ops";
/// What their names are at most, in bytes, with a closing zero.
const NAME: usize = 16;

/// A congestion control of the kernel's that goes by losses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Base {
    Reno,
    Cubic,
}

/// An operation of a congestion control, the kernel's function for it, and how many arguments that has.
type Operation = (&'static str, &'static str, u32);

impl Base {
    /// The one that is meant, if it goes by losses.
    pub(crate) fn of(congestion: Congestion) -> Option<Base> {
        match congestion {
            Congestion::Reno => Some(Base::Reno),
            Congestion::Cubic => Some(Base::Cubic),
            Congestion::Bbr => None,
        }
    }

    /// What stays as it is.
    fn kept(self) -> &'static [Operation] {
        match self {
            Base::Reno => &[("cong_avoid", "tcp_reno_cong_avoid", 3), ("undo_cwnd", "tcp_reno_undo_cwnd", 1)],
            Base::Cubic => &[
                ("init", "cubictcp_init", 1),
                ("cong_avoid", "cubictcp_cong_avoid", 3),
                ("set_state", "cubictcp_state", 2),
                ("undo_cwnd", "tcp_reno_undo_cwnd", 1),
                ("cwnd_event", "cubictcp_cwnd_event", 2),
                ("pkts_acked", "cubictcp_acked", 2),
            ],
        }
    }

    /// What says how much of a window a loss leaves.
    fn threshold(self) -> &'static str {
        match self {
            Base::Reno => "tcp_reno_ssthresh",
            Base::Cubic => "cubictcp_recalc_ssthresh",
        }
    }
}

/// Why the kernel does not take such a congestion control.
#[derive(Debug, thiserror::Error)]
pub enum NoTcpPlus {
    /// It has no such type or function, or does not say so.
    #[error("this kernel lists no {0} among its types")]
    Missing(String),
    /// It does not allow it.
    #[error("this kernel refuses {what} ({why}): run as root, outside of a container")]
    Refused {
        /// What it refuses.
        what: &'static str,
        /// What it says.
        why: io::Error,
    },
}

/// A congestion control that behaves like several flows. It is gone when this is dropped and the connections that
/// have it are closed. If the process is killed, that is a retransmission timeout later: `outlive_device` in `host`.
#[derive(Debug)]
pub(crate) struct TcpPlus {
    name: String,
    _link: File,
}

impl TcpPlus {
    /// Registers one that behaves like `flows` flows of `base`.
    pub(crate) fn register(base: Base, flows: u32) -> Result<TcpPlus, NoTcpPlus> {
        let name = new_name();
        let types = Types::of_the_kernel()?;
        let operations = types.structure(OPERATIONS)?;
        // Behind a few words of the kernel's own.
        let wrapped = types.structure(&format!("bpf_struct_ops_{OPERATIONS}"))?;
        let mut value = vec![0; types.size(wrapped)?];
        let data = types.member(wrapped, "data")?.offset as usize;
        let mut put = |member: Member, bytes: &[u8]| {
            let from = data + member.offset as usize;
            value[from..from + bytes.len()].copy_from_slice(bytes);
        };
        assert!(name.len() < NAME);
        put(types.member(operations, "name")?, name.as_bytes());
        let window = types.member(types.structure("tcp_sock")?, "snd_cwnd")?.offset;
        let mut programs = vec![("ssthresh", share(types.function(base.threshold())?, window, flows))];
        for (operation, function, arguments) in base.kept() {
            programs.push((operation, call(types.function(function)?, *arguments)));
        }
        let mut loaded = Vec::new();
        for (operation, program) in programs {
            let member = types.member(operations, operation)?;
            let program =
                kernel::load_operation(&program, operations, member.number).map_err(refused("a BPF program"))?;
            put(member, &i64::from(program.as_raw_fd()).to_ne_bytes());
            loaded.push(program);
        }
        let made = kernel::make_operations(wrapped, &value).map_err(refused("a congestion control by BPF"))?;
        let link = kernel::link_operations(&made).map_err(refused("a link to a congestion control by BPF"))?;
        Ok(TcpPlus { name, _link: link })
    }

    /// What the kernel knows it by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// A name that no other has: all processes of a machine share the list.
fn new_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("ls{:x}.{:x}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed) & 0xffff)
}

fn refused(what: &'static str) -> impl FnOnce(io::Error) -> NoTcpPlus {
    move |why| NoTcpPlus::Refused { what, why }
}

/// The kernel's types; what is not there is an error.
struct Types(Btf);

impl Types {
    fn of_the_kernel() -> Result<Types, NoTcpPlus> {
        let types = match fs::read(TYPES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            read => Btf::read(read.map_err(refused("a look at its types"))?),
        };
        found(TYPES, types).map(Types)
    }

    fn structure(&self, name: &str) -> Result<u32, NoTcpPlus> {
        found(name, self.0.number(BtfKind::Struct, name))
    }

    fn function(&self, name: &str) -> Result<u32, NoTcpPlus> {
        found(name, self.0.number(BtfKind::Function, name))
    }

    fn size(&self, structure: u32) -> Result<usize, NoTcpPlus> {
        found(OPERATIONS, self.0.size(structure)).map(|bytes| bytes as usize)
    }

    fn member(&self, structure: u32, name: &str) -> Result<Member, NoTcpPlus> {
        found(name, self.0.member(structure, name))
    }
}

fn found<T>(name: &str, what: Option<T>) -> Result<T, NoTcpPlus> {
    what.ok_or_else(|| NoTcpPlus::Missing(name.to_owned()))
}

/// An instruction (RFC 9669, section 3): code, destination and source register, offset, number.
type Instruction = u64;

const fn instruction(code: u8, to: u8, from: u8, offset: i16, number: i32) -> Instruction {
    code as u64 | (to as u64) << 8 | (from as u64) << 12 | (offset as u16 as u64) << 16 | (number as u32 as u64) << 32
}

const LOAD_WORD: u8 = 0x61;
const LOAD_LONG: u8 = 0x79;
const COPY: u8 = 0xbf;
const COPY_WORD: u8 = 0xbc;
const SUBTRACT: u8 = 0x1f;
const DIVIDE_BY: u8 = 0x37;
const JUMP_IF_AT_LEAST: u8 = 0x3d;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// The source of a call to one of the kernel's functions.
const KERNEL_FUNCTION: u8 = 2;

/// Passes the arguments on to one of the kernel's functions, and its result back.
fn call(function: u32, arguments: u32) -> Vec<Instruction> {
    // Register 1 holds where the arguments are, so the first is taken last.
    let takes = (0..arguments).rev().map(|n| instruction(LOAD_LONG, n as u8 + 1, 1, 8 * n as i16, 0));
    let calls = [instruction(CALL, 0, KERNEL_FUNCTION, 0, function as i32), instruction(EXIT, 0, 0, 0, 0)];
    takes.chain(calls).collect()
}

/// The window less the part of the decrease that one of `flows` flows bears; `function` says what one flow
/// alone would be left, and `window` is the window's place in the socket.
fn share(function: u32, window: u32, flows: u32) -> Vec<Instruction> {
    vec![
        instruction(LOAD_LONG, 6, 1, 0, 0),
        instruction(LOAD_WORD, 7, 6, window as i16, 0),
        instruction(COPY, 1, 6, 0, 0),
        instruction(CALL, 0, KERNEL_FUNCTION, 0, function as i32),
        instruction(COPY_WORD, 0, 0, 0, 0),
        // A window of one or two segments is not made smaller.
        instruction(JUMP_IF_AT_LEAST, 0, 7, 5, 0),
        instruction(COPY, 8, 7, 0, 0),
        instruction(SUBTRACT, 8, 0, 0, 0),
        instruction(DIVIDE_BY, 8, 0, 0, flows as i32),
        instruction(SUBTRACT, 7, 8, 0, 0),
        instruction(COPY, 0, 7, 0, 0),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}
