//! The frame of each page: header, navigation, banner and dialogs.

use maud::{DOCTYPE, Markup, html};

use super::act::act_title;
use super::assets;
use super::cx::{Age, Cx};
use super::locale::Lang;
use super::prefs::{Theme, ZoneMode};
use super::query::encoded;
use super::time::units;
use crate::access::Permission;

/// Content of a page.
#[derive(Debug)]
pub(crate) struct Body {
    /// Title of the window, without the name of the namespace.
    pub(crate) title: String,
    /// Pages above this one: label and address.
    pub(crate) crumbs: Vec<(String, String)>,
    /// Section of the navigation that the page belongs to.
    pub(crate) section: Section,
    pub(crate) main: Markup,
    /// True if the page stays current by the stream.
    pub(crate) is_live: bool,
}

/// Sections of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Jobs,
    Running,
    Servers,
    Groups,
    Timeline,
    Alerts,
    Doctor,
    Audit,
    Transfer,
    Registry,
    About,
}

impl Section {
    const GROUPS: [&[Self]; 3] = [
        &[Self::Overview, Self::Jobs, Self::Running, Self::Servers, Self::Groups],
        &[Self::Alerts, Self::Timeline, Self::Doctor, Self::Audit],
        &[Self::Transfer, Self::Registry, Self::About],
    ];

    /// Returns the sections that the caller may see, in their order.
    pub(crate) fn visible(cx: &Cx<'_>) -> impl Iterator<Item = Self> {
        Self::GROUPS.into_iter().flatten().copied().filter(|one| one.is_visible(cx))
    }

    fn is_visible(self, cx: &Cx<'_>) -> bool {
        // An exported document may hold secrets.
        self != Self::Transfer || cx.caller.check_role(Permission::Configure).is_ok()
    }

    /// Returns the key that leads to the section after `g`.
    fn key(self) -> Option<&'static str> {
        match self {
            Self::Overview => Some("o"),
            Self::Jobs => Some("j"),
            Self::Running => Some("r"),
            Self::Servers => Some("s"),
            Self::Groups => Some("g"),
            Self::Timeline => Some("t"),
            Self::Alerts => Some("w"),
            Self::Doctor => Some("d"),
            Self::Audit => Some("a"),
            Self::Transfer => Some("x"),
            Self::Registry | Self::About => None,
        }
    }

    /// Returns the path below the namespace.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Overview => "",
            Self::Jobs => "jobs",
            Self::Running => "running",
            Self::Servers => "servers",
            Self::Groups => "groups",
            Self::Timeline => "timeline",
            Self::Alerts => "alerts",
            Self::Doctor => "doctor",
            Self::Audit => "audit",
            Self::Transfer => "transfer",
            Self::Registry => "registry",
            Self::About => "about",
        }
    }

    pub(crate) fn label(self, lang: Lang) -> String {
        match self {
            Self::Overview => lang.overview(),
            Self::Jobs => lang.jobs(),
            Self::Running => lang.running_now(),
            Self::Servers => lang.servers(),
            Self::Groups => lang.groups(),
            Self::Timeline => lang.timeline(),
            Self::Alerts => lang.alerts(),
            Self::Doctor => lang.doctor(),
            Self::Audit => lang.audit(),
            Self::Transfer => lang.transfer(),
            Self::Registry => lang.registry(),
            Self::About => lang.about(),
        }
    }

    /// Returns the number beside the label, and its class.
    fn count(self, cx: &Cx<'_>) -> Option<(usize, &'static str)> {
        let summary = cx.summary;
        let unless_none = |n: usize, class| (n > 0).then_some((n, class));
        match self {
            Self::Overview => unless_none(summary.attention, "n bad"),
            Self::Jobs => Some((summary.jobs().len(), "n")),
            Self::Running => Some((summary.running(), "n")),
            Self::Servers => Some((summary.servers, "n")),
            Self::Groups => unless_none(summary.groups, "n"),
            Self::Alerts => unless_none(summary.violated, "n bad"),
            Self::Doctor => unless_none(summary.problems, "n warn"),
            Self::Timeline | Self::Audit | Self::Transfer | Self::Registry | Self::About => None,
        }
    }
}

