import com.dangdang.ddframe.job.config.JobCoreConfiguration;
import com.dangdang.ddframe.job.config.JobTypeConfiguration;
import com.dangdang.ddframe.job.config.dataflow.DataflowJobConfiguration;
import com.dangdang.ddframe.job.config.script.ScriptJobConfiguration;
import com.dangdang.ddframe.job.config.simple.SimpleJobConfiguration;
import com.dangdang.ddframe.job.lite.config.LiteJobConfiguration;
import com.dangdang.ddframe.job.lite.internal.config.LiteJobConfigurationGsonFactory;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import java.util.Map;

/** Lets the released classes of Elastic-Job-Lite 2.1.5 write and read configurations; see README.md beside it. */
final class Golden2 {
    private Golden2() {
    }

    public static void main(final String[] args) throws Exception {
        switch (args[0]) {
            case "configs":
                Rows.complete(row -> row.addProperty("json", configured(row.getAsJsonObject("fields"))));
                break;
            case "texts":
                Rows.complete(row -> row.addProperty("json", written(row.get("text").getAsString())));
                break;
            case "reader":
                Rows.complete(row -> row.addProperty("java", Rows.outcome(() -> read(row.get("document").getAsString()))));
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    /** Returns a text as it stands in a document. */
    private static String written(final String text) {
        JobCoreConfiguration core = JobCoreConfiguration.newBuilder("j", "0/1 * * * * ?", 3).jobParameter(text).build();
        LiteJobConfiguration config = LiteJobConfiguration.newBuilder(new SimpleJobConfiguration(core, "a.b.C")).build();
        String json = LiteJobConfigurationGsonFactory.toJson(config);
        String before = "\"jobParameter\":";
        return json.substring(json.indexOf(before) + before.length(), json.indexOf(",\"failover\":"));
    }

    private static String read(final String document) {
        LiteJobConfiguration config = LiteJobConfigurationGsonFactory.fromJson(document);
        return config == null ? "null" : LiteJobConfigurationGsonFactory.toJson(config);
    }

    private static String configured(final JsonObject fields) {
        JobCoreConfiguration.Builder core = JobCoreConfiguration
                .newBuilder(text(fields, "jobName"), text(fields, "cron"), fields.get("shardingTotalCount").getAsInt())
                .shardingItemParameters(text(fields, "shardingItemParameters"))
                .jobParameter(text(fields, "jobParameter"))
                .failover(fields.get("failover").getAsBoolean())
                .misfire(fields.get("misfire").getAsBoolean())
                .description(text(fields, "description"));
        for (Map.Entry<String, JsonElement> each : fields.getAsJsonObject("jobProperties").entrySet()) {
            core.jobProperties(each.getKey(), each.getValue().getAsString());
        }
        return LiteJobConfigurationGsonFactory.toJson(LiteJobConfiguration.newBuilder(typed(fields, core.build()))
                .monitorExecution(fields.get("monitorExecution").getAsBoolean())
                .maxTimeDiffSeconds(fields.get("maxTimeDiffSeconds").getAsInt())
                .monitorPort(fields.get("monitorPort").getAsInt())
                .jobShardingStrategyClass(text(fields, "jobShardingStrategyClass"))
                .reconcileIntervalMinutes(fields.get("reconcileIntervalMinutes").getAsInt())
                .disabled(fields.get("disabled").getAsBoolean())
                .overwrite(fields.get("overwrite").getAsBoolean())
                .build());
    }

    private static JobTypeConfiguration typed(final JsonObject fields, final JobCoreConfiguration core) {
        switch (text(fields, "jobType")) {
            case "SIMPLE":
                return new SimpleJobConfiguration(core, text(fields, "jobClass"));
            case "DATAFLOW":
                return new DataflowJobConfiguration(core, text(fields, "jobClass"), fields.get("streamingProcess").getAsBoolean());
            default:
                return new ScriptJobConfiguration(core, text(fields, "scriptCommandLine"));
        }
    }

    private static String text(final JsonObject fields, final String name) {
        JsonElement value = fields.get(name);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }
}
