//! The texts of the pages in all languages.
//!
//! `messages` has the sentences and labels · `acts` those of operations · `configure` those of
//! changed configurations · `alerts`, `backfill`, `groups`, `timeline`, `transfer`,
//! `verification` those of these pages · `events`, `effects`, `findings` and `schedule` the
//! sentences of other crates, by `patterns` · this file the words of states and kinds.

mod acts;
mod alerts;
mod backfill;
mod configure;
mod effects;
mod events;
mod findings;
mod groups;
mod messages;
mod patterns;
mod schedule;
mod sign_in;
mod timeline;
mod transfer;
mod verification;

use coordination::{JobConfig, NodeKind, Overlap, ServerState};
use maud::Markup;
use operations::{Attention, FireNeed, JobState};

use super::locale::Lang;
use super::prefs::{Theme, ZoneMode};
use super::view::Tab;
use super::widgets::pill;
use crate::access::Role;

impl Lang {
    /// Returns one of two texts.
    pub(super) fn pick(self, english: &str, chinese: &str) -> String {
        match self {
            Self::English => english.to_owned(),
            Self::Chinese => chinese.to_owned(),
        }
    }

    pub(crate) fn job_state(self, state: JobState) -> String {
        match state {
            JobState::Ok => self.pick("OK", "正常"),
            JobState::Failing => self.pick("failing", "失败"),
            JobState::Resharding => self.pick("resharding", "重新分片"),
            JobState::Paused => self.pick("paused", "已暂停"),
            JobState::Disabled => self.pick("disabled", "已禁用"),
            JobState::NoInstance => self.pick("no instance", "无实例"),
            JobState::Crashed => self.pick("crashed", "已崩溃"),
            _ => state.as_str().to_owned(),
        }
    }

    /// Returns the sentence before the time of a fire that is missed unless something happens.
    pub(crate) fn fire_missed_unless(self, need: FireNeed) -> String {
        match need {
            FireNeed::WorkerStarts => self
                .pick("Missed unless a worker starts before:", "若此前没有工作进程启动，将错过："),
            FireNeed::ServerResumed => self.pick(
                "Missed unless a server is resumed before:",
                "若此前没有恢复服务器，将错过：",
            ),
            FireNeed::ServerEnabled => self.pick(
                "Missed unless a server is enabled before:",
                "若此前没有启用服务器，将错过：",
            ),
            FireNeed::InstanceAvailable => self.pick(
                "Missed unless an instance is available before:",
                "若此前没有可用的实例，将错过：",
            ),
            FireNeed::ItemEnabled => self.pick(
                "Missed unless the item is enabled before:",
                "若此前没有启用该分片，将错过：",
            ),
            _ => format!("{need}:"),
        }
    }

    /// Returns why no next fire is announced.
    pub(crate) fn no_fire_unless(self, need: FireNeed) -> String {
        match need {
            FireNeed::WorkerStarts => self.pick(
                "No instance of the job lives: no fire starts until a worker runs it.",
                "没有该作业的存活实例：在工作进程运行它之前，不启动任何触发。",
            ),
            FireNeed::ServerResumed => self.pick(
                "No fire starts while all servers of the job are paused or disabled.",
                "作业的所有服务器均暂停或禁用时，不启动任何触发。",
            ),
            FireNeed::ServerEnabled => self.pick(
                "No fire starts while all servers of the job are disabled.",
                "作业的所有服务器均禁用时，不启动任何触发。",
            ),
            FireNeed::InstanceAvailable => self.pick(
                "No fire starts while all instances of the job are leaving.",
                "作业的所有实例均正在离开时，不启动任何触发。",
            ),
            FireNeed::ItemEnabled => {
                self.pick("No fire starts while the item is disabled.", "该分片禁用时不启动触发。")
            }
            _ => format!("No fire starts unless {need}."),
        }
    }

    /// Returns the sentence about a gap: a number of fires, if it is known, of some items.
    pub(crate) fn fires_not_run(self, count: Option<u32>, items: usize) -> String {
        let of_items = match items {
            1 => "1 item".to_owned(),
            _ => format!("{items} items"),
        };
        match count {
            Some(1) => self.pick(
                &format!("1 fire of {of_items} was not run"),
                &format!("{items} 个分片各有 1 次触发没有运行"),
            ),
            Some(n) => self.pick(
                &format!("{n} fires of {of_items} were not run"),
                &format!("{items} 个分片各有 {n} 次触发没有运行"),
            ),
            None => self.pick(
                &format!("Fires of {of_items} were not run"),
                &format!("{items} 个分片有触发没有运行"),
            ),
        }
    }

