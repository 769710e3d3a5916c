//! About: version, namespaces, licences of embedded files.

use maud::html;

use super::cx::Cx;
use super::query::encoded;
use super::shell::{Body, Section};

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let main = html! {
        h1 { (lang.about()) }
        section.card aria-label=(lang.about()) {
            dl.facts {
                dt { (lang.version()) } dd { (env!("CARGO_PKG_VERSION")) }
                dt { (lang.signed_in_as()) } dd { (cx.caller.name) " · " (lang.role(cx.caller.role)) }
                dt { (lang.namespaces()) }
                dd {
                    ul.plain {
                        @for name in cx.namespaces {
                            li { a href=(cx.href(&format!("n/{}", encoded(name)))) { (name) } }
                        }
                    }
                }
                dt { "API" } dd { a href=(cx.href("api/v1/openapi.json")) { "OpenAPI 3.1" } }
                dt { (lang.embedded()) } dd { "Idiomorph 0.8.0 (0BSD)" }
            }
        }
    };
    let title = lang.about();
    Body { title, crumbs: Vec::new(), section: Section::About, main, is_live: false }
}
