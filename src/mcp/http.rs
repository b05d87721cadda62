//! A server over streamable HTTP: one request is one POST, never repeated by the transport.

use std::time::Duration;

use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

/// Largest answer that is read.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

pub(super) fn connect(url: &str) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let client = reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        // A redirected POST would be a second one, to an address that nobody configured.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .build()
        .map_err(|error| error.to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        // The library would send the POST again after a new handshake; we connect anew and leave that to the queue.
        .reinit_on_expired_session(false)
        .max_sse_event_size(LARGEST_ANSWER)
        .max_json_response_size(LARGEST_ANSWER);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
