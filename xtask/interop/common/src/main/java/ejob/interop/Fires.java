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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Which fire of its Quartz scheduler each job is busy with: ElasticJob does not tell the job's code. */
final class Fires {

    private static final Map<String, Fire> CURRENT = new ConcurrentHashMap<>();

    private Fires() {
    }

    /** One firing: a job's scheduler has one thread, so that there is never another at the same time. */
    static final class Fire {

        final Date scheduled;

        final boolean isCron;

        private final Map<Integer, Boolean> begun = new ConcurrentHashMap<>();

        private Fire(Date scheduled, boolean isCron) {
            this.scheduled = scheduled;
            this.isCron = isCron;
        }

        /** Says why an item runs: a second run within one firing makes up for misfires. */
        String sourceOf(int item) {
            boolean again = begun.put(item, true) != null;
            return again ? "misfire" : isCron ? "schedule" : "request";
        }
    }

    /** Returns the present firing of a job; null before the first that was seen. */
    static Fire of(String job) {
        return CURRENT.get(job);
    }

    /**
     * Listens to a job's scheduler from the moment at which ElasticJob makes it, which is long before the first fire.
     * Its name is that of the job.
     */
    static Thread follow(String job) {
        Thread waiter = new Thread(() -> listenTo(job), "fires-" + job);
        waiter.setDaemon(true);
        waiter.start();
        return waiter;
    }

    private static void listenTo(String job) {
        try {
            Scheduler scheduler = SchedulerRepository.getInstance().lookup(job);
            while (scheduler == null) {
                Thread.sleep(1);
                scheduler = SchedulerRepository.getInstance().lookup(job);
            }
            scheduler.getListenerManager().addTriggerListener(new Listener(job));
        } catch (SchedulerException | InterruptedException ex) {
            Worker.fail("cannot listen to the scheduler of " + job, ex);
        }
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
        public void triggerFired(Trigger trigger, JobExecutionContext context) {
            CURRENT.put(job, new Fire(context.getScheduledFireTime(), trigger instanceof CronTrigger));
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
