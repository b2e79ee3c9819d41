//! The topological order of a graph.

/// A node that needs itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cycle(pub(crate) usize);

/// Sorts `first`, then what `roots` need (and `roots` themselves), producers before consumers:
/// a depth-first walk with its own stack. Nodes that nothing needs are left out.
pub(crate) fn order<I>(
    count: usize,
    first: impl IntoIterator<Item = usize>,
    roots: impl IntoIterator<Item = usize>,
    inputs: impl Fn(usize) -> I,
) -> Result<Vec<usize>, Cycle>
where
    I: Iterator<Item = usize>,
{
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; count];
    let mut order = Vec::with_capacity(count);
    let mut stack: Vec<(usize, I)> = Vec::new();
    for root in first.into_iter().chain(roots) {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        stack.push((root, inputs(root)));
        while let Some((node, rest)) = stack.last_mut() {
            match rest.next() {
                None => {
                    marks[*node] = Mark::Done;
                    order.push(*node);
                    stack.pop();
                }
                Some(next) => match marks[next] {
                    Mark::Done => {}
                    Mark::Open => return Err(Cycle(next)),
                    Mark::New => {
                        marks[next] = Mark::Open;
                        stack.push((next, inputs(next)));
                    }
                },
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(edges: &[&[usize]], roots: &[usize]) -> Result<Vec<usize>, Cycle> {
        order(edges.len(), [], roots.iter().copied(), |n| {
            edges[n].iter().copied()
        })
    }

    #[test]
    fn producers_come_first_and_dead_nodes_never() {
        assert_eq!(sort(&[&[1, 2], &[2], &[], &[0]], &[0]), Ok(vec![2, 1, 0]));
    }

    #[test]
    fn cycles_are_found() {
        assert_eq!(sort(&[&[1], &[0]], &[0]), Err(Cycle(0)));
        assert_eq!(sort(&[&[0]], &[0]), Err(Cycle(0)));
        // A cycle nothing needs is no trouble.
        assert_eq!(sort(&[&[], &[2], &[1]], &[0]), Ok(vec![0]));
    }

    #[test]
    fn long_chains_need_no_deep_stack() {
        let count = 200_000;
        let sorted = order(count, [], [count - 1], |n| n.checked_sub(1).into_iter());
        assert_eq!(sorted.map(|o| o.len()), Ok(count));
    }
}
