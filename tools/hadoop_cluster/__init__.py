"""HDFS and YARN on this machine, by Hadoop's mini-clusters."""
