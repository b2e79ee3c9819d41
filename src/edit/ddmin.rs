//! Delta debugging: the algorithm ddmin.
//!
//! A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions
//! on Software Engineering 28(2), 2002.

/// Removes items as long as `fails` says that the rest still does, and gives a rest none of whose
/// items can be removed alone. Items keep their order; `fails` is not asked about nothing, nor about
/// all of them, which are known to fail.
///
/// Halves are tried first: one item out of n that fails alone is found in about 2 log2 n steps.
pub(super) fn ddmin<E>(
    mut items: Vec<usize>,
    fails: &mut dyn FnMut(&[usize]) -> Result<bool, E>,
) -> Result<Vec<usize>, E> {
    let mut parts = 2;
    while items.len() > 1 {
        parts = parts.min(items.len());
        let bounds: Vec<usize> = (0..=parts).map(|i| i * items.len() / parts).collect();
        let ranges = || bounds.windows(2).map(|ends| ends[0]..ends[1]);
        let mut found = None;
        for range in ranges() {
            if fails(&items[range.clone()])? {
                found = Some((items[range].to_vec(), 2));
                break;
            }
        }
        // With two parts, a part is the rest of the other.
        if found.is_none() && parts > 2 {
            for range in ranges() {
                let rest = [&items[..range.start], &items[range.end..]].concat();
                if fails(&rest)? {
                    found = Some((rest, parts - 1));
                    break;
                }
            }
        }
        match found {
            Some((fewer, next)) => {
                items = fewer;
                parts = next.max(2);
            }
            None if parts == items.len() => break,
            None => parts *= 2,
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest, and how often it was asked.
    fn reduce(count: usize, needed: &[usize]) -> (Vec<usize>, usize) {
        let mut asked = 0;
        let found = ddmin::<()>((0..count).collect(), &mut |items| {
            asked += 1;
            Ok(needed.iter().all(|n| items.contains(n)))
        });
        (found.expect("no error"), asked)
    }

    #[test]
    fn one_item_takes_few_steps() {
        for item in [0, 1, 499, 500, 777, 999] {
            let (found, asked) = reduce(1000, &[item]);
            assert_eq!(found, [item]);
            assert!(asked <= 20, "{asked}");
        }
    }

    #[test]
    fn several_items_are_found_wherever_they_are() {
        for needed in [
            &[3, 4][..],
            &[0, 999],
            &[100, 500, 900],
            &[1, 2, 3, 4, 5, 600],
        ] {
            let (found, asked) = reduce(1000, needed);
            assert_eq!(found, needed);
            assert!(asked < 300, "{asked}");
        }
        assert_eq!(reduce(3, &[0, 1, 2]).0, [0, 1, 2]);
        assert_eq!(reduce(1, &[0]), (vec![0], 0));
        assert_eq!(reduce(0, &[]), (vec![], 0));
    }

    #[test]
    fn an_error_ends_it() {
        let found = ddmin((0..10).collect(), &mut |_| Err("stop"));
        assert_eq!(found, Err("stop"));
    }
}
