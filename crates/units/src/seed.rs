//! Randomness: one generator per concern, each named, all from one seed.

/// The seed of a run. Every random decision of the run draws from a [`RandomStream`] that this names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator for the concern `name`, for instance `"down.loss"`.
    ///
    /// Streams of different names are independent of one another, so adding a component shifts no
    /// other component's numbers, and two variants run under one seed draw the same sequences.
    pub fn stream(self, name: &str) -> RandomStream {
        // SplitMix64 fills the state, as its authors recommend.
        let mut mixer = self.0 ^ fnv_1a(name);
        RandomStream { state: std::array::from_fn(|_| split_mix(&mut mixer)) }
    }
}

/// FNV-1a of a name (Fowler, Noll, Vo).
pub(crate) fn fnv_1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One sequence of random numbers: xoshiro256++ (Blackman, Vigna 2019).
///
/// The algorithm is part of what a result means and does not change: a seed gives the same numbers
/// on every machine and in every release.
#[derive(Clone, Debug)]
pub struct RandomStream {
    state: [u64; 4],
}

impl RandomStream {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// The next number in [0, 1), a multiple of 2^-53.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_reference_sequence_of_its_authors() {
        // The state 1, 2, 3, 4 and its first outputs are the reference vector of rand_xoshiro's
        // test for the authors' C code.
        let mut stream = RandomStream { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| stream.next_u64()).collect();
        assert_eq!(first, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn names_and_seeds_separate_streams() {
        let first = |seed, name| Seed(seed).stream(name).next_u64();
        assert_eq!(first(1, "down.loss"), first(1, "down.loss"));
        assert_ne!(first(1, "down.loss"), first(1, "up.loss"));
        assert_ne!(first(1, "down.loss"), first(2, "down.loss"));
    }

    #[test]
    fn fractions_lie_in_the_unit_interval() {
        let mut stream = Seed(3).stream("x");
        assert!((0..10_000).map(|_| stream.next_f64()).all(|x| (0.0..1.0).contains(&x)));
    }
}
