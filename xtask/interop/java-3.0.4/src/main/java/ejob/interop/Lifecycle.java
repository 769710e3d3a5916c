package ejob.interop;

import com.google.gson.JsonObject;
import org.apache.shardingsphere.elasticjob.infra.pojo.JobConfigurationPOJO;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobAPIFactory;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobConfigurationAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobOperateAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobStatisticsAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.ServerStatisticsAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.ShardingOperateAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.ShardingStatisticsAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.domain.ServerBriefInfo;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** The lifecycle API of ElasticJob 3.0.4. */
final class Lifecycle {

    private final JobOperateAPI operations;

    private final ShardingOperateAPI items;

    private final JobConfigurationAPI configs;

    private final JobStatisticsAPI jobs;

    private final ServerStatisticsAPI servers;

    private final ShardingStatisticsAPI shardings;

    Lifecycle(Registry registry) {
        String addresses = registry.addresses;
        String namespace = registry.namespace;
        operations = JobAPIFactory.createJobOperateAPI(addresses, namespace, null);
        items = JobAPIFactory.createShardingOperateAPI(addresses, namespace, null);
        configs = JobAPIFactory.createJobConfigurationAPI(addresses, namespace, null);
        jobs = JobAPIFactory.createJobStatisticsAPI(addresses, namespace, null);
        servers = JobAPIFactory.createServerStatisticsAPI(addresses, namespace, null);
        shardings = JobAPIFactory.createShardingStatisticsAPI(addresses, namespace, null);
    }

    Object operate(String call, JsonObject arguments) throws IOException {
        String job = Worker.text(arguments, "job");
        String server = Worker.text(arguments, "server");
        String item = Worker.text(arguments, "item");
        switch (call) {
            case "trigger":
                operations.trigger(job);
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
                items.disable(job, item);
                return null;
            case "enableItem":
                items.enable(job, item);
                return null;
            case "jobs":
                return jobs.getAllJobsBriefInfo();
            case "servers":
                return servers.getAllServersBriefInfo().stream().map(Lifecycle::plain).collect(Collectors.toList());
            case "sharding":
                return shardings.getShardingInfo(job);
            case "config":
                return configs.getJobConfiguration(job);
            case "configure":
                return configure(job, arguments);
            case "removeConfig":
                configs.removeJobConfiguration(job);
                return null;
            case "dump":
                return operations.dump(job, server, Integer.parseInt(Worker.text(arguments, "port")));
            default:
                throw new IllegalArgumentException("no such call: " + call);
        }
    }

    private JobConfigurationPOJO configure(String job, JsonObject change) {
        JobConfigurationPOJO config = configs.getJobConfiguration(job);
        config.setCron(Worker.text(change, "cron", config.getCron()));
        String total = Worker.text(change, "total", String.valueOf(config.getShardingTotalCount()));
        config.setShardingTotalCount(Integer.parseInt(total));
        config.setShardingItemParameters(Worker.text(change, "itemParameters", config.getShardingItemParameters()));
        config.setJobParameter(Worker.text(change, "jobParameter", config.getJobParameter()));
        config.setFailover(Boolean.parseBoolean(Worker.text(change, "failover", String.valueOf(config.isFailover()))));
        config.setMisfire(Boolean.parseBoolean(Worker.text(change, "misfire", String.valueOf(config.isMisfire()))));
        config.setJobShardingStrategyType(Worker.text(change, "strategy", config.getJobShardingStrategyType()));
        configs.updateJobConfiguration(config);
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
