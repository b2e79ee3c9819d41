//! FarmHash's 64-bit fingerprint of a string, by which strings are put into buckets.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(
        bytes[at..at + 4].try_into().expect("four bytes"),
    ))
}

fn mul(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b)
}

fn sum(terms: &[u64]) -> u64 {
    terms.iter().fold(0, |sum, &term| sum.wrapping_add(term))
}

fn mix(a: u64) -> u64 {
    a ^ (a >> 47)
}

fn pair(u: u64, v: u64, m: u64) -> u64 {
    let a = mix(mul(u ^ v, m));
    mul(mix(mul(v ^ a, m)), m)
}

fn short(s: &[u8]) -> u64 {
    let length = s.len();
    let m = sum(&[K2, mul(length as u64, 2)]);
    match length {
        0 => K2,
        1..=3 => {
            let [a, b, c] = [s[0], s[length >> 1], s[length - 1]].map(u64::from);
            let (y, z) = (a + (b << 8), length as u64 + (c << 2));
            mul(mix(mul(y, K2) ^ mul(z, K0)), K2)
        }
        4..=7 => pair(length as u64 + (half(s, 0) << 3), half(s, length - 4), m),
        _ => {
            let (a, b) = (sum(&[word(s, 0), K2]), word(s, length - 8));
            let c = sum(&[mul(b.rotate_right(37), m), a]);
            let d = mul(sum(&[a.rotate_right(25), b]), m);
            pair(c, d, m)
        }
    }
}

fn up_to_32(s: &[u8]) -> u64 {
    let length = s.len();
    let m = sum(&[K2, mul(length as u64, 2)]);
    let (a, b) = (mul(word(s, 0), K1), word(s, 8));
    let (c, d) = (mul(word(s, length - 8), m), mul(word(s, length - 16), K2));
    let u = sum(&[sum(&[a, b]).rotate_right(43), c.rotate_right(30), d]);
    let v = sum(&[a, sum(&[b, K2]).rotate_right(18), c]);
    pair(u, v, m)
}

fn up_to_64(s: &[u8]) -> u64 {
    let length = s.len();
    let m = sum(&[K2, mul(length as u64, 2)]);
    let (a, b) = (mul(word(s, 0), K2), word(s, 8));
    let (c, d) = (mul(word(s, length - 8), m), mul(word(s, length - 16), K2));
    let y = sum(&[sum(&[a, b]).rotate_right(43), c.rotate_right(30), d]);
    let z = pair(y, sum(&[a, sum(&[b, K2]).rotate_right(18), c]), m);
    let (e, f) = (mul(word(s, 16), m), word(s, 24));
    let g = mul(sum(&[y, word(s, length - 32)]), m);
    let h = mul(sum(&[z, word(s, length - 24)]), m);
    let u = sum(&[sum(&[e, f]).rotate_right(43), g.rotate_right(30), h]);
    let v = sum(&[e, sum(&[f, a]).rotate_right(18), g]);
    pair(u, v, m)
}

fn weak(s: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let [w, x, y, z] = [0, 8, 16, 24].map(|i| word(s, at + i));
    let a = sum(&[a, w]);
    let b = sum(&[b, a, z]).rotate_right(21);
    let all = sum(&[a, x, y]);
    (sum(&[all, z]), sum(&[b, all.rotate_right(44), a]))
}

/// The fingerprint.
pub(crate) fn hash64(s: &[u8]) -> u64 {
    const SEED: u64 = 81;
    match s.len() {
        0..=16 => return short(s),
        17..=32 => return up_to_32(s),
        33..=64 => return up_to_64(s),
        _ => {}
    }
    let mut y = sum(&[mul(SEED, K1), 113]);
    let mut z = mul(mix(sum(&[mul(y, K2), 113])), K2);
    let (mut v, mut w) = ((0, 0), (0, 0));
    let mut x = sum(&[mul(SEED, K2), word(s, 0)]);
    let end = (s.len() - 1) / 64 * 64;
    for at in (0..end).step_by(64) {
        x = mul(sum(&[x, y, v.0, word(s, at + 8)]).rotate_right(37), K1);
        y = mul(sum(&[y, v.1, word(s, at + 48)]).rotate_right(42), K1);
        x ^= w.1;
        y = sum(&[y, v.0, word(s, at + 40)]);
        z = mul(sum(&[z, w.0]).rotate_right(33), K1);
        v = weak(s, at, mul(v.1, K1), sum(&[x, w.0]));
        w = weak(s, at + 32, sum(&[z, w.1]), sum(&[y, word(s, at + 16)]));
        std::mem::swap(&mut z, &mut x);
    }
    let m = sum(&[K1, (z & 0xff) << 1]);
    let at = s.len() - 64;
    w.0 = sum(&[w.0, (s.len() as u64 - 1) & 63]);
    v.0 = sum(&[v.0, w.0]);
    w.0 = sum(&[w.0, v.0]);
    x = mul(sum(&[x, y, v.0, word(s, at + 8)]).rotate_right(37), m);
    y = mul(sum(&[y, v.1, word(s, at + 48)]).rotate_right(42), m);
    x ^= mul(w.1, 9);
    y = sum(&[y, mul(v.0, 9), word(s, at + 40)]);
    z = mul(sum(&[z, w.0]).rotate_right(33), m);
    v = weak(s, at, mul(v.1, m), sum(&[x, w.0]));
    w = weak(s, at + 32, sum(&[z, w.1]), sum(&[y, word(s, at + 16)]));
    std::mem::swap(&mut z, &mut x);
    let u = sum(&[pair(v.0, w.0, m), mul(mix(y), K0), z]);
    pair(u, sum(&[pair(v.1, w.1, m), x]), m)
}
