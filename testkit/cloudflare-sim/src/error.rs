//! Why a request is refused: the code, HTTP status and body shape that clients key on.

use serde::Serialize;

/// One item of `errors[]`.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct ApiError {
    pub code: u32,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error_chain: Vec<Link>,
}

/// One item of an error's `error_chain[]`.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Link {
    pub code: u32,
    pub message: String,
}

/// Who refused: the DNS service answers with the whole envelope, the gateway in front of it with less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Service,
    Gateway,
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub status: u16,
    pub errors: Vec<ApiError>,
    pub shape: Shape,
    pub retry_after: Option<u64>,
}

pub type Outcome<T> = Result<T, Failure>;

pub fn error(code: u32, message: impl Into<String>) -> ApiError {
    ApiError { code, message: message.into(), error_chain: Vec::new() }
}

// === impl Failure ===

impl Failure {
    pub fn service(status: u16, code: u32, message: impl Into<String>) -> Self {
        Self { status, errors: vec![error(code, message)], shape: Shape::Service, retry_after: None }
    }

    pub fn gateway(status: u16, code: u32, message: impl Into<String>) -> Self {
        Self { shape: Shape::Gateway, ..Self::service(status, code, message) }
    }

    /// The gateway's answer to a header that it can't parse.
    pub fn bad_header(code: u32, message: &str) -> Self {
        let mut failure = Self::gateway(400, 6003, "Invalid request headers");
        failure.errors[0].error_chain.push(Link { code, message: message.into() });
        failure
    }

    /// Wrong zone, or a token that lacks the right: the two look the same from outside.
    pub fn forbidden() -> Self {
        Self::gateway(403, 10000, "Authentication error")
    }

    pub fn not_json() -> Self {
        Self::service(400, 9207, "Content-type must be application/json.")
    }

    pub fn unroutable(status: u16, path: &str) -> Self {
        let text = format!("Could not route to {path}, perhaps your object identifier is invalid?");
        Self::service(status, 7003, text)
    }
}

impl From<Vec<ApiError>> for Failure {
    fn from(errors: Vec<ApiError>) -> Self {
        Self { status: 400, errors, shape: Shape::Service, retry_after: None }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        vec![error].into()
    }
}
