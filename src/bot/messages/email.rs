//! E-mail, as plain text and the same as HTML.

use std::time::Duration;

use lettre::message::{Mailbox as Address, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::{Error as SmtpError, SmtpTransport};
use lettre::{Message as Mail, Transport};
use maud::{Markup, html};

use super::{Message, cut};
use crate::bot::config::{MailSecurity, Mailbox};
use crate::bot::error::StepError;
use crate::model::one_line;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(super) fn send(mailbox: &Mailbox, message: &Message<'_>) -> Result<(), StepError> {
    let mail = mail(mailbox, message)?;
    let transport = transport(mailbox)?;
    transport.send(&mail).map(drop).map_err(|error| match error.is_permanent() {
        true => StepError::Permanent(error.to_string()),
        false => StepError::temporary(error.to_string()),
    })
}

fn transport(mailbox: &Mailbox) -> Result<SmtpTransport, StepError> {
    let parameters = || TlsParameters::new(mailbox.server.clone());
    let unfit = |error: SmtpError| StepError::temporary(error.to_string());
    let (tls, port) = match mailbox.security {
        MailSecurity::Tls => (Tls::Wrapper(parameters().map_err(unfit)?), 465),
        MailSecurity::Starttls => (Tls::Required(parameters().map_err(unfit)?), 587),
        MailSecurity::None => (Tls::None, 25),
    };
    let mut builder = SmtpTransport::builder_dangerous(&mailbox.server)
        .port(mailbox.port.unwrap_or(port))
        .tls(tls)
        .timeout(Some(TIMEOUT));
    if let (Some(user), Some(password)) = (&mailbox.user, &mailbox.password) {
        builder = builder.credentials(Credentials::new(user.clone(), password.read()?.expose().to_owned()));
    }
    Ok(builder.build())
}

pub(super) fn mail(mailbox: &Mailbox, message: &Message<'_>) -> Result<Mail, StepError> {
    let address = |words: &str| {
        words.parse::<Address>().map_err(|error| StepError::Permanent(format!("`{words}` is no address: {error}")))
    };
    let subject = cut(&one_line(&format!("[oomdoc] {}: {}", message.alert.job, message.alert.title)), 200);
    let mut builder = Mail::builder().from(address(&mailbox.from)?).subject(subject);
    for to in &mailbox.to {
        builder = builder.to(address(to)?);
    }
    // Suppresses out-of-office replies.
    let builder = builder.header(AutoSubmitted);
    builder
        .multipart(MultiPart::alternative_plain_html(text(message), page(message).into_string()))
        .map_err(|error| StepError::Permanent(error.to_string()))
}

fn text(message: &Message<'_>) -> String {
    let alert = message.alert;
    let lines = [&alert.title, &alert.job].into_iter().chain(&alert.lines).cloned();
    lines.chain(message.more()).chain(alert.page.clone()).map(|line| line + "\n").collect()
}

fn page(message: &Message<'_>) -> Markup {
    let alert = message.alert;
    html! {
        h3 { (alert.title) }
        p { strong { (alert.job) } }
        ul { @for line in &alert.lines { li { (line) } } }
        @if let Some(more) = message.more() { p { (more) } }
        @if let Some(page) = &alert.page { p { a href=(page) { (message.words().page) } } }
    }
}

/// `Auto-Submitted: auto-generated` (RFC 3834).
#[derive(Debug, Clone)]
struct AutoSubmitted;

impl lettre::message::header::Header for AutoSubmitted {
    fn name() -> lettre::message::header::HeaderName {
        lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(AutoSubmitted)
    }

    fn display(&self) -> lettre::message::header::HeaderValue {
        lettre::message::header::HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}
