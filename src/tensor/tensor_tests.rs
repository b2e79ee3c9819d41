//! Sharing and sizes of tensors.

use super::*;

#[test]
fn clones_share_until_written() {
    let a = Tensor::vector(&[1i32, 2, 3]);
    let mut b = a.clone();
    assert_eq!(a.bytes().as_ptr(), b.bytes().as_ptr());
    b.as_mut_slice::<i32>().expect("i32")[0] = 9;
    assert_eq!(a.as_slice::<i32>().expect("i32"), [1, 2, 3]);
    assert_eq!(b.as_slice::<i32>().expect("i32"), [9, 2, 3]);
}

#[test]
fn shared_bytes_are_used_in_place_when_aligned() {
    let file: Arc<Vec<u64>> = Arc::new(vec![0x0000_0002_0000_0001, 3]);
    struct Bytes(Arc<Vec<u64>>);
    impl AsRef<[u8]> for Bytes {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    let all = SharedBytes::new(Arc::new(Bytes(file)));
    let aligned = Tensor::from_bytes(
        ElementType::I32,
        [2],
        all.slice(0, 8).expect("inside the file"),
    )
    .expect("two elements");
    assert_eq!(aligned.bytes().as_ptr(), all.as_bytes().as_ptr());
    assert_eq!(aligned.as_slice::<i32>().expect("i32"), [1, 2]);
    let unaligned = Tensor::from_bytes(
        ElementType::I32,
        [1],
        all.slice(1, 4).expect("inside the file"),
    )
    .expect("one element");
    assert_eq!(unaligned.as_slice::<i32>().expect("i32"), [0x0200_0000]);
    let boolean = Tensor::from_bytes(ElementType::Boolean, [5], all.slice(0, 5).expect("inside"))
        .expect("five elements");
    assert_eq!(
        boolean.as_slice::<bool>().expect("boolean"),
        [true, false, false, false, true]
    );
    assert!(all.slice(15, 2).is_none());
    assert!(all.slice(usize::MAX, 2).is_none());
}

#[test]
fn lengths_are_checked() {
    assert!(Tensor::new([2, 2], &[1f32; 3]).is_err());
    assert!(Tensor::zeros(ElementType::F32, [usize::MAX, 8]).is_err());
    assert!(Tensor::zeros(ElementType::U8, [usize::MAX]).is_err());
    assert!(Tensor::vector(&[1f32; 6]).with_shape([4]).is_err());
    assert!(Tensor::scalar(1f32).as_slice::<i32>().is_err());
}
