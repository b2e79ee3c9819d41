//! How the shapes of an elementwise operation's two inputs become one (see the specification's
//! [broadcast rules](https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/broadcast-rules.html)).

use super::attrs::{AutoBroadcast, AutoBroadcastSpec};
use super::{OpError, bail};
use crate::tensor::{Dimension, PartialShape};

/// The shape that both shapes are broadcast to.
///
/// # Errors
/// When no shapes they may stand for agree under the rule.
pub fn broadcast(
    a: &PartialShape,
    b: &PartialShape,
    spec: AutoBroadcastSpec,
) -> Result<PartialShape, OpError> {
    match spec.auto_broadcast {
        AutoBroadcast::None => match a.intersect(b) {
            Some(shape) => Ok(shape),
            None => bail!("shapes {a} and {b} differ, and are not to be broadcast"),
        },
        AutoBroadcast::Numpy => numpy(a, b),
        AutoBroadcast::Pdpd => pdpd(a, b, spec.axis),
    }
}

/// The axes of the broadcast shape where the dimensions of each input begin, once
/// [`broadcast`] accepted the shapes.
pub fn alignment(a_rank: usize, b_rank: usize, spec: AutoBroadcastSpec) -> [usize; 2] {
    match spec.auto_broadcast {
        AutoBroadcast::None => [0, 0],
        AutoBroadcast::Numpy => {
            let rank = a_rank.max(b_rank);
            [rank - a_rank, rank - b_rank]
        }
        AutoBroadcast::Pdpd => {
            let last = a_rank.saturating_sub(b_rank);
            [0, usize::try_from(spec.axis).unwrap_or(last)]
        }
    }
}

fn numpy(a: &PartialShape, b: &PartialShape) -> Result<PartialShape, OpError> {
    let (Some(a_dims), Some(b_dims)) = (a.dims(), b.dims()) else {
        return Ok(PartialShape::dynamic());
    };
    let rank = a_dims.len().max(b_dims.len());
    let dim = |dims: &[Dimension], axis: usize| {
        let missing = rank - dims.len();
        axis.checked_sub(missing).map_or(1.into(), |i| dims[i])
    };
    let mut shape = PartialShape::of_rank(rank);
    for (axis, out) in shape.dims_mut().unwrap_or_default().iter_mut().enumerate() {
        let (x, y) = (dim(a_dims, axis), dim(b_dims, axis));
        match x.broadcast(y) {
            Some(size) => *out = size,
            None => bail!("shapes {a} and {b} cannot be broadcast: axis {axis} has {x} and {y}"),
        }
    }
    Ok(shape)
}

fn pdpd(a: &PartialShape, b: &PartialShape, axis: i64) -> Result<PartialShape, OpError> {
    if axis < -1 {
        bail!("the axis to broadcast at is {axis}, expected -1 or more");
    }
    let (Some(a_dims), Some(b_dims)) = (a.dims(), b.dims()) else {
        return Ok(a.clone());
    };
    let at = match usize::try_from(axis) {
        Ok(axis) => axis,
        Err(_) if b_dims.len() <= a_dims.len() => a_dims.len() - b_dims.len(),
        Err(_) => bail!("shape {b} has more dimensions than {a}, which it is to be broadcast to"),
    };
    let mut shape = a.clone();
    let out = shape.dims_mut().unwrap_or_default();
    for (i, &size) in b_dims.iter().enumerate() {
        match at.checked_add(i).and_then(|axis| out.get_mut(axis)) {
            // Dimensions of 1 at the end do not count.
            None if size.contains(1) => {}
            Some(_) if size.contains(1) => {}
            Some(out) if out.compatible(size) => *out = out.intersect(size).unwrap_or(*out),
            _ => bail!("shape {b} cannot be broadcast to {a} at axis {at}"),
        }
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn result(a: &str, b: &str, auto_broadcast: AutoBroadcast, axis: i64) -> Option<String> {
        let spec = AutoBroadcastSpec {
            auto_broadcast,
            axis,
        };
        let shape = |text: &str| text.parse().expect("a shape");
        let shape = broadcast(&shape(a), &shape(b), spec).ok()?;
        Some(shape.to_string())
    }

    #[test]
    fn rules() {
        let numpy = |a, b| result(a, b, AutoBroadcast::Numpy, 0);
        assert_eq!(numpy("2,1,5", "4,1").as_deref(), Some("[2,4,5]"));
        assert_eq!(numpy("6,5", "2,1,5").as_deref(), Some("[2,6,5]"));
        assert_eq!(numpy("", "?,3").as_deref(), Some("[?,3]"));
        assert_eq!(numpy("...", "2").as_deref(), Some("[...]"));
        assert_eq!(numpy("0", "1").as_deref(), Some("[0]"));
        assert_eq!(numpy("3", "2"), None);
        assert_eq!(numpy("0", "2"), None);
        let none = |a, b| result(a, b, AutoBroadcast::None, 0);
        assert_eq!(none("2,?", "?,3").as_deref(), Some("[2,3]"));
        assert_eq!(none("2,1", "2,3"), None);
        assert_eq!(none("2", "1,2"), None);
        let pdpd = |b, axis| result("2,3,4,5", b, AutoBroadcast::Pdpd, axis);
        for (b, axis) in [
            ("3,4", 1),
            ("3,1", 1),
            ("4,5", -1),
            ("4,5", 2),
            ("1,3", 0),
            ("", 0),
            ("5", -1),
            ("5,1", 3),
        ] {
            assert_eq!(pdpd(b, axis).as_deref(), Some("[2,3,4,5]"), "{b} at {axis}");
        }
        for (b, axis) in [
            ("3,4", 0),
            ("4,5", 3),
            ("5", 4),
            ("2", -2),
            ("1,2,3,4,5", -1),
        ] {
            assert_eq!(pdpd(b, axis), None, "{b} at {axis}");
        }
        assert_eq!(result("8,1", "7,1", AutoBroadcast::Pdpd, 0), None);
        assert_eq!(result("8,1", "8,5", AutoBroadcast::Pdpd, 0), None);
        assert_eq!(
            result("?,1", "8", AutoBroadcast::Pdpd, 0).as_deref(),
            Some("[8,1]")
        );
    }

    fn dims() -> impl Strategy<Value = Vec<(usize, bool)>> {
        prop::collection::vec((0usize..4, any::<bool>()), 0..4)
    }

    proptest! {
        /// What exact shapes give lies in what the same shapes give with unknown dimensions.
        #[test]
        fn less_knowledge_encloses(a in dims(), b in dims(), rule in 0..3, axis in -1i64..4) {
            let auto_broadcast = [AutoBroadcast::None, AutoBroadcast::Numpy, AutoBroadcast::Pdpd]
                [usize::try_from(rule).expect("small")];
            let spec = AutoBroadcastSpec { auto_broadcast, axis };
            let exact = |dims: &[(usize, bool)]| dims.iter().map(|d| d.0).collect::<PartialShape>();
            let vague = |dims: &[(usize, bool)]| dims
                .iter()
                .map(|&(n, known)| if known { n.into() } else { Dimension::range(n / 2, Some(n + 1)) })
                .collect::<PartialShape>();
            if let Ok(shape) = broadcast(&exact(&a), &exact(&b), spec) {
                let shape = shape.to_shape().expect("exact");
                let enclosing = broadcast(&vague(&a), &vague(&b), spec).expect("agrees");
                prop_assert!(enclosing.contains(&shape), "{enclosing} {shape}");
            }
        }
    }
}
