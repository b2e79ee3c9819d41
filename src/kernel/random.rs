//! Generators of random bits: what they give for a seed is fixed by their papers.

/// Four random words for every number of a counter: Philox 4x32-10 of "Parallel Random Numbers: As
/// Easy as 1, 2, 3".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Philox {
    pub(crate) key: u64,
    /// The upper half of the counter; the lower counts the blocks.
    pub(crate) counter: u64,
}

/// Words of one block.
pub(crate) const WORDS: usize = 4;

impl Philox {
    /// The words of a block.
    pub(crate) fn block(self, index: u64) -> [u32; WORDS] {
        const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
        const INCREMENTS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
        const ROUNDS: usize = 10;
        let [mut n_low, mut n_high] = split(index);
        let [mut c_low, mut c_high] = split(self.counter);
        let [mut key_low, mut key_high] = split(self.key);
        for _ in 0..ROUNDS {
            let [n_product, n_carry] = split(u64::from(n_low) * u64::from(MULTIPLIERS[0]));
            let [c_product, c_carry] = split(u64::from(c_low) * u64::from(MULTIPLIERS[1]));
            n_low = c_carry ^ n_high ^ key_low;
            n_high = c_product;
            c_low = n_carry ^ c_high ^ key_high;
            c_high = n_product;
            key_low = key_low.wrapping_add(INCREMENTS[0]);
            key_high = key_high.wrapping_add(INCREMENTS[1]);
        }
        [n_low, n_high, c_low, c_high]
    }
}

/// The lower and the upper half.
fn split(x: u64) -> [u32; 2] {
    #[allow(clippy::cast_possible_truncation)] // is the purpose
    [x as u32, (x >> 32) as u32]
}

/// The Mersenne Twister MT19937, one word after the other.
#[derive(Debug, Clone)]
pub(crate) struct Mersenne {
    state: Box<[u32; STATE]>,
    next: usize,
}

const STATE: usize = 624;

impl Mersenne {
    pub(crate) fn new(seed: u32) -> Self {
        let mut state = Box::new([seed; STATE]);
        for i in 1..STATE {
            let before = state[i - 1] ^ (state[i - 1] >> 30);
            #[allow(clippy::cast_possible_truncation)] // small
            let index = i as u32;
            state[i] = before.wrapping_mul(1_812_433_253).wrapping_add(index);
        }
        Self { state, next: STATE }
    }

    pub(crate) fn word(&mut self) -> u32 {
        if self.next == STATE {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9D2C_5680;
        word ^= (word << 15) & 0xEFC6_0000;
        word ^ (word >> 18)
    }

    fn twist(&mut self) {
        const MIDDLE: usize = 397;
        for i in 0..STATE {
            let next = self.state[(i + 1) % STATE];
            let mixed = (self.state[i] & 0x8000_0000) | (next & 0x7FFF_FFFF);
            let odd = if next & 1 == 1 { 0x9908_B0DF } else { 0 };
            self.state[i] = self.state[(i + MIDDLE) % STATE] ^ (mixed >> 1) ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the Random123 library, and of the paper's program.
    #[test]
    fn known_answers() {
        let zero = Philox { key: 0, counter: 0 };
        assert_eq!(
            zero.block(0),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        let ones = Philox {
            key: u64::MAX,
            counter: u64::MAX,
        };
        assert_eq!(
            ones.block(u64::MAX),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        let mut twister = Mersenne::new(5489);
        let words: Vec<u32> = (0..10_000).map(|_| twister.word()).collect();
        assert_eq!(words[0], 3_499_211_612);
        assert_eq!(words[9_999], 4_123_659_995);
    }
}
