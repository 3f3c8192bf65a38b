"""Kubernetes manifests: the pods of an application, where they run, how they are replaced, and what scales them."""
