//! A TCP proxy that resets both sides after a number of bytes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Bytes, in both directions together, after which a connection is reset.
type Budget = Arc<dyn Fn() -> Option<usize> + Send + Sync>;

/// Listens and forwards to `target`; `budget` is asked for each connection.
pub async fn start(target: SocketAddr, budget: impl Fn() -> Option<usize> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let budget: Budget = Arc::new(budget);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(forward(client, target, budget()));
        }
    });
    address
}

async fn forward(client: TcpStream, target: SocketAddr, budget: Option<usize>) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    // The resets come from these; the halves below only borrow.
    client.set_zero_linger().unwrap();
    server.set_zero_linger().unwrap();
    let left = Arc::new(Mutex::new(budget));
    let (mut client_in, mut client_out) = client.into_split();
    let (mut server_in, mut server_out) = server.into_split();
    tokio::select! {
        () = pump(&mut client_in, &mut server_out, left.clone()) => {}
        () = pump(&mut server_in, &mut client_out, left) => {}
    }
}

/// Copies until the end of the stream or of the budget; what is beyond the budget does not pass.
async fn pump(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    left: Arc<Mutex<Option<usize>>>,
) {
    let mut block = [0; 4096];
    loop {
        let Ok(count) = from.read(&mut block).await else { return };
        if count == 0 {
            return;
        }
        let (pass, over) = match &mut *left.lock().unwrap() {
            None => (count, false),
            Some(left) => {
                let pass = count.min(*left);
                *left -= pass;
                (pass, *left == 0)
            }
        };
        if to.write_all(&block[..pass]).await.is_err() || over {
            return;
        }
    }
}
