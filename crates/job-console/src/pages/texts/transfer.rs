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
        "The jobs or groups have changed since this plan was shown. Check it again."
        | "显示此计划之后作业或组已变化，请重新检查。";
    changes() "Changes" | "更改";
    import_creates() "created" | "创建";
    import_replaces() "replaced" | "替换";
    import_same() "unchanged" | "不变";
    import_stays() "differs, stays" | "不同，保留";
    import_refused() "refused" | "拒绝";
    apply_files() "Apply job files" | "应用作业文件";
    apply_hint()
        "The namespace gets the jobs and the limits of groups that the file declares, as by ejob apply. The plan is shown before anything is written."
        | "命名空间将具有文件声明的作业和组的上限，与 ejob apply 相同。写入之前会显示计划。";
    apply() "Apply" | "应用";
    apply_removes() "removed" | "移除";
    job_file() "Job file, as a worker reads it" | "作业文件（与工作进程读取的相同）";
    language_of_file() "Language of the file" | "文件格式";
    owner_of_files()
        "Owner: the name of this set of files. Only its own jobs are removed."
        | "所有者：这组文件的名称。只会移除它自己的作业。";
    prune()
        "Remove the jobs that this owner created and the file does not declare"
        | "移除由该所有者创建、但文件未声明的作业";
}

counts! {
    download_jobs(n) "Download 1 job", "Download {n} jobs" | "下载 {n} 个作业";
    jobs_to_remove(n) "1 job is removed:", "{n} jobs are removed:" | "将移除 {n} 个作业：";
    refused_while_alive(n)
        "Refused while its instance is alive.", "Refused while its {n} instances are alive."
        | "有 {n} 个存活实例，移除会被拒绝。";
    not_compared(n)
        "1 job could not be read, and may be one to remove:", "{n} jobs could not be read, and may be some to remove:"
        | "{n} 个作业无法读取，其中可能有应移除的：";
    left_out_of_export(n) "1 job is left out:", "{n} jobs are left out:" | "{n} 个作业未导出：";
}
