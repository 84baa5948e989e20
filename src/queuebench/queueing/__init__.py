"""The queueing simulator: arrivals, service, dispatch policies, experimental designs, kernels."""
