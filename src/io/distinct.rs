//! Objects of JSON whose members have names of their own. `serde_json` takes the last of two members
//! of one name, other readers the first.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// An object without two members of one name; its values are not looked at.
#[derive(Debug)]
pub(super) struct DistinctKeys;

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = DistinctKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<DistinctKeys, M::Error> {
                let mut seen = HashSet::new();
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    if let Some(key) = seen.replace(key) {
                        return Err(M::Error::custom(format_args!("`{key}` is there twice")));
                    }
                }
                Ok(DistinctKeys)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}
