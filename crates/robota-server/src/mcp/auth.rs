//! The token of a server over HTTP.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Refuses requests without the token.
pub(super) async fn require_token(
    State(token): State<Arc<str>>,
    request: Request,
    next: Next,
) -> Response {
    if has_token(request.headers(), &token) {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, "send the token as `Authorization: Bearer TOKEN`\n")
        .into_response()
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    // Two headers could be read differently by a proxy and by this server, so they are refused.
    let (Some(given), None) = (given.next(), given.next()) else { return false };
    let given = given.as_bytes();
    // The name of the scheme has no case, the token has.
    let (scheme, given) = given.split_at_checked("bearer ".len()).unwrap_or_default();
    scheme.eq_ignore_ascii_case(b"bearer ") && same(given, token.as_bytes())
}

/// Compares in a time that depends on the lengths alone.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests;
