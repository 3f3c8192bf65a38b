"""What Kafka's tools printed, in the files of a folder."""
