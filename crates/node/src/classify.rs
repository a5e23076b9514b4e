//! `classify`, the call that is made for every turn.

use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, Unknown};
use napi::{Env, sys};

use crate::Out;
use crate::failure::{Failure, Outcome};
use crate::overrides::Overrides;
use crate::raw;
use crate::registry::with_session;
use crate::text::with_text;

/// The function, as a JavaScript value.
pub fn function(env: &Env) -> napi::Result<Unknown<'_>> {
    raw::function(env, c"classify", callback)
}

unsafe extern "C" fn callback(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: those of this call, to which the values belong.
    unsafe {
        raw::run(env, info, |given, count| {
            let mut value = ptr::null_mut();
            if classify(env, given, count)? {
                Out::texts(|texts| {
                    // The text is as long as said; without an answer `value` stays null, which is `undefined`.
                    sys::napi_create_string_utf8(env, texts.as_ptr().cast(), texts.len() as isize, &raw mut value)
                });
            }
            Ok(value)
        })
    }
}

/// Arguments: session, text, overrides, vector. True when the answer has texts.
///
/// # Safety
/// `env` is the environment of a call under way, to which the values belong.
unsafe fn classify(
    env: sys::napi_env,
    [session, content, overrides, vector]: [sys::napi_value; 4],
    count: usize,
) -> Outcome<bool> {
    // SAFETY: as of this function.
    let handle = unsafe { raw::handle(env, session)? };
    // Asking what an absent argument is costs as much as reading one.
    let overrides = if count > 2 {
        // SAFETY: as of this function.
        unsafe { Overrides::from_napi_value(env, overrides) }.map_err(Failure::host)?
    } else {
        Overrides::None
    };
    // SAFETY: as of this function; JavaScript does not run before the vector was last used.
    let vector = if count > 3 { unsafe { raw::floats(env, vector)? } } else { None };
    let classify = |content: &str| {
        with_session(handle, |cx| {
            cx.call(Env::from_raw(env), 0.0, &overrides, |session, options, call, workspace, _| {
                let session = &*session;
                session.glance(content, vector.as_deref(), options, call, workspace, |of, whole| {
                    Out::answer(|columns| columns.classification(of, content, session, whole))
                })
            })
        })
    };
    // SAFETY: as of this function.
    unsafe { with_text(env, content, classify) }.map_err(Failure::host)?
}
