//! Routes × callers × sites: each combination has the status that the documented roles demand.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{Method, Request, StatusCode};
use axum::routing::{get, post};
use reg_center::MemoryRegistry;
use tower::ServiceExt as _;

use super::tokens::Tokens;
use super::users::Users;
use super::{Access, Permission, Role, hash_password, new_token};
use crate::Console;
use crate::console::routes;
use crate::routes::{Routes, Rule};

const DOCUMENT: &str = include_str!("../../../../docs/console-access.md");

const ROLES: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

/// Callers by name, role and job pattern. The job of all requests is `job-1`.
const CALLERS: [(&str, Role, &str); 5] = [
    ("vera", Role::Viewer, "*"),
    ("otto", Role::Operator, "*"),
    ("olga", Role::Operator, "job-*"),
    ("omar", Role::Operator, "other-*"),
    ("adam", Role::Admin, "*"),
];

/// Values of the header `Sec-Fetch-Site`.
const SITES: [Option<&str>; 3] = [Some("same-origin"), Some("cross-site"), None];

#[derive(Clone, Debug)]
enum Credential {
    Cookie(String),
    Token(String),
}

type Caller = (&'static str, Role, &'static str);

/// Returns the documented roles of each permission.
fn documented() -> BTreeMap<String, Vec<Role>> {
    let table = DOCUMENT.split_once("## Roles and permissions\n").unwrap().1;
    let table = table.split_once("\n## ").unwrap().0;
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, _, roles @ .., _] = &cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let has_role = |cell: &str| match cell {
            "yes" => true,
            "no" => false,
            other => panic!("{name}: {other:?} is neither yes nor no"),
        };
        assert_eq!(roles.len(), ROLES.len(), "{line}");
        let roles = ROLES.into_iter().zip(roles).filter(|(_, cell)| has_role(cell));
        Some((name.to_owned(), roles.map(|(role, _)| role).collect()))
    });
    rows.collect()
}

#[test]
fn documented_roles_are_those_of_the_code() {
    let of_code = |permission: &Permission| {
        let roles = ROLES.into_iter().filter(|role| *role >= permission.least_role());
        (permission.to_string(), roles.collect())
    };
    assert_eq!(documented(), Permission::ALL.iter().map(of_code).collect());
}

#[test]
fn documented_files_are_valid() {
    let blocks: Vec<&str> = DOCUMENT.split("```toml\n").skip(1).collect();
    // A test of the command line has the block of the identity provider.
    let [users, tokens, _] = &blocks[..] else { panic!("{} blocks", blocks.len()) };
    let block = |text: &str| text.split_once("```").unwrap().0.to_owned();
    let users = Users::parse(&block(users)).unwrap();
    assert_eq!(users.get("anna").unwrap().caller().jobs, "report-*");
    let tokens = Tokens::parse(&block(tokens)).unwrap();
    let before = "2027-06-29T23:59:59Z".parse().unwrap();
    assert_eq!(tokens.caller("test", before).unwrap().name, "ci");
}

/// Returns the status that a request must have, or `None` if the route decides.
fn expected(
    rule: &Rule,
    caller: Option<(&Caller, &Credential)>,
    site: Option<&str>,
    documented: &BTreeMap<String, Vec<Role>>,
) -> Option<StatusCode> {
    let is_unsafe = rule.method != "GET";
    let has_token = matches!(caller, Some((_, Credential::Token(_))));
    if is_unsafe && !has_token && site != Some("same-origin") {
        return Some(StatusCode::FORBIDDEN);
    }
    let Some(((name, role, _), _)) = caller else { return Some(StatusCode::UNAUTHORIZED) };
    let permission = rule.permission.to_string();
    let has_job = rule.path.contains("{job}");
    let may_change = match *name {
        _ if rule.checks_each_job => true,
        "omar" => false,
        "olga" => has_job,
        _ => true,
    };
    let is_permitted =
        documented[&permission].contains(role) && (permission == "view" || may_change);
    (!is_permitted).then_some(StatusCode::FORBIDDEN)
}

/// Returns the routes of the console, and routes of each permission, so that the table has all of
/// them.
fn all_routes() -> Routes {
    Permission::ALL.iter().fold(routes(), |routes, permission| {
        let page = |path| format!("/test/{permission}{path}");
        let answer = async || StatusCode::NO_CONTENT;
        routes
            .page(*permission, &Method::GET, &page("/get"), get(answer))
            .page(*permission, &Method::POST, &page("/post"), post(answer))
            .page(*permission, &Method::POST, &page("/jobs/{job}"), post(answer))
    })
}

fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// Returns the access of all callers, and their credentials.
async fn access(folder: &Path) -> (Access, Vec<(Caller, Credential)>) {
    let hash = hash_password("correct horse battery").unwrap();
    let (mut users, mut tokens, mut credentials) = (String::new(), String::new(), Vec::new());
    for caller in CALLERS {
        let (name, role, jobs) = caller;
        let entry = format!("name = {name:?}\nrole = \"{role}\"\njobs = {jobs:?}\n");
        let (token, sha256) = new_token();
        users += &format!("[[users]]\npassword = {hash:?}\n{entry}");
        let expires = "9999-01-01T00:00:00Z";
        tokens += &format!("[[tokens]]\nsha256 = {sha256:?}\nexpires = {expires:?}\n{entry}");
        credentials.push((caller, Credential::Token(token)));
    }
    let (users_file, tokens_file) = (folder.join("users.toml"), folder.join("tokens.toml"));
    write_private(&users_file, &users);
    write_private(&tokens_file, &tokens);
    let access = Access::sign_in().users(&users_file).unwrap().tokens(&tokens_file).unwrap();
    let users = access.users.as_ref().unwrap().current().await;
    for caller in CALLERS {
        let user = Arc::clone(users.get(caller.0).unwrap());
        let id = access.sessions.start(caller.0, super::sessions::Holder::User(user));
        credentials.push((caller, Credential::Cookie(format!("ejob-session={id}"))));
    }
    (access, credentials)
}

/// Fills the parameters of a path.
fn fill(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment {
        "{namespace}" => "orders",
        "{job}" => "job-1",
        other if other.starts_with('{') => "1",
        other => other,
    });
    segments.collect::<Vec<_>>().join("/")
}

async fn ask(
    router: &Router,
    rule: &Rule,
    credential: Option<&Credential>,
    site: Option<&str>,
) -> StatusCode {
    let request = Request::builder().method(&*rule.method).uri(fill(&rule.path));
    let mut request = request.header("host", "localhost:8080");
    if let Some(site) = site {
        request = request.header("sec-fetch-site", site);
    }
    request = match credential {
        None => request,
        Some(Credential::Cookie(cookie)) => request.header("cookie", cookie),
        Some(Credential::Token(token)) => {
            request.header("authorization", format!("Bearer {token}"))
        }
    };
    let answer = router.clone().oneshot(request.body(Body::empty()).unwrap());
    let answer = tokio::time::timeout(Duration::from_secs(600), answer).await;
    let response = answer.unwrap_or_else(|_| panic!("{rule:?} gives no answer")).unwrap();
    let has_challenge = response.headers().contains_key("www-authenticate");
    assert_eq!(has_challenge, response.status() == StatusCode::UNAUTHORIZED, "{rule:?}");
    assert!(response.headers().contains_key("content-security-policy"), "{rule:?}");
    response.status()
}

#[tokio::test(start_paused = true)]
async fn routes_accept_exactly_the_documented_callers() {
    let folder = tempfile::tempdir().unwrap();
    let (access, credentials) = access(folder.path()).await;
    let registry = Arc::new(MemoryRegistry::new().connect());
    let console = Console::new().access(access).namespace("orders", registry, None).unwrap();
    let rules = all_routes().split().2;
    assert!(Console::rules().iter().all(|rule| rules.contains(rule)));
    let router = console.with_routes(all_routes());
    let router = router.layer(MockConnectInfo(SocketAddr::from(([127, 0, 0, 1], 4000))));
    let documented = documented();
    let callers = credentials.iter().map(|(caller, credential)| Some((caller, credential)));
    let callers: Vec<_> = callers.chain([None]).collect();
    let mut wrong = Vec::new();
    for rule in &rules {
        for caller in &callers {
            for site in SITES {
                let credential = caller.map(|(_, credential)| credential);
                let found = ask(&router, rule, credential, site).await;
                let is_refused =
                    found == StatusCode::UNAUTHORIZED || found == StatusCode::FORBIDDEN;
                let is_right = match expected(rule, *caller, site, &documented) {
                    Some(status) => found == status,
                    None => !is_refused,
                };
                if !is_right {
                    let name = caller.map(|((name, ..), _)| *name);
                    wrong.push(format!("{} {} {name:?} {site:?}: {found}", rule.method, rule.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} combinations:\n{}", wrong.len(), wrong.join("\n"));
}
