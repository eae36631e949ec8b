//! Writes to the API server, fenced as those to a provider are: a former leader that still runs writes nothing.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use zonekeeper_providers::fence::Fence;

/// No request takes longer; what has no end can't be a deadline.
const LONGEST: Duration = Duration::from_secs(3600);

/// Why a write was not made, or is not waited for.
#[derive(Debug)]
pub struct NotLeading;

impl fmt::Display for NotLeading {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not written: this replica does not hold the lease")
    }
}

impl Error for NotLeading {}

/// Makes a write, unless the lease is not held; what takes longer than the lease lasts is given up.
pub async fn fenced<T>(
    fence: &Arc<dyn Fence>,
    write: impl Future<Output = kube::Result<T>>,
) -> kube::Result<T> {
    let not_leading = || kube::Error::Service(Box::new(NotLeading));
    let left = fence.time_left().ok_or_else(not_leading)?;
    tokio::time::timeout(left.min(LONGEST), write).await.unwrap_or_else(|_| Err(not_leading()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A lease that may have ended.
    #[derive(Debug, Default)]
    struct Lease {
        has_ended: AtomicBool,
    }

    impl Fence for Lease {
        fn time_left(&self) -> Option<Duration> {
            (!self.has_ended.load(Ordering::Relaxed)).then_some(Duration::from_secs(1))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_the_lease_nothing_is_written() {
        let lease = Arc::new(Lease::default());
        let (fence, written) = (lease.clone() as Arc<dyn Fence>, AtomicBool::new(false));
        let write = async {
            written.store(true, Ordering::Relaxed);
            Ok(())
        };
        lease.has_ended.store(true, Ordering::Relaxed);
        let answer = fenced(&fence, write).await;
        assert!(answer.is_err_and(|error| error.to_string().contains("does not hold the lease")));
        assert!(!written.load(Ordering::Relaxed), "the request was not begun");
        lease.has_ended.store(false, Ordering::Relaxed);
        assert!(fenced(&fence, async { Ok(()) }).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_ends_with_the_lease() {
        let fence: Arc<dyn Fence> = Arc::new(Lease::default());
        let write = std::future::pending::<kube::Result<()>>();
        assert!(fenced(&fence, write).await.is_err());
    }
}
