package ejob.interop;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A worker process: reads one order per line from the standard input, and answers each on the output, in JSON. */
public final class Worker {

    private final Dialect dialect;

    private Worker(Dialect dialect) {
        this.dialect = dialect;
    }

    /** Reads the address of the registry, then orders until the end of the input, which is the end of the suite. */
    public static void live(Function<Registry, Dialect> connect) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Registry registry = Facts.GSON.fromJson(input.readLine(), Registry.class);
        Worker worker = new Worker(connect.apply(registry));
        Facts.say(Facts.fact("ready"));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            worker.obey(Facts.GSON.fromJson(line, JsonObject.class));
        }
        Runtime.getRuntime().halt(71);
    }

    /** Ends the process, because the suite would not learn of its later runs. */
    static void fail(String what, Exception cause) {
        JsonObject fact = Facts.fact("error");
        fact.addProperty("text", what + ": " + cause);
        Facts.say(fact);
        Runtime.getRuntime().halt(72);
    }

    private void obey(JsonObject order) {
        JsonObject answer = Facts.fact("answer");
        answer.add("order", order.get("order"));
        try {
            answer.add("value", Facts.json(carryOut(order)));
        } catch (Exception ex) {
            ex.printStackTrace();
            answer.addProperty("error", ex.toString());
        }
        Facts.say(answer);
        if ("leave".equals(text(order, "do"))) {
            // ElasticJob's shutdown hooks run, as at every ordinary end of a process.
            new Thread(() -> System.exit(0), "leave").start();
        }
    }

    private Object carryOut(JsonObject order) throws Exception {
        switch (text(order, "do")) {
            case "schedule":
                JobPlan plan = Facts.GSON.fromJson(order.get("job"), JobPlan.class);
                String id = dialect.schedule(plan);
                Fires.tellOf(plan.name);
                return id;
            case "work":
                List<Integer> hold = new ArrayList<>();
                for (JsonElement item : order.getAsJsonArray("hold")) {
                    hold.add(item.getAsInt());
                }
                Work.of(text(order, "job")).behave(order.get("usualMs").getAsLong(), hold);
                return null;
            case "trigger":
                return dialect.operate("trigger", order);
            case "call":
                return dialect.operate(text(order, "call"), order);
            case "leave":
                return null;
            default:
                throw new IllegalArgumentException("no such order: " + order);
        }
    }

    /** Returns a member of an order, or null if it is absent. */
    public static String text(JsonObject order, String name) {
        JsonElement member = order.get(name);
        return member == null || member.isJsonNull() ? null : member.getAsString();
    }

    /** Returns a member of an order, or the default if it is absent. */
    public static String text(JsonObject order, String name, String otherwise) {
        String text = text(order, name);
        return text == null ? otherwise : text;
    }
}
