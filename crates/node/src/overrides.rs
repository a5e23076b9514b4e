//! Options of a call, as they cross: none, JSON, or the number of JSON that the engine has read before.

use napi::bindgen_prelude::{FromNapiValue, TypeName, ValidateNapiValue, ValueType};
use napi::{Result, Status, sys};
use trihorizon_core::config::CallOptions;
use trihorizon_core::error::{Code, Error as CoreError};

use crate::text::Utf16String;

/// What a caller gave for options.
pub enum Overrides {
    /// Nothing: 0, `undefined` or `null`.
    None,
    /// The number of options that were read before.
    Preset(u32),
    /// JSON.
    Json(String),
}

/// The options that an engine was last told to keep: hosts give the same ones call after call.
#[derive(Default)]
pub struct Preset {
    number: u32,
    plain: CallOptions,
    kept: CallOptions,
}

impl Preset {
    /// Keeps options in place of those before; their number is never given again.
    pub fn keep(&mut self, options: CallOptions) -> u32 {
        self.number += 1;
        self.kept = options;
        self.number
    }

    /// The options meant; `read` has room for those that have to be read.
    pub fn options<'a>(
        &'a self,
        overrides: &Overrides,
        read: &'a mut Option<CallOptions>,
    ) -> trihorizon_core::error::Result<&'a CallOptions> {
        match overrides {
            Overrides::None => Ok(&self.plain),
            Overrides::Preset(number) if *number == self.number => Ok(&self.kept),
            Overrides::Preset(number) => Err(CoreError::limit(Code::Internal, "preset", number, self.number)),
            Overrides::Json(json) => Ok(read.insert(CallOptions::parse(json)?)),
        }
    }
}

impl TypeName for Overrides {
    fn type_name() -> &'static str {
        "string | number"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ValidateNapiValue for Overrides {}

impl FromNapiValue for Overrides {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut number = 0;
        // SAFETY: `env` and `value` are of the call under way, as this function's contract says.
        if unsafe { sys::napi_get_value_uint32(env, value, &raw mut number) } == sys::Status::napi_ok {
            return Ok(if number == 0 { Self::None } else { Self::Preset(number) });
        }
        let mut kind = 0;
        // SAFETY: as above.
        unsafe { sys::napi_typeof(env, value, &raw mut kind) };
        match kind {
            sys::ValueType::napi_undefined | sys::ValueType::napi_null => Ok(Self::None),
            // SAFETY: as above.
            sys::ValueType::napi_string => Ok(Self::Json(unsafe { Utf16String::from_napi_value(env, value) }?.0)),
            _ => Err(napi::Error::new(Status::InvalidArg, "options are JSON or the number of a preset")),
        }
    }
}
