//! Requests of the streamable HTTP transport, with limits: a body is read up to [`MAX_MESSAGE`] bytes,
//! and no event of a stream may be longer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};

use super::event_stream::{self, StreamOf};
use super::link::{LinkError, MAX_MESSAGE};
use super::nesting::flatten;
use crate::oauth::{self, SendError, StoredToken};

const SESSION_ID: &str = "Mcp-Session-Id";
const LAST_EVENT_ID: &str = "Last-Event-ID";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

type HttpError = StreamableHttpError<LinkError>;
type Headers = HashMap<HeaderName, HeaderValue>;
type EventStream = BoxStream<'static, Result<Sse, SseError>>;

/// Sends the requests of a transport, with the token of a login.
#[derive(Clone)]
pub(super) struct HttpClient {
    pub(super) client: reqwest::Client,
    pub(super) token: Option<StoredToken>,
}

impl HttpClient {
    async fn send(
        &self,
        request: impl Fn(&reqwest::Client) -> reqwest::RequestBuilder,
        session: Option<&str>,
        headers: Headers,
    ) -> Result<Response, HttpError> {
        let headers: HeaderMap = headers.into_iter().collect();
        let request = || {
            let request = request(&self.client).headers(headers.clone());
            match session {
                Some(session) => request.header(SESSION_ID, session),
                None => request,
            }
        };
        let response = oauth::send(self.token.as_ref(), request).await;
        let response = response.map_err(|error| match error {
            SendError::Token(error) => StreamableHttpError::Auth(error),
            SendError::Request(error) => StreamableHttpError::Client(LinkError::of_request(error)),
        })?;
        check_authorisation(&response)?;
        Ok(response)
    }
}

/// Returns the challenge of a server that requires a login or other scopes.
fn check_authorisation(response: &Response) -> Result<(), HttpError> {
    let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|it| it.to_str().ok());
    match (response.status(), challenge) {
        (StatusCode::UNAUTHORIZED, challenge) => {
            // Some servers refuse without a challenge; the metadata may still be in the usual
            // places.
            let challenge = challenge.unwrap_or("Bearer").to_owned();
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        (StatusCode::FORBIDDEN, Some(challenge)) => {
            let error = InsufficientScopeError::new(challenge.to_owned(), scope(challenge));
            Err(StreamableHttpError::InsufficientScope(error))
        }
        _ => Ok(()),
    }
}

/// Returns the scope that a challenge names.
pub(super) fn scope(challenge: &str) -> Option<String> {
    let (_, rest) = challenge.split_once("scope=")?;
    let scope = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split([',', ' ']).next()?,
    };
    (!scope.is_empty()).then(|| scope.to_owned())
}

/// Returns the type of a response.
fn content_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn is_type(content_type: Option<&str>, wanted: &str) -> bool {
    content_type.is_some_and(|it| it.starts_with(wanted))
}

