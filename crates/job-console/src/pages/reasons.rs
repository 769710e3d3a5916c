//! Reasons why a job or an item does not run, as sentences with links.

use coordination::{AuditRecord, ServerIp, ServerState};
use jiff::Timestamp;
use maud::{Markup, html};
use operations::{JobLine, JobSnapshot, WhyNot};

use super::cx::Cx;
use super::locale::Lang;
use super::summary::Late;
use super::time::with_times;
use super::widgets::instance;

/// Returns a reason as a sentence in the language of the reader.
pub(crate) fn reason(cx: &Cx<'_>, zone: Option<&str>, why: &WhyNot) -> Markup {
    match (cx.lang(), why) {
        (_, WhyNot::Runs { holder: Some(holder), since_ms: Some(since) }) => html! {
            (instance(cx, holder)) " " (cx.lang().runs_since()) " " (at(cx, *since, zone))
        },
        (_, WhyNot::OwnerGone { owner }) => {
            html! { (cx.lang().owner_gone()) " " (instance(cx, owner)) }
        }
        (_, WhyNot::WaitsForFire { at_ms }) => {
            html! { (cx.lang().waits_for_fire()) " " (at(cx, *at_ms, zone)) }
        }
        (_, WhyNot::NextFire { at_ms }) => {
            html! { (cx.lang().next_fire()) " " (at(cx, *at_ms, zone)) }
        }
        (lang, WhyNot::NextFireMissed { at_ms, unless }) => {
            html! { (lang.fire_missed_unless(*unless)) " " (at(cx, *at_ms, zone)) }
        }
        (lang, WhyNot::DelayNotBegun { fire_ms }) => {
            html! { (lang.delay_not_begun()) " " (at(cx, *fire_ms, zone)) }
        }
        (lang, WhyNot::WaitsForRate { rate, at_ms }) => {
            html! { (lang.rate_reached(rate)) " " (at(cx, *at_ms, zone)) }
        }
        (Lang::Chinese, WhyNot::WaitsForGroupRate { group, rate, at_ms }) => html! {
            "组 " (group) " 已达到启动速率（" (rate) "）；下一次运行最早启动于 " (at(cx, *at_ms, zone))
        },
        (lang, WhyNot::Gap { items, first_ms, until_ms, count }) => html! {
            (lang.fires_not_run(*count, items.len()))
            " (" (at(cx, *first_ms, zone)) " – " (at(cx, *until_ms, zone)) ")"
        },
        (lang, WhyNot::Excluded { exclusion, until_ms }) => html! {
            (lang.excluded()) (lang.colon()) (exclusion)
            @if let Some(until) = until_ms { " " (lang.until()) " " (at(cx, *until, zone)) }
        },
        (lang, WhyNot::Late { item, due_ms, runs }) => html! {
            @if *runs { (lang.item_runs_long(*item)) } @else { (lang.fire_not_begun(*item)) }
            " (" (at(cx, *due_ms, zone)) ")"
        },
        (Lang::English, why) => with_times(cx, zone, &sentence(&why.to_string())),
        (Lang::Chinese, why) => match chinese(why) {
            Some(text) => with_times(cx, zone, &text),
            // Kinds that a later version adds have only their English sentence.
            None => html! { span lang="en" { (why) } },
        },
    }
}

fn at(cx: &Cx<'_>, ms: i64, zone: Option<&str>) -> Markup {
    html! { @if let Ok(at) = Timestamp::from_millisecond(ms) { (cx.when(at, zone)) } }
}

/// Returns a text with a capital letter at its begin.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Maximum number of recorded changes that a sentence names.
const MAX_CHANGES: usize = 3;

/// Returns a reason of a whole job. Servers that one change holds back are counted if they are all
/// that are held back, and listed with the change of each otherwise.
pub(crate) fn of_job(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, why: &WhyNot) -> Markup {
    let (lang, live, zone) = (cx.lang(), line.live_servers, line.time_zone.as_deref());
    if let WhyNot::Paused { all, items, .. } = why {
        let begin = lang.servers_paused(line.paused_servers, live);
        let effect = (!all).then(|| lang.paused_items_wait(*items));
        held_back(cx, zone, &begin, &changes(job, ServerState::Paused), effect.as_deref())
    } else if let WhyNot::ServersDisabled { servers } = why {
        let begin = lang.servers_disabled(servers.len(), live);
        let effect = lang.disabled_without_items();
        held_back(cx, zone, &begin, &changes(job, ServerState::Disabled), Some(&effect))
    } else {
        reason(cx, zone, why)
    }
}

