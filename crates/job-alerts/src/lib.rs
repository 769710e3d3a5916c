#![doc = include_str!("../README.md")]

mod alert;
mod channel;
mod email;
mod error;
mod handler;
mod http;
mod message;
mod properties;
mod sign;
mod stored;

pub use email::{Email, MailTls};
pub use error::AlertError;
pub use handler::AlertHandler;
pub use http::HttpAlert;
pub use message::{AlertChannel, Message, MessageChannel};
pub use stored::with_alerts;
