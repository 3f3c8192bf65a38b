package assignorsim;

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.requests.RequestUtils;
import org.apache.kafka.common.requests.ResponseHeader;

/**
 * Sends requests of Kafka's protocol to one broker: reads {@code {"api": 88, "version": 1, "request": …}} from each line
 * of standard input, and writes the response as one line. Exits at the end of the input.
 *
 * <p>Messages are in the JSON of Kafka's own converters, so any request can be sent, also one that no client sends.
 */
public final class ProtocolClient {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private ProtocolClient() { }

    /** Arguments: host and port of the broker. */
    public static void main(final String[] args) throws Exception {
        final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        final InputStreamReader input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
        try (Socket socket = new Socket(args[0], Integer.parseInt(args[1])); BufferedReader reader = new BufferedReader(input)) {
            socket.setTcpNoDelay(true);
            int number = 0;
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                out.println(MAPPER.writeValueAsString(send(socket, MAPPER.readTree(line), number++)));
                out.flush();
            }
        }
    }

    private static JsonNode send(final Socket socket, final JsonNode call, final int number)
            throws IOException, ReflectiveOperationException {
        final ApiMessageType type = ApiMessageType.fromApiKey((short) call.required("api").asInt());
        final short version = (short) call.required("version").asInt();
        final ApiMessage request = (ApiMessage) converter(type.newRequest())
            .getMethod("read", JsonNode.class, short.class).invoke(null, call.required("request"), version);
        final RequestHeaderData header = new RequestHeaderData()
            .setRequestApiKey(type.apiKey()).setRequestApiVersion(version).setCorrelationId(number).setClientId("member");
        final ByteBuffer message = RequestUtils.serialize(header, type.requestHeaderVersion(version), request, version);
        final ByteBuffer framed = ByteBuffer.allocate(Integer.BYTES + message.remaining());
        framed.putInt(message.remaining()).put(message);
        socket.getOutputStream().write(framed.array());
        final DataInputStream answer = new DataInputStream(socket.getInputStream());
        final byte[] bytes = new byte[answer.readInt()];
        answer.readFully(bytes);
        final ByteBuffer buffer = ByteBuffer.wrap(bytes);
        ResponseHeader.parse(buffer, type.responseHeaderVersion(version));
        final ApiMessage response = type.newResponse();
        response.read(new ByteBufferAccessor(buffer), version);
        return (JsonNode) converter(response)
            .getMethod("write", response.getClass(), short.class).invoke(null, response, version);
    }

    private static Class<?> converter(final ApiMessage message) throws ClassNotFoundException {
        return Class.forName(message.getClass().getName() + "JsonConverter");
    }
}
