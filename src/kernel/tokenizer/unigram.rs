//! The unigram model: of all ways to split a text into words, the one with the greatest sum of
//! scores.

use super::trie::Trie;

/// How much worse than the worst word a character of no word is.
const UNKNOWN_PENALTY: f32 = 10.0;

/// Words with their scores.
#[derive(Debug)]
pub(crate) struct Unigram {
    words: Trie,
    scores: Vec<f32>,
    unknown: i32,
    unknown_score: f32,
}

/// The best way to a place in the text.
#[derive(Clone, Copy)]
struct Step {
    id: i32,
    score: f32,
    from: Option<usize>,
}

impl Unigram {
    /// Words, as many as scores; ids are their places. `unknown` stands for what is no word.
    pub(crate) fn new<'a>(
        words: impl Iterator<Item = &'a [u8]>,
        scores: &[f32],
        unknown: i32,
    ) -> Self {
        let mut trie = Trie::default();
        for (id, word) in (0..).zip(words) {
            trie.insert(word, id);
        }
        let worst = scores.iter().copied().fold(f32::MAX, f32::min);
        Self {
            words: trie,
            scores: scores.to_vec(),
            unknown,
            unknown_score: worst - UNKNOWN_PENALTY,
        }
    }

    /// Adds the ids of a text. Characters of no word side by side have one id.
    pub(crate) fn encode(&self, text: &[u8], ids: &mut Vec<i32>) {
        let nowhere = Step {
            id: self.unknown,
            score: 0.0,
            from: None,
        };
        let mut best = vec![nowhere; text.len() + 1];
        let mut at = 0;
        while at < text.len() {
            let so_far = best[at].score;
            let character = character_length(text[at]).min(text.len() - at);
            let mut known = false;
            let mut offer = |length: usize, id: i32, score: f32| {
                let step = &mut best[at + length];
                let score = score + so_far;
                if step.from.is_none() || score > step.score {
                    *step = Step {
                        id,
                        score,
                        from: Some(at),
                    };
                }
            };
            for (length, id) in self.words.prefixes(&text[at..]) {
                offer(length, id, self.scores[id as usize]);
                known |= length == character;
            }
            if !known {
                offer(character, self.unknown, self.unknown_score);
            }
            at += character;
        }
        let first = ids.len();
        let mut end = text.len();
        let mut after = None;
        while let Some(from) = best[end].from {
            let id = best[end].id;
            if !(id == self.unknown && after == Some(id)) {
                ids.push(id);
            }
            after = Some(id);
            end = from;
        }
        ids[first..].reverse();
    }
}

/// The length of the UTF-8 character that a byte begins.
fn character_length(first: u8) -> usize {
    match first >> 4 {
        0..=11 => 1,
        12 | 13 => 2,
        14 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(words: &[(&str, f32)], text: &[u8]) -> Vec<i32> {
        let scores: Vec<f32> = words.iter().map(|w| w.1).collect();
        let unigram = Unigram::new(words.iter().map(|w| w.0.as_bytes()), &scores, 0);
        let mut ids = vec![-7];
        unigram.encode(text, &mut ids);
        ids.split_off(1)
    }

    #[test]
    fn the_greatest_sum() {
        let words = [
            ("<unk>", 0.0),
            ("a", -1.0),
            ("b", -1.0),
            ("ab", -1.5),
            ("aba", -9.0),
        ];
        assert_eq!(encode(&words, b"aba"), [3, 1]);
        assert_eq!(encode(&words, "aéxb".as_bytes()), [1, 0, 2]);
        assert_eq!(encode(&words, b""), [0; 0]);
        // Bytes that are no UTF-8 end the text early.
        assert_eq!(encode(&words, b"a\xf0"), [1, 0]);
        assert_eq!(encode(&words, b"\xf0ab"), [0]);
    }
}
