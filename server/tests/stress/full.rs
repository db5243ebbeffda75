//! Two sizes for a test: a quick one, and the one that a release is judged by.

/// `full` with `PANTHEON_TEST_FULL=1`, and `quick` otherwise.
pub fn sized<T>(quick: T, full: T) -> T {
    if std::env::var_os("PANTHEON_TEST_FULL").is_some_and(|value| value == "1") { full } else { quick }
}

/// Numbers that look random and are the same in every run: xorshift, begun at a seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // The state must not be zero, and near seeds should part at once.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number from 0 up to but not including `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
