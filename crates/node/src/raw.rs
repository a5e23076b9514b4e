//! Functions registered by hand: the wrapper that napi generates keeps account of what asynchronous work might borrow, which
//! costs several times an empty call. For the calls that are made for every turn.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use napi::bindgen_prelude::Unknown;
use napi::{Env, JsError, sys};
use trihorizon_core::error::{Code, Error as CoreError};

use crate::failure::Outcome;

/// A function as a JavaScript value.
pub fn function<'env>(
    env: &'env Env,
    name: &CStr,
    callback: unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value,
) -> napi::Result<Unknown<'env>> {
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
        return Err(napi::Error::from_reason("a function could not be made"));
    }
    // SAFETY: it was just made in this environment.
    Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), function) })
}

/// Runs the body of such a function with its arguments and how many were given; the others are `undefined`.
///
/// # Safety
/// `env` and `info` are those of the call under way.
pub unsafe fn run<const ARGUMENTS: usize>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    body: impl FnOnce([sys::napi_value; ARGUMENTS], usize) -> Outcome<sys::napi_value>,
) -> sys::napi_value {
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut given = [ptr::null_mut(); ARGUMENTS];
        let mut count = ARGUMENTS;
        // SAFETY: as of this function, and there is room for `count` arguments.
        let status = unsafe {
            sys::napi_get_cb_info(env, info, &raw mut count, given.as_mut_ptr(), ptr::null_mut(), ptr::null_mut())
        };
        if status != sys::Status::napi_ok {
            return Err(CoreError::new(Code::Internal, "the arguments cannot be read").into());
        }
        body(given, count)
    }));
    let failure = match made {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(_) => CoreError::new(Code::Internal, "panic in the core").into(),
    };
    // SAFETY: as of this function.
    unsafe { JsError::from(napi::Error::from(failure)).throw_into(env) };
    ptr::null_mut()
}

/// The number of a handle.
///
/// # Safety
/// `env` is the environment of a call under way, to which the value belongs.
pub unsafe fn handle(env: sys::napi_env, value: sys::napi_value) -> Outcome<u32> {
    let mut handle = 0;
    // SAFETY: as of this function.
    if unsafe { sys::napi_get_value_uint32(env, value, &raw mut handle) } == sys::Status::napi_ok {
        return Ok(handle);
    }
    Err(CoreError::limit(Code::UnknownHandle, "handle", "not a number", "one given out").into())
}

/// The numbers of a `Float32Array`; none for `undefined` and `null`.
///
/// # Safety
/// `env` is the environment of a call under way, to which the value belongs; the numbers must not be used after JavaScript has
/// run, nor twice at once.
pub unsafe fn floats<'a>(env: sys::napi_env, value: sys::napi_value) -> Outcome<Option<&'a mut [f32]>> {
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
            return Ok(Some(&mut []));
        }
        // SAFETY: Node says that `length` numbers are at `data`, aligned as typed arrays are, and they live as long as the
        // value, which the call holds.
        return Ok(Some(unsafe { slice::from_raw_parts_mut(data.cast(), length) }));
    }
    Err(CoreError::new(Code::InvalidVector, "a vector is a Float32Array").into())
}