fn held_back(
    cx: &Cx<'_>,
    zone: Option<&str>,
    begin: &str,
    changes: &[Change<'_>],
    effect: Option<&str>,
) -> Markup {
    let lang = cx.lang();
    let is_listed = changes.len() > 1;
    let more = changes.len().saturating_sub(MAX_CHANGES);
    html! {
        (begin)
        @if is_listed { (lang.colon()) }
        @for (n, (by, servers)) in changes.iter().take(MAX_CHANGES).enumerate() {
            @if n > 0 { (lang.semicolon()) }
            @if is_listed { (servers.join(", ")) }
            @if let Some(record) = by {
                " " (lang.by(&record.who)) " " (at(cx, record.at_ms, zone)) (lang.colon()) (record.why)
            }
        }
        @if more > 0 { (lang.semicolon()) (lang.and_more(more)) }
        @if let Some(effect) = effect { (lang.stop()) " " (effect) }
    }
}

/// A recorded change, if it is known, and the servers that it holds back.
type Change<'a> = (Option<&'a AuditRecord>, Vec<String>);

/// Returns the changes by which servers with live instances are in this state.
fn changes(job: &JobSnapshot, state: ServerState) -> Vec<Change<'_>> {
    let mut changes: Vec<Change<'_>> = Vec::new();
    let is_meant =
        |(ip, is): &(&ServerIp, ServerState)| *is == state && job.instances_on(ip).next().is_some();
    for (ip, _) in job.view().servers().filter(is_meant) {
        let by = job.held_by(ip);
        let id = by.map(|record| &record.id);
        match changes.iter_mut().find(|(one, _)| one.map(|record| &record.id) == id) {
            Some((_, servers)) => servers.push(ip.to_string()),
            None => changes.push((by, vec![ip.to_string()])),
        }
    }
    changes
}

/// Maximum number of late items that a sentence names. All are counted.
const MAX_ITEMS: usize = 5;

/// Returns why a job is late: its late items if they are several, and the reason of the earliest.
pub(crate) fn late(cx: &Cx<'_>, job: &JobSnapshot, late: &Late) -> Markup {
    let (Late { first, items }, name) = (late, job.job().as_str());
    let item = first.item.index();
    let holder = if first.runs { job.runner(first.item) } else { None };
    let more = items.len().saturating_sub(MAX_ITEMS);
    html! {
        @if items.len() > 1 {
            b { (cx.lang().n_late(items.len())) } (cx.lang().colon())
            @for (n, item) in items.iter().take(MAX_ITEMS).enumerate() {
                @if n > 0 { ", " }
                a href={ (cx.job(name)) "?item=" (item) } { (item) }
            }
            @if more > 0 { " " (cx.lang().and_more(more)) }
            " (" a href={ (cx.job(name)) "?show=late" } { (cx.lang().show_all()) } ")" (cx.lang().stop()) " "
        }
        @if first.runs { (cx.lang().item_runs_long(item)) }
        @else { (cx.lang().fire_not_begun(item)) }
        @if let Some(holder) = holder {
            " " (cx.lang().held_by()) " " (instance(cx, holder.as_str()))
        }
    }
}

