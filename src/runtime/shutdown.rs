//! One signal that stops every worker, and waiting for them to end.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Workers end at their next wait; what they were doing is in their rows.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    token: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a worker until shutdown; its future is dropped at its next await after the signal.
    pub fn spawn(&self, name: &'static str, worker: impl Future<Output = ()> + Send + 'static) {
        let token = self.token.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = worker => tracing::debug!(worker = name, "worker ended"),
                () = token.cancelled() => tracing::debug!(worker = name, "worker stopped"),
            }
        });
    }

    /// Runs what watches the signal by itself and ends in its own time.
    pub fn spawn_until_done(&self, worker: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(worker);
    }

    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Signals and waits for all workers.
    pub async fn stop(&self) {
        self.token.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
