"""The parts of topicmappr's strategies."""
