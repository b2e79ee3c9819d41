//! Element types of OpenVINO and their spellings.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The type of a tensor's elements.
///
/// `Dynamic` means "not known before evaluation"; a tensor never has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[allow(missing_docs)] // the names are the documentation
pub enum ElementType {
    #[default]
    Dynamic,
    Boolean,
    Bf16,
    F16,
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I64,
    U1,
    U2,
    U3,
    U4,
    U6,
    U8,
    U16,
    U32,
    U64,
    Nf4,
    F4e2m1,
    F8e4m3,
    F8e5m2,
    F8e8m0,
    /// Real and imaginary part, both `f32`. ONNX has it, IR does not.
    Complex64,
    /// Real and imaginary part, both `f64`. ONNX has it, IR does not.
    Complex128,
    String,
}

/// The type in which arithmetic on an element type is computed (see [`ElementType::class`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// `f32`, and every float format of 16 bits or fewer, widened.
    F32,
    /// `f64`.
    F64,
    /// Every integer up to `i64`, and boolean, widened to `i64`.
    I64,
    /// `u64`, whose division, order and shift differ from `i64`.
    U64,
}

use ElementType as E;

impl ElementType {
    /// Every type but [`ElementType::Dynamic`].
    pub const ALL: [ElementType; 27] = [
        E::Boolean,
        E::Bf16,
        E::F16,
        E::F32,
        E::F64,
        E::I4,
        E::I8,
        E::I16,
        E::I32,
        E::I64,
        E::U1,
        E::U2,
        E::U3,
        E::U4,
        E::U6,
        E::U8,
        E::U16,
        E::U32,
        E::U64,
        E::Nf4,
        E::F4e2m1,
        E::F8e4m3,
        E::F8e5m2,
        E::F8e8m0,
        E::Complex64,
        E::Complex128,
        E::String,
    ];

    /// The canonical name, as in the attribute `element_type`.
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// The name written in a port's attribute `precision`.
    pub const fn port_name(self) -> &'static str {
        self.names().1
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            E::Dynamic => ("dynamic", "UNSPECIFIED"),
            E::Boolean => ("boolean", "BOOL"),
            E::Bf16 => ("bf16", "BF16"),
            E::F16 => ("f16", "FP16"),
            E::F32 => ("f32", "FP32"),
            E::F64 => ("f64", "FP64"),
            E::I4 => ("i4", "I4"),
            E::I8 => ("i8", "I8"),
            E::I16 => ("i16", "I16"),
            E::I32 => ("i32", "I32"),
            E::I64 => ("i64", "I64"),
            E::U1 => ("u1", "BIN"),
            E::U2 => ("u2", "U2"),
            E::U3 => ("u3", "U3"),
            E::U4 => ("u4", "U4"),
            E::U6 => ("u6", "U6"),
            E::U8 => ("u8", "U8"),
            E::U16 => ("u16", "U16"),
            E::U32 => ("u32", "U32"),
            E::U64 => ("u64", "U64"),
            E::Nf4 => ("nf4", "NF4"),
            E::F4e2m1 => ("f4e2m1", "F4E2M1"),
            E::F8e4m3 => ("f8e4m3", "F8E4M3"),
            E::F8e5m2 => ("f8e5m2", "F8E5M2"),
            E::F8e8m0 => ("f8e8m0", "F8E8M0"),
            E::Complex64 => ("complex64", "COMPLEX64"),
            E::Complex128 => ("complex128", "COMPLEX128"),
            E::String => ("string", "STRING"),
        }
    }

    /// The type a port's `precision` names: the written and the canonical spelling, exactly.
    /// No port is complex.
    pub fn from_port_name(text: &str) -> Option<Self> {
        match text {
            "UNSPECIFIED" | "dynamic" | "undefined" => Some(E::Dynamic),
            "U1" | "bin" => Some(E::U1),
            _ => Self::ALL
                .into_iter()
                .filter(|t| !t.is_complex())
                .find(|t| t.port_name() == text || t.name() == text),
        }
    }

    /// Bits of one element; 0 for `Dynamic` and `String`.
    pub const fn bits(self) -> usize {
        match self {
            E::Dynamic | E::String => 0,
            E::U1 => 1,
            E::U2 => 2,
            E::U3 => 3,
            E::U4 | E::I4 | E::Nf4 | E::F4e2m1 => 4,
            E::U6 => 6,
            E::Boolean | E::I8 | E::U8 | E::F8e4m3 | E::F8e5m2 | E::F8e8m0 => 8,
            E::F16 | E::Bf16 | E::I16 | E::U16 => 16,
            E::F32 | E::I32 | E::U32 => 32,
            E::F64 | E::I64 | E::U64 | E::Complex64 => 64,
            E::Complex128 => 128,
        }
    }

    /// The type of the real and of the imaginary part; `None` if elements are not complex.
    pub const fn part(self) -> Option<Self> {
        match self {
            E::Complex64 => Some(E::F32),
            E::Complex128 => Some(E::F64),
            _ => None,
        }
    }

    /// The bytes that change places between byte orders: an element's, or a part's if it is
    /// complex.
    pub(crate) const fn swapped_bytes(self) -> usize {
        match self.part() {
            Some(part) => part.bits() / 8,
            None => self.bits() / 8,
        }
    }

    /// Whether elements share bytes: `u1` to `u6`, `i4`, `nf4`, `f4e2m1`.
    pub const fn is_packed(self) -> bool {
        self.bits() > 0 && self.bits() < 8
    }

    /// Whether the type is known.
    pub const fn is_static(self) -> bool {
        !matches!(self, E::Dynamic)
    }

    /// Whether the type is a floating-point format.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            E::Bf16
                | E::F16
                | E::F32
                | E::F64
                | E::Nf4
                | E::F4e2m1
                | E::F8e4m3
                | E::F8e5m2
                | E::F8e8m0
        )
    }

    /// Whether the type is a signed or unsigned integer (boolean is not).
    pub const fn is_integer(self) -> bool {
        self.is_signed_integer()
            || matches!(
                self,
                E::U1 | E::U2 | E::U3 | E::U4 | E::U6 | E::U8 | E::U16 | E::U32 | E::U64
            )
    }

    /// Whether the type is a signed integer.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, E::I4 | E::I8 | E::I16 | E::I32 | E::I64)
    }

    /// Whether elements are complex numbers, which are moved but not computed with.
    pub const fn is_complex(self) -> bool {
        self.part().is_some()
    }

    /// Whether arithmetic is defined: integers and floats.
    pub const fn is_numeric(self) -> bool {
        self.is_integer() || self.is_float()
    }

    /// The type to compute in; `None` for `String`, complex types and `Dynamic`.
    pub const fn class(self) -> Option<Class> {
        match self {
            E::Dynamic | E::String | E::Complex64 | E::Complex128 => None,
            E::F64 => Some(Class::F64),
            E::U64 => Some(Class::U64),
            _ if self.is_float() => Some(Class::F32),
            _ => Some(Class::I64),
        }
    }

    /// Bytes that `count` elements occupy; `None` if that overflows, or the type has no bytes.
    ///
    /// `u3` and `u6` occupy whole groups of three bytes.
    pub fn storage_bytes(self, count: usize) -> Option<usize> {
        match self {
            E::Dynamic | E::String => None,
            E::U3 => count.div_ceil(8).checked_mul(3),
            E::U6 => count.div_ceil(4).checked_mul(3),
            _ if self.bits() >= 8 => count.checked_mul(self.bits() / 8),
            _ => Some(count.div_ceil(8 / self.bits())),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An unknown element type name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an element type, expected one of boolean, bf16, f16, f32, f64, i4, i8, i16, i32, i64, u1, u2, u3, u4, u6, u8, u16, u32, u64, nf4, f4e2m1, f8e4m3, f8e5m2, f8e8m0, string, dynamic{1}"
)]
pub struct UnknownElementType(String, &'static str);

impl FromStr for ElementType {
    type Err = UnknownElementType;

    /// Reads the canonical name in any case, or `undefined`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.eq_ignore_ascii_case("undefined") || text.eq_ignore_ascii_case("dynamic") {
            return Ok(E::Dynamic);
        }
        Self::ALL
            .into_iter()
            .find(|t| t.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownElementType(text.to_owned(), ", complex64, complex128"))
    }
}

