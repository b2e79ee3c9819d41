//! Elements smaller than a byte: IR's layouts, and the same elements as one code a byte.
//!
//! | type | layout |
//! |---|---|
//! | u1 | eight to a byte, the first in the highest bit |
//! | u2 | four to a byte, the first in the lowest bits |
//! | u4 i4 nf4 f4e2m1 | two to a byte, the first in the low half |
//! | u3 | eight to three bytes: the low two bits of the first four, of the last four, then all the high bits; first is highest |
//! | u6 | four to three bytes: the low halves of the first two, of the last two, then all the high two bits; first is highest |
//!
//! In every layout eight elements fill whole bytes. A code holds its bits in the low bits of the
//! byte; those of `i4` are not sign-extended.

use super::ElementType;

/// Elements in a group: the fewest that fill whole bytes in every layout.
pub(crate) const GROUP: usize = 8;

/// Unpacks the codes of the elements `start..start + codes.len()` of a packed type.
pub(crate) fn unpack(ty: ElementType, packed: &[u8], start: usize, codes: &mut [u8]) {
    let size = ty.bits();
    let mut groups = packed[start / GROUP * size..].chunks(size);
    let mut group = || {
        let bytes = groups.next().unwrap_or_default();
        match <&[u8; 6]>::try_from(bytes) {
            Ok(bytes) => *bytes,
            Err(_) => {
                let mut padded = [0; 6];
                padded[..bytes.len()].copy_from_slice(bytes);
                padded
            }
        }
    };
    let (head, rest) = codes.split_at_mut(codes.len().min((GROUP - start % GROUP) % GROUP));
    if !head.is_empty() {
        let all = unpack_group(ty, group());
        head.copy_from_slice(&all[start % GROUP..][..head.len()]);
    }
    let mut chunks = rest.chunks_exact_mut(GROUP);
    for codes in &mut chunks {
        codes.copy_from_slice(&unpack_group(ty, group()));
    }
    let tail = chunks.into_remainder();
    if !tail.is_empty() {
        let all = unpack_group(ty, group());
        tail.copy_from_slice(&all[..tail.len()]);
    }
}

/// Packs codes into the elements `start..start + codes.len()` of a packed type. High bits of a
/// code that the type does not have are dropped.
///
/// `start` is a multiple of [`GROUP`], and so is the end, unless it is the tensor's: what remains
/// of the last group becomes zero.
pub(crate) fn pack(ty: ElementType, codes: &[u8], packed: &mut [u8], start: usize) {
    debug_assert!(start.is_multiple_of(GROUP));
    let size = ty.bits();
    let packed = packed[start / GROUP * size..].chunks_mut(size);
    for (codes, bytes) in codes.chunks(GROUP).zip(packed) {
        let mut all = [0; GROUP];
        all[..codes.len()].copy_from_slice(codes);
        let group = pack_group(ty, all);
        bytes.copy_from_slice(&group[..bytes.len()]);
    }
}

#[inline]
fn unpack_group(ty: ElementType, b: [u8; 6]) -> [u8; GROUP] {
    use std::array::from_fn;
    match ty.bits() {
        1 => from_fn(|i| b[0] >> (7 - i) & 1),
        2 => from_fn(|i| b[i / 4] >> (i % 4 * 2) & 3),
        3 => from_fn(|i| (b[i / 4] >> (6 - i % 4 * 2) & 3) | (b[2] >> (7 - i) & 1) << 2),
        4 => from_fn(|i| b[i / 2] >> (i % 2 * 4) & 15),
        _ => from_fn(|i| {
            let (b, i) = (&b[i / 4 * 3..], i % 4);
            (b[i / 2] >> (4 - i % 2 * 4) & 15) | (b[2] >> (6 - i * 2) & 3) << 4
        }),
    }
}

