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

/** The present fire of each job by its Quartz scheduler, because ElasticJob does not pass it to the job's code. */
final class Fires {

    private static final Map<String, Scheduler> SCHEDULERS = new ConcurrentHashMap<>();

    private static final Map<String, Fire> CURRENT = new ConcurrentHashMap<>();

    private Fires() {
    }

    /** One fire. A job's scheduler has one thread, so that it never handles two fires at the same time. */
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

        /** Returns the source of an item's run. A second run within one fire replays misfires. */
        String sourceOf(int item) {
            boolean again = begun.put(item, true) != null;
            return again ? "misfire" : isCron ? "schedule" : "request";
        }
    }

    /** Returns the present fire of the scheduler that is named after the job. Running items call it. */
    static Fire of(String job) throws SchedulerException {
        List<JobExecutionContext> busy = schedulerOf(job).getCurrentlyExecutingJobs();
        if (busy.size() != 1) {
            throw new SchedulerException("it is busy with " + busy.size() + " fires");
        }
        JobExecutionContext context = busy.get(0);
        return CURRENT.compute(job, (name, last) ->
            last != null && last.id.equals(context.getFireInstanceId()) ? last : new Fire(context));
    }

    /** Reports each completed fire of a job's scheduler from now on. */
    static void tellOf(String job) throws SchedulerException {
        schedulerOf(job).getListenerManager().addTriggerListener(new Listener(job));
    }

    /** Returns a job's scheduler. It is cached, because after its shutdown the repository no longer has it. */
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
