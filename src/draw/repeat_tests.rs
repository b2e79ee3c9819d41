//! Rows in which something repeats.

use super::repeat::*;
use super::unit::{Entry, Unit, Units};
use crate::graph::{Builder, Port};
use crate::tensor::{ElementType, PartialShape};

/// Units that take values of others, by their numbers.
fn units(inputs: &[&[usize]]) -> Units {
    let mut graph = Builder::new();
    let scalar = PartialShape::scalar();
    let mut value = |_| graph.parameter("x", ElementType::F32, scalar.clone());
    let values: Vec<Port> = (0..inputs.len()).map(&mut value).collect();
    let unit = |(inputs, value): (&&[usize], &Port)| Unit {
        nodes: vec![value.node],
        hidden: Vec::new(),
        inputs: inputs
            .iter()
            .map(|&from| Entry {
                from,
                port: values[from],
                indirect: false,
            })
            .collect(),
    };
    Units {
        units: inputs.iter().zip(&values).map(unit).collect(),
        ..Units::default()
    }
}

fn chain(labels: &[u64]) -> (Vec<Item>, Vec<usize>) {
    let lists: Vec<Vec<usize>> = (0..labels.len())
        .map(|at| at.checked_sub(1).into_iter().collect())
        .collect();
    let inputs: Vec<&[usize]> = lists.iter().map(Vec::as_slice).collect();
    let mut sequence = (0..labels.len()).collect();
    let items = fold(&units(&inputs), labels, &mut sequence);
    (items, sequence)
}

#[test]
fn a_chain_of_equal_blocks_is_one() {
    let (items, _) = chain(&[9, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 8]);
    let Item::Block(repeat, inner) = &items[1] else {
        panic!("{items:?}")
    };
    let expected = Repeat {
        start: 1,
        length: 4,
        copies: 3,
    };
    assert_eq!((repeat, inner.len(), items.len()), (&expected, 4, 3));
    assert_eq!(items[2].places(), 13..14);
}

#[test]
fn blocks_stand_in_blocks() {
    // Twice: seven times `1`, then four others.
    let half = [1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5];
    let (items, _) = chain(&[&[9], &half[..], &half[..]].concat());
    let [Item::Unit(0), Item::Block(outer, inner)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!((outer.length, outer.copies), (11, 2));
    let Item::Block(repeat, _) = &inner[0] else {
        panic!("{inner:?}")
    };
    assert_eq!((repeat.length, repeat.copies, inner.len()), (1, 7, 5));
}

#[test]
fn blocks_are_connected_alike() {
    // Three times 1, 2, 3, 4: the last one of the second copy takes another value within.
    let labels = [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4];
    let inputs: [&[usize]; 12] = [
        &[],
        &[0],
        &[1],
        &[2, 0],
        &[3],
        &[4],
        &[5],
        &[6, 5],
        &[7],
        &[8],
        &[9],
        &[10, 8],
    ];
    let mut sequence = (0..12).collect();
    let items = fold(&units(&inputs), &labels, &mut sequence);
    assert_eq!(items.len(), 12, "{items:?}");
}

#[test]
fn what_all_copies_share_moves_out_of_the_first() {
    // `7` stands within the first copy, since it is first needed there.
    let labels = [9, 1, 2, 7, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4];
    let inputs: [&[usize]; 18] = [
        &[],
        &[0],
        &[1],
        &[],
        &[2, 3],
        &[4],
        &[5],
        &[6],
        &[7, 3],
        &[8],
        &[9],
        &[10],
        &[11, 3],
        &[12],
        &[13],
        &[14],
        &[15, 3],
        &[16],
    ];
    let mut sequence = (0..18).collect();
    let items = fold(&units(&inputs), &labels, &mut sequence);
    let [Item::Unit(0), Item::Unit(1), Item::Block(repeat, _)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!((repeat.copies, &sequence[..3]), (4, &[0, 3, 1][..]));
}

#[test]
fn nothing_is_folded_where_nothing_repeats() {
    let labels: Vec<u64> = (0..2000).collect();
    assert_eq!(chain(&labels).0.len(), 2000);
    assert!(chain(&[]).0.is_empty());
}
