//! Texts of the sign-in.

use super::patterns::{Patterns, sentences};
use crate::pages::locale::{Lang, messages};

messages! {
    sign_in() "Sign in" | "登录";
    sign_in_with(name: &str) "Sign in with {name}" | "通过 {name} 登录";
    user_name() "User name" | "用户名";
    password() "Password" | "密码";
}

#[cfg(feature = "oidc")]
messages! {
    signed_out() "Signed out" | "已退出登录";
    sign_out_at(name: &str) "Sign out at {name}" | "在 {name} 退出登录";
}

/// Reasons why a sign-in is refused.
const PROBLEMS: &Patterns = &[
    ("The user name or the password is not right.", "用户名或密码不正确。"),
    ("There were too many attempts. Try again in {} s.", "尝试次数过多，请在 {0} 秒后重试。"),
    (
        "Too many users sign in at this moment. Try again in {} s.",
        "当前登录的用户过多，请在 {0} 秒后重试。",
    ),
    (
        "A password is accepted by HTTPS or on this machine only. Open the console by HTTPS.",
        "仅接受通过 HTTPS 或在本机输入的密码。请通过 HTTPS 打开控制台。",
    ),
    (
        "The request is no form and no JSON document with the texts name and password.",
        "请求既不是表单，也不是含有文本 name 和 password 的 JSON 文档。",
    ),
    (
        "The sign-in has expired, or it was begun in another browser or at another address of the console. Begin it again.",
        "登录已过期，或它是在其他浏览器或控制台的其他地址开始的。请重新开始。",
    ),
    ("The identity provider has refused the sign-in: {}.", "身份提供者拒绝了登录：{0}。"),
    (
        "The identity provider cannot be used at the moment. Try again later.",
        "身份提供者目前无法使用，请稍后重试。",
    ),
    (
        "The identity provider's answer is not valid. Begin the sign-in again.",
        "身份提供者的应答无效。请重新登录。",
    ),
    (
        "User {} has no role in this console. Ask its operator for one.",
        "用户 {0} 在此控制台中没有角色。请向其管理员申请。",
    ),
];

impl Lang {
    /// Returns why a sign-in is refused in the language.
    pub(crate) fn sign_in_problem(self, text: &str) -> String {
        let shown = match self {
            Self::English => None,
            Self::Chinese => sentences(text, PROBLEMS, &[]),
        };
        shown.unwrap_or_else(|| text.to_owned())
    }
}
