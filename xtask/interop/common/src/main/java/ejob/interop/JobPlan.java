package ejob.interop;

/** A job's configuration as the suite words it, for all releases alike. */
public final class JobPlan {

    public String name;

    public String cron;

    public int total;

    public String itemParameters = "";

    public String jobParameter = "";

    public boolean failover;

    public boolean misfire = true;

    public boolean monitorExecution = true;

    public boolean overwrite;

    /** What this release calls the strategy; empty is its default. */
    public String strategy = "";

    /** In minutes; 0 is never. */
    public int reconcileIntervalMinutes = 10;
}
