package ejob.interop;

import com.google.gson.JsonObject;
import org.quartz.CronTrigger;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.Trigger;
import org.quartz.impl.SchedulerRepository;
import org.quartz.listeners.TriggerListenerSupport;

import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Which fire of its Quartz scheduler each job is busy with: ElasticJob does not tell the job's code. */
final class Fires {

    private static final Map<String, Scheduler> SCHEDULERS = new ConcurrentHashMap<>();

    private static final Map<String, Fire> CURRENT = new ConcurrentHashMap<>();

    private Fires() {
    }

    /** One firing: a job's scheduler has one thread, so that there is never another at the same time. */
    static final class Fire {

        final Date scheduled;

        private final String id;

        private final boolean isCron;

        private final Map<Integer, Boolean> begun = new ConcurrentHashMap<>();

        private Fire(JobExecutionContext context) {
            scheduled = context.getScheduledFireTime();
            id = context.getFireInstanceId();
            isCron = context.getTrigger() instanceof CronTrigger;
        }

        /** Says why an item runs: a second run within one firing makes up for misfires. */
        String sourceOf(int item) {
            boolean again = begun.put(item, true) != null;
            return again ? "misfire" : isCron ? "schedule" : "request";
        }
    }

    /** Returns the firing that a job's scheduler, whose name is that of the job, is busy with. Its items ask this while they run. */
    static Fire of(String job) throws SchedulerException {
        List<JobExecutionContext> busy = schedulerOf(job).getCurrentlyExecutingJobs();
        if (busy.size() != 1) {
            throw new SchedulerException("it is busy with " + busy.size() + " fires");
        }
        JobExecutionContext context = busy.get(0);
        return CURRENT.compute(job, (name, last) ->
            last != null && last.id.equals(context.getFireInstanceId()) ? last : new Fire(context));
    }

    /** Says from now on when a job's scheduler is done with a fire. */
    static void tellOf(String job) throws SchedulerException {
        schedulerOf(job).getListenerManager().addTriggerListener(new Listener(job));
    }

    /** A scheduler that is shut down is no longer in the repository, while its last items may still run. */
    private static Scheduler schedulerOf(String job) throws SchedulerException {
        Scheduler scheduler =
            SCHEDULERS.computeIfAbsent(job, name -> SchedulerRepository.getInstance().lookup(name));
        if (scheduler == null) {
            throw new SchedulerException("the job has no scheduler");
        }
        return scheduler;
    }

    private static final class Listener extends TriggerListenerSupport {

        private final String job;

        private Listener(String job) {
            this.job = job;
        }

        @Override
        public String getName() {
            return "interop-" + job;
        }

        @Override
        public void triggerComplete(Trigger trigger, JobExecutionContext context,
                                    Trigger.CompletedExecutionInstruction instruction) {
            JsonObject fact = Facts.fact("complete");
            fact.addProperty("job", job);
            fact.addProperty("fire", context.getScheduledFireTime().getTime());
            Facts.say(fact);
        }
    }
}