/// Returns the whole document of a page.
pub(crate) fn document(cx: &Cx<'_>, body: &Body) -> Markup {
    let (lang, about) = (cx.lang(), cx.namespace().unwrap_or_default());
    let theme = (cx.prefs.theme != Theme::System).then(|| cx.prefs.theme.word());
    let stream = cx.here(&format!("stream?page={}", encoded(&cx.address.text())));
    let stream = (body.is_live && cx.namespace().is_some()).then_some(stream);
    html! {
        (DOCTYPE)
        html lang=(lang.tag()) data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (body.title) @if !about.is_empty() { " · " (about) } " · Elastic Job" }
                link rel="icon" type="image/svg+xml" href=(cx.href(&assets::ICON.path()));
                link rel="stylesheet" href=(cx.href(&assets::STYLE.path()));
                script src=(cx.href(&assets::MORPH.path())) defer {}
                script src=(cx.href(&assets::SCRIPT.path())) type="module" {}
            }
            body data-stream=[stream] data-in=(lang.in_time("{}")) data-ago=(lang.ago("{}"))
                data-units=(units(lang).join(",")) data-tz=(cx.prefs.zone.word())
                data-more=(lang.more_rows("{}")) data-root=(cx.root) data-find=(cx.here("find")) {
                a.skip href="#main" { (lang.skip_to_content()) }
                (header(cx))
                (banner(cx))
                div.shell {
                    (navigation(cx, body.section))
                    main #main tabindex="-1" {
                        (crumbs(cx, body))
                        (changed(cx))
                        div #content { (body.main) }
                    }
                }
                (dialogs(cx))
            }
        }
    }
}

/// Registers the parts of the frame that the stream sends.
pub(super) fn register_frame(cx: &Cx<'_>, section: Section) {
    fresh(cx);
    banner(cx);
    navigation(cx, section);
}

fn header(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    html! {
        header.bar {
            a.brand href=(cx.here("")) aria-label="Elastic Job" { (mark()) span { "Elastic Job" } }
            @if let Some(namespace) = cx.namespace() {
                (namespace_switch(cx, namespace))
                form.search role="search" action=(cx.here("jobs")) {
                    label.hidden for="search" { (lang.search()) }
                    input #search type="search" name="q" placeholder=(lang.search())
                        autocomplete="off" maxlength="128";
                    button #palette-open type="button" hidden aria-haspopup="dialog" {
                        kbd { "Ctrl K" }
                        span.hidden { (lang.palette()) }
                    }
                }
            } @else { span.grow {} }
            (fresh(cx))
            (menu(cx))
        }
    }
}

fn mark() -> Markup {
    html! {
        svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" {
            path d="M3 5h9v3H3zM8 9.5h9v3H8zM3 14h6v3H3z" fill="currentColor" {}
        }
    }
}

fn namespace_switch(cx: &Cx<'_>, namespace: &str) -> Markup {
    html! {
        details.menu {
            summary { span.hidden { (cx.lang().namespace()) " " } (namespace) }
            ul {
                @for name in cx.namespaces {
                    li {
                        a href=(cx.href(&format!("n/{}", encoded(name))))
                            aria-current=[(*name == namespace).then_some("true")] { (name) }
                    }
                }
            }
        }
    }
}

/// Returns the age of the data. It is a live fragment.
fn fresh(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    let element = html! {
        span #fresh class=(if cx.age == Age::Current { "fresh ok" } else { "fresh warn" })
            title=(lang.age_of_data()) {
            @match cx.age {
                Age::Current => {
                    span data-live=(lang.live()) data-cut=(lang.offline()) {
                        @if cx.is_stream { (lang.live()) }
                        @else { (lang.as_of()) " " (cx.time(cx.now, None)) }
                    }
                },
                Age::Loading => (lang.loading()),
                Age::Stale(since) => { (lang.stale()) " " (cx.relative(since)) },
            }
        }
    };
    cx.register("fresh", &element, Vec::new());
    element
}

/// Returns the banner about old data: of the registry, of a watcher that has ended, and of the
/// stream (shown by the script).
fn banner(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    let element = html! {
        div #banner {
            @match cx.age {
                Age::Current => {},
                Age::Loading => { p.banner { (lang.loading_banner()) } },
                Age::Stale(since) => { p.banner { (lang.stale_banner()) " " (cx.when(since, None)) } },
            }
            @if let Some(reason) = cx.source.and_then(|namespace| namespace.alerts.ended()) {
                p.banner { (lang.watcher_ended()) " " span lang="en" { (reason) } }
            }
        }
    };
    cx.register("banner", &element, Vec::new());
    html! {
        div role="status" {
            (element)
            p #cut.banner hidden { (lang.cut_banner()) " " time #cut-at {} " " span.dim #cut-age {} }
            p #more.banner hidden { button #more-show type="button" {} }
        }
    }
}

