//! Messages of a program, and channels that send them outside of an error handler.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use crate::AlertError;
use crate::alert::cut;
use crate::channel::{Channel, Content};

/// A message that a program composes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Summary in one line. Control characters are omitted.
    pub subject: String,
    /// Text for human readers, the summary included. It is cut to the limit of the channel.
    pub text: String,
    /// Body of the request of a webhook; other channels send the text.
    pub body: Value,
}

impl Message {
    /// Returns a message.
    #[must_use]
    pub fn new(subject: impl Into<String>, text: impl Into<String>, body: Value) -> Self {
        Self { subject: subject.into(), text: text.into(), body }
    }
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

/// A service that a program sends messages to by itself.
#[async_trait]
pub trait MessageChannel: Send + Sync + 'static {
    /// Returns the type of the channel, for logs.
    fn name(&self) -> &'static str;

    /// Sends a message once. The implementation limits its own duration.
    ///
    /// # Errors
    /// [`AlertError`]: whether the message may have arrived decides whether it is sent again.
    async fn send(&self, message: &Message) -> Result<(), AlertError>;
}

/// A channel that sends messages of a program, without the error handler around it.
///
/// [`HttpAlert::channel`](crate::HttpAlert::channel) and [`Email::channel`](crate::Email::channel)
/// return it.
pub struct AlertChannel(Inner);

enum Inner {
    Channel(Box<dyn Channel>),
    Custom(Box<dyn MessageChannel>),
}

impl AlertChannel {
    pub(crate) fn new(channel: impl Channel) -> Self {
        Self(Inner::Channel(Box::new(channel)))
    }

    /// Wraps a service that the program sends messages to by itself.
    #[must_use]
    pub fn custom(channel: impl MessageChannel) -> Self {
        Self(Inner::Custom(Box::new(channel)))
    }

    /// Returns the type of the channel, such as `SLACK`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.0 {
            Inner::Channel(channel) => channel.name(),
            Inner::Custom(channel) => channel.name(),
        }
    }

    /// Sends a message once, within the time limits of the channel.
    ///
    /// # Errors
    /// [`AlertError`]; [`AlertError::may_have_arrived`] says whether the outcome is unknown.
    ///
    /// # Cancel safety
    /// If the future is dropped, the outcome is unknown.
    pub async fn send(&self, message: &Message) -> Result<(), AlertError> {
        match &self.0 {
            Inner::Channel(channel) => channel.send(message).await,
            Inner::Custom(channel) => channel.send(message).await,
        }
    }
}

impl fmt::Debug for AlertChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AlertChannel").field(&self.name()).finish()
    }
}
