package ejob.interop;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Writes events, one JSON document per line, each with the time in milliseconds. */
final class Facts {

    static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

    /** The original standard output. The suite must not read other output of ElasticJob and its logging. */
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    static {
        System.setOut(System.err);
    }

    private Facts() {
    }

    static JsonObject fact(String kind) {
        JsonObject fact = new JsonObject();
        fact.addProperty("at", System.currentTimeMillis());
        fact.addProperty("ev", kind);
        return fact;
    }

    static JsonElement json(Object value) {
        return value == null ? JsonNull.INSTANCE : GSON.toJsonTree(value);
    }

    static void say(JsonObject fact) {
        synchronized (OUT) {
            OUT.println(GSON.toJson(fact));
            OUT.flush();
            if (OUT.checkError()) {
                Runtime.getRuntime().halt(70);
            }
        }
    }
}
