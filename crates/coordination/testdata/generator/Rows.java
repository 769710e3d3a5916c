import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Consumer;

/** One JSON object per line, in ASCII, read from the standard input and written to the standard output. */
final class Rows {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.US_ASCII);

    private Rows() {
    }

    /** Reads each row, lets {@code complete} add what Java says of it, and writes it. */
    static void complete(final Consumer<JsonObject> complete) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject row = new JsonParser().parse(line).getAsJsonObject();
            complete.accept(row);
            write(row);
        }
    }

    static void write(final JsonObject row) {
        StringBuilder out = new StringBuilder();
        append(out, row);
        OUT.println(out);
    }

    /** Returns the result of an action, or "throws" with the exception and its message. */
    static String outcome(final Action action) {
        try {
            return action.run();
        } catch (final Throwable thrown) {
            Throwable cause = thrown;
            while (cause.getCause() != null && cause.getCause() != cause) {
                cause = cause.getCause();
            }
            String message = String.valueOf(cause.getMessage());
            return "throws " + cause.getClass().getSimpleName() + ": " + message.split("[\r\n]", 2)[0];
        }
    }

    interface Action {
        String run() throws Exception;
    }

    private static void append(final StringBuilder out, final JsonElement value) {
        if (value.isJsonObject()) {
            String separator = "{";
            for (Map.Entry<String, JsonElement> entry : value.getAsJsonObject().entrySet()) {
                out.append(separator);
                appendText(out, entry.getKey());
                out.append(':');
                append(out, entry.getValue());
                separator = ",";
            }
            out.append("{".equals(separator) ? "{}" : "}");
        } else if (value.isJsonArray()) {
            JsonArray array = value.getAsJsonArray();
            out.append('[');
            for (int i = 0; i < array.size(); i++) {
                out.append(i == 0 ? "" : ",");
                append(out, array.get(i));
            }
            out.append(']');
        } else if (value.isJsonPrimitive() && ((JsonPrimitive) value).isString()) {
            appendText(out, value.getAsString());
        } else {
            out.append(value);
        }
    }

    private static void appendText(final StringBuilder out, final String text) {
        out.append('"');
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < 0x20 || each > 0x7e) {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        out.append('"');
    }
}