fn listed(servers: &[String]) -> String {
    let servers = servers.iter().map(|text| Lang::Chinese.held_back(text));
    servers.collect::<Vec<_>>().join("；")
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "clippy takes kinds that two arms cover together for not covered"
)]
fn chinese(why: &WhyNot) -> Option<String> {
    Some(match why {
        WhyNot::NoConfig => "注册中心中有该作业的节点，但没有配置".to_owned(),
        WhyNot::BadConfig { fault } => format!("配置无法使用：{fault}"),
        WhyNot::OnRequestOnly => "该作业没有调度，只按请求运行".to_owned(),
        WhyNot::NeverAgain => "调度不再触发".to_owned(),
        WhyNot::NoLiveInstance => "没有存活的实例".to_owned(),
        WhyNot::NoProcessWithTemplate { template, label: None } => {
            format!("没有存活的进程提供该作业的模板 {template}")
        }
        WhyNot::NoProcessWithTemplate { template, label: Some(label) } => {
            format!("没有存活的进程提供该作业的模板 {template} 并接受其标签 {label}")
        }
        WhyNot::NoAvailableInstance { servers } => {
            format!("没有可用的实例：{}", listed(servers))
        }
        WhyNot::Paused { servers, all: true, .. } => {
            format!("所有服务器均已暂停，恢复之前没有分片启动：{}", listed(servers))
        }
        WhyNot::Paused { servers, all: false, items: 0 } => {
            format!(
                "部分服务器已暂停，它们不拥有分片，所有分片在其他服务器上启动：{}",
                listed(servers)
            )
        }
        WhyNot::Paused { servers, all: false, .. } => {
            format!("部分服务器已暂停，其分片在恢复之前不会启动：{}", listed(servers))
        }
        WhyNot::ServersDisabled { servers } => {
            format!("部分服务器已禁用，其实例不分配分片：{}", listed(servers))
        }
        WhyNot::NoLeader => "没有主节点，因此分片未分配".to_owned(),
        WhyNot::Resharding => "已请求重新分片，完成之前 Java 实例不会启动任何分片".to_owned(),
        WhyNot::NoSuchItem => "该作业没有此分片".to_owned(),
        WhyNot::ItemDisabled { said: None } => "该分片已禁用".to_owned(),
        WhyNot::ItemDisabled { said: Some(said) } => {
            format!("该分片已禁用（{}）", Lang::Chinese.held_back(said))
        }
        WhyNot::ItemsDisabled { items } => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("已禁用的分片：{}", items.join("、"))
        }
        WhyNot::OrphanedItems { items } => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("运行下列分片的实例已离开，其运行等待接管：{}", items.join("、"))
        }
        WhyNot::NoOwner => "该分片没有所有者".to_owned(),
        WhyNot::OwnerGone { owner } => format!("该分片的所有者 {owner} 已离开"),
        WhyNot::OwnerHeldBack { owner, server } => {
            format!("该分片的所有者是 {owner}，而{}", Lang::Chinese.held_back(server))
        }
        WhyNot::Runs { holder, .. } => {
            format!("{} 正在运行该分片", holder.as_deref().unwrap_or("某实例"))
        }
        WhyNot::RunsInAllSlots { limit, runs } => {
            let (n, list) = (runs.len(), runs.join("，"));
            format!("该分片有 {n} 个未完成的运行，overlap 最多允许 {limit} 个：{list}")
        }
        WhyNot::WaitsForPlace { holder, limit, waiting, .. } => {
            format!(
                "{waiting} 个运行在 {holder} 的进程中等待名额：该进程的所有作业最多同时运行 {limit} 个"
            )
        }
        WhyNot::WaitsForPermit { limit, held, taken } => {
            format!("等待该作业的许可（集群上限 {limit}，已占用 {taken}）：{}", held.join("；"))
        }
        WhyNot::Queued { waiting, limit, .. } => {
            let full =
                if waiting < limit { "" } else { "；队列已满，该分片会跳过触发" };
            format!("{waiting} 次触发在该分片的队列中等待（上限 {limit}）{full}")
        }
        WhyNot::FullQueues { items, limit } => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("下列分片的队列已满（上限 {limit}），会跳过触发：{}", items.join("、"))
        }
        WhyNot::Cancelled { by, why, .. } => {
            format!("{by} 已取消其运行：{why}；由其持有者或主节点结束")
        }
        WhyNot::MarkedOnly { holder } => {
            format!("{holder} 将该分片标记为运行中，但其记录中没有运行；标记存在期间没有实例启动它")
        }
        WhyNot::Orphaned { holder } => {
            format!("{} 已离开，其运行等待接管", holder.as_deref().unwrap_or("某实例"))
        }
        WhyNot::BadRecord => "该分片的记录无法读取，因此没有实例运行它".to_owned(),
        WhyNot::NewerRecord { node, fault } => {
            format!("由于 {node}，此版本的实例不启动任何分片：{fault}")
        }
        WhyNot::FutureFire { item, .. } => {
            format!("分片 {item} 的记录已结算未来的触发，更早的触发不会启动；请在诊断页查看")
        }
        WhyNot::PendingMove { to } => format!("该分片将尽快移至 {to}"),
        WhyNot::Backfilling { id, done, total, by, waits } => {
            let waits =
                if *waits { "；等待作业受监控且没有 Java 实例参与" } else { "" };
            format!("{by} 请求的补跑 {id} 正在进行：已完成 {total} 次触发中的 {done} 次{waits}")
        }
        WhyNot::Failing { items, of, failure } => {
            let shown = |text: &String| {
                let known = Lang::Chinese.reason_of_outcome("interrupted", text);
                known.unwrap_or_else(|| text.clone())
            };
            let last = failure.as_ref().map(|text| format!("；最近的原因：{}", shown(text)));
            let last = last.unwrap_or_default();
            format!("{of} 个分片中有 {} 个上次运行失败{last}", items.len())
        }
        WhyNot::WaitsForGroup { group, limit, taken, held } => {
            format!("等待组 {group} 的许可（{limit} 个中已占用 {taken} 个）：{}", held.join("；"))
        }
        WhyNot::WaitsInLine { group, ahead } => {
            format!("在组 {group} 的队伍中等待，排在前面的有：{}", ahead.join("、"))
        }
        WhyNot::UnreadableGroup { group } => {
            format!("无法读取组 {group} 的上限，其作业不开始运行；请用 ejob group set 重新设置")
        }
        WhyNot::WaitsForFire { .. } | WhyNot::NextFire { .. } => return None,
        WhyNot::WaitsForRate { .. } | WhyNot::DelayNotBegun { .. } => return None,
        WhyNot::NextFireMissed { .. } | WhyNot::Gap { .. } => return None,
        _ => return None,
    })
}
