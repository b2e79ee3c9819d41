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
use super::simd::vectorize_mut;

/// Elements in a group: the fewest that fill whole bytes in every layout.
pub(crate) const GROUP: usize = 8;

/// The bytes of each run of so many elements, where runs begin and end with a byte. Elements of whole bytes
/// always do.
pub(crate) fn run_bytes(ty: ElementType, run: usize) -> Option<usize> {
    let bits = ty.bits();
    // Elements that share bytes.
    let share = match bits {
        1 | 3 => 8,
        2 | 6 => 4,
        4 => 2,
        _ => 1,
    };
    let whole = bits > 0 && run.is_multiple_of(share);
    whole.then(|| (run / share).saturating_mul(share * bits / 8))
}

/// Unpacks the codes of the elements `start..start + codes.len()` of a packed type.
pub(crate) fn unpack(ty: ElementType, packed: &[u8], start: usize, codes: &mut [u8]) {
    match ty.bits() {
        1 => unpack_as(packed, start, codes, spread_1),
        2 => unpack_as(packed, start, codes, spread_2),
        3 => unpack_as(packed, start, codes, spread_3),
        4 => unpack_as(packed, start, codes, spread_4),
        _ => unpack_as(packed, start, codes, spread_6),
    }
}

/// The same, with the function that gives the codes of a group, the first lowest, from its bytes.
#[inline(always)]
fn unpack_as<const N: usize>(
    packed: &[u8],
    start: usize,
    codes: &mut [u8],
    spread: impl Fn([u8; N]) -> u64,
) {
    let packed = &packed[start / GROUP * N..];
    let (head, rest) = codes.split_at_mut(codes.len().min((GROUP - start % GROUP) % GROUP));
    let packed = match head.len() {
        0 => packed,
        len => {
            let all = spread(padded(packed)).to_le_bytes();
            head.copy_from_slice(&all[start % GROUP..][..len]);
            packed.get(N..).unwrap_or_default()
        }
    };
    let (groups, tail) = rest.as_chunks_mut::<GROUP>();
    let bytes = packed.as_chunks::<N>().0;
    let count = groups.len();
    vectorize_mut(
        #[inline(always)]
        || {
            for (codes, &bytes) in groups.iter_mut().zip(bytes) {
                *codes = spread(bytes).to_le_bytes();
            }
        },
    );
    if !tail.is_empty() {
        let all = spread(padded(&packed[count * N..])).to_le_bytes();
        tail.copy_from_slice(&all[..tail.len()]);
    }
}

/// The bytes of the first group, which the last of a tensor may lack.
fn padded<const N: usize>(packed: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let len = N.min(packed.len());
    bytes[..len].copy_from_slice(&packed[..len]);
    bytes
}

/// Packs codes into the elements `start..start + codes.len()` of a packed type. High bits of a
/// code that the type does not have are dropped.
///
/// `start` is a multiple of [`GROUP`], and so is the end, unless it is the tensor's: what remains
/// of the last group becomes zero.
pub(crate) fn pack(ty: ElementType, codes: &[u8], packed: &mut [u8], start: usize) {
    debug_assert!(start.is_multiple_of(GROUP));
    let packed = &mut packed[start / GROUP * ty.bits()..];
    match ty.bits() {
        1 => pack_as::<1>(codes, packed),
        2 => pack_as::<2>(codes, packed),
        3 => pack_as::<3>(codes, packed),
        4 => pack_as::<4>(codes, packed),
        _ => pack_as::<6>(codes, packed),
    }
}

/// The same for a number of bits, from the first group on.
#[inline(always)]
fn pack_as<const BITS: usize>(codes: &[u8], packed: &mut [u8]) {
    let (groups, tail) = codes.as_chunks::<GROUP>();
    let (bytes, rest) = packed.split_at_mut(groups.len() * BITS);
    vectorize_mut(
        #[inline(always)]
        || {
            for (&codes, bytes) in groups.iter().zip(bytes.as_chunks_mut::<BITS>().0) {
                *bytes = pack_group(codes);
            }
        },
    );
    if !tail.is_empty() {
        let mut all = [0; GROUP];
        all[..tail.len()].copy_from_slice(tail);
        let group = pack_group::<BITS>(all);
        let len = BITS.min(rest.len());
        rest[..len].copy_from_slice(&group[..len]);
    }
}

/// A number eight times over, once a byte.
const fn each_byte(x: u8) -> u64 {
    0x0101_0101_0101_0101 * x as u64
}

/// The codes of `u1`: each byte keeps its bit, and carries from it to the highest.
#[inline(always)]
fn spread_1([byte]: [u8; 1]) -> u64 {
    let bits = u64::from_le_bytes([byte; GROUP]) & 0x0102_0408_1020_4080;
    (bits + each_byte(0x7f)) >> 7 & each_byte(1)
}

/// The four codes of two bits of each byte, the lowest first, in four bytes.
#[inline(always)]
fn spread_pairs(first: u8, second: u8) -> u64 {
    let x = u64::from(first) | u64::from(second) << 32;
    let x = (x | x << 12) & 0x000f_000f_000f_000f;
    (x | x << 6) & each_byte(3)
}

#[inline(always)]
fn spread_2([first, second]: [u8; 2]) -> u64 {
    spread_pairs(first, second)
}

#[inline(always)]
fn spread_3([first, second, high]: [u8; 3]) -> u64 {
    // The first is highest here.
    let low = spread_pairs(second, first).swap_bytes();
    low | spread_1([high]) << 2
}

#[inline(always)]
fn spread_4(bytes: [u8; 4]) -> u64 {
    let x = u64::from(u32::from_le_bytes(bytes));
    let x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    let x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    (x | x << 4) & each_byte(15)
}

#[inline(always)]
fn spread_6([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    // The first is highest here.
    let low = spread_4([e, d, b, a]).swap_bytes();
    let high = spread_pairs(f, c).swap_bytes();
    low | high << 4
}

#[inline(always)]
fn pack_group<const BITS: usize>(codes: [u8; GROUP]) -> [u8; BITS] {
    let mut b = [0; BITS];
    if BITS == 4 {
        for (b, [low, high]) in b.iter_mut().zip(codes.as_chunks().0) {
            *b = low & 15 | high << 4;
        }
        return b;
    }
    for (i, &c) in codes.iter().enumerate() {
        match BITS {
            1 => b[0] |= (c & 1) << (7 - i),
            2 => b[i / 4] |= (c & 3) << (i % 4 * 2),
            3 => {
                b[i / 4] |= (c & 3) << (6 - i % 4 * 2);
                b[2] |= (c >> 2 & 1) << (7 - i);
            }
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
    fn runs_of_whole_bytes() {
        use ElementType::{F16, I4, U1, U2, U3, U6};
        for (ty, run, bytes) in [
            (U1, 8, Some(1)),
            (U1, 4, None),
            (U2, 4, Some(1)),
            (U2, 2, None),
            (U3, 16, Some(6)),
            (U3, 4, None),
            (I4, 6, Some(3)),
            (I4, 3, None),
            (U6, 4, Some(3)),
            (U6, 2, None),
            (F16, 3, Some(6)),
        ] {
            assert_eq!(run_bytes(ty, run), bytes, "{ty} {run}");
        }
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
