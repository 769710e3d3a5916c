//! The rights that the README documents, with its statements as they are printed.

use reg_center::{Error, Lifetime, RegistryCenter as _, Txn};
use reg_center_postgres::{OpenError, PostgresCenter, PostgresOptions};

use crate::behind_proxies::{connect, options_for, path, runtime, server, soon};
use crate::setup::{error_of, use_registry};

/// The database of the README.
const DATABASE: &str = "jobs";

/// Returns the statements of the README's section about rights, block by block.
fn documented() -> Vec<&'static str> {
    let readme = include_str!("../README.md");
    let (_, section) = readme.split_once("\n## Schema and rights\n").expect("the section exists");
    let (section, _) = section.split_once("\n## ").expect("another section follows");
    let blocks = section.split("\n```sql\n").skip(1);
    blocks.map(|block| block.split_once("\n```").expect("the block ends").0).collect()
}

fn options(user: &str) -> PostgresOptions {
    let address = server().address();
    PostgresOptions::new(address.ip().to_string(), address.port(), DATABASE).user(user)
}

fn query(sql: &str) -> String {
    server().query_in(DATABASE, sql).expect("the statement succeeds")
}

#[test]
fn the_documented_rights_are_enough_and_no_others_are_needed() {
    let [roles, grants] = documented()[..] else { panic!("two blocks of statements") };
    server().query(&format!("CREATE DATABASE {DATABASE}")).unwrap();
    query(roles);
    query("CREATE ROLE stranger LOGIN");
    runtime().block_on(async {
        let error = error_of(options("ejob_worker")).await;
        assert!(matches!(error, OpenError::Schema { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("permission denied for database"), "{text}");
        assert!(text.contains("connect once as a user that may create it"), "{text}");

        PostgresCenter::create_schema(options("ejob_owner")).await.unwrap();
        query(&format!("SET ROLE ejob_owner; {grants}"));
        use_registry(options("ejob_worker")).await;
        use_registry(options("ejob_owner").namespace("of-the-owner")).await;
        let error = error_of(options("stranger")).await;
        assert!(matches!(error, OpenError::Schema { .. }), "{error}");
        for statement in [
            "UPDATE ejob.node SET data = 'x'",
            "DELETE FROM ejob.session",
            "SELECT nextval('ejob.last_revision')",
            "SELECT ejob.begin_epoch()",
        ] {
            let refused =
                server().query_in(DATABASE, &format!("SET ROLE ejob_worker; {statement}"));
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("permission denied"), "{statement}: {refused}");
        }
        query("SET ROLE ejob_owner; SELECT ejob.begin_epoch()");
        failed_statements_are_not_logged().await;
    });
}

/// The data of a commit that fails must not be in the log of the server.
async fn failed_statements_are_not_logged() {
    const SECRET: &str = "a job parameter";
    query(
        "CREATE FUNCTION ejob.refuse() RETURNS trigger LANGUAGE plpgsql \
         AS 'BEGIN RAISE ''refused by the test'' USING ERRCODE = ''23514''; END'; \
         CREATE TRIGGER refuse BEFORE INSERT ON ejob.node FOR EACH ROW \
         WHEN (NEW.name = 'bad') EXECUTE FUNCTION ejob.refuse()",
    );
    let secret: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let is_logged = || {
        let log = std::fs::read_to_string(server().log_path()).expect("the log is readable");
        assert!(log.contains("refused by the test"), "the failure itself is logged");
        log.contains(&secret) || log.contains(SECRET)
    };
    // The owner has the default of the server, which shows that the statement would be logged.
    for (user, expected) in [("ejob_worker", false), ("ejob_owner", true)] {
        let center = connect(options(user)).await;
        let create = Txn::new().create(path("/job/bad"), SECRET, Lifetime::Persistent);
        let rejected = center.commit(create).await;
        assert!(matches!(rejected, Err(Error::Rejected { .. })), "{rejected:?}");
        assert_eq!(is_logged(), expected, "{user}");
    }
}

/// A schema that a superuser has prepared is enough, without rights on the database.
#[test]
fn tables_are_created_in_an_empty_schema() {
    let query = |sql: &str| server().query(sql).unwrap();
    query("CREATE ROLE schema_owner LOGIN; CREATE SCHEMA owned AUTHORIZATION schema_owner");
    query("CREATE ROLE schema_user LOGIN; CREATE SCHEMA granted");
    query("GRANT CREATE, USAGE ON SCHEMA granted TO schema_user");
    runtime().block_on(async {
        for (user, schema) in [("schema_owner", "owned"), ("schema_user", "granted")] {
            use_registry(options_for(server().address()).user(user).schema(schema)).await;
        }
    });
}

#[test]
fn a_database_of_another_encoding_is_refused() {
    let create = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    server().query(create).unwrap();
    runtime().block_on(async {
        let address = server().address();
        let latin = PostgresOptions::new(address.ip().to_string(), address.port(), "latin");
        let connected = PostgresCenter::connect(latin.user("postgres"));
        let error = soon("an answer", connected).await.expect_err("the encoding is wrong");
        assert!(
            matches!(&error, OpenError::Encoding { found, .. } if found == "LATIN1"),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.contains("/latin: the database has the encoding LATIN1"), "{text}");
    });
}
