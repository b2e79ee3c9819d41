//! Whether two results are the same.

use ovir::tensor::{ElementType, Tensor, convert};

/// Says how the tensors differ. `rounded`: sums in another order went into them.
pub(super) fn same(expected: &Tensor, found: &Tensor, rounded: bool) -> Result<(), String> {
    let ty = expected.element_type();
    if ty != found.element_type() || expected.shape() != found.shape() {
        return Err(format!("expected {expected:?}, found {found:?}"));
    }
    if !ty.is_float() {
        let same = expected == found;
        return if same {
            Ok(())
        } else {
            Err(both(expected, found))
        };
    }
    let values = |tensor: &Tensor| {
        let wide = convert::convert(tensor, ElementType::F64).expect("floats");
        wide.as_slice::<f64>().expect("f64").to_vec()
    };
    let (a, b) = (values(expected), values(found));
    let (mut error, mut scale) = (0.0, 0.0);
    for (at, (&a, &b)) in a.iter().zip(&b).enumerate() {
        if a == b || (a.is_nan() && b.is_nan()) {
            scale += if a.is_finite() { a * a } else { 0.0 };
            continue;
        }
        if !rounded || !a.is_finite() || !b.is_finite() {
            return Err(format!(
                "element {at}: expected {a:?}, found {b:?}; {}",
                both(expected, found)
            ));
        }
        scale += a * a;
        error += (a - b) * (a - b);
    }
    let bound = match ty {
        ElementType::F16 => 2e-3,
        ElementType::Bf16 => 2e-2,
        _ => 1e-5,
    };
    // What cancels to next to nothing is as good as nothing.
    #[allow(clippy::cast_precision_loss)]
    let floor = 1e-6 * (a.len() as f64).sqrt();
    if f64::sqrt(error) > bound * (f64::sqrt(scale) + floor) {
        let relative = (error / scale).sqrt();
        return Err(format!(
            "they differ by {relative:e} of their norm; {}",
            both(expected, found)
        ));
    }
    Ok(())
}

fn both(expected: &Tensor, found: &Tensor) -> String {
    let text = |tensor: &Tensor| {
        let options = ovir::io::text::Options::default();
        format!("{tensor:?}\n{}", ovir::io::text::format(tensor, &options))
    };
    format!("expected\n{}\nfound\n{}", text(expected), text(found))
}