impl<'de> Deserialize<'de> for ElementType {
    /// Reads an attribute of IR, which has no complex types.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        match text.parse::<Self>() {
            Ok(ty) if !ty.is_complex() => Ok(ty),
            _ => Err(serde::de::Error::custom(UnknownElementType(
                text.into_owned(),
                "",
            ))),
        }
    }
}

impl Serialize for ElementType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A Rust type that a tensor's elements can be viewed as.
pub trait Element:
    bytemuck::NoUninit + bytemuck::CheckedBitPattern + Default + PartialEq + fmt::Debug + Send + Sync
{
    /// The element type it stands for.
    const TYPE: ElementType;
}

macro_rules! element {
    ($($rust:ty => $ty:ident),+ $(,)?) => {
        $(impl Element for $rust { const TYPE: ElementType = ElementType::$ty; })+
    };
}

element! {
    bool => Boolean, bf16 => Bf16, f16 => F16, f32 => F32, f64 => F64,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    [f32; 2] => Complex64, [f64; 2] => Complex128,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for ty in ElementType::ALL {
            let in_ir = (!ty.is_complex()).then_some(ty);
            assert_eq!(ElementType::from_port_name(ty.port_name()), in_ir);
            assert_eq!(ElementType::from_port_name(ty.name()), in_ir);
            let attribute = serde_json::from_value(ty.name().into());
            assert_eq!(attribute.ok(), in_ir);
            assert_eq!(ty.name().to_uppercase().parse(), Ok(ty));
        }
        for wrong in ["F32", "BOOLEAN", "int64", " FP32", ""] {
            assert_eq!(ElementType::from_port_name(wrong), None, "{wrong}");
        }
        assert!("FP32".parse::<ElementType>().is_err());
    }

    #[test]
    fn storage() {
        assert_eq!(E::U1.storage_bytes(10), Some(2));
        assert_eq!(E::U2.storage_bytes(5), Some(2));
        assert_eq!(E::U3.storage_bytes(9), Some(6));
        assert_eq!(E::I4.storage_bytes(5), Some(3));
        assert_eq!(E::U6.storage_bytes(5), Some(6));
        assert_eq!(E::F64.storage_bytes(usize::MAX), None);
        assert_eq!(E::Complex64.storage_bytes(3), Some(24));
        assert_eq!(E::Complex128.storage_bytes(3), Some(48));
        assert_eq!(E::String.storage_bytes(1), None);
    }
}
