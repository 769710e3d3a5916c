//! Changes of a configuration by forms: preview, write under a revision, former configurations.

use axum::http::StatusCode;
use coordination::JobConfig;
use operations::By;

use super::markup::{elements, faults};
use super::world::{HOSTILE, World};

const EDIT: &str = "/n/orders/jobs/report/configuration/edit";
const TAB: &str = "/n/orders/jobs/report/configuration";

/// Returns the fields of the form of a page as a browser sends them, with other values.
pub(super) fn form_of(page: &str, changes: &[(&str, &str)]) -> String {
    // The dialogs at the end of each page have forms too.
    let content = page.split("<dialog").next().unwrap();
    let (_, form) = content.rsplit_once("<form").unwrap();
    let form = format!("<form{}</form>", form.split("</form>").next().unwrap());
    let inputs = elements(&form).unwrap();
    let inputs = inputs.iter().filter(|element| element.name == "input");
    let mut fields: Vec<(String, String)> = Vec::new();
    for input in inputs {
        let is_empty_box = input.get("type") == Some("checkbox") && input.get("checked").is_none();
        if !is_empty_box {
            let value = input.get("value").unwrap_or_default().to_owned();
            fields.push((input.get("name").unwrap().to_owned(), value));
        }
    }
    for (name, value) in changes {
        fields.retain(|(key, _)| key != name);
        fields.push(((*name).to_owned(), (*value).to_owned()));
    }
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

pub(super) async fn changed_by_another(world: &World, change: impl FnOnce(&mut JobConfig)) {
    let (job, operations) = (world.job("report").await, world.operations());
    let mut config = job.config().unwrap().clone();
    change(&mut config);
    let by = By::new("bert", "release").unwrap();
    let revision = job.config_revision().unwrap();
    operations.update_config(&config, revision, &by).await.unwrap();
    let shown = format!("<dd>{}</dd>", world.job("report").await.config_revision().unwrap());
    world.until(&TAB[1..], |page| page.contains(&shown)).await;
}

#[tokio::test]
async fn edited_configuration_is_shown_then_written_and_can_be_restored() {
    let world = World::with_jobs().await;
    let form = world.get(EDIT).await.text;
    assert_eq!(faults(&form), [""; 0]);
    let edit = form_of(&form, &[("step", "preview"), ("cron", "0 30 4 * * ?")]);
    let preview = world.post(EDIT, &edit).await;
    assert_eq!(preview.status, StatusCode::OK, "{}", preview.text);
    assert_eq!(faults(&preview.text), [""; 0]);
    let row =
        "<code>cron</code></th><td class=\"text\"><del><code>&quot;0 0 2 * * ?&quot;</code></del>";
    assert!(preview.text.contains(row), "{}", preview.text);
    let fires = preview.text.split("Next fires now").nth(1).expect("the schedule changes");
    let (now, after) = fires.split_once("Next fires after the change").unwrap();
    // Both are in the zone of the job.
    assert_eq!(now.matches("02:00:00</time>").count(), 3, "{now}");
    assert_eq!(after.matches("04:30:00</time>").count(), 3, "{after}");
    // The preview has changed nothing.
    let before = world.job("report").await.config().unwrap().clone();
    assert_eq!(before.cron.as_deref(), Some("0 0 2 * * ?"));

    // The form can be edited again, with its values.
    let again = world.post(EDIT, &form_of(&preview.text, &[("step", "edit")])).await.text;
    assert!(again.contains("name=\"cron\" value=\"0 30 4 * * ?\""), "{again}");

    let write = form_of(&preview.text, &[("step", "write"), ("why", "the backup ends at 4")]);
    let answer = world.post(EDIT, &write).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap();
    assert!(location.ends_with("n/orders/jobs/report/configuration?changed=1"), "{location}");
    let after = world.job("report").await;
    let wanted = before.clone().with(|it| it.cron = Some("0 30 4 * * ?".to_owned()));
    assert_eq!(after.config(), Some(&wanted));
    let record = after.audit().next_back().unwrap();
    assert_eq!((&*record.who, &*record.why), ("console", "the backup ends at 4"));

    world
        .until(&TAB[1..], |page| page.contains("Restore the configuration that was replaced at"))
        .await;
    let tab = world.get(TAB).await.text;
    assert_eq!(faults(&tab), [""; 0]);
    assert!(tab.contains("the backup ends at 4"), "{tab}");
    let kept = after.former_configs().unwrap().iter().next_back().unwrap().replaced_ms;
    let restore = format!("{TAB}/restore?replaced={kept}");
    let preview = world.get(&restore).await.text;
    assert_eq!(faults(&preview), [""; 0]);
    let row = "<ins><code>&quot;0 0 2 * * ?&quot;</code></ins>";
    assert!(preview.contains(row), "{preview}");
    let write = form_of(&preview, &[("step", "write"), ("why", "wrong time")]);
    let answer = world.post(&restore, &write).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert_eq!(world.job("report").await.config(), Some(&before));
    // The same form again is out of date, and shows the present state.
    let answer = world.post(&restore, &write).await;
    assert_eq!(answer.status, StatusCode::PRECONDITION_FAILED);
    assert!(answer.text.contains("Another change was written"), "{}", answer.text);
}

#[tokio::test]
async fn excluded_times_are_set_by_the_form_and_shown_with_their_reason() {
    const SCHEDULE: &str = "n/orders/jobs/report/schedule";
    let world = World::with_jobs().await;
    let form = world.get(EDIT).await.text;
    let with = |times: &str| form_of(&form, &[("step", "preview"), ("excluded_times", times)]);
    let answer = world.post(EDIT, &with("22:00-06:00")).await;
    assert!(answer.text.contains("`22:00-06:00` has none of the valid forms"), "{}", answer.text);

    let times = "2019-01-01T00:00..2019-02-01T00:00 # audit\n2020-01-01T00:00..2100-01-01T00:00 # migration";
    let preview = world.post(EDIT, &with(times)).await;
    assert_eq!(preview.status, StatusCode::OK, "{}", preview.text);
    assert!(preview.text.contains("Next fires after the change"), "{}", preview.text);
    let why = [("step", "write"), ("why", "the migration"), ("excluded_times", times)];
    let answer = world.post(EDIT, &form_of(&preview.text, &why)).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let config = world.job("report").await.config().unwrap().clone();
    assert_eq!(config.excluded_times.as_deref(), Some(times));

    world.until(SCHEDULE, |page| page.contains("Excluded: migration until")).await;
    let tab = world.get(&format!("/{SCHEDULE}")).await.text;
    assert_eq!(faults(&tab), [""; 0]);
    // The schedule is in Asia/Shanghai.
    assert!(tab.contains("2099-12-31T18:00:00Z"), "{tab}");
}

#[tokio::test]
async fn form_of_an_earlier_revision_shows_the_changes_since_and_keeps_its_values() {
    let world = World::with_jobs().await;
    let form = world.get(EDIT).await.text;
    let values = [("step", "preview"), ("cron", "0 30 4 * * ?")];
    let preview = world.post(EDIT, &form_of(&form, &values)).await.text;
    changed_by_another(&world, |config| config.sharding_total_count = 5).await;
    let write = form_of(&preview, &[("step", "write"), ("why", "later")]);
    for request in [write, form_of(&form, &values)] {
        let answer = world.post(EDIT, &request).await;
        assert_eq!(answer.status, StatusCode::PRECONDITION_FAILED, "{}", answer.text);
        assert_eq!(faults(&answer.text), [""; 0]);
        let row = "<code>sharding_total_count</code></th><td class=\"text\"><del><code>2</code>";
        assert!(answer.text.contains(row), "{}", answer.text);
        assert!(answer.text.contains("name=\"cron\" value=\"0 30 4 * * ?\""));
        assert!(answer.text.contains("name=\"sharding_total_count\" value=\"5\""));
    }
    let config = world.job("report").await.config().unwrap().clone();
    assert_eq!(config.cron.as_deref(), Some("0 0 2 * * ?"));
    assert_eq!(config.sharding_total_count, 5);
}

#[tokio::test]
async fn invalid_values_are_named_beside_their_controls_and_nothing_is_written() {
    let world = World::with_jobs().await;
    let form = world.get(EDIT).await.text;
    let before = world.job("report").await.config_revision();
    for (field, value, valid) in [
        ("cron", "every day", "a Quartz expression"),
        ("time_zone", "Mars/Olympus", "an IANA name"),
        ("sharding_total_count", "many", "1 to 100000"),
        ("jitter", "<b>", "none, or a duration"),
        ("strategy", "dice", "one of"),
        ("catch_up", "5", "a number of fires within a duration"),
    ] {
        let edit = form_of(&form, &[("step", "preview"), (field, value)]);
        let answer = world.post(EDIT, &edit).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}: {}", answer.text);
        assert_eq!(faults(&answer.text), [""; 0], "{field}");
        let fault = answer.text.split(&format!("id=\"fault-{field}\"")).nth(1);
        let fault = fault.unwrap_or_else(|| panic!("{field}: {}", answer.text));
        assert!(fault.split("</p>").next().unwrap().contains(valid), "{field}: {fault}");
        let described_by = format!("aria-describedby=\"fault-{field} example-{field}\"");
        assert!(answer.text.contains(&described_by), "{field}: {}", answer.text);
    }
    // All faults are named at once: those of values that cannot be read, and of checks.
    let wrong =
        [("jitter", "soon"), ("cron", "every day"), ("strategy", "dice"), ("catch_up", "5")];
    let changes: Vec<_> = [("step", "preview")].into_iter().chain(wrong).collect();
    let answer = world.post(EDIT, &form_of(&form, &changes)).await;
    assert_eq!(faults(&answer.text), [""; 0]);
    for (field, _) in wrong {
        let count = answer.text.matches(&format!("id=\"fault-{field}\"")).count();
        assert_eq!(count, 1, "{field}: {}", answer.text);
    }
    let preview = form_of(&form, &[("step", "preview"), ("cron", "0 30 4 * * ?")]);
    let preview = world.post(EDIT, &preview).await.text;
    let answer = world.post(EDIT, &form_of(&preview, &[("step", "write"), ("why", " ")])).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.text.contains("id=\"fault-why\""), "{}", answer.text);
    assert_eq!(world.job("report").await.config_revision(), before);
}

