//! What every layout keeps to.

use proptest::prelude::*;

use super::*;

/// Boxes of these sizes, and ends of wires by pairs of boxes.
fn diagram(boxes: Vec<(u8, u8)>, pairs: &[(usize, usize)]) -> Diagram {
    let count = boxes.len();
    let size = |(w, h): (u8, u8)| (20.0 + f64::from(w), 10.0 + f64::from(h) / 4.0);
    let boxes = boxes.into_iter().map(size).collect();
    let mut wires: Vec<Wire> = Vec::new();
    for &(a, b) in pairs {
        let (from, to) = ((a % count).min(b % count), (a % count).max(b % count));
        if from == to {
            continue;
        }
        // Now and then a second wire of the same box.
        match wires.iter_mut().find(|w| w.from == from) {
            Some(wire) if (a % 7 + b % 7) % 5 > 0 => wire.to.push(to),
            _ => wires.push(Wire { from, to: vec![to] }),
        }
    }
    Diagram { boxes, wires }
}

fn check(diagram: &Diagram) {
    let layout = lay_out(diagram);
    assert_eq!(layout.boxes.len(), diagram.boxes.len());
    for (index, a) in layout.boxes.iter().enumerate() {
        assert!(a.x >= -0.5 && a.right() <= layout.width + 0.5, "{a:?}");
        assert!(a.y >= 0.0 && a.bottom() <= layout.height, "{a:?}");
        for b in &layout.boxes[..index] {
            let apart =
                a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y;
            assert!(apart, "{a:?} lies over {b:?}");
        }
    }
    for (wire, route) in diagram.wires.iter().zip(&layout.routes) {
        let from = layout.boxes[wire.from];
        assert_eq!(route.start.y, from.bottom());
        assert!(route.start.x > from.x && route.start.x < from.right());
        for (position, &to) in wire.to.iter().enumerate() {
            let (rect, end) = (layout.boxes[to], route.ends[position]);
            assert!(!route.cut[position]);
            assert_eq!(end.y, rect.y);
            assert!(end.x > rect.x && end.x < rect.right());
            assert!(end.y > route.start.y, "a wire runs upwards");
            // Back along the pieces, from the end to the beginning.
            let mut at = end;
            let mut steps = 0;
            while at != route.start {
                let found = route.pieces.iter().find(|(_, lower)| *lower == at);
                let (upper, lower) = found.expect("a piece that leads here");
                assert!(upper.y < lower.y);
                if (upper.x - lower.x).abs() > f64::EPSILON {
                    let hit = layout
                        .boxes
                        .iter()
                        .find(|b| b.y < lower.y && b.bottom() > upper.y);
                    // Only in the gap between two ranks do wires run aside.
                    let rank = |b: &Rect| b.y >= lower.y || b.bottom() <= upper.y;
                    assert!(hit.is_none_or(rank), "{hit:?} {upper:?} {lower:?}");
                } else {
                    for b in &layout.boxes {
                        let beside = at.x <= b.x || at.x >= b.right();
                        let apart = b.y >= lower.y || b.bottom() <= upper.y;
                        assert!(beside || apart, "a wire runs through {b:?}");
                    }
                }
                at = *upper;
                steps += 1;
                assert!(steps < 10_000);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn boxes_are_apart_and_wires_run_down_between_them(
        boxes in prop::collection::vec(any::<(u8, u8)>(), 1..60),
        pairs in prop::collection::vec(any::<(usize, usize)>(), 0..120),
    ) {
        check(&diagram(boxes, &pairs));
    }

    #[test]
    fn chains_with_shortcuts(
        count in 2usize..80,
        pairs in prop::collection::vec((0usize..80, 1usize..30), 0..40),
    ) {
        let mut all: Vec<(usize, usize)> = (1..count).map(|i| (i - 1, i)).collect();
        all.extend(pairs.iter().map(|&(from, by)| (from % count, (from % count + by).min(count - 1))));
        check(&diagram(vec![(90, 100); count], &all));
    }
}

#[test]
fn a_chain_is_a_straight_line() {
    let pairs: Vec<_> = (1..20).map(|i| (i - 1, i)).collect();
    let layout = lay_out(&diagram(vec![(50, 40); 20], &pairs));
    assert!(layout.boxes.iter().all(|b| b.x == layout.boxes[0].x));
    assert!(layout.routes.iter().all(|r| r.pieces.len() == 1));
}

#[test]
fn few_wires_cross_in_a_tree_and_in_crossed_pairs() {
    // Two wires that cross in the order given, and need not.
    let diagram = diagram(vec![(9, 9); 4], &[(0, 3), (1, 2)]);
    let mut slots = slots::Slots::new(&diagram, &rank::ranks(&diagram));
    assert_eq!(order::crossings(&slots), 1);
    order::reduce_crossings(&mut slots);
    assert_eq!(order::crossings(&slots), 0);
}

#[test]
fn boxes_stand_near_what_they_feed() {
    // 0 → 1 → 2 → 3, and 4 feeds 5, which takes 3: 4 stands right above 5, not at the top.
    let wires = [(0, 1), (1, 2), (2, 3), (3, 5), (4, 5)];
    let ranks = rank::ranks(&diagram(vec![(9, 9); 6], &wires));
    assert_eq!(ranks, [0, 1, 2, 3, 3, 4]);
}

#[test]
fn long_and_dense_graphs_are_laid_out() {
    // A chain of 50,000, and a box that takes a value of every one of 20,000: more passing wires
    // than are drawn.
    let pairs: Vec<_> = (1..50_000).map(|i| (i - 1, i)).collect();
    let size = (100.0, 30.0);
    let wires = |pairs: &[(usize, usize)]| {
        let wire = |&(from, to): &(usize, usize)| Wire { from, to: vec![to] };
        pairs.iter().map(wire).collect::<Vec<_>>()
    };
    let layout = lay_out(&Diagram {
        boxes: vec![size; 50_000],
        wires: wires(&pairs),
    });
    assert!(layout.height > 50_000.0 * 30.0);
    let mut pairs: Vec<_> = (1..20_000).map(|i| (i - 1, i)).collect();
    pairs.extend((0..20_000).map(|i| (i, 20_000)));
    let layout = lay_out(&Diagram {
        boxes: vec![size; 20_001],
        wires: wires(&pairs),
    });
    let cut = layout
        .routes
        .iter()
        .filter(|r| r.cut.contains(&true))
        .count();
    assert!(cut > 10_000 && cut < 20_000, "{cut}");
    // The chain itself is whole.
    assert!(layout.routes[..19_999].iter().all(|r| r.cut == [false]));
}

#[test]
fn ends_out_of_order_are_left_out() {
    let mut diagram = diagram(vec![(9, 9); 3], &[(0, 1)]);
    diagram.wires.push(Wire {
        from: 2,
        to: vec![1, 2, 7],
    });
    let layout = lay_out(&diagram);
    assert_eq!(layout.routes[1].cut, [true, true, true]);
    assert!(lay_out(&Diagram::default()).boxes.is_empty());
}
