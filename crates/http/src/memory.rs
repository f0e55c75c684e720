//! What stateful codecs made of their inputs, kept for sessions that go the same way.
//!
//! A header compressor's output depends on all that went through it before, so a compressed head
//! may be remembered only under (state, head). The states that a page's sessions pass through form
//! a tree: from the fresh compressor, one branch for each head that came next. Sessions of one page
//! follow one another's steps nearly always, and then a step costs a look; one that leaves the
//! beaten track takes the codec itself, puts it into the state it would be in, and goes on alone.

use crate::PeerFault;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A compressor or decompressor of heads.
pub(crate) trait Codec {
    /// What it begins with.
    type Start: Copy;
    /// What goes in.
    type Input: Clone;
    /// What comes out.
    type Output: Clone;

    /// The codec at the beginning of a session.
    fn fresh(start: Self::Start) -> Self;

    /// The next step of a session.
    fn step(&mut self, input: &Self::Input) -> Result<Self::Output, PeerFault>;

    /// Whether two inputs make the same of the same state.
    fn is_same(one: &Self::Input, other: &Self::Input) -> bool;

    /// The approximate size of a step in bytes.
    fn size(input: &Self::Input, output: &Self::Output) -> usize;
}

/// The steps that are kept at most, and the bytes that they may take: memory is bounded whatever the
/// sessions do.
const MAX_STEPS: usize = 1 << 14;
const MAX_BYTES: usize = 1 << 24;

/// Whether sessions learn from one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeps {
    /// What they did is kept, for those that do the same.
    Steps,
    /// Each goes alone: those of strangers have nothing in common, and should not.
    Nothing,
}

/// The tree of all steps that sessions took.
pub(crate) struct Memory<C: Codec> {
    start: C::Start,
    keeps: Keeps,
    tree: RwLock<Tree<C>>,
}

struct Tree<C: Codec> {
    states: Vec<CompressorState<C>>,
    /// Their size, by [`Codec::size`].
    bytes: usize,
}

/// A state of the codec: how it is reached, and where it leads.
struct CompressorState<C: Codec> {
    /// The state before, and the step from it; none for the fresh codec.
    reached: Option<(u32, C::Input, C::Output)>,
    next: Vec<u32>,
}

impl<C: Codec> Tree<C> {
    fn recall(&self, at: u32, input: &C::Input) -> Option<(u32, C::Output)> {
        self.states[at as usize].next.iter().find_map(|next| {
            let (_, known, output) = self.states[*next as usize].reached.as_ref()?;
            C::is_same(known, input).then(|| (*next, output.clone()))
        })
    }
}

impl<C: Codec> Memory<C> {
    /// Nothing is remembered.
    pub(crate) fn new(start: C::Start, keeps: Keeps) -> Arc<Memory<C>> {
        let states = vec![CompressorState { reached: None, next: Vec::new() }];
        Arc::new(Memory { start, keeps, tree: RwLock::new(Tree { states, bytes: 0 }) })
    }

    /// What `input` made of the state `at`: the next state and the output, if a session has been here.
    fn recall(&self, at: u32, input: &C::Input) -> Option<(u32, C::Output)> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner).recall(at, input)
    }

    /// Keeps a step; the state after it, unless there is no more room.
    fn note(&self, at: u32, input: &C::Input, output: &C::Output) -> Option<u32> {
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        // Another session may have been here in the meantime.
        if let Some((next, _)) = tree.recall(at, input) {
            return Some(next);
        }
        let size = C::size(input, output);
        if tree.states.len() > MAX_STEPS || tree.bytes + size > MAX_BYTES {
            return None;
        }
        tree.bytes += size;
        let next = tree.states.len() as u32;
        tree.states.push(CompressorState { reached: Some((at, input.clone(), output.clone())), next: Vec::new() });
        tree.states[at as usize].next.push(next);
        Some(next)
    }

    /// A codec in the state `at`.
    fn retrace(&self, at: u32) -> C {
        let mut inputs = Vec::new();
        let tree = self.tree.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = &tree.states[at as usize];
        while let Some((before, input, _)) = &state.reached {
            inputs.push(input.clone());
            state = &tree.states[*before as usize];
        }
        drop(tree);
        let mut codec = C::fresh(self.start);
        for input in inputs.iter().rev() {
            // It went well when it was noted, and a codec has no other source of decisions.
            let _known = codec.step(input);
        }
        codec
    }
}

impl<C: Codec> fmt::Debug for Memory<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// One session's codec, real or remembered: what comes out does not tell which.
pub(crate) struct Remembering<C: Codec> {
    memory: Arc<Memory<C>>,
    /// The state it is in, if the tree has it: one that goes alone from the beginning has none.
    at: Option<u32>,
    /// The codec itself, once it was needed. Boxed, since most sessions of a busy server have asked nothing yet.
    own: Option<Box<C>>,
}

