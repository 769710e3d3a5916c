package ejob.interop;

import com.google.gson.JsonObject;

/** What differs between the releases of ElasticJob. */
public interface Dialect {

    /** Takes part in a job from now on, and returns the id of the instance. */
    String schedule(JobPlan plan) throws Exception;

    /** Calls the lifecycle API. What it returns becomes JSON. */
    Object operate(String call, JsonObject arguments) throws Exception;
}
