//! Byte pair encoding: pairs of adjacent symbols are merged, those that come first in the list of
//! merges first, and of equal ones the leftmost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::trie::Trie;

/// A vocabulary with its merges.
#[derive(Debug)]
pub(crate) struct Bpe {
    /// The words that no merge makes.
    symbols: Trie,
    /// Where a pair stands in the list of merges, and what it becomes.
    merges: HashMap<(i32, i32), (usize, i32)>,
    /// What stands for a byte of no symbol.
    fallback: Vec<Option<i32>>,
    end_suffix: Vec<u8>,
}

/// What else decides how words are encoded.
#[derive(Debug, Default)]
pub(crate) struct Options<'a> {
    /// What stands for bytes of no symbol, if the vocabulary has it.
    pub(crate) unknown: &'a [u8],
    /// What every word ends in.
    pub(crate) end_suffix: &'a [u8],
    /// Whether the vocabulary has words such as `<0x0A>` for bytes of no symbol.
    pub(crate) byte_fallback: bool,
}

/// A symbol in a list; the dead ones stay where they are.
#[derive(Clone, Copy)]
struct Symbol {
    id: i32,
    previous: Option<usize>,
    next: Option<usize>,
    alive: bool,
}

/// A pair that merges: its place in the list of merges, when it was found, its symbols, and what
/// it becomes.
type Candidate = (usize, usize, usize, usize, i32);

/// Room to use again for the next word.
#[derive(Default)]
pub(crate) struct Scratch {
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Reverse<Candidate>>,
}

