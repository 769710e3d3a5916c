package ejob.interop;

import org.apache.shardingsphere.elasticjob.api.ShardingContext;
import org.apache.shardingsphere.elasticjob.simple.job.SimpleJob;

/** The job class. Rust workers write its name into the registry, too. */
public final class InteropJob implements SimpleJob {

    @Override
    public void execute(ShardingContext context) {
        Work.execute(context.getJobName(), context.getShardingItem(), context.getShardingTotalCount(),
            context.getJobParameter(), context.getShardingParameter(), context.getTaskId());
    }
}
