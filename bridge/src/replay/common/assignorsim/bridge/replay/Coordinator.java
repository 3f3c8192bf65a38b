package assignorsim.bridge.replay;

import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

/**
 * The group coordinator of a release, without its log: what it writes is replayed at once.
 *
 * <p>Interfaces that releases keep in different packages, or with different parameters, are looked up by name.
 */
final class Coordinator {
    private static final String BUILDER = "org.apache.kafka.coordinator.group.GroupCoordinatorShard$Builder";
    private static final String SHARE_CONFIG = "org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig";

    private final VirtualClock clock;
    private final Map<String, VirtualClock.Event> timers = new HashMap<>();
    private final Consumer<Object> onRecord;
    private final Runnable afterTimer;
    private final List<Object> records = new ArrayList<>();
    private final GroupCoordinatorConfig config;
    private final Object configManager;
    private GroupCoordinatorShard shard;
    private MetadataImage image = MetadataImage.EMPTY;
    private String cause = "";

    /**
     * Starts a coordinator.
     *
     * @param configs configs of the broker; those that the release does not have are ignored.
     * @param onRecord is told of each record, before it is replayed.
     * @param afterTimer runs after a timer or a task of an executor has changed the group.
     */
    Coordinator(final VirtualClock clock, final Map<String, Object> configs, final Consumer<Object> onRecord,
        final Runnable afterTimer) {
        this.afterTimer = afterTimer;
        this.clock = clock;
        this.onRecord = onRecord;
        final ConfigDef definitions = definitions();
        final Map<String, Object> known = new HashMap<>(configs);
        known.keySet().retainAll(definitions.names());
        final AbstractConfig values = new AbstractConfig(definitions, known, false);
        config = new GroupCoordinatorConfig(values);
        configManager = configManager(find(BUILDER), config, values);
        shard = load();
    }

    /** Lets another broker coordinate the group: it reads the log, and has none of the timers. */
    void move() {
        call(shard, "onUnloaded");
        timers.values().forEach(VirtualClock.Event::cancel);
        timers.clear();
        shard = load();
    }

    private GroupCoordinatorShard load() {
        final Class<?> builderClass = find(BUILDER);
        final Object builder = configManager == null
            ? construct(builderClass, config)
            : construct(builderClass, config, configManager);
        final Object context = construct(parameter(builderClass, "withLogContext"));
        final Object snapshots = construct(find("org.apache.kafka.timeline.SnapshotRegistry"), context);
        call(builder, "withLogContext", context);
        call(builder, "withTime", clock);
        call(builder, "withTimer", proxy(parameter(builderClass, "withTimer"), this::timer));
        call(builder, "withSnapshotRegistry", snapshots);
        call(builder, "withTopicPartition", new TopicPartition("__consumer_offsets", 0));
        call(builder, "withCoordinatorMetrics", construct(find("org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics")));
        if (has(builderClass, "withExecutor")) {
            call(builder, "withExecutor", proxy(parameter(builderClass, "withExecutor"), this::executor));
        }
        for (final String name : List.of("withAuthorizer", "withAuthorizerPlugin")) {
            if (has(builderClass, name)) {
                call(builder, name, Optional.empty());
            }
        }
        final GroupCoordinatorShard loaded = (GroupCoordinatorShard) call(builder, "build");
        long next = 0;
        for (final Object record : records) {
            call(loaded, "replay", next++, -1L, (short) -1, record);
        }
        call(loaded, "onLoaded", wrapped(image, "KRaftCoordinatorMetadataImage"));
        return loaded;
    }

    /** Returns what triggers what happens now: `heartbeat:MEMBER`, `leave:MEMBER` or `timer:KEY`. */
    String cause() {
        return cause;
    }

    /** Calls a method of the coordinator with a request, replays its records, and returns its response. */
    Object handle(final String trigger, final ApiKeys api, final String method, final Object... arguments) {
        final Object[] all = new Object[arguments.length + 1];
        all[0] = context(api);
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        cause = trigger;
        return replay(call(shard, method, all));
    }

    /** Handles a JoinGroup request of a classic group; from 4.4 on, a parameter says that the group may be new. */
    void join(final String trigger, final JoinGroupRequestData request, final CompletableFuture<JoinGroupResponseData> response) {
        final boolean hasFlag = Arrays.stream(GroupCoordinatorShard.class.getMethods())
            .anyMatch(method -> method.getName().equals("classicGroupJoin") && method.getParameterCount() == 4);
        final Object[] arguments = hasFlag ? new Object[] {request, response, true} : new Object[] {request, response};
        handle(trigger, ApiKeys.JOIN_GROUP, "classicGroupJoin", arguments);
    }