    pub(crate) fn attention(self, attention: Attention) -> String {
        match attention {
            Attention::Crashed => self.pick("crashed", "已崩溃"),
            Attention::InvalidConfig => self.pick("bad configuration", "配置错误"),
            Attention::Failing => self.pick("failing", "失败"),
            Attention::Late => self.pick("late", "延迟"),
            Attention::NoInstance => self.pick("no instance", "无实例"),
            Attention::Resharding => self.pick("resharding", "重新分片"),
            Attention::Paused => self.pick("paused", "已暂停"),
            Attention::PartlyPaused => self.pick("partly paused", "部分暂停"),
            _ => self.pick("needs attention", "需要关注"),
        }
    }

    pub(crate) fn why_question(self, attention: Attention) -> String {
        match attention {
            Attention::Crashed => self.pick("Why has it crashed?", "为什么崩溃？"),
            Attention::InvalidConfig => {
                self.pick("Why can the configuration not be used?", "为什么配置无法使用？")
            }
            Attention::Failing => self.pick("Why does it fail?", "为什么失败？"),
            Attention::Late => self.pick("Why is it late?", "为什么延迟？"),
            Attention::NoInstance => self.pick("Why does it not run?", "为什么不运行？"),
            Attention::Resharding => self.pick("Why does it reshard?", "为什么重新分片？"),
            Attention::Paused => self.pick("Why is it paused?", "为什么暂停？"),
            Attention::PartlyPaused => self.pick("Why is it partly paused?", "为什么部分暂停？"),
            _ => self.pick("Why is it in this state?", "为什么处于此状态？"),
        }
    }

    /// Returns the word for an outcome of the records or of the history.
    pub(crate) fn outcome(self, word: &str) -> String {
        match word {
            "succeeded" => self.pick("succeeded", "成功"),
            "failed" => self.pick("failed", "失败"),
            "panicked" => self.pick("panicked", "崩溃"),
            "timed_out" => self.pick("timed out", "超时"),
            "interrupted" => self.pick("interrupted", "已中断"),
            "cancelled" => self.pick("cancelled", "已取消"),
            "disabled" => self.pick("disabled", "已禁用"),
            "running" => self.pick("running", "运行中"),
            "unknown" => self.pick("unknown", "未知"),
            "orphaned" => self.orphaned(),
            "missed" => self.pick("missed", "漏掉"),
            "misfired" => self.pick("misfired", "错过触发"),
            "gap" => self.pick("gap", "空档"),
            other => other.to_owned(),
        }
    }

    pub(crate) fn source(self, word: &str) -> String {
        match word {
            "NORMAL" => self.pick("scheduled", "按调度"),
            "MISFIRE" => self.pick("misfire", "错过补跑"),
            "FAILOVER" => self.pick("failover", "失效转移"),
            "MANUAL" => self.pick("by request", "手动"),
            "BACKFILL" => self.pick("backfill", "补跑"),
            other => other.to_owned(),
        }
    }

    pub(crate) fn server_pill(self, state: ServerState) -> Markup {
        match state {
            ServerState::Enabled => pill("done", &self.pick("enabled", "已启用")),
            ServerState::Paused => pill("wait", &self.pick("paused", "已暂停")),
            ServerState::Disabled => pill("off", &self.pick("disabled", "已禁用")),
        }
    }

    pub(crate) fn role(self, role: Role) -> String {
        match role {
            Role::Viewer => self.pick("viewer", "查看者"),
            Role::Operator => self.pick("operator", "操作员"),
            Role::Admin => self.pick("admin", "管理员"),
        }
    }

    pub(crate) fn theme_name(self, theme: Theme) -> String {
        match theme {
            Theme::System => self.pick("as the system", "跟随系统"),
            Theme::Light => self.pick("light", "浅色"),
            Theme::Dark => self.pick("dark", "深色"),
        }
    }

    pub(crate) fn zone_name(self, zone: ZoneMode) -> String {
        match zone {
            ZoneMode::Job => self.pick("zone of the job", "作业时区"),
            ZoneMode::Browser => self.pick("zone of the browser", "浏览器时区"),
            ZoneMode::Utc => "UTC".to_owned(),
        }
    }

    pub(crate) fn tab(self, tab: Tab) -> String {
        match tab {
            Tab::Now => self.pick("Now", "当前"),
            Tab::Runs => self.runs(),
            Tab::Schedule => self.schedule(),
            Tab::Placement => self.placement(),
            Tab::Configuration => self.configuration(),
            Tab::Verification => self.verification(),
            Tab::Backfills => self.backfills(),
        }
    }