/// Reads the body of a response, up to the limit.
async fn body(response: Response) -> Result<Vec<u8>, HttpError> {
    let too_long = || {
        let problem = format!("it sent a message of more than {MAX_MESSAGE} bytes");
        StreamableHttpError::Client(LinkError::new(problem))
    };
    // The header saves reading a body that is too long anyway; it may be absent or wrong, so the
    // loop counts too.
    if response.content_length().is_some_and(|length| length > MAX_MESSAGE as u64) {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk =
            chunk.map_err(|error| StreamableHttpError::Client(LinkError::of_request(error)))?;
        if bytes.len() + chunk.len() > MAX_MESSAGE {
            return Err(too_long());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Returns the events of a response as the library reads them. When the answer to a request has to be given
/// up, an error is its last event: the library would wait for an answer until the time limit.
fn events(response: Response, of: StreamOf, request: Option<RequestId>) -> EventStream {
    let events = event_stream::read(response, of).map(move |event| match (event, &request) {
        (Ok(event), _) => {
            let flat = match flatten(event.data.as_bytes()) {
                Cow::Owned(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
                Cow::Borrowed(_) => None,
            };
            Ok(Sse {
                event: (!event.name.is_empty()).then_some(event.name),
                data: Some(flat.unwrap_or(event.data)),
                id: event.id,
                retry: event.retry,
            })
        }
        (Err(error), Some(id)) if error.is_limit() => {
            let error = ErrorData::internal_error(error.to_string(), None);
            let answer = ServerJsonRpcMessage::error(error, Some(id.clone()));
            let data = serde_json::to_string(&answer).unwrap_or_default();
            Ok(Sse { event: None, data: Some(data), id: None, retry: None })
        }
        (Err(error), _) => Err(SseError::Body(Box::new(error))),
    });
    events.boxed()
}

/// Returns the error of a response that is no success.
async fn failure(
    message: &ClientJsonRpcMessage,
    in_session: bool,
    response: Response,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let is_json = is_type(content_type(&response).as_deref(), JSON);
    let retry_after = response.headers().get("retry-after").and_then(|it| it.to_str().ok());
    let failed = HttpStatusError::new(status.as_u16(), retry_after.map(str::to_owned));
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    // The library retries these. A server error with a JSON body is the answer of the server
    // itself, and a retry would get the same.
    if is_busy && (!is_json || status == StatusCode::TOO_MANY_REQUESTS) {
        return Err(failed.into());
    }
    let bytes = body(response).await?;
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(&bytes) {
        Ok(ServerJsonRpcMessage::Error(error)) if is_json => Some(error),
        _ => None,
    };
    // A server of an older version refuses the question for its versions: the handshake follows. Such
    // servers cannot repeat the id of a request that they do not know.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && status != StatusCode::FORBIDDEN
        && !in_session
    {
        let error = error.map(|error| error.error).unwrap_or_else(|| {
            ErrorData::invalid_request(format!("refused with HTTP status {status}"), None)
        });
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match error {
        Some(error) if status != StatusCode::FORBIDDEN => {
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), None))
        }
        _ if is_busy => Err(failed.into()),
        _ => {
            let text = crate::text::clean_line(&String::from_utf8_lossy(&bytes), 500);
            let problem = format!("HTTP status {status}: {text}");
            Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(problem)))
        }
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = LinkError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let accepted = format!("{EVENTS}, {JSON}");
        let request =
            |client: &reqwest::Client| client.post(&*uri).header(ACCEPT, &accepted).json(&message);
        let session = session_id.as_deref();
        let response = self.send(request, session, custom_headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        // The protocol uses 404 for a session that the server no longer has; a new handshake
        // follows.
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return failure(&message, session.is_some(), response).await;
        }
        let new_session = response.headers().get(SESSION_ID).and_then(|it| it.to_str().ok());
        let new_session = new_session.map(str::to_owned);
        let content_type = content_type(&response);
        if is_type(content_type.as_deref(), EVENTS) {
            let request = match &message {
                ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            let events = events(response, StreamOf::Call, request);
            return Ok(StreamableHttpPostResponse::Sse(events, new_session));
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if !is_request {
            // Nothing is expected, and some servers send something all the same.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !is_type(content_type.as_deref(), JSON) {
            return Err(StreamableHttpError::UnexpectedContentType(content_type));
        }
        let bytes = body(response).await?;
        let answer = serde_json::from_slice(&flatten(&bytes)).map_err(|error| {
            let problem = format!("the body is not an answer: {error}");
            StreamableHttpError::UnexpectedServerResponse(Cow::Owned(problem))
        })?;
        Ok(StreamableHttpPostResponse::Json(answer, new_session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        let request = |client: &reqwest::Client| client.delete(&*uri);
        // The answer is ignored: the client treats the session as closed in any case.
        self.send(request, Some(&session_id), custom_headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<EventStream, HttpError> {
        // A stream that is reopened belongs to the request whose answer was not complete.
        let of = if last_event_id.is_some() { StreamOf::Call } else { StreamOf::Session };
        let request = |client: &reqwest::Client| {
            let request = client.get(&*uri).header(ACCEPT, EVENTS);
            match &last_event_id {
                Some(id) => request.header(LAST_EVENT_ID, id),
                None => request,
            }
        };
        let response = self.send(request, session_id.as_deref(), custom_headers).await?;
        let content_type = content_type(&response);
        match response.status() {
            // The protocol allows servers without a stream of their own.
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => {
                Err(HttpStatusError::new(status.as_u16(), None).into())
            }
            _ if is_type(content_type.as_deref(), EVENTS) => Ok(events(response, of, None)),
            _ => Err(StreamableHttpError::UnexpectedContentType(content_type)),
        }
    }
}

#[cfg(test)]
mod tests;