#[inline]
fn pack_group(ty: ElementType, codes: [u8; GROUP]) -> [u8; 6] {
    let mut b = [0; 6];
    for (i, &c) in codes.iter().enumerate() {
        match ty.bits() {
            1 => b[0] |= (c & 1) << (7 - i),
            2 => b[i / 4] |= (c & 3) << (i % 4 * 2),
            3 => {
                b[i / 4] |= (c & 3) << (6 - i % 4 * 2);
                b[2] |= (c >> 2 & 1) << (7 - i);
            }
            4 => b[i / 2] |= (c & 15) << (i % 2 * 4),
            _ => {
                let (b, i) = (&mut b[i / 4 * 3..], i % 4);
                b[i / 2] |= (c & 15) << (4 - i % 2 * 4);
                b[2] |= (c >> 4 & 3) << (6 - i * 2);
            }
        }
    }
    b
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(ty: ElementType, codes: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xa5; ty.storage_bytes(codes.len()).expect("small")];
        pack(ty, codes, &mut bytes, 0);
        bytes
    }

    #[test]
    fn layouts() {
        assert_eq!(
            packed(ElementType::U1, &[1, 0, 0, 0, 0, 0, 0, 0, 1, 1]),
            [0x80, 0xc0]
        );
        assert_eq!(packed(ElementType::U2, &[1, 2, 3, 0, 3]), [0x39, 0x03]);
        assert_eq!(
            packed(ElementType::U4, &[1, 2, 3, 4, 5]),
            [0x21, 0x43, 0x05]
        );
        assert_eq!(packed(ElementType::I4, &[0xff, 0xf8, 7]), [0x8f, 0x07]);
        assert_eq!(
            packed(ElementType::U3, &[0, 1, 2, 3, 4, 5, 6, 7]),
            [0x1b, 0x1b, 0x0f]
        );
        assert_eq!(
            packed(ElementType::U6, &[33, 18, 52, 47]),
            [0x12, 0x4f, 0x9e]
        );
        assert_eq!(packed(ElementType::U3, &[7]), [0xc0, 0, 0x80]);
    }

    fn packed_types() -> impl Iterator<Item = ElementType> {
        ElementType::ALL.into_iter().filter(|ty| ty.is_packed())
    }

    /// Each code at each place of a group, beside neighbours of ones and of zeros.
    #[test]
    fn every_code_at_every_place() {
        for ty in packed_types() {
            let ones = u8::try_from((1u32 << ty.bits()) - 1).expect("fewer than eight bits");
            for (place, code, fill) in (0..16)
                .flat_map(|p| (0..=ones).map(move |c| (p, c)))
                .flat_map(|(p, c)| [(p, c, 0), (p, c, ones)])
            {
                let mut codes = [fill; 16];
                codes[place] = code;
                let mut back = [0xee; 16];
                unpack(ty, &packed(ty, &codes), 0, &mut back);
                assert_eq!(back, codes, "{ty}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_part_unpacks(codes in prop::collection::vec(any::<u8>(), 0..70), a in 0usize..70, b in 0usize..70) {
            let (start, end) = (a.min(b).min(codes.len()), a.max(b).min(codes.len()));
            for ty in packed_types() {
                let codes: Vec<u8> = codes.iter().map(|c| c & ((1 << ty.bits()) - 1)).collect();
                let mut part = vec![0xee; end - start];
                unpack(ty, &packed(ty, &codes), start, &mut part);
                prop_assert_eq!(&part, &codes[start..end]);
            }
        }

        #[test]
        fn packing_in_parts_is_packing_whole(codes in prop::collection::vec(any::<u8>(), 0..70), at in 0usize..9) {
            let at = (at * GROUP).min(codes.len() / GROUP * GROUP);
            for ty in packed_types() {
                let whole = packed(ty, &codes);
                let mut parts = vec![0xa5; whole.len()];
                pack(ty, &codes[at..], &mut parts, at);
                pack(ty, &codes[..at], &mut parts, 0);
                prop_assert_eq!(&parts, &whole);
            }
        }
    }
}