impl Bpe {
    /// Merges of words of a vocabulary.
    ///
    /// # Errors
    /// When a merge is of a word that the vocabulary lacks: the word.
    pub(crate) fn new<'a>(
        mut vocabulary: HashMap<&'a [u8], i32>,
        merges: &[(&'a [u8], &'a [u8])],
        options: &Options<'_>,
    ) -> Result<Self, Vec<u8>> {
        let unknown = vocabulary.get(options.unknown).copied();
        let mut pairs = HashMap::with_capacity(merges.len());
        let mut made = HashSet::with_capacity(merges.len());
        for (rank, (left, right)) in merges.iter().enumerate() {
            let id = |word: &[u8]| vocabulary.get(word).copied().ok_or_else(|| word.to_vec());
            let whole = [*left, *right].concat();
            pairs.insert((id(left)?, id(right)?), (rank, id(&whole)?));
            made.insert(whole);
        }
        vocabulary.retain(|word, _| !made.contains(*word));
        let mut symbols = Trie::default();
        for (word, &id) in &vocabulary {
            symbols.insert(word, id);
        }
        let byte = |byte: u8| {
            let word = format!("<0x{byte:02X}>");
            let id = vocabulary.get(word.as_bytes()).copied();
            id.filter(|_| options.byte_fallback).or(unknown)
        };
        Ok(Self {
            symbols,
            merges: pairs,
            fallback: (0..=255).map(byte).collect(),
            end_suffix: options.end_suffix.to_vec(),
        })
    }

    /// Adds the ids of a word.
    pub(crate) fn encode(&self, word: &[u8], scratch: &mut Scratch, ids: &mut Vec<i32>) {
        scratch.symbols.clear();
        scratch.queue.clear();
        if self.end_suffix.is_empty() {
            self.split(word, &mut scratch.symbols);
        } else {
            self.split(&[word, &self.end_suffix].concat(), &mut scratch.symbols);
        }
        let mut order = scratch.symbols.len();
        for right in 1..order {
            self.offer(scratch, right - 1, right, right);
        }
        let mut head = (order > 0).then_some(0);
        while let Some(Reverse((_, _, left, right, id))) = scratch.queue.pop() {
            let symbols = &mut scratch.symbols;
            // The pair is gone if either was merged with another.
            if !(symbols[left].alive && symbols[right].alive) {
                continue;
            }
            symbols[left].alive = false;
            symbols[right].alive = false;
            let (previous, next) = (symbols[left].previous, symbols[right].next);
            let merged = symbols.len();
            symbols.push(Symbol {
                id,
                previous,
                next,
                alive: true,
            });
            order += 1;
            match previous {
                Some(previous) => {
                    symbols[previous].next = Some(merged);
                    self.offer(scratch, previous, merged, order);
                }
                None => head = Some(merged),
            }
            if let Some(next) = next {
                scratch.symbols[next].previous = Some(merged);
                self.offer(scratch, merged, next, order);
            }
        }
        while let Some(at) = head {
            ids.push(scratch.symbols[at].id);
            head = scratch.symbols[at].next;
        }
    }

    /// Puts a pair into the queue, if it merges.
    fn offer(&self, scratch: &mut Scratch, left: usize, right: usize, order: usize) {
        let pair = (scratch.symbols[left].id, scratch.symbols[right].id);
        if let Some(&(rank, id)) = self.merges.get(&pair) {
            scratch.queue.push(Reverse((rank, order, left, right, id)));
        }
    }

    /// The longest symbols, from the left.
    fn split(&self, word: &[u8], symbols: &mut Vec<Symbol>) {
        let mut at = 0;
        while at < word.len() {
            let (length, id) = match self.symbols.longest(&word[at..]) {
                Some((length, id)) => (length, Some(id)),
                None => (1, self.fallback[usize::from(word[at])]),
            };
            at += length;
            if let Some(id) = id {
                let index = symbols.len();
                if let Some(last) = symbols.last_mut() {
                    last.next = Some(index);
                }
                symbols.push(Symbol {
                    id,
                    previous: index.checked_sub(1),
                    next: None,
                    alive: true,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(
        words: &[&'static str],
        merges: &[(&'static str, &'static str)],
        options: &Options<'_>,
        text: &str,
    ) -> Vec<i32> {
        let vocabulary = words
            .iter()
            .enumerate()
            .map(|(i, w)| (w.as_bytes(), i as i32));
        let merges: Vec<_> = merges
            .iter()
            .map(|(a, b)| (a.as_bytes(), b.as_bytes()))
            .collect();
        let bpe = Bpe::new(vocabulary.collect(), &merges, options).expect("all are words");
        let mut ids = Vec::new();
        bpe.encode(text.as_bytes(), &mut Scratch::default(), &mut ids);
        ids
    }

    #[test]
    fn earlier_merges_first_then_the_leftmost() {
        let words = ["a", "b", "c", "ab", "bc", "abc", "aa"];
        let merges = [("b", "c"), ("a", "b"), ("a", "bc"), ("a", "a")];
        let plain = Options::default();
        assert_eq!(encode(&words, &merges, &plain, "abc"), [5]);
        assert_eq!(encode(&words, &merges, &plain, "abab"), [3, 3]);
        assert_eq!(encode(&words, &merges, &plain, "aaaaa"), [6, 6, 0]);
        assert_eq!(encode(&words, &merges, &plain, ""), [0; 0]);
        assert_eq!(encode(&words, &merges, &plain, "axb"), [3]);
    }

    #[test]
    fn bytes_of_no_symbol() {
        let words = ["a", "<unk>", "<0xC3>", "b</w>"];
        let mut options = Options {
            unknown: b"<unk>",
            ..Options::default()
        };
        assert_eq!(encode(&words, &[], &options, "aéé"), [0, 1, 1, 1, 1]);
        options.byte_fallback = true;
        assert_eq!(encode(&words, &[], &options, "aé"), [0, 2, 1]);
        options.end_suffix = b"</w>";
        assert_eq!(encode(&words, &[], &options, "ab"), [0, 3]);
    }

    #[test]
    fn a_long_word_is_not_quadratic() {
        let text = "a".repeat(100_000);
        let ids = encode(
            &["a", "aa", "aaaa"],
            &[("a", "a"), ("aa", "aa")],
            &Options::default(),
            &text,
        );
        assert_eq!(ids, [2; 25_000]);
    }
}
