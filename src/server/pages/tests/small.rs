//! Small pages as snapshots: to be read as a user would.

use super::*;

/// One line per tag, and the assets' names, which change with their content, replaced.
fn lines(page: &Markup) -> String {
    let mut text = page.0.replace("><", ">\n<");
    for asset in [&*assets::STYLE, &*assets::SCRIPT] {
        text = text.replace(&asset.path, "/static/FILE");
    }
    text
}

#[test]
fn small_pages() {
    let english = viewer(Language::En, Theme::System);
    let nobody =
        Viewer { name: None, may_write: false, is_admin: false, csrf: "", path: "/groups?show=new", ..english };
    insta::assert_snapshot!("login", lines(&login(&nobody, "/groups", true)));
    let chinese = Viewer { language: Language::Zh, theme: Theme::Dark, ..nobody };
    let missing = ProblemPage { status: 404, detail: "没有这个事故", advice: Some("它可能已被删除。") };
    insta::assert_snapshot!("problem", lines(&problem(&chinese, &missing)));
    insta::assert_snapshot!("upload", lines(&upload(&english, "u1", None)));
    insta::assert_snapshot!(
        "groups",
        lines(&groups(&english, &GroupList { tab: GroupTab::New, counts: [14, 0, 2], groups: &[], next: None }))
    );
    let letter = DeadLetter {
        id: "7".to_owned(),
        hook: "github oomdoc/oomdoc#12".to_owned(),
        problem: "the job's log is gone: 404".to_owned(),
        attempts: 6,
        time: "2026-11-21T10:11:12Z".to_owned(),
    };
    insta::assert_snapshot!("dead-letters", lines(&dead_letters(&english, &[letter])));
    insta::assert_snapshot!("no-audit", lines(&audit(&english, &[], None)));
}

#[test]
fn files_are_found_under_the_name_of_what_they_hold() {
    for asset in [&*assets::STYLE, &*assets::SCRIPT] {
        assert_eq!(super::asset(&asset.path).map(|found| found.media_type), Some(asset.media_type));
    }
    assert!(super::asset("/static/oomdoc.0.css").is_none());
    // The stylesheet and the script load nothing from elsewhere.
    let style = &assets::STYLE.text;
    assert!(!style.contains("url(") && !style.contains("@import") && !assets::SCRIPT.text.contains("http"));
}
