"""The fluid bound: the reward rate of a network without randomness."""

from queuebench.loss_network.model import LossNetwork


def fluid_reward(network: LossNetwork):
    """Fluid reward rate: every ``H`` job and as many ``L`` jobs as capacity is left.

    ``R_fluid = N*(r_H*lam_H + r_L*(mu - lam_H))``, an upper bound on the reward rate of any policy
    on the service clock, anticipating or not.

    Returns
    -------
    float
        Reward per unit time.
    """
    spare = network.service_rate - network.high_rate
    return network.servers * (network.high_reward * network.high_rate + network.low_reward * spare)