#[tokio::test]
async fn form_without_edits_changes_no_byte_and_escapes_foreign_texts() {
    let world = World::with_jobs().await;
    let form = world.get(EDIT).await.text;
    assert!(form.contains("0=&lt;b&gt;Beijing"), "{form}");
    let preview = world.post(EDIT, &form_of(&form, &[("step", "preview")])).await.text;
    assert!(preview.contains("Nothing changes."), "{preview}");
    let hostile = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect::<String>();
    let page = format!("/n/orders/jobs/{}/configuration/edit", hostile.replace('+', "%20"));
    let page = world.get(&page).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(!page.text.contains("<img"));
    assert_eq!(faults(&page.text), [""; 0]);
}

#[tokio::test]
async fn fields_with_few_values_are_chosen_and_a_queue_has_its_length() {
    let world = World::with_jobs().await;
    let form = world.get(EDIT).await.text;
    for expected in [
        "<select id=\"c-repeated_hour\" name=\"repeated_hour\"><option value=\"\" selected>",
        "<option value=\"both\">",
        "<select id=\"c-overlap\" name=\"overlap\"><option value=\"\" selected>",
        "<option value=\"queue\">",
    ] {
        assert!(form.contains(expected), "{expected}: {form}");
    }
    let without = form_of(&form, &[("step", "preview"), ("overlap", "queue")]);
    let refused = world.post(EDIT, &without).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    assert_eq!(faults(&refused.text), [""; 0]);
    assert!(refused.text.contains("valid is cancel, queue 1 to queue 100"), "{}", refused.text);
    assert!(refused.text.contains("<option value=\"queue\" selected>"), "{}", refused.text);

    let changes = [("step", "preview"), ("overlap", "queue"), ("overlap.queue", "7")];
    let preview = world.post(EDIT, &form_of(&form, &changes)).await.text;
    let row = "<del><span class=\"dim\">– (misfire alone decides)</span></del></td>\
               <td class=\"text\"><ins><code>queue 7</code></ins>";
    assert!(preview.contains(row), "{preview}");
    let write = form_of(&preview, &[("step", "write"), ("why", "each fire counts")]);
    world.post(EDIT, &write).await;
    let written = world.job("report").await.config().unwrap().overlap;
    assert_eq!(written.map(|overlap| overlap.to_string()).as_deref(), Some("queue 7"));
    world.until(&TAB[1..], |page| page.contains("<code>queue 7</code>")).await;
    let form = world.get(EDIT).await.text;
    assert!(form.contains("<option value=\"queue\" selected>"), "{form}");
    assert!(form.contains("max=\"100\" value=\"7\""), "{form}");

    let changes = [("step", "preview"), ("overlap", "parallel"), ("overlap.queue", "3")];
    let preview = world.post(EDIT, &form_of(&form, &changes)).await.text;
    let write = form_of(&preview, &[("step", "write"), ("why", "runs are long")]);
    world.post(EDIT, &write).await;
    world.until(&TAB[1..], |page| page.contains("<code>parallel 3</code>")).await;
    let form = world.get(EDIT).await.text;
    assert!(form.contains("<option value=\"parallel\" selected>"), "{form}");
    assert!(form.contains("max=\"100\" value=\"3\""), "{form}");
    assert!(form.contains("parallel: each runs at once</option>"), "{form}");
    let zh = world.get(&format!("{EDIT}?lang=zh")).await.text;
    assert!(zh.contains("parallel：立即并行运行</option>"), "{zh}");
}

#[tokio::test]
async fn fields_without_a_value_have_a_dash_and_its_meaning() {
    let world = World::with_jobs().await;
    let tab = world.get(TAB).await.text;
    let fields = tab.split("former-title").next().unwrap();
    for expected in ["– (no time is excluded)", "– (no limit)", "– (not set)"] {
        assert!(fields.contains(expected), "{expected}: {fields}");
    }
    assert!(!fields.contains("<code>&quot;&quot;</code>"), "{fields}");
    let zh = world.get(&format!("{TAB}?lang=zh")).await.text;
    assert!(zh.contains("– (不排除任何时间)"), "{zh}");
}
