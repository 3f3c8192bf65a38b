package assignorsim.bridge;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as maps, lists, strings, longs, doubles and booleans.
 *
 * <p>A library would be on the class path of assignors, where theirs may have another version.
 */
final class Json {

    private final String text;
    private int at;

    private Json(final String text) {
        this.text = text;
    }

    /** Parses a text in ASCII. */
    static Object parse(final byte[] ascii) {
        final Json json = new Json(new String(ascii, StandardCharsets.ISO_8859_1));
        final Object value = json.value();
        json.skipSpace();
        if (json.at != json.text.length()) {
            throw json.error("the end");
        }
        return value;
    }

    /** Returns a value as text in ASCII. */
    static byte[] write(final Object value) {
        final StringBuilder text = new StringBuilder();
        write(value, text);
        return text.toString().getBytes(StandardCharsets.ISO_8859_1);
    }

    private Object value() {
        skipSpace();
        if (at == text.length()) {
            throw error("a value");
        }
        return switch (text.charAt(at)) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object() {
        final Map<String, Object> object = new LinkedHashMap<>();
        at++;
        skipSpace();
        if (!take('}')) {
            do {
                skipSpace();
                final String key = string();
                skipSpace();
                if (!take(':')) {
                    throw error("a colon");
                }
                object.put(key, value());
                skipSpace();
            } while (take(','));
            if (!take('}')) {
                throw error("a brace");
            }
        }
        return object;
    }

    private List<Object> array() {
        final List<Object> array = new ArrayList<>();
        at++;
        skipSpace();
        if (!take(']')) {
            do {
                array.add(value());
                skipSpace();
            } while (take(','));
            if (!take(']')) {
                throw error("a bracket");
            }
        }
        return array;
    }

    private String string() {
        if (!take('"')) {
            throw error("a string");
        }
        final int start = at;
        while (text.charAt(at) != '"' && text.charAt(at) != '\\') {
            at++;
        }
        if (text.charAt(at) == '"') {
            return text.substring(start, at++);
        }
        final StringBuilder unescaped = new StringBuilder(text.substring(start, at));
        while (text.charAt(at) != '"') {
            unescaped.append(text.charAt(at) == '\\' ? escaped() : text.charAt(at++));
        }
        at++;
        return unescaped.toString();
    }

    private char escaped() {
        at += 2;
        return switch (text.charAt(at - 1)) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> (char) Integer.parseInt(text.substring(at, at += 4), 16);
            default -> text.charAt(at - 1);
        };
    }

    private Object word(final String word, final Object value) {
        if (!text.startsWith(word, at)) {
            throw error(word);
        }
        at += word.length();
        return value;
    }

    private Object number() {
        final int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        final String number = text.substring(start, at);
        try {
            return Long.parseLong(number);
        } catch (final NumberFormatException notWhole) {
            return Double.parseDouble(number);
        }
    }

    private boolean take(final char expected) {
        if (at < text.length() && text.charAt(at) == expected) {
            at++;
            return true;
        }
        return false;
    }

    private void skipSpace() {
        while (at < text.length() && text.charAt(at) <= ' ') {
            at++;
        }
    }

    private IllegalArgumentException error(final String expected) {
        return new IllegalArgumentException("expected " + expected + " at character " + at);
    }

    private static void write(final Object value, final StringBuilder text) {
        if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (final Map.Entry<?, ?> entry : map.entrySet()) {
                text.append(separator);
                write(entry.getKey(), text);
                text.append(':');
                write(entry.getValue(), text);
                separator = ",";
            }
            text.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> values) {
            text.append('[');
            String separator = "";
            for (final Object one : values) {
                text.append(separator);
                write(one, text);
                separator = ",";
            }
            text.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            text.append(value);
        } else {
            writeString(value.toString(), text);
        }
    }

    private static void writeString(final String value, final StringBuilder text) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            final char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                text.append(String.format("\\u%04x", (int) c));
            } else {
                text.append(c);
            }
        }
        text.append('"');
    }
}
