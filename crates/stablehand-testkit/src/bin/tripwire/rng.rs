//! A small generator of random numbers, so that a seed gives the same commands on every machine.

/// Xorshift with a multiplication.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`; 0 where that is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap_or(0);
        number.checked_rem(limit).unwrap_or(0)
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of a list; empty text where the list is.
    pub(super) fn one<'a, T: AsRef<str>>(&mut self, list: &'a [T]) -> &'a str {
        list.get(self.below(list.len())).map_or("", AsRef::as_ref)
    }
}
