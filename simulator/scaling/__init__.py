"""Autoscalers and the controllers of their pods, as state machines without a clock."""
