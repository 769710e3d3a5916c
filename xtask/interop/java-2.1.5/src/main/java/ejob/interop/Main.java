package ejob.interop;

import com.dangdang.ddframe.job.config.JobCoreConfiguration;
import com.dangdang.ddframe.job.config.simple.SimpleJobConfiguration;
import com.dangdang.ddframe.job.lite.api.JobScheduler;
import com.dangdang.ddframe.job.lite.config.LiteJobConfiguration;
import com.dangdang.ddframe.job.lite.internal.schedule.JobRegistry;
import com.dangdang.ddframe.job.reg.base.CoordinatorRegistryCenter;
import com.dangdang.ddframe.job.reg.zookeeper.ZookeeperConfiguration;
import com.dangdang.ddframe.job.reg.zookeeper.ZookeeperRegistryCenter;
import com.google.gson.JsonObject;

import java.io.IOException;

/** The worker of ElasticJob 2.1.5. */
public final class Main implements Dialect {

    private final Registry registry;

    private final CoordinatorRegistryCenter center;

    private Lifecycle lifecycle;

    private Main(Registry registry) {
        ZookeeperConfiguration config = new ZookeeperConfiguration(registry.addresses, registry.namespace);
        config.setSessionTimeoutMilliseconds(registry.sessionMs);
        this.registry = registry;
        center = new ZookeeperRegistryCenter(config);
        center.init();
    }

    public static void main(String[] args) throws IOException {
        Worker.live(Main::new);
    }

    @Override
    public String schedule(JobPlan plan) {
        JobCoreConfiguration core = JobCoreConfiguration.newBuilder(plan.name, plan.cron, plan.total)
            .shardingItemParameters(plan.itemParameters)
            .jobParameter(plan.jobParameter)
            .failover(plan.failover)
            .misfire(plan.misfire)
            .build();
        LiteJobConfiguration config = LiteJobConfiguration
            .newBuilder(new SimpleJobConfiguration(core, InteropJob.class.getCanonicalName()))
            .monitorExecution(plan.monitorExecution)
            .monitorPort(registry.dumpPort)
            .jobShardingStrategyClass(plan.strategy)
            .reconcileIntervalMinutes(plan.reconcileIntervalMinutes)
            .overwrite(plan.overwrite)
            .build();
        new JobScheduler(center, config).init();
        return JobRegistry.getInstance().getJobInstance(plan.name).getJobInstanceId();
    }

    @Override
    public Object operate(String call, JsonObject arguments) {
        if (lifecycle == null) {
            lifecycle = new Lifecycle(registry);
        }
        return lifecycle.operate(call, arguments);
    }
}
