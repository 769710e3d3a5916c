package ejob.interop;

import com.google.gson.JsonObject;
import org.apache.shardingsphere.elasticjob.api.JobConfiguration;
import org.apache.shardingsphere.elasticjob.lite.api.bootstrap.impl.ScheduleJobBootstrap;
import org.apache.shardingsphere.elasticjob.lite.internal.schedule.JobRegistry;
import org.apache.shardingsphere.elasticjob.lite.internal.snapshot.SnapshotService;
import org.apache.shardingsphere.elasticjob.reg.base.CoordinatorRegistryCenter;
import org.apache.shardingsphere.elasticjob.reg.zookeeper.ZookeeperConfiguration;
import org.apache.shardingsphere.elasticjob.reg.zookeeper.ZookeeperRegistryCenter;

import java.io.IOException;

/** The worker of ElasticJob 3.0.4. */
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
        if (registry.dumpPort >= 0) {
            new SnapshotService(center, registry.dumpPort).listen();
        }
    }

    public static void main(String[] args) throws IOException {
        Worker.live(Main::new);
    }

    @Override
    public String schedule(JobPlan plan) {
        JobConfiguration.Builder config = JobConfiguration.newBuilder(plan.name, plan.total)
            .cron(plan.cron)
            .shardingItemParameters(plan.itemParameters)
            .jobParameter(plan.jobParameter)
            .failover(plan.failover)
            .misfire(plan.misfire)
            .monitorExecution(plan.monitorExecution)
            .reconcileIntervalMinutes(plan.reconcileIntervalMinutes)
            .overwrite(plan.overwrite);
        if (!plan.strategy.isEmpty()) {
            config.jobShardingStrategyType(plan.strategy);
        }
        new ScheduleJobBootstrap(center, new InteropJob(), config.build()).schedule();
        return JobRegistry.getInstance().getJobInstance(plan.name).getJobInstanceId();
    }

    @Override
    public Object operate(String call, JsonObject arguments) throws IOException {
        if (lifecycle == null) {
            lifecycle = new Lifecycle(registry);
        }
        return lifecycle.operate(call, arguments);
    }
}
