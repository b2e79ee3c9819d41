//! Words in a tree of bytes.

/// Finds the words that a text begins with.
#[derive(Debug)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// In order of the bytes.
    children: Vec<(u8, u32)>,
    value: Option<i32>,
}

impl Default for Trie {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
        }
    }
}

impl Trie {
    /// Adds a word, or gives it another value. The empty word is never found.
    pub(crate) fn insert(&mut self, word: &[u8], value: i32) {
        let mut at = 0;
        for &byte in word {
            let children = &self.nodes[at].children;
            at = match children.binary_search_by_key(&byte, |&(b, _)| b) {
                Ok(found) => children[found].1 as usize,
                Err(place) => {
                    let new = self.nodes.len();
                    let index = u32::try_from(new).expect("a vocabulary has fewer bytes");
                    self.nodes[at].children.insert(place, (byte, index));
                    self.nodes.push(Node::default());
                    new
                }
            };
        }
        self.nodes[at].value = Some(value);
    }

    /// The words that `text` begins with, shortest first: length and value.
    pub(crate) fn prefixes<'t>(
        &'t self,
        text: &'t [u8],
    ) -> impl Iterator<Item = (usize, i32)> + 't {
        let mut node = &self.nodes[0];
        let walk = text.iter().map_while(move |byte| {
            let found = node.children.binary_search_by_key(byte, |&(b, _)| b).ok()?;
            node = &self.nodes[node.children[found].1 as usize];
            Some(node.value)
        });
        walk.enumerate()
            .filter_map(|(i, value)| Some((i + 1, value?)))
    }

    /// The longest word that `text` begins with.
    pub(crate) fn longest(&self, text: &[u8]) -> Option<(usize, i32)> {
        self.prefixes(text).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_a_text() {
        let mut trie = Trie::default();
        for (value, word) in ["a", "abc", "", "b", "abcd", "a"].iter().enumerate() {
            trie.insert(word.as_bytes(), value as i32);
        }
        let found: Vec<_> = trie.prefixes(b"abcx").collect();
        assert_eq!(found, [(1, 5), (3, 1)]);
        assert_eq!(trie.longest(b"abcde"), Some((4, 4)));
        assert_eq!(trie.longest(b"xa"), None);
        assert_eq!(trie.longest(b""), None);
    }
}
