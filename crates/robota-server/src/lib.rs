//! The server: HTTP with server-sent events, WebSocket, ACP, MCP over HTTP and the web page.
//!
//! Every surface is a projection of the events of [`robota_core`], made at the edge.
//!
//! Nothing is here yet.
