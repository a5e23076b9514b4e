//! Text across the boundary: UTF-16 from `JavaScript`, UTF-8 inside, offsets back in UTF-16 units.

use std::cell::Cell;
use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, TypeName, ValidateNapiValue, ValueType};
use napi::{Result, Status, sys};

/// A JavaScript string as UTF-8. (Named as napi names its own, so that the typings say `string`.)
///
/// A lone surrogate becomes U+FFFD, one unit for one unit, so that offsets hold.
pub struct Utf16String(pub String);

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
        // SAFETY: as of this function.
        unsafe { with_text(env, value, |text| Self(text.to_owned())) }
    }
}

thread_local! {
    /// Out of its place while it is in use, so that a call from inside a callback has one of its own.
    static BUFFERS: Cell<Buffers> = const { Cell::new(Buffers { units: Vec::new(), text: String::new() }) };
}

/// Calls `act` with a JavaScript string, as [`Utf16String`] has it; nothing is allocated.
///
/// # Safety
/// `value` is of the call under way in `env`.
pub unsafe fn with_text<T>(env: sys::napi_env, value: sys::napi_value, act: impl FnOnce(&str) -> T) -> Result<T> {
    let mut buffers = BUFFERS.take();
    // SAFETY: as of this function.
    let done = unsafe { buffers.read(env, value) }.map(act);
    BUFFERS.set(buffers);
    done
}

#[derive(Default)]
struct Buffers {
    units: Vec<u16>,
    text: String,
}

impl Buffers {
    /// # Safety
    /// As [`with_text`].
    unsafe fn read(&mut self, env: sys::napi_env, value: sys::napi_value) -> Result<&str> {
        const UNITS: usize = 4096;
        let Self { units, text } = self;
        if units.is_empty() {
            units.resize(UNITS, 0);
        }
        let mut length = 0;
        // SAFETY: the buffer is valid for `units.len()` units, the terminator included.
        let mut status =
            unsafe { sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), units.len(), &raw mut length) };
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
        utf8(units, length, text);
        Ok(text)
    }
}

/// Units read at a time: a rest of single ones would take as long as all others.
const STEP: usize = 32;

/// The first `length` units as UTF-8; zeros are written behind them.
fn utf8(units: &mut Vec<u16>, length: usize, text: &mut String) {
    let mut bytes = std::mem::take(text).into_bytes();
    if units.len() < length + STEP {
        units.resize(length + STEP, 0);
    }
    units[length..length + STEP].fill(0);
    // Without a branch for each unit the loop is vectorised.
    let mut all = 0;
    bytes.clear();
    bytes.extend(units[..length.next_multiple_of(STEP)].iter().map(|unit| {
        all |= unit;
        *unit as u8
    }));
    let units = &units[..length];
    if all < 0x80 {
        bytes.truncate(length);
        // SAFETY: every byte is below 0x80.
        *text = unsafe { String::from_utf8_unchecked(bytes) };
        return;
    }
    bytes.clear();
    bytes.resize(units.len() * 3, 0);
    // SAFETY: every byte is zero.
    *text = unsafe { String::from_utf8_unchecked(bytes) };
    let written = encoding_rs::mem::convert_utf16_to_str(units, text);
    text.truncate(written);
}
