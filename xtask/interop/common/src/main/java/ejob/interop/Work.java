package ejob.interop;

import com.google.gson.JsonObject;
import org.quartz.SchedulerException;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The job's code: reports the begin of the run, waits, and reports the end. */
public final class Work {

    private static final AtomicLong RUNS = new AtomicLong();

    private static final Map<String, Work> OF_JOB = new ConcurrentHashMap<>();

    /** Duration of a run, in milliseconds. */
    private long usualMs;

    /** Items whose runs do not end before a later order releases them. */
    private List<Integer> hold = new ArrayList<>();

    static Work of(String job) {
        return OF_JOB.computeIfAbsent(job, name -> new Work());
    }

    /** Sets the behaviour of runs that begin from now on. Runs of items that are no longer held end. */
    synchronized void behave(long usualMs, List<Integer> hold) {
        this.usualMs = usualMs;
        this.hold = hold;
        notifyAll();
    }

    /** Runs one item. The job class of each release calls it. */
    public static void execute(String job, int item, int total, String jobParameter, String parameter, String taskId) {
        JsonObject run = new JsonObject();
        run.addProperty("job", job);
        run.addProperty("item", item);
        run.addProperty("run", RUNS.incrementAndGet());
        try {
            Fires.Fire fire = Fires.of(job);
            run.addProperty("fire", fire.scheduled.getTime());
            run.addProperty("source", fire.sourceOf(item));
        } catch (SchedulerException ex) {
            Worker.fail("an item of " + job + " runs without a fire", ex);
        }
        run.addProperty("total", total);
        run.addProperty("jobParameter", jobParameter);
        run.addProperty("parameter", parameter);
        run.addProperty("taskId", taskId);
        say("begin", run);
        try {
            of(job).work(item);
        } catch (InterruptedException ex) {
            run.addProperty("interrupted", true);
            Thread.currentThread().interrupt();
        }
        say("end", run);
    }

    private synchronized void work(int item) throws InterruptedException {
        long end = System.nanoTime() + usualMs * 1_000_000;
        long left = usualMs;
        while (left > 0 || hold.contains(item)) {
            wait(hold.contains(item) ? 0 : left);
            left = (end - System.nanoTime() + 999_999) / 1_000_000;
        }
    }

    private static void say(String kind, JsonObject run) {
        JsonObject fact = Facts.fact(kind);
        run.entrySet().forEach(entry -> fact.add(entry.getKey(), entry.getValue()));
        Facts.say(fact);
    }
}
