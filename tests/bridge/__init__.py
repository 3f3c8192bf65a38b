"""Assignors in Java, run by the bridge in whole simulations; needs a JDK and the jars of Kafka."""