    /** Returns what the coordinator says of a classic group. */
    Object describe(final String group) {
        return ((List<?>) call(shard, "describeGroups", context(ApiKeys.DESCRIBE_GROUPS), List.of(group), Long.MAX_VALUE)).get(0);
    }

    /** Sets a dynamic config of a group. */
    void configure(final String group, final Properties configs) {
        call(configManager, "updateGroupConfig", group, configs);
    }

    /** Creates topics, or adds partitions to them. */
    void setPartitions(final Map<String, Integer> topics) {
        final MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        topics.forEach((name, partitions) -> {
            final Uuid id = new Uuid(1, name.hashCode());
            final int first = image.topics().getTopic(id) == null ? 0 : image.topics().getTopic(id).partitions().size();
            if (first == 0) {
                delta.replay(new TopicRecord().setName(name).setTopicId(id));
            }
            for (int partition = first; partition < partitions; partition++) {
                delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(partition).setLeader(0)
                    .setReplicas(List.of(0)).setIsr(List.of(0)));
            }
        });
        image = delta.apply(MetadataProvenance.EMPTY);
        final Object newImage = wrapped(image, "KRaftCoordinatorMetadataImage");
        final Object change = wrapped(delta, "KRaftCoordinatorMetadataDelta");
        if (has(GroupCoordinatorShard.class, "onMetadataUpdate")) {
            call(shard, "onMetadataUpdate", change, newImage);
        } else {
            call(shard, "onNewMetadataImage", newImage, change);
        }
    }

    /** Sets offsets of tasks in a heartbeat of a streams group; releases before 4.4 have none. */
    static void setOffsets(final Object request, final Map<String, Long> offsets) {
        final String name = request.getClass().getName() + "$TaskOffset";
        if (!exists(name)) {
            return;
        }
        final List<Object> reported = new ArrayList<>();
        offsets.forEach((task, offset) -> {
            final Object one = construct(find(name));
            call(one, "setSubtopologyId", task.split("_")[0]);
            call(one, "setPartition", Integer.valueOf(task.split("_")[1]));
            call(one, "setOffset", offset);
            reported.add(one);
        });
        call(request, "setTaskOffsets", reported);
    }

    private Object replay(final Object result) {
        final boolean isApplied = !(Boolean) call(result, "replayRecords");
        for (final Object record : (List<?>) call(result, "records")) {
            if (!isApplied) {
                onRecord.accept(record);
                call(shard, "replay", (long) records.size(), -1L, (short) -1, record);
            }
            records.add(record);
        }
        final CompletableFuture<?> appended = (CompletableFuture<?>) call(result, "appendFuture");
        if (appended != null) {
            appended.complete(null);
        }
        return call(result, "response");
    }

    private Object timer(final String method, final Object[] arguments) {
        final String key = (String) arguments[0];
        if (method.equals("isScheduled")) {
            return timers.containsKey(key);
        }
        if (method.equals("scheduleIfAbsent") && timers.containsKey(key)) {
            return null;
        }
        final VirtualClock.Event former = timers.remove(key);
        if (former != null) {
            former.cancel();
        }
        if (!method.equals("cancel")) {
            final long delayMs = ((TimeUnit) arguments[2]).toMillis((Long) arguments[1]);
            final Object operation = arguments[arguments.length - 1];
            timers.put(key, clock.timer(delayMs, () -> {
                timers.remove(key);
                cause = "timer:" + key;
                replay(call(operation, "generateRecords"));
                afterTimer.run();
            }));
        }
        return null;
    }

    private Object executor(final String method, final Object[] arguments) {
        if (method.equals("schedule")) {
            clock.in(0, () -> {
                cause = "executor:" + arguments[0];
                Object value = null;
                Throwable failure = null;
                try {
                    value = call(arguments[1], "run");
                } catch (final RuntimeException error) {
                    failure = error;
                }
                replay(call(arguments[2], "onComplete", value, failure));
                afterTimer.run();
            });
            return true;
        }
        return method.equals("isScheduled") ? false : null;
    }

    private static RequestContext context(final ApiKeys api) {
        try {
            return new RequestContext(
                new RequestHeader(api, api.latestVersion(), "client", 0),
                "1",
                InetAddress.getByAddress(new byte[] {127, 0, 0, 1}),
                KafkaPrincipal.ANONYMOUS,
                ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT),
                SecurityProtocol.PLAINTEXT,
                ClientInformation.EMPTY,
                false
            );
        } catch (final UnknownHostException error) {
            throw new IllegalStateException(error);
        }
    }

    private static ConfigDef definitions() {
        final ConfigDef all = new ConfigDef();
        Stream.of(GroupCoordinatorConfig.class.getName(), SHARE_CONFIG)
            .filter(Coordinator::exists)
            .flatMap(name -> Arrays.stream(find(name).getFields()))
            .filter(field -> field.getType() == ConfigDef.class)
            .forEach(field -> {
                try {
                    ((ConfigDef) field.get(null)).configKeys().values().stream()
                        .filter(key -> !all.names().contains(key.name))
                        .forEach(all::define);
                } catch (final IllegalAccessException error) {
                    throw new IllegalStateException(error);
                }
            });
        return all;
    }

    private static Object configManager(
        final Class<?> builder, final GroupCoordinatorConfig config, final AbstractConfig values) {
        final Class<?>[] parameters = builder.getConstructors()[0].getParameterTypes();
        if (parameters.length == 1) {
            return null;
        }
        final Class<?> manager = parameters[1];
        final Object share = exists(SHARE_CONFIG) ? construct(find(SHARE_CONFIG), values) : null;
        final Object defaults = Stream.of("extractGroupConfigMap", "extractConsumerGroupConfigMap")
            .filter(name -> has(GroupCoordinatorConfig.class, name))
            .findFirst()
            .map(name -> share == null ? call(config, name) : call(config, name, share))
            .orElse(Map.of());
        final Object[] arguments = Arrays.stream(manager.getConstructors()[0].getParameterTypes())
            .map(type -> Stream.of(config, defaults, share).filter(type::isInstance).findFirst().orElseThrow())
            .toArray();
        return construct(manager, arguments);
    }

    private static Object wrapped(final Object value, final String className) {
        final String name = "org.apache.kafka.coordinator.common.runtime." + className;
        return exists(name) ? construct(find(name), value) : value;
    }

    private static boolean exists(final String name) {
        try {
            return Class.forName(name) != null;
        } catch (final ClassNotFoundException error) {
            return false;
        }
    }

    private interface Methods {
        Object call(String method, Object[] arguments);
    }

    private static Object proxy(final Class<?> type, final Methods methods) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
            (self, method, arguments) -> methods.call(method.getName(), arguments));
    }

    private static Class<?> parameter(final Class<?> type, final String method) {
        return Arrays.stream(type.getMethods()).filter(one -> one.getName().equals(method) && !one.isBridge())
            .findFirst().orElseThrow().getParameterTypes()[0];
    }

    private static boolean has(final Class<?> type, final String method) {
        return Arrays.stream(type.getMethods()).anyMatch(one -> one.getName().equals(method));
    }

    private static Class<?> find(final String name) {
        try {
            return Class.forName(name);
        } catch (final ClassNotFoundException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Object construct(final Class<?> type, final Object... arguments) {
        try {
            return Arrays.stream(type.getDeclaredConstructors())
                .filter(one -> accepts(one.getParameterTypes(), arguments))
                .peek(one -> one.setAccessible(true))
                .findFirst().orElseThrow().newInstance(arguments);
        } catch (final ReflectiveOperationException error) {
            throw new IllegalStateException(type + ": " + error, error);
        }
    }

    /** Calls a method; throws what it throws. */
    static Object call(final Object object, final String name, final Object... arguments) {
        try {
            for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
                for (final Method method : type.getDeclaredMethods()) {
                    if (!method.isBridge() && method.getName().equals(name) && accepts(method.getParameterTypes(), arguments)) {
                        method.setAccessible(true);
                        return method.invoke(object, arguments);
                    }
                }
            }
        } catch (final InvocationTargetException error) {
            if (error.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(error.getCause());
        } catch (final IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
        throw new IllegalStateException(object.getClass() + " has no such method: " + name);
    }

    private static boolean accepts(final Class<?>[] parameters, final Object[] arguments) {
        if (parameters.length != arguments.length) {
            return false;
        }
        for (int place = 0; place < parameters.length; place++) {
            final Class<?> type = parameters[place];
            final Class<?> boxed = MethodType.methodType(type).wrap().returnType();
            if (arguments[place] == null ? type.isPrimitive() : !boxed.isInstance(arguments[place])) {
                return false;
            }
        }
        return true;
    }
}
