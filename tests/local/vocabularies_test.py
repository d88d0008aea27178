"""A fault of a node in our words, in HyperPod's and in EKS', as an API server keeps them; and how they go."""
import json

import harness
from harness import FINDINGS, NODES, Program, eventually

XID = "NVRM: Xid (PCI:0000:5e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
TYPES = ("GPUFault", "AcceleratedHardwareReady", "NvidiaGPUUnhealthy", "KernelReady")


def test_other_vocabularies_come_and_go_with_their_flag():
    with harness.cluster() as up:
        eventually(lambda: up.api.find(f"{NODES}/node-a"), "node-a")
        site = up.folder / "site.yaml"
        site.write_text("pack: nvidia\ntrust: any\n")  # the line below is one of user space
        up.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "spare"}})

        def agent(name, *flags):
            program = Program(
                up.folder, name, "mainstay-agent", f"--rule-packs=shipped,{site}",
                f"--kmsg-path={up.home}/nodes/node-a/kmsg",
                f"--kubeconfig={up.kubeconfig}", "--hostname-override=spare", "--port=0", "--prometheus-port=0", *flags)
            up.programs.append(program)
            return program

        def says():
            conditions = up.api.get(f"{NODES}/spare").get("status", {}).get("conditions", [])
            return {c["type"]: f"{c['status']} {c['reason']}" for c in conditions if c["type"] in TYPES}

        first = agent("speaks-all", "--also-conditions=hyperpod,eks")
        eventually(lambda: says() == {
            "GPUFault": "False NoGPUFault", "AcceleratedHardwareReady": "True AcceleratedHardwareIsReady",
            "NvidiaGPUUnhealthy": "False NoFaultKnown", "KernelReady": "True KernelIsReady"}, "four healthy conditions")
        up.write_fault("node-a", XID)
        eventually(lambda: says() == {
            "GPUFault": "True Xid79", "AcceleratedHardwareReady": "False NvidiaXID79Error",
            "NvidiaGPUUnhealthy": "True NvidiaGpuXidErrorPendingReboot", "KernelReady": "True KernelIsReady"}, "the fault")
        [finding] = json.loads(up.api.get(f"{NODES}/spare")["metadata"]["annotations"][FINDINGS])
        assert {name["type"] for name in finding["also"]} == {"AcceleratedHardwareReady", "NvidiaGPUUnhealthy"}
        assert first.stop() == 0
        agent("speaks-ours")
        eventually(lambda: says() == {"GPUFault": "True Xid79"}, "the other words to go")
        assert "ConditionRemoved" in [reason for reason, _ in up.api.events("spare")]
