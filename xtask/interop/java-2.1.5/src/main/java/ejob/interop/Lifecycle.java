package ejob.interop;

import com.dangdang.ddframe.job.lite.lifecycle.api.JobAPIFactory;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobOperateAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobSettingsAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.JobStatisticsAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.ServerStatisticsAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.ShardingOperateAPI;
import com.dangdang.ddframe.job.lite.lifecycle.api.ShardingStatisticsAPI;
import com.dangdang.ddframe.job.lite.lifecycle.domain.JobSettings;
import com.dangdang.ddframe.job.lite.lifecycle.domain.ServerBriefInfo;
import com.google.common.base.Optional;
import com.google.gson.JsonObject;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** The lifecycle API of ElasticJob 2.1.5. */
final class Lifecycle {

    private final JobOperateAPI operations;

    private final ShardingOperateAPI items;

    private final JobSettingsAPI settings;

    private final JobStatisticsAPI jobs;

    private final ServerStatisticsAPI servers;

    private final ShardingStatisticsAPI shardings;

    Lifecycle(Registry registry) {
        String addresses = registry.addresses;
        String namespace = registry.namespace;
        Optional<String> digest = Optional.absent();
        operations = JobAPIFactory.createJobOperateAPI(addresses, namespace, digest);
        items = JobAPIFactory.createShardingOperateAPI(addresses, namespace, digest);
        settings = JobAPIFactory.createJobSettingsAPI(addresses, namespace, digest);
        jobs = JobAPIFactory.createJobStatisticsAPI(addresses, namespace, digest);
        servers = JobAPIFactory.createServerStatisticsAPI(addresses, namespace, digest);
        shardings = JobAPIFactory.createShardingStatisticsAPI(addresses, namespace, digest);
    }

    Object operate(String call, JsonObject arguments) {
        String name = Worker.text(arguments, "job");
        Optional<String> job = Optional.fromNullable(name);
        Optional<String> server = Optional.fromNullable(Worker.text(arguments, "server"));
        String item = Worker.text(arguments, "item");
        switch (call) {
            case "trigger":
                operations.trigger(job, server);
                return null;
            case "disable":
                operations.disable(job, server);
                return null;
            case "enable":
                operations.enable(job, server);
                return null;
            case "shutdown":
                operations.shutdown(job, server);
                return null;
            case "remove":
                operations.remove(job, server);
                return null;
            case "disableItem":
                items.disable(name, item);
                return null;
            case "enableItem":
                items.enable(name, item);
                return null;
            case "jobs":
                return jobs.getAllJobsBriefInfo();
            case "servers":
                return servers.getAllServersBriefInfo().stream().map(Lifecycle::plain).collect(Collectors.toList());
            case "sharding":
                return shardings.getShardingInfo(name);
            case "config":
                return settings.getJobSettings(name);
            case "configure":
                return configure(name, arguments);
            case "removeConfig":
                settings.removeJobSettings(name);
                return null;
            default:
                throw new IllegalArgumentException("no such call: " + call);
        }
    }

    private JobSettings configure(String job, JsonObject change) {
        JobSettings config = settings.getJobSettings(job);
        config.setCron(Worker.text(change, "cron", config.getCron()));
        String total = Worker.text(change, "total", String.valueOf(config.getShardingTotalCount()));
        config.setShardingTotalCount(Integer.parseInt(total));
        config.setShardingItemParameters(Worker.text(change, "itemParameters", config.getShardingItemParameters()));
        config.setJobParameter(Worker.text(change, "jobParameter", config.getJobParameter()));
        config.setFailover(Boolean.parseBoolean(Worker.text(change, "failover", String.valueOf(config.isFailover()))));
        config.setMisfire(Boolean.parseBoolean(Worker.text(change, "misfire", String.valueOf(config.isMisfire()))));
        config.setJobShardingStrategyClass(Worker.text(change, "strategy", config.getJobShardingStrategyClass()));
        settings.updateJobSettings(config);
        return config;
    }

    /** Replaces atomic numbers, which have no JSON form. */
    private static Map<String, Object> plain(ServerBriefInfo server) {
        Map<String, Object> plain = new LinkedHashMap<>();
        plain.put("serverIp", server.getServerIp());
        plain.put("instances", server.getInstances());
        plain.put("jobNames", server.getJobNames());
        plain.put("instancesNum", server.getInstancesNum());
        plain.put("jobsNum", server.getJobsNum());
        plain.put("disabledJobsNum", server.getDisabledJobsNum().intValue());
        return plain;
    }
}
