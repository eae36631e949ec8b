//! Where the running operator can be asked who asks for what.

use std::sync::OnceLock;

use tokio::sync::{mpsc::UnboundedSender, oneshot};

use zonekeeper_model::overview::Overview;

/// A question that waits for its answer.
pub type Question = oneshot::Sender<Overview>;

/// Where the operator can be asked, once it leads.
#[derive(Debug, Default)]
pub struct Ear(OnceLock<UnboundedSender<Question>>);

// === impl Ear ===

impl Ear {
    /// Questions arrive here from now on.
    pub fn open(&self, questions: UnboundedSender<Question>) {
        // A process has one operator.
        let _ = self.0.set(questions);
    }

    /// Asks; nothing where the operator does not lead.
    pub async fn ask(&self) -> Option<Overview> {
        let (answer, answered) = oneshot::channel();
        self.0.get()?.send(answer).ok()?;
        answered.await.ok()
    }
}