impl<C: Codec> Remembering<C> {
    /// A codec at the beginning of a session.
    pub(crate) fn new(memory: &Arc<Memory<C>>) -> Remembering<C> {
        let at = (memory.keeps == Keeps::Steps).then_some(0);
        Remembering { memory: memory.clone(), at, own: None }
    }

    /// The next step.
    pub(crate) fn step(&mut self, input: &C::Input) -> Result<C::Output, PeerFault> {
        if self.own.is_none()
            && let Some((next, output)) = self.at.and_then(|at| self.memory.recall(at, input))
        {
            self.at = Some(next);
            return Ok(output);
        }
        // A step that fails leaves the codec in a state that the tree does not know.
        let at = self.at;
        let result = self.codec().step(input);
        self.at = at.zip(result.as_ref().ok()).and_then(|(at, output)| self.memory.note(at, input, output));
        result
    }

    /// The codec itself, for a change that is no step: nothing is remembered from here on.
    pub(crate) fn alone(&mut self) -> &mut C {
        self.codec();
        self.at = None;
        self.codec()
    }

    fn codec(&mut self) -> &mut C {
        let (memory, at) = (&self.memory, self.at);
        self.own.get_or_insert_with(|| Box::new(memory.retrace(at.unwrap_or(0))))
    }
}

impl<C: Codec> fmt::Debug for Remembering<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remembering(at {:?}, own codec: {})", self.at, self.own.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u32> = const { Cell::new(0) };
    }

    /// Its output tells everything that it has ever been given.
    #[derive(Default)]
    struct Diary(Vec<u8>);

    impl Codec for Diary {
        type Start = ();
        type Input = u8;
        type Output = Vec<u8>;

        fn fresh((): ()) -> Diary {
            Diary::default()
        }

        fn step(&mut self, input: &u8) -> Result<Vec<u8>, PeerFault> {
            STEPS.set(STEPS.get() + 1);
            self.0.push(*input);
            if *input == 9 {
                return Err(PeerFault::MalformedHead);
            }
            Ok(self.0.clone())
        }

        fn is_same(one: &u8, other: &u8) -> bool {
            one == other
        }

        fn size(_: &u8, output: &Vec<u8>) -> usize {
            output.len()
        }
    }

    proptest! {
        #[test]
        fn remembered_or_not_the_output_is_the_codecs(
            sessions in prop::collection::vec(
                (prop::collection::vec(prop_oneof![8 => 0_u8..4, 1 => Just(9)], 0..12), 0_usize..14), 1..20),
        ) {
            let memory = Memory::<Diary>::new((), Keeps::Steps);
            for (inputs, leaves) in sessions {
                let (mut remembering, mut plain) = (Remembering::new(&memory), Diary::fresh(()));
                for (at, input) in inputs.iter().enumerate() {
                    if at == leaves {
                        remembering.alone().0.push(7);
                        plain.0.push(7);
                    }
                    prop_assert_eq!(remembering.step(input), plain.step(input));
                }
            }
        }
    }

    #[test]
    fn who_goes_the_same_way_needs_no_codec() {
        let memory = Memory::<Diary>::new((), Keeps::Steps);
        let walk = || {
            let mut session = Remembering::new(&memory);
            (0..4).for_each(|input| drop(session.step(&input).unwrap()));
        };
        walk();
        let before = STEPS.get();
        walk();
        assert_eq!(STEPS.get(), before);
    }

    #[test]
    fn an_error_is_not_remembered_as_a_step() {
        let memory = Memory::<Diary>::new((), Keeps::Steps);
        assert!(Remembering::new(&memory).step(&9).is_err());
        assert_eq!(memory.tree.read().unwrap().states.len(), 1);
    }

    /// Makes nothing of anything.
    struct Nothing;

    impl Codec for Nothing {
        type Start = ();
        type Input = usize;
        type Output = ();

        fn fresh((): ()) -> Nothing {
            Nothing
        }

        fn step(&mut self, _: &usize) -> Result<(), PeerFault> {
            Ok(())
        }

        fn is_same(one: &usize, other: &usize) -> bool {
            one == other
        }

        fn size(input: &usize, _: &()) -> usize {
            if *input >= LARGE { MAX_BYTES / 2 } else { 1 }
        }
    }

    const LARGE: usize = 1 << 20;

    #[test]
    fn large_steps_are_kept_only_as_far_as_there_is_room_for_them() {
        let memory = Memory::<Nothing>::new((), Keeps::Steps);
        let mut session = Remembering::new(&memory);
        (0..4).for_each(|at| session.step(&(LARGE + at)).unwrap());
        assert_eq!(memory.tree.read().unwrap().states.len(), 1 + 2);
    }

    #[test]
    fn memory_is_bounded_and_sessions_go_on_beyond_it() {
        let memory = Memory::<Nothing>::new((), Keeps::Steps);
        let mut session = Remembering::new(&memory);
        (0..MAX_STEPS + 100).for_each(|input| session.step(&input).unwrap());
        assert_eq!(memory.tree.read().unwrap().states.len(), MAX_STEPS + 1);
    }
}
