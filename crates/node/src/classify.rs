//! `classify`, registered by hand: the wrapper that napi generates keeps account of what asynchronous work might borrow, which
//! costs several times an empty call, and this is the call that is made for every turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use napi::bindgen_prelude::{FromNapiValue, Unknown};
use napi::{Env, JsError, sys};
use trihorizon_core::error::{Code, Error as CoreError};

use crate::Out;
use crate::failure::{Failure, Outcome};
use crate::overrides::Overrides;
use crate::registry::with_session;
use crate::text::with_text;

/// Arguments of the call: session, text, overrides, vector.
const ARGUMENTS: usize = 4;

/// The function, as a JavaScript value.
pub fn function(env: &Env) -> napi::Result<Unknown<'_>> {
    let name = c"classify";
    let mut function = ptr::null_mut();
    // SAFETY: `env` is the environment of the call under way, the name is as long as said, and the callback needs no data.
    let status = unsafe {
        sys::napi_create_function(
            env.raw(),
            name.as_ptr(),
            name.count_bytes() as isize,
            Some(callback),
            ptr::null_mut(),
            &raw mut function,
        )
    };
    if status != sys::Status::napi_ok {
        return Err(napi::Error::from_reason("the function classify could not be made"));
    }
    // SAFETY: it was just made in this environment.
    Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), function) })
}

unsafe extern "C" fn callback(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut given = [ptr::null_mut(); ARGUMENTS];
        let mut count = ARGUMENTS;
        // SAFETY: `env` and `info` are those of this call, and there is room for `count` arguments.
        let status = unsafe {
            sys::napi_get_cb_info(env, info, &raw mut count, given.as_mut_ptr(), ptr::null_mut(), ptr::null_mut())
        };
        if status != sys::Status::napi_ok {
            return Err(CoreError::new(Code::Internal, "the arguments of classify cannot be read").into());
        }
        // SAFETY: the values are of this call, and absent arguments are `undefined`.
        unsafe { classify(env, given, count) }
    }));
    let failure = match made {
        Ok(Ok(texts)) if texts.is_empty() => return ptr::null_mut(),
        Ok(Ok(texts)) => {
            let mut value = ptr::null_mut();
            // SAFETY: the text is as long as said; without an answer `value` stays null, which is `undefined`.
            unsafe {
                sys::napi_create_string_utf8(env, texts.as_ptr().cast(), texts.len() as isize, &raw mut value);
            }
            return value;
        }
        Ok(Err(failure)) => failure,
        Err(_) => CoreError::new(Code::Internal, "panic in classify").into(),
    };
    // SAFETY: `env` is the environment of this call.
    unsafe { JsError::from(napi::Error::from(failure)).throw_into(env) };
    ptr::null_mut()
}

/// # Safety
/// `env` is the environment of a call under way, to which the values belong; from `count` on they are `undefined`.
unsafe fn classify(
    env: sys::napi_env,
    [session, content, overrides, vector]: [sys::napi_value; ARGUMENTS],
    count: usize,
) -> Outcome<String> {
    let mut handle = 0;
    // SAFETY: as of this function.
    if unsafe { sys::napi_get_value_uint32(env, session, &raw mut handle) } != sys::Status::napi_ok {
        return Err(CoreError::limit(Code::UnknownHandle, "session handle", "not a number", "one given out").into());
    }
    // Asking what an absent argument is costs as much as reading one.
    let overrides = if count > 2 {
        // SAFETY: as of this function.
        unsafe { Overrides::from_napi_value(env, overrides) }.map_err(Failure::host)?
    } else {
        Overrides::None
    };
    // SAFETY: as of this function; JavaScript does not run before the vector was last used.
    let vector = if count > 3 { unsafe { floats(env, vector)? } } else { None };
    let classify = |content: &str| {
        with_session(handle, |cx| {
            cx.call(Env::from_raw(env), 0.0, &overrides, |session, options, call, workspace, _| {
                let session = &*session;
                session.glance(content, vector, options, call, workspace, |of, whole| {
                    Out::answer(|columns| columns.classification(of, content, session, whole))
                })
            })
        })
    };
    // SAFETY: as of this function.
    unsafe { with_text(env, content, classify) }.map_err(Failure::host)?
}

/// The numbers of a `Float32Array`; none for `undefined` and `null`.
///
/// # Safety
/// As [`classify`]; the numbers must not be used after JavaScript has run.
unsafe fn floats<'a>(env: sys::napi_env, value: sys::napi_value) -> Outcome<Option<&'a [f32]>> {
    let (mut kind, mut length, mut data, mut buffer) = (0, 0, ptr::null_mut(), ptr::null_mut());
    // SAFETY: as of this function; what is not asked for may be null.
    let status = unsafe {
        sys::napi_get_typedarray_info(
            env,
            value,
            &raw mut kind,
            &raw mut length,
            &raw mut data,
            &raw mut buffer,
            ptr::null_mut(),
        )
    };
    if status != sys::Status::napi_ok {
        let mut kind = 0;
        // SAFETY: as of this function.
        unsafe { sys::napi_typeof(env, value, &raw mut kind) };
        if kind == sys::ValueType::napi_undefined || kind == sys::ValueType::napi_null {
            return Ok(None);
        }
    } else if kind == sys::TypedarrayType::float32_array {
        let mut own = false;
        // SAFETY: as of this function; the buffer is that of the value.
        unsafe { sys::napi_is_arraybuffer(env, buffer, &raw mut own) };
        if !own {
            let message = "a vector on a SharedArrayBuffer may change while it is read: pass a copy";
            return Err(CoreError::new(Code::InvalidVector, message).into());
        }
        if length == 0 {
            return Ok(Some(&[]));
        }
        // SAFETY: Node says that `length` numbers are at `data`, aligned as typed arrays are, and they live as long as the
        // value, which the call holds.
        return Ok(Some(unsafe { slice::from_raw_parts(data.cast(), length) }));
    }
    Err(CoreError::new(Code::InvalidVector, "a vector is a Float32Array").into())
}