fn navigation(cx: &Cx<'_>, section: Section) -> Markup {
    let element = html! {
        nav #nav aria-label=(cx.lang().sections()) {
            @for (index, group) in Section::GROUPS.iter().enumerate() {
                @if index > 0 { hr; }
                @for one in group.iter().filter(|one| one.is_visible(cx)) {
                    a href=(cx.here(one.path())) data-key=[one.key()]
                        aria-current=[(*one == section).then_some("page")] {
                        (one.label(cx.lang()))
                        @if let Some((n, class)) = one.count(cx) { " " b class=(class) { (n) } }
                    }
                }
            }
        }
    };
    if cx.namespace().is_none() {
        return html! {};
    }
    cx.register("nav", &element, Vec::new());
    element
}

/// Returns the result of the operation that has led to this page.
fn changed(cx: &Cx<'_>) -> Markup {
    let Some(n) = cx.address.number("changed") else { return html! {} };
    let operation = cx.address.value("did").and_then(|word| act_title(cx.lang(), word));
    html! {
        p #result.why.good role="status" tabindex="-1" {
            @if let Some(title) = operation { b { (title) } (cx.lang().colon()) }
            (cx.lang().n_changed(n)) " " a href=(cx.here("audit")) { (cx.lang().see_audit()) }
        }
    }
}

fn crumbs(cx: &Cx<'_>, body: &Body) -> Markup {
    if body.crumbs.is_empty() {
        return html! {};
    }
    html! {
        nav.crumbs aria-label=(cx.lang().path()) {
            ol {
                @for (label, address) in &body.crumbs { li { a href=(address) { (label) } } }
                li aria-current="page" { (body.title) }
            }
        }
    }
}

/// Returns the menu of the reader: name, role and preferences.
fn menu(cx: &Cx<'_>) -> Markup {
    let (lang, prefs) = (cx.lang(), cx.prefs);
    let languages = Lang::ALL.map(|one| (one.word(), one.own_name().to_owned()));
    let themes = Theme::ALL.map(|one| (one.word(), lang.theme_name(one)));
    let zones = ZoneMode::ALL.map(|one| (one.word(), lang.zone_name(one)));
    html! {
        details.menu.who {
            summary { (cx.caller.name) span.dim { " · " (lang.role(cx.caller.role)) } }
            form method="post" action=(cx.href("preferences")) {
                input type="hidden" name="back" value=(cx.address.with(&[]));
                (choice("lang", &lang.language(), &languages, prefs.lang.word()))
                (choice("theme", &lang.theme(), &themes, prefs.theme.word()))
                (choice("tz", &lang.times_in(), &zones, prefs.zone.word()))
                button type="submit" { (lang.save()) }
                button #keys-open type="button" hidden { (lang.keys()) }
                @if cx.can_sign_out {
                    button type="submit" formaction=(cx.href("sign-out")) { (lang.sign_out()) }
                }
            }
        }
    }
}

pub(super) fn choice(name: &str, label: &str, options: &[(&str, String)], chosen: &str) -> Markup {
    let id = format!("choose-{name}");
    html! {
        div.field {
            label for=(id) { (label) }
            select id=(id) name=(name) {
                @for (word, text) in options {
                    option value=(word) selected[*word == chosen] { (text) }
                }
            }
        }
    }
}

fn dialogs(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    let sections = Section::visible(cx);
    let sections = sections.filter_map(|one| Some((format!("g {}", one.key()?), one.label(lang))));
    let first = [("/", lang.key_search()), ("Ctrl K", lang.palette())];
    let last = [
        ("j  k", lang.key_rows()),
        ("Enter", lang.key_open()),
        ("Esc", lang.key_leave()),
        ("?", lang.keys()),
    ];
    let [first, last] = [&first[..], &last[..]]
        .map(|keys| keys.iter().map(|(key, text)| ((*key).to_owned(), text.clone())));
    let keys = first.chain(sections).chain(last);
    html! {
        @if cx.namespace().is_some() {
            dialog #palette aria-label=(lang.palette()) {
                form method="dialog" {
                    label.hidden for="palette-query" { (lang.palette()) }
                    input #palette-query type="text" role="combobox" autocomplete="off"
                        aria-expanded="true" aria-controls="palette-found"
                        placeholder=(lang.palette_hint());
                }
                div #palette-found role="listbox" aria-label=(lang.palette()) {}
            }
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { (lang.keys()) }
            dl.keys { @for (key, text) in keys { dt { kbd { (key) } } dd { (text) } } }
            form method="dialog" { button { (lang.close()) } }
        }
        dialog #act aria-label=(lang.operation()) {}
    }
}
