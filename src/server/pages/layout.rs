//! The frame of every page: head, menu, and the switches for language and theme.

use maud::{DOCTYPE, Markup, html};

use super::assets::{SCRIPT, STYLE};
use super::links::address;
use super::parts::csrf;
use super::words::words;
use super::{Theme, Viewer};
use crate::knowledge::Language;

/// The pages of the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Incidents,
    Groups,
    Trends,
    Upload,
    DeadLetters,
    Audit,
    /// A page that is not in the menu.
    Other,
}

/// A whole page.
pub(super) fn page(viewer: &Viewer<'_>, tab: Tab, title: &str, content: Markup) -> Markup {
    let words = words(viewer.language);
    html! {
        (DOCTYPE)
        html lang=(lang(viewer.language)) data-theme=[viewer.theme.name()] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – oomdoc" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(STYLE.path);
                script src=(SCRIPT.path) defer {}
            }
            body {
                a.skip href="#content" { (words.skip) }
                (header(viewer, tab))
                main #content tabindex="-1" { (content) }
            }
        }
    }
}

fn lang(language: Language) -> &'static str {
    match language {
        Language::En => "en",
        Language::Zh => "zh",
    }
}

fn header(viewer: &Viewer<'_>, tab: Tab) -> Markup {
    let words = words(viewer.language);
    let all = [
        (Tab::Incidents, "/", words.incidents),
        (Tab::Groups, "/groups", words.groups),
        (Tab::Trends, "/trends", words.trends),
        (Tab::Upload, "/upload", words.upload),
    ];
    // Analysing a log takes the scope to write.
    let public = all.into_iter().filter(|(tab, ..)| viewer.may_write || *tab != Tab::Upload);
    let own = [(Tab::DeadLetters, "/dead-letters", words.dead_letters), (Tab::Audit, "/audit", words.audit)];
    let own = own.into_iter().filter(|_| viewer.is_admin);
    html! {
        header.top {
            a.brand href="/" { span.mark aria-hidden="true" {} "oomdoc" }
            nav aria-label=(words.main_menu) {
                ul {
                    @for (each, path, name) in public.chain(own) {
                        li { a href=(path) aria-current=[(each == tab).then_some("page")] { (name) } }
                    }
                }
            }
            div.switches {
                (language_switch(viewer))
                (theme_switch(viewer))
                (who(viewer))
            }
        }
    }
}

/// Both switches work without a script: they post a form, which redirects to the page it came from.
fn language_switch(viewer: &Viewer<'_>) -> Markup {
    let other = match viewer.language {
        Language::En => "zh",
        Language::Zh => "en",
    };
    preference(viewer, "language", other, html! { span lang=(other) { (words(viewer.language).other_language) } })
}

fn theme_switch(viewer: &Viewer<'_>) -> Markup {
    let words = words(viewer.language);
    // With the system's theme the server does not know which one is shown: the stylesheet hides the button of that one.
    let offered: &[(&str, &str)] = match viewer.theme {
        Theme::Light => &[("dark", words.to_dark)],
        Theme::Dark => &[("light", words.to_light)],
        Theme::System => &[("dark", words.to_dark), ("light", words.to_light)],
    };
    html! {
        @for (name, word) in offered {
            span class=(format!("to-{name}")) { (preference(viewer, "theme", name, html! { (word) })) }
        }
    }
}

fn preference(viewer: &Viewer<'_>, name: &str, value: &str, label: Markup) -> Markup {
    html! {
        form method="post" action="/preferences" {
            (csrf(viewer))
            input type="hidden" name="back" value=(viewer.path);
            button.quiet name=(name) value=(value) { (label) }
        }
    }
}

fn who(viewer: &Viewer<'_>) -> Markup {
    let words = words(viewer.language);
    html! {
        @match viewer.name {
            Some(name) => form method="post" action="/logout" {
                (csrf(viewer))
                span.who { (name) }
                button.quiet { (words.sign_out) }
            },
            None => a.quiet href=(address("/login", &[("back", viewer.path)])) { (words.sign_in) },
        }
    }
}
