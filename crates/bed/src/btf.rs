//! The kernel's own types, as it describes them (BTF: `Documentation/bpf/btf.rst`).
//!
//! Programs that run in the kernel must name its types and functions by their numbers there, and the
//! places in its structures differ from build to build.

use std::ffi::CStr;

/// Bytes of the header, which says where types and strings are.
const HEADER: usize = 24;
const MAGIC: u16 = 0xeb9f;

/// What is asked for, by the format's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BtfKind {
    Struct = 4,
    Function = 12,
}

/// The kernel's own types.
#[derive(Debug)]
pub(crate) struct Btf {
    bytes: Vec<u8>,
    strings: usize,
    /// Where each type begins; the first has the number 1.
    types: Vec<usize>,
}

/// A member of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    /// Which it is, from 0.
    pub(crate) number: u32,
    /// Where it begins, in bytes.
    pub(crate) offset: u32,
}

impl Btf {
    /// Reads what the kernel has written; nothing if it is something else.
    pub(crate) fn read(bytes: Vec<u8>) -> Option<Btf> {
        if u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        // After 8 bytes: the length of the header, then place and length of the types, then of the strings.
        let [header, types, types_len, strings] = [4, 8, 12, 16].map(|at| word(&bytes, at).map(|word| word as usize));
        let header = header.filter(|len| *len >= HEADER)?;
        let (mut at, strings) = (header.checked_add(types?)?, header.checked_add(strings?)?);
        let end = at.checked_add(types_len?).filter(|end| *end <= bytes.len())?;
        let mut types = Vec::new();
        while at < end {
            types.push(at);
            at += 12 + tail(word(&bytes, at + 4)?)?;
        }
        Some(Btf { bytes, strings, types })
    }

    /// The number of a type.
    pub(crate) fn number(&self, kind: BtfKind, name: &str) -> Option<u32> {
        let is_it = |at: &usize| self.kind(*at) == Some(kind as u32) && self.name(*at) == Some(name.as_bytes());
        self.types.iter().position(is_it).map(|place| place as u32 + 1)
    }

    /// The bytes of a structure.
    pub(crate) fn size(&self, structure: u32) -> Option<u32> {
        word(&self.bytes, self.place(structure)? + 8)
    }

    /// A member of a structure that is not part of a word.
    pub(crate) fn member(&self, structure: u32, name: &str) -> Option<Member> {
        let at = self.place(structure)?;
        let info = word(&self.bytes, at + 4)?;
        (0..info & 0xffff).find_map(|number| {
            let member = at + 12 + 12 * number as usize;
            let bits = word(&self.bytes, member + 8)?;
            // Where some members are parts of words, the upper byte tells how many bits they have.
            let (bits, of_word) = if info >> 31 == 1 { (bits & 0xff_ffff, bits >> 24 > 0) } else { (bits, false) };
            let is_it = self.name(member) == Some(name.as_bytes()) && !of_word;
            is_it.then_some(Member { number, offset: bits / 8 })
        })
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.types.get((number as usize).checked_sub(1)?).copied()
    }

    fn kind(&self, at: usize) -> Option<u32> {
        Some(word(&self.bytes, at + 4)? >> 24 & 31)
    }

    /// The name of a type or a member: both begin with where it stands.
    fn name(&self, at: usize) -> Option<&[u8]> {
        let from = self.strings.checked_add(word(&self.bytes, at)? as usize)?;
        Some(CStr::from_bytes_until_nul(self.bytes.get(from..)?).ok()?.to_bytes())
    }
}

/// How many bytes follow the first 12 of a type, by its second word; nothing for a kind that is not known,
/// since then it is unknown where the next type begins.
fn tail(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    match info >> 24 & 31 {
        // Pointers, names for others, forward declarations, qualifiers, functions, floats, type tags.
        2 | 7..=12 | 16 | 18 => Some(0),
        // Whole numbers, variables, tags of declarations.
        1 | 14 | 17 => Some(4),
        // Arrays.
        3 => Some(12),
        // Structures, unions, sections, long enumerations.
        4 | 5 | 15 | 19 => Some(12 * count),
        // Enumerations, prototypes.
        6 | 13 => Some(8 * count),
        _ => None,
    }
}

/// The four bytes from `at` on, in this machine's order.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A number `u32`; a structure `sock` of 12 bytes with members `a` at 0 and `window` at 8; one with parts
    /// of words; a function `open`.
    fn written() -> Vec<u8> {
        let strings = b"\0u32\0sock\0a\0window\0open\0bits\0";
        let types: Vec<u32> = [
            [1, 1 << 24, 4, 32].to_vec(),
            [5, 4 << 24 | 2, 12, 10, 1, 0, 12, 1, 64].to_vec(),
            [24, 1 << 31 | 4 << 24 | 2, 8, 10, 1, 3 << 24, 12, 1, 32].to_vec(),
            [19, 12 << 24, 0].to_vec(),
        ]
        .concat();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let (types_len, strings_len) = (4 * types.len() as u32, strings.len() as u32);
        for word in [HEADER as u32, 0, types_len, types_len, strings_len].into_iter().chain(types) {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn types_are_found_by_their_names() {
        let btf = Btf::read(written()).unwrap();
        let numbers = [(BtfKind::Struct, "sock"), (BtfKind::Function, "open"), (BtfKind::Struct, "open")];
        assert_eq!(numbers.map(|(kind, name)| btf.number(kind, name)), [Some(2), Some(4), None]);
        assert_eq!(btf.size(2), Some(12));
        assert_eq!(btf.member(2, "window"), Some(Member { number: 1, offset: 8 }));
        assert_eq!(btf.member(2, "b"), None);
        assert_eq!(btf.member(3, "a"), None, "a part of a word");
        assert_eq!(btf.member(3, "window"), Some(Member { number: 1, offset: 4 }));
        assert_eq!((btf.size(0), btf.size(99)), (None, None));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), place in 0_usize..200, is_near: bool) {
            if is_near {
                let mut whole = written();
                let place = place % whole.len();
                whole[place] = bytes.first().copied().unwrap_or(0);
                bytes = whole;
            }
            if let Some(btf) = Btf::read(bytes) {
                for name in ["sock", "a", ""] {
                    btf.number(BtfKind::Struct, name);
                    for number in 0..6 {
                        btf.member(number, name);
                        btf.size(number);
                    }
                }
            }
        }
    }
}
