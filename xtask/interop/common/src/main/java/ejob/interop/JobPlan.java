package ejob.interop;

/** A job's configuration in the suite's form, common to all releases. */
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

    /** The release's name of the strategy; empty is its default. */
    public String strategy = "";

    /** In minutes; 0 disables reconciliation. */
    public int reconcileIntervalMinutes = 10;
}
