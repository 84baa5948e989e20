"""The overloaded loss network: one event list, many policies, and the regret between them."""
