//! Failures as JavaScript errors: `code` from the closed set, details as JSON in the message, for `src/errors.ts`.

use napi::{Error, Status};
use serde_json::json;
use trihorizon_core::error::{Code, Error as CoreError};

/// A result whose error carries one of our codes.
pub type Outcome<T> = std::result::Result<T, Failure>;

/// What an export returns: the same as JavaScript sees it.
pub type Result<T> = std::result::Result<T, Error<Reason>>;

/// Runs the body of an export.
pub fn js<T>(body: impl FnOnce() -> Outcome<T>) -> Result<T> {
    body().map_err(Into::into)
}

/// The status of a napi error: becomes `error.code`.
pub struct Reason(&'static str);

impl AsRef<str> for Reason {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl From<Status> for Reason {
    fn from(_: Status) -> Self {
        Self(Code::Internal.name())
    }
}

/// A failure on its way to JavaScript.
pub struct Failure(CoreError);

impl Failure {
    /// A failure of the host's own function or of the boundary.
    #[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
    pub fn host(error: Error) -> Self {
        Self(CoreError::new(Code::Internal, error.reason.clone()))
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        Self(error)
    }
}

impl From<Failure> for Error<Reason> {
    fn from(Failure(error): Failure) -> Self {
        let details = json!({ "message": error.message, "value": error.value, "limit": error.limit });
        Self::new(Reason(error.code.name()), details.to_string())
    }
}
