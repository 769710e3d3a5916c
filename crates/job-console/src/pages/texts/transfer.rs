//! Texts of the transfer.

use crate::pages::locale::{counts, messages};

messages! {
    transfer() "Transfer" | "导入导出";
    export() "Export" | "导出";
    export_hint()
        "The file has the stored documents of the matching jobs, which may hold secrets. Import it here or by ejob import."
        | "文件包含匹配作业的存储文档，可能含有机密信息。可在此处或用 ejob import 导入。";
    import() "Import" | "导入";
    import_hint()
        "The plan is shown before anything is written. Jobs that are not in the document stay as they are."
        | "写入之前会显示计划。文档中没有的作业保持不变。";
    exported_document() "Exported document (JSON or YAML)" | "导出的文档（JSON 或 YAML）";
    or_file() "Or read it from a file" | "或从文件读取";
    file_too_large(max: usize)
        "The file is too large: valid are up to {max} bytes."
        | "文件过大：最多 {max} 字节。";
    job_names()
        "Jobs: names or patterns such as report-*, separated by commas"
        | "作业：名称或模式（如 report-*），用逗号分隔";
    replace_different() "Replace configurations that differ" | "替换不同的配置";
    plan_has_changed()
        "The jobs have changed since this plan was shown. Check it again."
        | "显示此计划之后作业已变化，请重新检查。";
    changes() "Changes" | "更改";
    import_creates() "created" | "创建";
    import_replaces() "replaced" | "替换";
    import_same() "unchanged" | "不变";
    import_stays() "differs, stays" | "不同，保留";
    import_refused() "refused" | "拒绝";
}

counts! {
    download_jobs(n) "Download 1 job", "Download {n} jobs" | "下载 {n} 个作业";
    left_out_of_export(n) "1 job is left out:", "{n} jobs are left out:" | "{n} 个作业未导出：";
}
