//! Text across the boundary: UTF-16 from `JavaScript`, UTF-8 inside, offsets back in UTF-16 units.

use std::cell::RefCell;
use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, TypeName, ValidateNapiValue, ValueType};
use napi::{Result, Status, sys};

/// A JavaScript string as UTF-8. (Named as napi names its own, so that the typings say `string`.)
///
/// A lone surrogate becomes U+FFFD, one unit for one unit, so that offsets hold.
pub struct Utf16String(pub String);

thread_local! {
    static UNITS: RefCell<Vec<u16>> = RefCell::new(vec![0; 4096]);
}

impl TypeName for Utf16String {
    fn type_name() -> &'static str {
        "string"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for Utf16String {}

impl FromNapiValue for Utf16String {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        UNITS.with_borrow_mut(|units| {
            let mut length = 0;
            // SAFETY: the buffer is valid for `units.len()` units, the terminator included.
            let mut status = unsafe {
                sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), units.len(), &raw mut length)
            };
            if status == sys::Status::napi_ok && length + 1 == units.len() {
                // It may have been cut: ask for the length and read again.
                // SAFETY: a null buffer asks for the length only.
                status = unsafe { sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &raw mut length) };
                if length + 1 > units.len() {
                    units.resize((length + 1).next_power_of_two(), 0);
                }
                if status == sys::Status::napi_ok {
                    // SAFETY: as above, with a buffer that is long enough.
                    status = unsafe {
                        sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), units.len(), &raw mut length)
                    };
                }
            }
            if status != sys::Status::napi_ok {
                return Err(napi::Error::new(Status::StringExpected, "expected a string"));
            }
            Ok(Self(utf8(&units[..length])))
        })
    }
}

fn utf8(units: &[u16]) -> String {
    // Without a branch for each unit both loops are vectorised.
    if units.iter().fold(0, |all, unit| all | unit) < 0x80 {
        let bytes: Vec<u8> = units.iter().map(|unit| *unit as u8).collect();
        // SAFETY: every byte is below 0x80.
        return unsafe { String::from_utf8_unchecked(bytes) };
    }
    let mut text = vec![0; units.len() * 3];
    let written = encoding_rs::mem::convert_utf16_to_utf8(units, &mut text);
    text.truncate(written);
    String::from_utf8(text).unwrap_or_default()
}
