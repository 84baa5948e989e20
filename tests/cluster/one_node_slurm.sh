#!/usr/bin/env bash
# A real Slurm of one node, this machine, for the tests: everything on the loopback address, and every
# file in one folder. There is no accounting database, no cgroup and no systemd.
#
#   one_node_slurm.sh start FOLDER    and then, to use it:  source FOLDER/env.sh
#   one_node_slurm.sh stop FOLDER     ends what was started, by its process ids
#
# CPUS (default 4) is how many jobs run at once; it may exceed what the machine has.
set -euo pipefail

command=${1:?start or stop}
folder=$(realpath -m "${2:?folder for the state of the cluster}")
cpus=${CPUS:-4}
host=$(hostname -s)
export PATH=$PATH:/usr/sbin
export SLURM_CONF=$folder/slurm.conf

fail() {
    echo "one_node_slurm.sh: $*" >&2
    tail -n 5 "$folder"/*.log >&2 || true
    exit 1
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_munge() {
    (umask 077 && head -c 128 /dev/urandom >"$folder/munge.key")
    # A folder of a user with group or world write permission above it needs --force.
    munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
        --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" \
        --seed-file="$folder/munge.seed"
}

write_configuration() {
    local memory
    memory=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
    cat >"$SLURM_CONF" <<CONF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/slurmctld
SlurmdSpoolDir=$folder/slurmd
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# Without cgroups memory is sampled, once a second, and a job above its request is killed.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
# Without a database squeue must remember ended jobs for as long as somebody may ask.
AccountingStorageType=accounting_storage/none
MinJobAge=600
# A job that can never run is refused instead of waiting for ever.
EnforcePartLimits=ALL
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
KillWait=5
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory State=UNKNOWN
PartitionName=short Nodes=$host Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
CONF
}

# Snakemake's jobs start srun without SLURM_CONF, so that the one on the PATH has to know it.
write_environment() {
    local srun
    srun=$(command -v srun)
    mkdir -p "$folder/bin"
    printf '#!/bin/sh\nSLURM_CONF=%q exec %q "$@"\n' "$SLURM_CONF" "$srun" >"$folder/bin/srun"
    chmod +x "$folder/bin/srun"
    printf 'export SLURM_CONF=%q PATH=%q:"$PATH"\n' "$SLURM_CONF" "$folder/bin" >"$folder/env.sh"
}

wait_until_idle() {
    for _ in {1..100}; do
        [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle ]] && return
        sleep 0.2
    done
    fail "the node is $(sinfo --noheader --format=%T 2>&1) after 20 seconds"
}

start() {
    mkdir -p "$folder"/{slurmctld,slurmd}
    start_munge
    write_configuration
    write_environment
    slurmctld || fail "slurmctld did not start"
    slurmd || fail "slurmd did not start"
    wait_until_idle
}

end_process() {
    local pid
    pid=$(cat "$1" 2>/dev/null) || return 0
    kill "$pid" 2>/dev/null || return 0
    for _ in {1..50}; do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
}

stop() {
    timeout 10 scancel --user="$(id -un)" 2>/dev/null || true
    for _ in {1..50}; do
        [[ -z $(timeout 5 squeue --noheader 2>/dev/null) ]] && break
        sleep 0.2
    done
    for daemon in slurmd slurmctld munged; do
        end_process "$folder/$daemon.pid"
    done
}

case $command in
    start | stop) "$command" ;;
    *) fail "unknown command $command: start or stop" ;;
esac
