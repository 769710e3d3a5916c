import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import org.apache.shardingsphere.elasticjob.api.JobConfiguration;
import org.apache.shardingsphere.elasticjob.infra.pojo.JobConfigurationPOJO;
import org.apache.shardingsphere.elasticjob.infra.yaml.YamlEngine;
import org.apache.shardingsphere.elasticjob.tracing.api.TracingConfiguration;
import org.apache.shardingsphere.elasticjob.tracing.rdb.datasource.DataSourceConfiguration;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Lets the released classes of ElasticJob 3.0.4 write and read configurations; see README.md beside it. */
final class Golden3 {
    private Golden3() {
    }

    public static void main(final String[] args) throws Exception {
        switch (args[0]) {
            case "configs":
                Rows.complete(row -> row.addProperty("yaml", configured(row.getAsJsonObject("fields"))));
                break;
            case "texts":
                Rows.complete(Golden3::write);
                break;
            case "reader":
                Rows.complete(row -> row.addProperty("java", Rows.outcome(() -> read(row.get("document").getAsString()))));
                break;
            case "tracing":
                tracing();
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    /** Writes a text where a value stands, a value in a mapping, a key, and an element of a list. */
    private static void write(final JsonObject row) {
        String text = row.get("text").getAsString();
        JobConfiguration.Builder builder = JobConfiguration.newBuilder("j", 1).jobParameter(text);
        row.addProperty("value", field(builder.build(), "jobParameter"));
        row.addProperty("nested", field(JobConfiguration.newBuilder("j", 1).setProperty("k", text).build(), "props"));
        row.addProperty("key", field(JobConfiguration.newBuilder("j", 1).setProperty(text, "v").build(), "props"));
        row.addProperty("item", field(JobConfiguration.newBuilder("j", 1).jobListenerTypes(text).build(), "jobListenerTypes"));
    }

    /** Returns one field of a document: it comes after the same line, and before the same, whatever it holds. */
    private static String field(final JobConfiguration config, final String name) {
        String yaml = marshal(config);
        int begin = yaml.indexOf("\n" + name + ":") + 1;
        String next = "jobParameter".equals(name) ? "\nmaxTimeDiffSeconds:"
                : "props".equals(name) ? "\nreconcileIntervalMinutes:" : "\njobName:";
        return yaml.substring(begin, yaml.lastIndexOf(next) + 1);
    }

    private static String marshal(final JobConfiguration config) {
        return YamlEngine.marshal(JobConfigurationPOJO.fromJobConfiguration(config));
    }

    private static String read(final String document) {
        return marshal(YamlEngine.unmarshal(document, JobConfigurationPOJO.class).toJobConfiguration());
    }

    private static String configured(final JsonObject fields) {
        JobConfiguration.Builder builder = JobConfiguration
                .newBuilder(text(fields, "jobName"), fields.get("shardingTotalCount").getAsInt())
                .cron(text(fields, "cron"))
                .timeZone(text(fields, "timeZone"))
                .shardingItemParameters(text(fields, "shardingItemParameters"))
                .jobParameter(text(fields, "jobParameter"))
                .monitorExecution(fields.get("monitorExecution").getAsBoolean())
                .failover(fields.get("failover").getAsBoolean())
                .misfire(fields.get("misfire").getAsBoolean())
                .maxTimeDiffSeconds(fields.get("maxTimeDiffSeconds").getAsInt())
                .reconcileIntervalMinutes(fields.get("reconcileIntervalMinutes").getAsInt())
                .jobShardingStrategyType(text(fields, "jobShardingStrategyType"))
                .jobExecutorServiceHandlerType(text(fields, "pool"))
                .jobErrorHandlerType(text(fields, "jobErrorHandlerType"))
                .description(text(fields, "description"))
                .disabled(fields.get("disabled").getAsBoolean())
                .overwrite(fields.get("overwrite").getAsBoolean())
                .label(text(fields, "label"))
                .staticSharding(fields.get("staticSharding").getAsBoolean());
        List<String> listeners = new ArrayList<>();
        fields.getAsJsonArray("jobListenerTypes").forEach(each -> listeners.add(each.getAsString()));
        builder.jobListenerTypes(listeners.toArray(new String[0]));
        for (Map.Entry<String, JsonElement> each : fields.getAsJsonObject("props").entrySet()) {
            builder.setProperty(each.getKey(), each.getValue().getAsString());
        }
        return marshal(builder.build());
    }

    /** Prints a document with event tracing, the one thing that 3.x keeps among its extra configurations. */
    private static void tracing() {
        DataSourceConfiguration source = new DataSourceConfiguration("com.zaxxer.hikari.HikariDataSource");
        source.getProps().putAll(Collections.singletonMap("jdbcUrl", "jdbc:mysql://db:3306/jobs?useSSL=false"));
        source.getProps().putAll(Collections.singletonMap("username", "job"));
        source.getProps().putAll(Collections.singletonMap("maximumPoolSize", 10));
        System.out.print(marshal(JobConfiguration.newBuilder("traced", 3)
                .cron("0/5 * * * * ?")
                .timeZone("GMT+8:00")
                .jobExecutorServiceHandlerType("SINGLE_THREAD")
                .jobErrorHandlerType("EMAIL")
                .jobListenerTypes("first", "second")
                .jobShardingStrategyType("ODEVITY")
                .label("blue")
                .setProperty("email.host", "mail")
                .addExtraConfigurations(new TracingConfiguration<>("RDB", source))
                .build()));
    }

    private static String text(final JsonObject fields, final String name) {
        JsonElement value = fields.get(name);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }
}