    pub(crate) fn misfire_policy(self, config: &JobConfig) -> String {
        match (config.misfire, config.catch_up, config.overlap) {
            (_, Some(_), _) => {
                self.pick("each missed fire gets a run of its own", "每次漏掉的触发单独补跑")
            }
            (true, None, Some(Overlap::Queue(max))) => match self {
                Lang::English => {
                    format!("fires that meet a running item queue for a run each, at most {max}")
                }
                Lang::Chinese => format!("分片运行期间的触发排队，各自运行一次，最多 {max} 次"),
            },
            (true, None, Some(Overlap::Parallel(max))) => match self {
                Lang::English => {
                    format!("fires run beside unfinished runs of their item, at most {max} at once")
                }
                Lang::Chinese => {
                    format!("触发与同一分片未完成的运行并行，最多同时运行 {max} 个")
                }
            },
            (true, None, Some(_)) => self.pick(
                "fires cancel the scheduled run that they meet, and run once afterwards",
                "触发会取消它遇到的定时运行，并在其结束后补跑一次",
            ),
            (true, None, None) => self.pick(
                "fires that meet a running item run once afterwards",
                "分片运行期间的触发在其结束后补跑一次",
            ),
            (false, None, _) => {
                self.pick("fires that meet a running item are skipped", "分片运行期间的触发被跳过")
            }
        }
    }

    pub(crate) fn problem_title(self, status: u16) -> String {
        match status {
            401 => self.pick("Sign in first", "请先登录"),
            403 => self.pick("Not permitted", "没有权限"),
            404 => self.pick("Not found", "未找到"),
            409 | 412 => self.pick("The state has changed", "状态已改变"),
            400 | 422 => self.pick("Not valid", "无效的请求"),
            502..=504 => self.pick("The registry does not answer", "注册中心没有响应"),
            _ => self.pick("Something is wrong", "出错了"),
        }
    }

    /// Returns the meaning of a node.
    pub(crate) fn node_kind(self, kind: &NodeKind) -> String {
        match kind {
            NodeKind::Config => self.pick("configuration", "配置"),
            NodeKind::Instance(_) => self.pick("registered instance", "已注册实例"),
            NodeKind::Trigger(_) => {
                self.pick("request to an instance to run now", "实例的立即运行请求")
            }
            NodeKind::Server(_) => self.pick("state of a server", "服务器状态"),
            NodeKind::Leader => self.pick("leader", "主节点"),
            NodeKind::Latch(..) => self.pick("place in the queue of a latch", "锁队列中的位置"),
            NodeKind::Necessary => self.pick("resharding is requested", "已请求重新分片"),
            NodeKind::Processing => {
                self.pick("a Java leader is resharding", "Java 主节点正在重新分片")
            }
            NodeKind::FailoverRoot => self.pick("failover queue", "失效转移队列"),
            NodeKind::NextServer => self.pick("server that runs next", "下一次运行的服务器"),
            NodeKind::QueuedItem(item) => self.waiting_item(item.index()),
            NodeKind::Item(item) => self.item_node(item.index()),
            NodeKind::OfItem(item, _) => self.unknown_of_item(item.index()),
            NodeKind::Owner(item) => self.owner_of(item.index()),
            NodeKind::Running(item) => self.mark_of(item.index()),
            NodeKind::Alive(item) => self.alive_of(item.index()),
            NodeKind::Misfire(item) => self.misfire_of(item.index()),
            NodeKind::Failovering(item) | NodeKind::Failover(item) => {
                self.takeover_of(item.index())
            }
            NodeKind::ItemDisabled(item) => self.disabled_item(item.index()),
            NodeKind::Counted(_, item) => self.counted_item(item.index()),
            NodeKind::SystemTime => self.pick("probe of the registry's time", "注册中心时间探测"),
            NodeKind::Ledger(item) => self.record_of(item.index()),
            NodeKind::Term => self.pick("term of the leader", "主节点任期"),
            NodeKind::Servers => self.pick("counter of added servers", "新增服务器计数"),
            NodeKind::Request => self.pick("counter of requests to reshard", "重新分片请求计数"),
            NodeKind::Assignment => self.pick("assignment record", "分配记录"),
            NodeKind::Draining(_) => self.pick("the instance is leaving", "实例正在离开"),
            NodeKind::Waiting(_) => self.pick("runs that wait for a place", "等待名额的运行"),
            NodeKind::Permit(_) => self.pick("permit of a run", "运行许可"),
            NodeKind::Starts => self.pick("last starts of the job", "作业最近的启动"),
            NodeKind::Name(_) => self.pick("stable name of an instance", "实例的稳定名称"),
            NodeKind::TriggerRequest(_) => self.pick("request to run now", "立即运行请求"),
            NodeKind::Once => {
                self.pick("calls of once-per-cluster callbacks", "集群单次回调的调用")
            }
            NodeKind::Checkpoint(item) => self.checkpoint_of(item.index()),
            NodeKind::Progress(item) => self.progress_of(item.index()),
            NodeKind::Audit => self.pick("last audited changes", "最近的审计变更"),
            NodeKind::Backfills => self.pick("backfills", "补跑"),
            NodeKind::FormerConfigs => self.pick("former configurations", "历史配置"),
            NodeKind::Template => self.pick("template of the job", "作业模板"),
            NodeKind::Group(..) => self.pick("limits and permits of a group", "组的限制和许可"),
            _ => self.unknown_node(),
        }
    }
}
