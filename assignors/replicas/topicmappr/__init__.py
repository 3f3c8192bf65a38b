"""Common parts of topicmappr's strategies."""
