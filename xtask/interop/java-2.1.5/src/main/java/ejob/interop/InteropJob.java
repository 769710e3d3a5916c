package ejob.interop;

import com.dangdang.ddframe.job.api.ShardingContext;
import com.dangdang.ddframe.job.api.simple.SimpleJob;

/** The job class. Rust workers write its name into the configuration, too. */
public final class InteropJob implements SimpleJob {

    @Override
    public void execute(ShardingContext context) {
        Work.execute(context.getJobName(), context.getShardingItem(), context.getShardingTotalCount(),
            context.getJobParameter(), context.getShardingParameter(), context.getTaskId());
    }
}
