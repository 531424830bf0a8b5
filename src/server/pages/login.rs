use maud::{Markup, html};

use super::Viewer;
use super::layout::{Tab, page};
use super::parts::csrf;
use super::words::words;

/// The form to sign in with a token; `back` is the path to go to afterwards.
pub fn login(viewer: &Viewer<'_>, back: &str, was_refused: bool) -> Markup {
    let words = words(viewer.language);
    let content = html! {
        div.narrow {
            h1 { (words.sign_in) }
            form.card method="post" action="/login" {
                (csrf(viewer))
                input type="hidden" name="back" value=(back);
                label for="token" { (words.token) }
                input #token type="password" name="token" required autocomplete="current-password" autofocus
                    aria-invalid=[was_refused.then_some("true")] aria-describedby="token-how";
                @if was_refused { p.problem role="alert" { (words.wrong_token) } }
                button.primary { (words.sign_in) }
                p.dim #token-how { (words.token_how) " " code { "oomdoc serve token create NAME --scope write" } }
            }
        }
    };
    page(viewer, Tab::Other, words.sign_in, content)
}
