package assignorsim;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.gaul.s3proxy.S3Proxy;
import org.gaul.s3proxy.auth.AuthenticationType;
import org.gaul.s3proxy.blobstore.BlobStore;
import org.gaul.s3proxy.blobstore.ForwardingBlobStore;
import org.gaul.s3proxy.nio2blob.TransientNio2BlobStore;
import software.amazon.awssdk.awscore.exception.AwsErrorDetails;
import software.amazon.awssdk.services.s3.model.CopyObjectRequest;
import software.amazon.awssdk.services.s3.model.CopyObjectResponse;
import software.amazon.awssdk.services.s3.model.CreateBucketRequest;
import software.amazon.awssdk.services.s3.model.DeleteObjectRequest;
import software.amazon.awssdk.services.s3.model.DeleteObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.PutObjectResponse;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * An S3-compatible server on the loopback interface, which keeps its objects in memory: {@code BUCKET USER PASSWORD}.
 *
 * <p>Prints its endpoint, and then a line for each change of an object before it is made: {@code put KEY},
 * {@code copy KEY} or {@code delete KEY}. Obeys lines on standard input, and repeats them:
 * <ul>
 * <li>{@code hold REGEX}: keep waiting the first change whose line matches, and all changes after it. They are never
 *     made: this is the state that a client leaves if it is killed at this moment.
 * <li>{@code reject N REGEX}: make the first N changes whose lines match, and the others among them; reject the rest.
 * <li>{@code release}: make all changes from now on.
 * </ul>
 * Exits at the end of its standard input, so it cannot outlive the process that starts it.
 */
public final class ObjectStore extends ForwardingBlobStore {

    private Pattern held;
    private Pattern rejected;
    private boolean holding;
    private boolean rejecting;
    private long remaining;

    private ObjectStore(final BlobStore store) {
        super(store);
    }

    /** Serves until the end of standard input. */
    public static void main(final String[] args) throws Exception {
        final ObjectStore store = new ObjectStore(new TransientNio2BlobStore());
        store.createContainer(CreateBucketRequest.builder().bucket(args[0]).build());
        final S3Proxy server = S3Proxy.builder()
            .blobStore(store)
            .endpoint(URI.create("http://127.0.0.1:0"))
            .awsAuthentication(AuthenticationType.AWS_V2_OR_V4, args[1], args[2])
            .build();
        server.start();
        System.out.println("http://127.0.0.1:" + server.getPort());
        try {
            store.obey(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        } finally {
            Runtime.getRuntime().halt(0);
        }
    }

    private void obey(final BufferedReader commands) throws IOException {
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            synchronized (this) {
                holding = false;
                rejecting = false;
                held = null;
                rejected = null;
                final String[] words = line.split(" ", 3);
                if ("hold".equals(words[0])) {
                    held = Pattern.compile(line.substring("hold ".length()));
                } else if ("reject".equals(words[0])) {
                    remaining = Long.parseLong(words[1]);
                    rejected = Pattern.compile(words[2]);
                }
                notifyAll();
            }
            System.out.println(line);
        }
    }

    private synchronized void check(final String what, final String key) {
        final String line = what + " " + key;
        holding |= held != null && held.matcher(line).find();
        if (holding) {
            System.out.println("held " + line);
            await();
            throw rejection(line);
        }
        if (rejected != null && rejected.matcher(line).find()) {
            rejecting |= remaining == 0;
            remaining--;
        }
        if (rejecting) {
            throw rejection(line);
        }
        System.out.println(line);
    }

    private synchronized void await() {
        while (holding) {
            try {
                wait();
            } catch (final InterruptedException stopped) {
                return;
            }
        }
    }

    private static S3Exception rejection(final String line) {
        final AwsErrorDetails details = AwsErrorDetails.builder().errorCode("AccessDenied").errorMessage(line).build();
        return (S3Exception) S3Exception.builder().statusCode(403).awsErrorDetails(details).message(line).build();
    }

    @Override
    public PutObjectResponse putBlob(final PutObjectRequest request, final InputStream content) {
        check("put", request.key());
        return super.putBlob(request, content);
    }

    @Override
    public CopyObjectResponse copyBlob(final CopyObjectRequest request) {
        check("copy", request.destinationKey());
        return super.copyBlob(request);
    }

    @Override
    public DeleteObjectResponse removeBlob(final DeleteObjectRequest request) {
        check("delete", request.key());
        return super.removeBlob(request);
    }
}
