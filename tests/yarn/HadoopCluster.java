package assignorsim;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler;

/**
 * HDFS with one data node and YARN with one node manager on the loopback interface: {@code FOLDER MEMORY_MB CORES}.
 *
 * <p>Writes {@code FOLDER/conf/core-site.xml} and {@code yarn-site.xml}, and prints the URI of the file system. Exits at
 * the end of its standard input, so it cannot outlive the process that starts it.
 */
public final class HadoopCluster {

    private HadoopCluster() {
    }

    /** Serves until the end of standard input. */
    public static void main(final String[] args) {
        try {
            serve(args);
        } catch (final Throwable error) { // Threads of the clusters would keep the process.
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void serve(final String[] args) throws Exception {
        final Path folder = Path.of(args[0]);
        final Configuration hdfs = new Configuration();
        hdfs.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.resolve("hdfs").toString());
        final MiniDFSCluster files = new MiniDFSCluster.Builder(hdfs).numDataNodes(1).build();
        files.waitActive();
        final YarnConfiguration settings = new YarnConfiguration(hdfs);
        final String uri = files.getFileSystem().getUri().toString();
        settings.set("fs.defaultFS", uri);
        settings.set("yarn.nodemanager.resource.memory-mb", args[1]);
        settings.set("yarn.nodemanager.resource.cpu-vcores", args[2]);
        settings.set("yarn.scheduler.minimum-allocation-mb", "128");
        settings.set("yarn.nodemanager.vmem-check-enabled", "false");
        settings.set("yarn.nodemanager.disk-health-checker.enable", "false");
        settings.set(YarnConfiguration.RM_SCHEDULER, FifoScheduler.class.getName());
        final MiniYARNCluster yarn = new MiniYARNCluster("assignor-sim", 1, 1, 1);
        yarn.init(settings);
        yarn.start();
        final Configuration written = new Configuration(yarn.getConfig());
        written.unset("net.topology.node.switch.mapping.impl"); // A class of the mini-clusters.
        final Path conf = Files.createDirectories(folder.resolve("conf"));
        for (final String name : new String[] {"core-site.xml", "yarn-site.xml"}) {
            try (OutputStream file = Files.newOutputStream(conf.resolve(name))) {
                written.writeXml(file);
            }
        }
        System.out.println(uri);
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }
}
