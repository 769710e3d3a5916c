//! Messages of a program, and channels that send them outside of an error handler.

use std::fmt;

use serde_json::Value;

use crate::AlertError;
use crate::alert::cut;
use crate::channel::{Channel, Content};

/// A message that a program composes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Summary in one line. Control characters are omitted.
    pub subject: String,
    /// Text for human readers, the summary included. It is cut to the limit of the channel.
    pub text: String,
    /// Body of the request of a webhook; other channels send the text.
    pub body: Value,
}

impl Content for Message {
    fn subject(&self) -> String {
        self.subject.chars().filter(|character| !character.is_control()).collect()
    }

    fn text(&self, max: usize) -> String {
        cut(&self.text, max)
    }

    fn body(&self) -> Value {
        self.body.clone()
    }
}

/// A channel that sends messages of a program, without the error handler around it.
///
/// [`HttpAlert::channel`](crate::HttpAlert::channel) and [`Email::channel`](crate::Email::channel)
/// return it.
pub struct AlertChannel(Box<dyn Channel>);

impl AlertChannel {
    pub(crate) fn new(channel: impl Channel) -> Self {
        Self(Box::new(channel))
    }

    /// Returns the type of the channel, such as `SLACK`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Sends a message once, within the time limits of the channel.
    ///
    /// # Errors
    /// [`AlertError`]; [`AlertError::may_have_arrived`] says whether the outcome is unknown.
    ///
    /// # Cancel safety
    /// If the future is dropped, the outcome is unknown.
    pub async fn send(&self, message: &Message) -> Result<(), AlertError> {
        self.0.send(message).await
    }
}

impl fmt::Debug for AlertChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AlertChannel").field(&self.name()).finish()
    }
}
