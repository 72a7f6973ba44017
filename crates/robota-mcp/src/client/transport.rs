//! One type for all transports. The MCP library is generic over the transport; with one type it is
//! compiled once, and not once for each kind of connection.

use std::error::Error;

use futures::future::BoxFuture;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// A transport of any kind.
pub(super) struct AnyTransport(Box<dyn ErasedTransport>);

impl AnyTransport {
    pub(super) fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

/// A failure of the transport inside. The library and [`Connection`](super::connection::Connection)
/// look for the original error among the sources.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct TransportError(#[source] Box<dyn Error + Send + Sync>);

impl TransportError {
    fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// [`Transport`] with boxed futures, which makes it usable as a trait object.
trait ErasedTransport: Send {
    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> BoxFuture<'static, Result<(), TransportError>>;
    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>>;
    fn close(&mut self) -> BoxFuture<'_, Result<(), TransportError>>;
}

impl<T: Transport<RoleClient>> ErasedTransport for T {
    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> BoxFuture<'static, Result<(), TransportError>> {
        let sending = Transport::send(self, message);
        Box::pin(async move { sending.await.map_err(TransportError::new) })
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        Box::pin(Transport::receive(self))
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move { Transport::close(self).await.map_err(TransportError::new) })
    }
}

impl Transport<RoleClient> for AnyTransport {
    type Error = TransportError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), TransportError>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), TransportError>> + Send {
        self.0.close()
    }
}
