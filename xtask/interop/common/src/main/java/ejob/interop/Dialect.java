package ejob.interop;

import com.google.gson.JsonObject;

/** Operations that differ between the releases of ElasticJob. */
public interface Dialect {

    /** Takes part in a job from now on, and returns the id of the instance. */
    String schedule(JobPlan plan) throws Exception;

    /** Calls the lifecycle API. The return value is converted to JSON. */
    Object operate(String call, JsonObject arguments) throws Exception;
}
