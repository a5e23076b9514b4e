//! `embed`: the built-in embedder's vector of a text.

use std::ptr;

use napi::bindgen_prelude::Unknown;
use napi::{Env, sys};
use trihorizon_core::embedding::StaticEmbedder;

use crate::failure::{Failure, Outcome};
use crate::raw;
use crate::registry::with_engine;
use crate::text::with_text;

/// The function, as a JavaScript value.
pub fn function(env: &Env) -> napi::Result<Unknown<'_>> {
    raw::function(env, c"embed", callback)
}

unsafe extern "C" fn callback(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: those of this call, to which the values belong.
    unsafe {
        raw::run(env, info, |given, _| {
            let dimensions = embed(env, given)?;
            let mut value = ptr::null_mut();
            sys::napi_create_uint32(env, dimensions, &raw mut value);
            Ok(value)
        })
    }
}

/// Arguments: engine, text, a vector to write to.
///
/// # Safety
/// `env` is the environment of a call under way, to which the values belong.
unsafe fn embed(env: sys::napi_env, [engine, content, out]: [sys::napi_value; 3]) -> Outcome<u32> {
    // SAFETY: as of this function; JavaScript does not run before the vector was written.
    let (handle, out) = unsafe { (raw::handle(env, engine)?, raw::floats(env, out)?) };
    let embed = |content: &str| {
        with_engine(handle, |engine| {
            let vector = &mut engine.vector;
            if StaticEmbedder::builtin().embed(content, vector).is_none() {
                return Ok(0);
            }
            if let Some(room) = out.and_then(|out| out.get_mut(..vector.len())) {
                room.copy_from_slice(vector);
            }
            Ok(vector.len() as u32)
        })
    };
    // SAFETY: as of this function.
    unsafe { with_text(env, content, embed) }.map_err(Failure::host)?
}
